"""``ask``: one prompt in a script, with a Python shell of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from zidane_lab.agent.agent import Agent, Prompt
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.result import RunResult
from zidane_lab.chat.budgets import budgets_in_force
from zidane_lab.chat.interacting import nobody_there
from zidane_lab.chat.kept import Kept
from zidane_lab.chat.models import choose_model
from zidane_lab.chat.profiles import profile_named
from zidane_lab.chat.run_setup import set_up
from zidane_lab.chat.settings import load_settings
from zidane_lab.chat.targets import Providers, behavior_of
from zidane_lab.chat.toolbox import Toolbox
from zidane_lab.errors import ConfigurationError
from zidane_lab.providers.base import Provider
from zidane_lab.providers.targets import ModelTarget
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool

__all__ = ["ask"]


def ask(
    prompt: Prompt,
    *,
    model: str | Provider | None = None,
    namespace: dict[str, Any] | None = None,
    tools: Iterable[Tool] | None = None,
    session: Session | None = None,
    behavior: Behavior | None = None,
) -> RunResult:
    """Answer a prompt from a script and return the result.

    Parameters
    ----------
    prompt
        Text or blocks.
    model
        ``provider/model``, or a provider; chosen as in a notebook if left out.
    namespace
        The variables the agent works on, live; pass ``globals()`` to share the script's. An empty one if left out.
    tools
        What the agent may use; the same as in a notebook if left out. Tools given here are granted: they run
        unasked, except ``run_python``, whose code is judged as always.
    session
        A conversation to go on with; a new one in memory if left out.
    behavior
        Limits and policies.

    Raises
    ------
    ConfigurationError
        Called where an event loop is running (a notebook cell): use ``%%zidane`` or ``await Agent(...).run(...)``.
    ZidaneError
        The run failed; the error's ``result`` holds what was done.

    Notes
    -----
    Nobody can be asked for permission, so calls that need one are refused.
    """
    if _loop_is_running():
        raise ConfigurationError(
            "ask() waits for the answer, which would block the running event loop.",
            hint="In a notebook use %%zidane, or `await zidane_lab.Agent(...).run(prompt)`.",
        )
    from zidane_lab.kernel.embedded import embedded_shell
    from zidane_lab.kernel.live import LiveExecutor

    settings = load_settings()
    providers = Providers(os.environ)
    if model is None:
        model = choose_model(None, session.model if session is not None else None, settings).name
    target = providers.target(model) if isinstance(model, str) else ModelTarget(model, model.default_model)
    executor = LiveExecutor(embedded_shell({} if namespace is None else namespace))
    session = session if session is not None else Session.memory()
    profile = profile_named("plan" if settings.mode == "plan" else settings.profile)
    chosen = profile.tools(Toolbox()) if tools is None else tuple(replace(tool, tier="read") for tool in tools)
    setup = set_up(
        session,
        chosen,
        settings,
        Kept(),
        profile=profile.name,
        folder=Path.cwd(),
        env=os.environ,
        executor=executor,
        front=nobody_there,
        ask=None,
        bundles=(),
        tasks=None,
    )
    agent = Agent(
        target.provider,
        model=target.model,
        tools=setup.tools,
        system=profile.system(secrets=settings.secrets),
        session=session,
        executor=executor,
        hooks=setup.hooks,
        interact=setup.asker.interact,
        journal=setup.journal,
        fallbacks=providers.fallbacks(target, settings.fallbacks),
        summarizer=providers.target(settings.compact_model) if settings.compact_model else None,
        behavior=behavior or behavior_of(settings, budgets_in_force(settings, session)),
    )

    async def run() -> RunResult:
        try:
            return await agent.run(prompt)
        finally:
            await target.provider.aclose()  # the session is the caller's
            await providers.aclose()

    return asyncio.run(run())


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

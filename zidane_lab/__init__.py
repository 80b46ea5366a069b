"""zidane_lab: an AI agent that lives inside your Jupyter kernel.

In a notebook: ``%load_ext zidane_lab``, then ask with ``%%zidane``. In code: :class:`Agent`, :func:`ask`,
:func:`tool`. Names are imported when they are first used, so that loading the extension costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zidane_lab.agent.agent import Agent as Agent
    from zidane_lab.agent.behavior import Behavior as Behavior
    from zidane_lab.agent.hooks import HookBus as HookBus
    from zidane_lab.agent.result import RunResult as RunResult
    from zidane_lab.chat.ask import ask as ask
    from zidane_lab.chat.profiles import default_tools as default_tools
    from zidane_lab.errors import ZidaneError as ZidaneError
    from zidane_lab.kernel.live import LiveExecutor as LiveExecutor
    from zidane_lab.providers.scripted import ScriptedProvider as ScriptedProvider
    from zidane_lab.session.session import Session as Session
    from zidane_lab.tools.base import Tool as Tool
    from zidane_lab.tools.base import ToolContext as ToolContext
    from zidane_lab.tools.base import ToolOutput as ToolOutput
    from zidane_lab.tools.decorator import tool as tool
    from zidane_lab.turns import Turn as Turn
    from zidane_lab.turns import Usage as Usage

__version__ = "0.1.0"

_HOMES = {
    "Agent": "agent.agent",
    "Behavior": "agent.behavior",
    "HookBus": "agent.hooks",
    "LiveExecutor": "kernel.live",
    "RunResult": "agent.result",
    "ScriptedProvider": "providers.scripted",
    "Session": "session.session",
    "Tool": "tools.base",
    "ToolContext": "tools.base",
    "ToolOutput": "tools.base",
    "Turn": "turns",
    "Usage": "turns",
    "ZidaneError": "errors",
    "ask": "chat.ask",
    "default_tools": "chat.profiles",
    "tool": "tools.decorator",
}

__all__ = [*_HOMES, "__version__", "load_ipython_extension", "unload_ipython_extension"]  # noqa: PLE0604 - names of _HOMES


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """Make ``%%zidane`` and ``%zidane`` available; called by ``%load_ext zidane_lab``."""
    from zidane_lab.notebook.extension import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Take the magics out again; called by ``%unload_ext zidane_lab``."""
    from zidane_lab.notebook.extension import unload

    unload(ipython)

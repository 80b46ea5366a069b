"""Put together what stands between one run and the world: the gate, who is asked, what guards and keeps.

The order of the bundles matters: what draws comes before the gate, so that what is asked about is seen; what masks
comes after all that adds text and before what keeps results in files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from zidane_lab.agent.call_journal import CallJournal
from zidane_lab.agent.guards.settings import GuardSettings, guards_for
from zidane_lab.agent.hooks import HookBundle, HookBus
from zidane_lab.agent.nudges import ProgressNudges
from zidane_lab.agent.persistence import Persistence
from zidane_lab.agent.preview_reminder import PreviewReminder
from zidane_lab.agent.repository_notices import RepositoryNotices
from zidane_lab.agent.rewinding import Rewinding
from zidane_lab.agent.secret_guard import SecretGuard
from zidane_lab.agent.stale_notices import StaleNotices
from zidane_lab.agent.task_notices import TaskNotices
from zidane_lab.agent.todo_reminder import TodoReminder
from zidane_lab.approvals.decisions import Ask, first_answer
from zidane_lab.approvals.gate import Gate
from zidane_lab.chat.budget_asking import BudgetAsking
from zidane_lab.chat.gates import HunkOutcomes, gate_for
from zidane_lab.chat.interacting import Asker, Front, desk_of
from zidane_lab.chat.kept import Kept
from zidane_lab.chat.place import following
from zidane_lab.chat.place_links import PlaceLinks, root_of
from zidane_lab.chat.place_record import LeftOpen
from zidane_lab.chat.real_calls import RealCalls
from zidane_lab.chat.settings import Settings, home
from zidane_lab.chat.targets import persistence_of
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import ToolError
from zidane_lab.events import ToolGate
from zidane_lab.kernel.execution import Executor
from zidane_lab.secrets.vault import session_key
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool

__all__ = ["RunSetup", "set_up"]

_Preview: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[str]]
_PLAN: Final = "plan"


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What one run works with.

    Parameters
    ----------
    hooks
        The bus, with everything that guards and keeps on it.
    tools
        The tools, which get real credentials and give placeholders.
    gate, asker, journal
        Who decides about calls, how the person is asked, and what is known of calls that were begun.
    """

    hooks: HookBus
    tools: list[Tool]
    gate: Gate
    asker: Asker
    journal: CallJournal


def set_up(
    session: Session,
    tools: Iterable[Tool],
    settings: Settings,
    kept: Kept,
    *,
    profile: str,
    folder: Path,
    env: Mapping[str, str],
    executor: Executor | None,
    front: Front,
    ask: Ask | None,
    bundles: Iterable[HookBundle],
    tasks: TaskRegistry | None,
    place: ExecutionContext | None = None,
) -> RunSetup:
    """Put a run together.

    Parameters
    ----------
    profile
        Its name: in ``plan`` nothing may be changed, whatever the mode.
    folder
        Where the notebook is; what is allowed *always* holds for its project.
    front, ask
        Where the person is, and who answers in their place.
    bundles
        What draws and records.
    tasks
        The notebook's background tasks.
    place
        Where files and commands live, if not on this machine.
    """
    now, guard = following(), kept.guard(session, settings, env)
    if guard is not None:
        guard.attach(session, executor)
        tools = guard.tools(tools)
    tools = list(tools)
    if tasks is not None:
        tasks.screen = guard.screen if guard is not None else None
    journal = CallJournal(session, {tool.name: tool for tool in tools}, session_key(home(env), session.id))
    asker = Asker(desk_of(session), front, journal.waits)
    approve = asker.approve if ask is None else first_answer(ask, asker.approve)
    links = PlaceLinks(place, root_of(place), {tool.name: tool.tier for tool in tools}) if place is not None else None
    gate = gate_for(
        approve,
        _PLAN if profile == _PLAN else settings.mode,
        tools,
        session,
        executor,
        grants=kept.grants_in(place.info.where if place is not None else ""),
        folder=folder,
        env=env,
        place=place,
        links=links.found if links is not None else None,
        allow_bypass=settings.allow_bypass,
    )
    if guard is not None and gate.preview is not None:
        gate = replace(gate, preview=_masked_preview(gate.preview, guard))
    hooks = HookBus()
    for bundle in bundles:  # before the gate: what is asked about is drawn first
        hooks.use(bundle)
    if place is not None:
        hooks.use(LeftOpen(session, place))
    for each in guards_for(GuardSettings(), session, cwd=now(), place=place):
        hooks.use(each)
    hooks.use(asker)
    if links is not None:
        hooks.use(links)
    if guard is not None:
        look = links.look_at if links is not None else None
        hooks.use(RealCalls(gate, guard.restored, guard.screen.text, look))
    hooks.on(ToolGate, gate)
    hooks.use(HunkOutcomes())
    hooks.use(BudgetAsking(approve, session))
    hooks.use(Rewinding(session, kept.continuity))
    hooks.use(ProgressNudges())
    hooks.use(TodoReminder(session))
    hooks.use(PreviewReminder(session, kept.reminded))
    hooks.use(TaskNotices(lambda: tasks))
    if place is None or place.info.is_local:
        hooks.use(RepositoryNotices(now, kept.repository))
    hooks.use(StaleNotices(session, now(), place))
    keep(hooks, session, settings, kept, guard)
    hooks.use(journal)  # after what makes the result that is kept
    return RunSetup(hooks, tools, gate, asker, journal)


def keep(hooks: HookBus, session: Session, settings: Settings, kept: Kept, guard: SecretGuard | None) -> None:
    """Subscribe what envelops and masks, and after it what keeps large results in files."""
    hooks.use(kept.envelopes)
    if guard is not None:
        hooks.use(guard)
    hooks.use(Persistence(session, persistence_of(settings)))


def _masked_preview(preview: _Preview, guard: SecretGuard) -> _Preview:
    """Return a preview of what a change would really do, with placeholders in what is shown of it."""

    async def masked(tool: str, arguments: Mapping[str, Any]) -> str:
        try:
            arguments = guard.restored(tool, arguments)
        except ToolError:  # the call will say so; until then its own words are shown
            return guard.screen.text(await preview(tool, arguments))
        return guard.screen.text(await preview(tool, arguments))

    return masked

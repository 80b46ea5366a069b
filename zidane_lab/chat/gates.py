"""The gate of a chat: what is the user's, what is the project's, and what a change would look like."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.approvals.assess import Foreseen
from zidane_lab.approvals.decisions import Ask, Grants
from zidane_lab.approvals.gate import NOTICE, STATE, Gate
from zidane_lab.approvals.modes import BYPASS_BANNER
from zidane_lab.approvals.names import known_names
from zidane_lab.approvals.project import Project, project_root
from zidane_lab.approvals.safelist import RECIPE_TOOL
from zidane_lab.chat.ownership import users_names
from zidane_lab.chat.place import following
from zidane_lab.chat.safelist_store import own_files, safelist_for
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolError
from zidane_lab.events import GuardHit, ToolGate, ToolTransform
from zidane_lab.kernel.execution import Executor
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool, ToolContext
from zidane_lab.turns import TextBlock

__all__ = ["HunkOutcomes", "gate_for"]

_PARTS: Final = "edits"
"""Argument of a call whose parts can be allowed one by one."""


def gate_for(
    ask: Ask,
    mode: str,
    tools: Iterable[Tool],
    session: Session,
    executor: Executor | None,
    *,
    grants: Grants | None = None,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    place: ExecutionContext | None = None,
    links: Mapping[str, str] | None = None,
    allow_bypass: bool = False,
) -> Gate:
    """Return the gate of one run: what is the user's is settled when the run begins.

    Parameters
    ----------
    ask
        Puts a question to the person.
    mode
        The approval mode.
    tools, session, executor, place
        Those of the run.
    grants
        What was allowed in this session.
    folder
        Where the notebook is; what is allowed *always* holds for its project. Without it nothing is remembered.
    env
        Environment variables, for the user folder.
    links
        Where paths of another place really lead; filled while the run goes on.
    allow_bypass
        Whether the person has enabled the mode that asks nothing.
    """

    def meanings() -> Mapping[str, str]:
        # A kernel elsewhere tells in words what its names stand for; of the one we live in we see the objects.
        told: Mapping[str, str] | None = getattr(executor, "meanings", None)
        return told if told is not None else known_names(dict(getattr(executor, "namespace", {})))

    now = following()  # if it is removed, calls are judged as from where it was, and say themselves what they miss

    def project() -> Project | None:
        if folder is None:
            return None
        if place is None or place.info.is_local:
            cwd = str(now()) if place is None else place.cwd
            return Project(str(project_root(folder)), cwd, own_files(env))
        root = str(getattr(place, "root", place.cwd))
        return Project(root, place.cwd, own_files(env), is_local=False, links=links or {})

    def here() -> Project | None:
        return None if folder is None else Project(str(project_root(folder)), str(now()), own_files(env))

    protected = users_names(meanings(), session.turns)
    by_name = {tool.name: tool for tool in tools}
    gate = Gate(
        ask,
        mode=mode,
        tiers={name: tool.tier for name, tool in by_name.items()},
        protected=lambda: protected,
        known=meanings,
        project=project,
        here=here,
        grants=grants if grants is not None else Grants(),
        foresee=_foresee(session, place, now),
        preview=_preview(session, place, now),
        hunks_of=lambda tool, arguments: _parts(arguments) if tool == "multi_edit" else 0,
        keep_hunks=_keep,
        allow_bypass=allow_bypass,
    )
    if folder is None:
        return gate
    at_home = safelist_for(folder, env)
    where = "" if place is None or place.info.is_local else place.info.where
    safelist = safelist_for(folder, env, where=where) if where else at_home

    def denied() -> tuple[str, ...]:
        return tuple(dict.fromkeys((*safelist.denied(), *at_home.denied())))

    return replace(gate, safelist=safelist.allowed, denied=denied, remember=safelist.remember)


def _preview(
    session: Session, place: ExecutionContext | None, now: Callable[[], Path]
) -> Callable[[str, Mapping[str, Any]], Awaitable[str]]:
    async def diff(tool: str, arguments: Mapping[str, Any]) -> str:
        from zidane_lab.tools.edit_plans import plan_call

        plan = await plan_call(ToolContext(cwd=now(), outputs=session, place=place), tool, arguments)
        return plan.diff() if plan is not None else ""

    return diff


def _foresee(
    session: Session, place: ExecutionContext | None, now: Callable[[], Path]
) -> Callable[[str, Mapping[str, Any]], Awaitable[Foreseen | None]]:
    """Return what asks the tools themselves: which files a call writes, which command a task of the project is."""

    async def foresee(tool: str, arguments: Mapping[str, Any]) -> Foreseen | None:
        context = ToolContext(cwd=now(), outputs=session, place=place)
        if tool == RECIPE_TOOL:
            return await _recipe(context, str(arguments.get("op", "")))
        from zidane_lab.tools.edit_plans import call_targets

        writes = call_targets(context, tool, arguments)
        return None if writes is None else Foreseen(writes=writes)

    return foresee


async def _recipe(context: ToolContext, op: str) -> Foreseen:
    """Find the command of a task; none where the tasks are only listed, or where there is no such one."""
    from zidane_lab.tools.places import place_of
    from zidane_lab.tools.recipes import choose, command_of, find_runners

    runners = await find_runners(place_of(context))
    if not runners or not op.strip():
        return Foreseen()
    try:
        found, arguments = choose(op, runners)
    except ToolError:  # the call will say the same
        return Foreseen()
    return Foreseen(command=command_of(found, arguments), cwd=found.cwd)


def _parts(arguments: Mapping[str, Any]) -> int:
    parts = arguments.get(_PARTS)
    return len(parts) if isinstance(parts, list) and len(parts) > 1 else 0


def _keep(arguments: dict[str, Any], mask: tuple[bool, ...], _reason: str) -> dict[str, Any]:
    """Leave only the allowed parts; parts the mask says nothing about are allowed."""
    parts = list(arguments[_PARTS])
    kept = [part for index, part in enumerate(parts) if index >= len(mask) or mask[index]]
    return {**arguments, _PARTS: kept}


@dataclass(frozen=True, slots=True)
class HunkOutcomes:
    """A hook bundle that tells what came of the gate's questions. Install it after the gate.

    The model is told which parts of a change were not allowed; the person, what else they should know of their answer,
    as that it could not be stored.
    """

    _masks: dict[str | None, tuple[tuple[bool, ...], str, int]] = field(default_factory=dict)

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""

        async def tell(event: ToolGate) -> None:
            kept = event.resume_state.get(STATE)
            if isinstance(kept, Mapping) and NOTICE in kept and not event.resumed:
                guard = "bypass" if kept[NOTICE] == BYPASS_BANNER else "approvals"
                await hooks.emit(GuardHit(event.ids, guard, event.tool, str(kept[NOTICE])))

        off = [
            hooks.on(ToolGate, self._gated),
            hooks.on(ToolGate, tell),
            hooks.on(ToolTransform, self._transform),
        ]

        def uninstall() -> None:
            for each in off:
                each()

        return uninstall

    def _gated(self, event: ToolGate) -> None:
        kept = event.resume_state.get(STATE)
        if isinstance(kept, Mapping) and "hunks" in kept:
            mask = tuple(map(bool, kept["hunks"]))
            total = len(mask) + sum(1 for _ in event.input.get(_PARTS, ())) - sum(mask)
            self._masks[event.ids.call_id] = (mask, str(kept.get("reason", "")), max(total, len(mask)))

    def _transform(self, event: ToolTransform) -> None:
        found = self._masks.pop(event.ids.call_id, None)
        if found is None or not event.result.text:
            return
        from zidane_lab.tools.edits.outcomes import apply_hunk_mask, outcomes_json, rewrite_result

        mask, reason, total = found
        text, outcomes = rewrite_result(event.result.text, apply_hunk_mask(mask, reason, fallback_length=total))
        edit = event.result.metadata.get("edit")
        metadata = dict(event.result.metadata)
        if isinstance(edit, Mapping):
            metadata["edit"] = {**edit, "outcomes": outcomes_json(outcomes)}
        event.result = replace(event.result, parts=(TextBlock(text),), metadata=metadata)

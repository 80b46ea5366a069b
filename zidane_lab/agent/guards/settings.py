"""Which guards are on, as one value, and the one door to all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from zidane_lab.agent.guards.mutation_validation import FailurePolicy, MutationValidation, Validator
from zidane_lab.agent.guards.output_budget import BUDGET_EXEMPT_TOOLS, OutputBudget
from zidane_lab.agent.guards.read_dedup import ReadDedup
from zidane_lab.agent.guards.repeat_guard import RepeatGuard
from zidane_lab.agent.guards.tool_dedup import DedupHasher, DedupTool, ToolDedup
from zidane_lab.agent.guards.written_files import WrittenFiles
from zidane_lab.agent.hooks import HookBundle
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.session.session import Session

__all__ = ["GuardSettings", "guards_for"]


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """The guards of an agent.

    Parameters
    ----------
    dedup_reads
        Whether the reading of an unchanged file is answered with a word.
    dedup_tools
        By tool, how its identical calls are answered; a bare hasher replays the earlier result.
    repeat_guard
        When loops are broken; ``None`` for never.
    tool_output_budget
        Bytes of tool text in one turn past which the model is asked to consolidate; ``None`` for no limit.
    budget_exempt
        Tools that do not count towards it.
    validate
        Looks at what a batch changed; ``None`` for no validation.
    on_invalid
        What to do about what it finds.
    written_files
        Whether the results of code say which files it wrote; validation and the notice of stale reads build on it.
    """

    dedup_reads: bool = True
    dedup_tools: Mapping[str, DedupTool | DedupHasher] = field(default_factory=lambda: MappingProxyType({}))
    repeat_guard: RepeatGuard | None = field(default_factory=RepeatGuard)
    tool_output_budget: int | None = None
    budget_exempt: frozenset[str] = BUDGET_EXEMPT_TOOLS
    validate: Validator | None = None
    on_invalid: FailurePolicy = "inject"
    written_files: bool = True


def guards_for(
    settings: GuardSettings,
    session: Session,
    *,
    cwd: Path,
    visible: Callable[[str], bool] | None = None,
    place: ExecutionContext | None = None,
) -> tuple[HookBundle, ...]:
    """Return the guards that are switched on, in the order to install them.

    Install them before the approvals' gate, so that nobody is asked about a call that will not run; the repeat guard
    comes first of all, so that calls which others answer count too.

    Parameters
    ----------
    session
        The conversation they guard; the bundles serve this one alone.
    cwd
        Folder that relative paths start from.
    visible
        See :class:`~zidane_lab.agent.guards.read_dedup.ReadDedup`.
    place
        Where files are, if not on this machine.

    Raises
    ------
    ConfigurationError
        A setting has no meaning.
    """
    guards: list[HookBundle] = []
    if settings.repeat_guard is not None:
        guards.append(settings.repeat_guard)
    if settings.dedup_reads:
        given = {} if visible is None else {"visible": visible}
        guards.append(ReadDedup(session, cwd, place=place, **given))
    if settings.dedup_tools:
        guards.append(ToolDedup(settings.dedup_tools))
    if settings.written_files:
        guards.append(WrittenFiles(cwd))
    if settings.tool_output_budget is not None:
        guards.append(OutputBudget(settings.tool_output_budget, settings.budget_exempt))
    if settings.validate is not None:
        guards.append(MutationValidation(settings.validate, cwd, settings.on_invalid))
    return tuple(guards)

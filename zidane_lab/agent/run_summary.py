"""What a run came to: one digest, collected from its events.

A bundle like any other: it changes nothing, and what it missed (installed in mid-run) is missing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.events import (
    AgentDone,
    AgentStart,
    BudgetReached,
    BudgetWarning,
    CompactEnd,
    FinishReason,
    GuardHit,
    HookFailed,
    RunStatus,
    ToolAfter,
    ToolErrored,
    TurnAfter,
    UserTurn,
)
from zidane_lab.session.usage_stats import Answer, ModelUsage, answers_of, spent, usage_by_model
from zidane_lab.turns import Usage

__all__ = ["RunSummary", "RunSummaryCollector", "SummaryBlocked", "SummaryBudget", "SummaryError", "SummaryGuard"]

_BLOCKED: Final = "Blocked: "


@dataclass(frozen=True, slots=True)
class SummaryBlocked:
    """A call that was refused, and why."""

    tool: str
    reason: str


@dataclass(frozen=True, slots=True)
class SummaryBudget:
    """A budget that was nearly or quite used up: ``spent`` of ``limit``, in its own unit."""

    kind: str
    scope: str
    limit: float
    spent: float
    is_reached: bool


@dataclass(frozen=True, slots=True)
class SummaryError:
    """Something that failed: a tool (by name), a handler, or the run itself."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class SummaryGuard:
    """A guard that stepped in for a tool, and how often."""

    guard: str
    tool: str
    hits: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The digest of one run.

    ``usage`` sums its answers and the summaries made meanwhile; ``outcomes`` counts its calls by how they ended.
    ``corrections`` counts answers sent back because their structured output did not validate.
    """

    run_id: str
    model: str = ""
    status: RunStatus | None = None
    finish: FinishReason | None = None
    seconds: float = 0.0
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    models: tuple[ModelUsage, ...] = ()
    outcomes: tuple[tuple[str, int], ...] = ()
    blocked: tuple[SummaryBlocked, ...] = ()
    budgets: tuple[SummaryBudget, ...] = ()
    errors: tuple[SummaryError, ...] = ()
    guards: tuple[SummaryGuard, ...] = ()
    compactions: int = 0
    corrections: int = 0


class RunSummaryCollector:
    """Collects the digest of the newest run on a bus; events of agents below it count only for what they used.

    Attributes
    ----------
    summary
        The digest so far; ``None`` before the first run. It is complete when the run has ended.
    """

    def __init__(self) -> None:
        self._begin("", "")
        self._has_begun = False

    def _begin(self, run_id: str, model: str) -> None:
        self._has_begun = True
        self._run_id, self._model = run_id, model
        self._done: AgentDone | None = None
        self._answers: list[Answer] = []
        self._outcomes = Counter[str]()
        self._blocked: list[SummaryBlocked] = []
        self._budgets: dict[tuple[str, str], SummaryBudget] = {}
        self._errors: list[SummaryError] = []
        self._guards = Counter[tuple[str, str]]()
        self._turns = self._compactions = self._corrections = 0

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        offs = [
            hooks.on(AgentStart, self._started),
            hooks.on(AgentDone, self._ended),
            hooks.on(TurnAfter, self._answered),
            hooks.on(UserTurn, self._said),
            hooks.on(ToolAfter, self._called),
            hooks.on(ToolErrored, lambda event: self._errors.append(SummaryError(event.tool, event.error))),
            hooks.on(HookFailed, lambda event: self._errors.append(SummaryError(event.handler, event.error))),
            hooks.on(GuardHit, lambda event: self._guards.update([(event.guard, event.tool)])),
            hooks.on(BudgetWarning, lambda event: self._budget(event, is_reached=False)),
            hooks.on(BudgetReached, lambda event: self._budget(event, is_reached=True)),
            hooks.on(CompactEnd, self._compacted),
        ]

        def uninstall() -> None:
            for off in offs:
                off()

        return uninstall

    @property
    def summary(self) -> RunSummary | None:
        """The digest of the newest run, as far as it has come; ``None`` before the first one."""
        if not self._has_begun:
            return None
        done = self._done
        return RunSummary(
            run_id=self._run_id,
            model=self._model,
            status=done.status if done is not None else None,
            finish=done.finish if done is not None else None,
            seconds=done.seconds if done is not None else 0.0,
            turns=self._turns,
            usage=spent(self._answers),
            models=usage_by_model(self._answers),
            outcomes=tuple(sorted(self._outcomes.items())),
            blocked=tuple(self._blocked),
            budgets=tuple(self._budgets.values()),
            errors=tuple(self._errors),
            guards=tuple(SummaryGuard(*key, hits) for key, hits in self._guards.items()),
            compactions=self._compactions,
            corrections=self._corrections,
        )

    def _started(self, event: AgentStart) -> None:
        if event.ids.depth == 0:
            self._begin(event.ids.run_id, event.model)

    def _ended(self, event: AgentDone) -> None:
        if event.ids.depth > 0:
            return
        self._done = event
        if event.error is not None:
            self._errors.append(SummaryError("run", event.error))

    def _answered(self, event: TurnAfter) -> None:
        self._answers += answers_of([event.turn])
        self._turns += event.ids.depth == 0

    def _said(self, event: UserTurn) -> None:
        self._corrections += event.turn.injected == "validation"

    def _called(self, event: ToolAfter) -> None:
        self._outcomes[event.outcome] += 1
        if event.outcome == "blocked":
            self._blocked.append(SummaryBlocked(event.tool, event.result.text.removeprefix(_BLOCKED)))

    def _budget(self, event: BudgetWarning | BudgetReached, *, is_reached: bool) -> None:
        self._budgets[event.kind, event.scope] = SummaryBudget(
            event.kind, event.scope, event.limit, event.spent, is_reached
        )

    def _compacted(self, event: CompactEnd) -> None:
        if event.status == "compacted":
            self._compactions += 1
            if event.summary_turn is not None:
                self._answers += answers_of([event.summary_turn])

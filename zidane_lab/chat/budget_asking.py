"""Ask the person whether to go on when a budget is used up.

*Yes* extends the limit by its first amount again; *no*, silence and a question that cannot be put end the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.approvals.decisions import Ask, Question, as_answer
from zidane_lab.chat.amounts import amount_words
from zidane_lab.chat.budgets import record_limit
from zidane_lab.events import BudgetKind, BudgetReached, BudgetScope
from zidane_lab.session.session import Session

__all__ = ["BUDGET_TOOL", "BudgetAsking", "budget_question"]

BUDGET_TOOL: Final = "budget"
"""Stands in a question where otherwise the tool is named."""


def budget_question(event: BudgetReached, extend_to: float) -> Question:
    """Return the question whether a run may go on, up to ``extend_to``."""
    kind = event.kind
    used, limit, higher = (amount_words(kind, amount) for amount in (event.spent, event.limit, extend_to))
    return Question(
        tool=BUDGET_TOOL,
        intent=f"go on, with a limit of {higher}",
        target=f"limit of this {event.scope}: {limit}, then {higher}",
        reasons=(f"the {kind} budget of this {event.scope} is used up: {used} of {limit}",),
    )


@dataclass(slots=True)
class BudgetAsking:
    """A hook bundle that puts a budget that is used up to the person.

    A *yes* for a limit of the session or the notebook is recorded in the session and holds for its later runs, too.

    Parameters
    ----------
    ask
        Puts a question to the person; answers ``None`` when nobody can.
    session
        Where the decision is kept; without one it holds for the run.
    """

    ask: Ask
    session: Session | None = None
    _steps: dict[tuple[BudgetKind, BudgetScope], float] = field(default_factory=dict)

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return hooks.on(BudgetReached, self)

    async def __call__(self, event: BudgetReached) -> None:
        """Extend the limit if the person says yes; a question that fails leaves it as it is, and the bus tells."""
        if event.extend_to is not None:
            return
        step = self._steps.setdefault((event.kind, event.scope), event.limit)
        extend_to = event.limit + step
        if extend_to <= event.spent:  # one costly answer may pass a limit several times over
            extend_to += math.floor((event.spent - event.limit) / step + 1e-9) * step
        question = budget_question(event, extend_to)
        answer = as_answer(await self.ask(question), question)
        if answer is None or answer.decision == "deny":
            return
        event.extend_to = extend_to
        if self.session is not None and event.scope != "run":
            record_limit(self.session, event.scope, event.kind, extend_to)

"""Which budgets apply to a prompt: its options, what was decided in its session, the settings.

What is decided about a session or its notebook (``/budget``, a *yes* to going on) is recorded in the session and goes
before the settings; so do the options of a prompt, which are about its run.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

from zidane_lab.agent.budgets import KINDS, Budgets, Limit, Spent
from zidane_lab.chat.settings import Settings
from zidane_lab.events import BudgetKind, BudgetScope
from zidane_lab.session.listing import list_sessions
from zidane_lab.session.session import Session
from zidane_lab.session.usage import read_session_usage
from zidane_lab.session.usage_stats import Answer, spent

__all__ = ["BUDGET", "budgets_in_force", "decided_limits", "notebook_spent", "record_limit"]

BUDGET: Final = "budget"
"""Kind of the session record that sets a limit: ``{"scope": …, "kind": …, "limit": number, or null for none}``."""

_LASTING: Final[tuple[BudgetScope, ...]] = ("session", "notebook")
"""Scopes a session may decide about; a run's limits are those of its prompt."""


def record_limit(session: Session, scope: BudgetScope, kind: BudgetKind, amount: float | None) -> None:
    """Decide a limit for the rest of a session; ``None`` lifts it.

    Raises
    ------
    ConfigurationError
        The amount is not a finite number above 0.
    SessionError
        It could not be written.
    """
    if amount is not None:
        Limit(kind, scope, amount)  # complains
    session.record(BUDGET, {"scope": scope, "kind": kind, "limit": amount})


def decided_limits(session: Session) -> dict[tuple[BudgetKind, BudgetScope], float | None]:
    """Return what was decided in a session, the newest word on each limit; damaged records are passed over."""
    decided: dict[tuple[BudgetKind, BudgetScope], float | None] = {}
    for data in session.records(BUDGET):
        kind = next((each for each in KINDS if each == data.get("kind")), None)
        scope = next((each for each in _LASTING if each == data.get("scope")), None)
        amount = data.get("limit", False)
        if kind is not None and scope is not None and (amount is None or _is_amount(amount)):
            decided[kind, scope] = amount
    return decided


def budgets_in_force(
    settings: Settings,
    session: Session,
    *,
    turns: int | None = None,
    tokens: int | None = None,
    cost: float | None = None,
    seconds: float | None = None,
) -> Budgets:
    """Return the limits of the next run.

    Parameters
    ----------
    settings
        Those in force.
    session
        The conversation.
    turns, tokens, cost, seconds
        What the prompt's options say of the run; ``None`` leaves it to the settings.
    """
    minutes = settings.max_minutes
    run = Budgets.of(
        turns=turns if turns is not None else settings.max_turns,
        tokens=tokens if tokens is not None else settings.max_tokens,
        cost=cost if cost is not None else settings.max_cost,
        seconds=seconds if seconds is not None else minutes * 60 if minutes is not None else None,
    )
    lasting = (
        *Budgets.of(scope="session", cost=settings.session_max_cost, tokens=settings.session_max_tokens).limits,
        *Budgets.of(scope="notebook", cost=settings.notebook_max_cost, tokens=settings.notebook_max_tokens).limits,
    )
    budgets = Budgets((*run.limits, *lasting))
    for (kind, scope), amount in decided_limits(session).items():
        budgets = budgets.with_limit(kind, scope, amount)
    return budgets


def notebook_spent(folder: Path) -> Spent:
    """Add up what all sessions of a notebook spent, by the turns in their files.

    What a session took over from another counts once. Files that cannot be read count nothing. Time is not known.

    Parameters
    ----------
    folder
        The notebook's sessions folder.
    """
    answers: set[Answer] = set()
    for info in list_sessions(folder):
        for records in read_session_usage(info.path).sessions:
            answers.update(records.answers)
    return Spent(sum(not answer.is_summary for answer in answers), spent(answers))


def _is_amount(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0  # type: ignore[arg-type,operator]  # it is a number

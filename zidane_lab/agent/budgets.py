"""Budgets: limits on turns, tokens, money and time, for a run, its session and its notebook.

A budget is judged before more is spent (:func:`zidane_lab.agent.ledger.check`): at 80 % it is warned about; when it is
reached, a handler extends it or the run ends. Nothing is cut off midway, so the answer that reaches a limit is kept,
and what is used may exceed the limit by it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Self, TypeAlias, assert_never, get_args

from zidane_lab.errors import ConfigurationError
from zidane_lab.events import BudgetKind, BudgetScope
from zidane_lab.session.session import Session
from zidane_lab.session.usage_stats import answers_of, spent
from zidane_lab.turns import Usage

__all__ = [
    "KINDS",
    "SCOPES",
    "WARN_AT",
    "Budgets",
    "Limit",
    "Spent",
    "State",
    "Verdict",
    "judge",
    "spent_in",
    "unknown_price",
]

KINDS: Final[tuple[BudgetKind, ...]] = get_args(BudgetKind)
SCOPES: Final[tuple[BudgetScope, ...]] = get_args(BudgetScope)

WARN_AT: Final = 0.8
"""Part of a limit from which on it is warned about."""

State: TypeAlias = Literal["ok", "warn", "reached"]


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that may be spent of one kind.

    Parameters
    ----------
    kind
        ``turns``: answers of a model. ``tokens``: all that went in and came out of every call, see
        :meth:`Spent.amount`. ``cost``: US dollars. ``time``: seconds at work, without those spent waiting for a person.
    scope
        Whose spending counts: this run's, all of the session's, or that of every session of the notebook.
    amount
        In the kind's own unit; reached at this amount, not only past it.

    Raises
    ------
    ConfigurationError
        The amount is not a finite number above 0.
    """

    kind: BudgetKind
    scope: BudgetScope
    amount: float

    def __post_init__(self) -> None:
        if not (self.amount > 0 and math.isfinite(self.amount)):
            raise ConfigurationError(
                f"A {self.kind} budget of {self.amount} is none.", hint="Give an amount above 0, or no limit at all."
            )


@dataclass(frozen=True, slots=True)
class Budgets:
    """The limits that hold, at most one of each kind and scope.

    Raises
    ------
    ConfigurationError
        Two limits are of the same kind and scope.
    """

    limits: tuple[Limit, ...] = ()

    def __post_init__(self) -> None:
        if len({(limit.kind, limit.scope) for limit in self.limits}) < len(self.limits):
            raise ConfigurationError("Two limits are of the same kind and scope.", hint="Leave one of them out.")

    @classmethod
    def of(
        cls,
        *,
        turns: float | None = None,
        tokens: float | None = None,
        cost: float | None = None,
        seconds: float | None = None,
        scope: BudgetScope = "run",
    ) -> Self:
        """Return limits of one scope; ``None`` sets none."""
        given: dict[BudgetKind, float | None] = {"turns": turns, "tokens": tokens, "cost": cost, "time": seconds}
        return cls(tuple(Limit(kind, scope, amount) for kind, amount in given.items() if amount is not None))

    def get(self, kind: BudgetKind, scope: BudgetScope) -> Limit | None:
        """Return the limit of this kind and scope, if there is one."""
        return next((limit for limit in self.limits if (limit.kind, limit.scope) == (kind, scope)), None)

    def with_limit(self, kind: BudgetKind, scope: BudgetScope, amount: float | None) -> Budgets:
        """Return the budgets with this limit set anew, or lifted (``None``)."""
        rest = tuple(limit for limit in self.limits if (limit.kind, limit.scope) != (kind, scope))
        return Budgets(rest if amount is None else (*rest, Limit(kind, scope, amount)))


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent: answers, tokens and money, and seconds at work."""

    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.turns + other.turns, self.usage + other.usage, self.seconds + other.seconds)

    def amount(self, kind: BudgetKind) -> float:
        """Return the amount of one kind, in its own unit.

        Tokens are those of each call's whole prompt, whether read anew, from a cache or written to one, and of its
        answer, reasoning included: the size of the work, whatever it costs. Money is what is known to have been
        spent; calls whose price is not known add nothing to it.
        """
        match kind:
            case "turns":
                return self.turns
            case "tokens":
                return self.usage.context + self.usage.output
            case "cost":
                return self.usage.cost or 0.0
            case "time":
                return self.seconds
        assert_never(kind)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a limit stands: ``spent`` of it, in its own unit, and whether that asks for something."""

    limit: Limit
    spent: float
    state: State

    @property
    def left(self) -> float:
        """What may still be spent; never below 0."""
        return max(0.0, self.limit.amount - self.spent)


def judge(
    budgets: Budgets, by_scope: Mapping[BudgetScope, Spent], warned: Collection[Limit] = ()
) -> tuple[Verdict, ...]:
    """Say of each limit how it stands.

    Parameters
    ----------
    budgets
        The limits.
    by_scope
        What each scope has spent; a scope left out has spent nothing.
    warned
        Limits that were warned about already: they stay ``ok`` until they are reached. An extended limit is
        another one.
    """
    return tuple(
        _verdict(limit, by_scope.get(limit.scope, Spent()).amount(limit.kind), warned) for limit in budgets.limits
    )


def _verdict(limit: Limit, spent: float, warned: Collection[Limit]) -> Verdict:
    if spent >= limit.amount:
        return Verdict(limit, spent, "reached")
    return Verdict(limit, spent, "warn" if spent >= WARN_AT * limit.amount and limit not in warned else "ok")


def spent_in(session: Session) -> Spent:
    """Return what a session has spent: every run of it, on whatever branch, and one that is under way or was cut off.

    Of runs that ended their record tells; of others the turns they left. ``turns`` are those of the active branch.
    """
    recorded = {run.id: run.usage for run in session.runs if run.usage is not None}
    answers = answers_of(session.turns)
    return Spent(
        sum(not answer.is_summary for answer in answers),
        sum(recorded.values(), spent(answer for answer in answers if answer.run_id not in recorded)),
        sum(run.seconds or 0.0 for run in session.runs),
    )


def unknown_price(model: str, limit: Limit) -> ConfigurationError:
    """Return the error for a limit on money that cannot be kept."""
    return ConfigurationError(
        f"The price of {model} is not known, so a limit of ${limit.amount:g} cannot be kept.",
        hint="Use a limit on turns or tokens instead, or a model whose price is known.",
    )

"""The ledger of a run: what it spends, what is left of its limits, and the check before more is spent."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Any, Final, TypeAlias

from zidane_lab.agent.budgets import KINDS, Budgets, Limit, Spent, Verdict, judge, unknown_price
from zidane_lab.errors import BudgetExceededError
from zidane_lab.events import BudgetKind, BudgetReached, BudgetScope, BudgetWarning, Ids
from zidane_lab.providers.base import Provider
from zidane_lab.turns import Usage

__all__ = ["SPENDABLE", "BudgetLedger", "check"]

SPENDABLE: Final[frozenset[BudgetKind]] = frozenset({"tokens", "cost", "time"})
"""What the calls of an answer may still spend: the kinds to check before they run."""

_NO_LIMITS: Final = Budgets()
_NOTHING: Final = Spent()

_Emit: TypeAlias = Callable[[Any], Awaitable[Any]]


class BudgetLedger:
    """What a run spends, and the limits on it.

    Time begins when the ledger is made. Use it from the run's own event loop.

    Parameters
    ----------
    budgets
        The limits.
    session
        What the session had spent before this run (:func:`~zidane_lab.agent.budgets.spent_in`).
    notebook
        Returns what all sessions of the notebook, this one included, had spent before this run. Called at once, and
        only if the notebook has a limit; what others spend meanwhile counts from the next run on.
    parent
        The ledger of the run this one works for: what is spent here counts there too, except turns, and its limits
        hold here too. Made by :meth:`child`.
    clock
        Seconds, from wherever.

    Attributes
    ----------
    budgets
        The limits as they stand, extensions included.
    warned, refused
        Limits that were warned about, and those whose extension was refused.
    lock
        Held while somebody is asked to extend a limit, so that of several children only one asks.
    """

    def __init__(
        self,
        budgets: Budgets = _NO_LIMITS,
        *,
        session: Spent = _NOTHING,
        notebook: Callable[[], Spent] | None = None,
        parent: BudgetLedger | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budgets = budgets
        self.warned: set[Limit] = set()
        self.refused: set[Limit] = set()
        self.lock = asyncio.Lock()
        self._parent = parent
        asked = notebook is not None and any(limit.scope == "notebook" for limit in budgets.limits)
        self._before: dict[BudgetScope, Spent] = {
            "session": session,
            "notebook": notebook() if asked and notebook is not None else session,
        }
        self._turns, self._usage = 0, Usage()
        self._unpriced: str | None = None
        self._clock, self._began = clock, clock()
        self._waits, self._wait_began, self._waited = 0, 0.0, 0.0

    # --- spending -----------------------------------------------------------------------------------

    def add(self, usage: Usage | None, *, turns: int = 0, metered: bool = True, model: str = "") -> None:
        """Count one call of a model: an answer (``turns=1``), a summary, an attempt that failed.

        Parameters
        ----------
        usage
            The call's tokens; ``None`` if the service told none. Leave out attempts that never reached the service.
        turns
            Answers of this run's own model.
        metered
            Whether the call costs money per token; if not, it costs nothing.
        model
            Its full name, for messages.
        """
        self._turns += turns
        self._usage = self._usage + (usage or Usage())
        if metered and (usage is None or usage.cost is None):
            self._unpriced = model or "the model"
        if self._parent is not None:
            self._parent.add(usage, metered=metered, model=model)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the time while a person is waited for, here and in every ledger above; waits may overlap."""
        if self._waits == 0:
            self._wait_began = self._clock()
        self._waits += 1
        try:
            with self._parent.paused() if self._parent is not None else contextlib.nullcontext():
                yield
        finally:
            self._waits -= 1
            if self._waits == 0:
                self._waited += self._clock() - self._wait_began

    @property
    def waited(self) -> float:
        """Seconds spent waiting for a person."""
        return self._waited + (self._clock() - self._wait_began if self._waits else 0.0)

    def spent(self, scope: BudgetScope = "run") -> Spent:
        """Return what was spent: by this run and its children, or by what it is part of, this run included."""
        if scope == "run":
            return Spent(self._turns, self._usage, max(0.0, self._clock() - self._began - self.waited))
        if self._parent is not None:
            return self._parent.spent(scope)
        return self._before[scope] + self.spent()

    # --- limits -------------------------------------------------------------------------------------

    def child(self, budgets: Budgets = _NO_LIMITS) -> BudgetLedger:
        """Return the ledger of a run that works for this one; ``budgets`` are limits of its own."""
        return BudgetLedger(budgets, parent=self, clock=self._clock)

    def owners(self) -> Iterator[BudgetLedger]:
        """Yield the ledgers whose limits hold here: this one, then those above it."""
        owner: BudgetLedger | None = self
        while owner is not None:
            yield owner
            owner = owner._parent  # noqa: SLF001 - another one of this class

    def verdicts(self) -> tuple[Verdict, ...]:
        """Say how each of the ledger's own limits stands."""
        spent = {scope: self.spent(scope) for scope in {limit.scope for limit in self.budgets.limits}}
        return judge(self.budgets, spent, self.warned)

    def verdict(self, kind: BudgetKind, scope: BudgetScope) -> Verdict | None:
        """Say how one of the ledger's own limits stands; ``None`` if there is none of this kind and scope."""
        return next((each for each in self.verdicts() if (each.limit.kind, each.limit.scope) == (kind, scope)), None)

    def holding(self) -> tuple[tuple[BudgetLedger, Limit], ...]:
        """Return the limits that hold for this run, each with the ledger it belongs to: its own come first.

        A limit on turns bounds one agent's loop, so those of the ledgers above are left out.
        """
        return tuple(
            (owner, limit)
            for owner in self.owners()
            for limit in owner.budgets.limits
            if owner is self or limit.kind != "turns"
        )

    def left(self, kind: BudgetKind) -> float | None:
        """Return how much may still be spent of a kind, in its unit; ``None`` where nothing limits it."""
        standing = [owner.verdict(kind, limit.scope) for owner, limit in self.holding() if limit.kind == kind]
        return min((verdict.left for verdict in standing if verdict is not None), default=None)

    def extend(self, limit: Limit, amount: float) -> None:
        """Put another amount in the place of a limit's."""
        self.budgets = self.budgets.with_limit(limit.kind, limit.scope, amount)

    def require_price(self, provider: Provider, model: str) -> None:
        """Make sure that a limit on money can be kept with this model; ask before anything is spent.

        Raises
        ------
        ConfigurationError
            There is such a limit and the price is not known. Traffic that is not metered needs none.
        """
        limit = self._cost_limit()
        if limit is not None and provider.capabilities.metered and not provider.price_known(model):
            raise unknown_price(f"{provider.name}/{model}", limit)

    def require_known_cost(self) -> None:
        """Make sure that a limit on money counts all there is.

        Raises
        ------
        ConfigurationError
            There is such a limit, and a metered call came without its cost.
        """
        limit = self._cost_limit()
        if limit is not None and self._unpriced is not None:
            raise unknown_price(self._unpriced, limit)

    def _cost_limit(self) -> Limit | None:
        limits = [limit for _, limit in self.holding() if limit.kind == "cost"]
        return min(limits, key=lambda limit: limit.amount, default=None)


async def check(ledger: BudgetLedger, emit: _Emit, ids: Ids, *, kinds: Collection[BudgetKind] = KINDS) -> None:
    """Judge the limits that hold for a run; call it before anything more is spent.

    A limit of which 80 % are spent is told once (``budget:warning``), and again when it was extended. One that is
    reached is put to the handlers of ``budget:reached``; meanwhile the run's time stands still.

    Parameters
    ----------
    ledger
        The run's.
    emit
        Tells an event to its subscribers (:meth:`zidane_lab.agent.hooks.HookBus.emit`).
    ids
        Of the events.
    kinds
        The kinds of limits to judge: all before a model is asked, :data:`SPENDABLE` before calls are run.

    Raises
    ------
    BudgetExceededError
        A limit is reached and nobody extended it beyond what is spent.
    ConfigurationError
        Money is limited, and a call came without its cost.
    """
    if "cost" in kinds:
        ledger.require_known_cost()
    for owner, limit in ledger.holding():
        verdict = owner.verdict(limit.kind, limit.scope) if limit.kind in kinds else None
        if verdict is None or verdict.state == "ok":
            continue
        if verdict.state == "warn":
            owner.warned.add(verdict.limit)
            await emit(BudgetWarning(ids, limit.kind, limit.scope, verdict.limit.amount, verdict.spent))
        else:
            async with owner.lock:
                await _extend_or_end(ledger, owner, limit, emit, ids)


async def _extend_or_end(ledger: BudgetLedger, owner: BudgetLedger, limit: Limit, emit: _Emit, ids: Ids) -> None:
    kind, scope = limit.kind, limit.scope
    verdict = owner.verdict(kind, scope)  # while another child asked, it may have been extended
    if verdict is None or verdict.state != "reached":
        return
    amount, spent = verdict.limit.amount, verdict.spent
    if verdict.limit not in owner.refused:
        event = BudgetReached(ids, kind, scope, amount, spent)
        with ledger.paused():
            await emit(event)
        if event.extend_to is not None and math.isfinite(event.extend_to) and event.extend_to > spent:
            owner.extend(verdict.limit, event.extend_to)
            return
        owner.refused.add(verdict.limit)
    raise BudgetExceededError(kind, amount, spent, scope=scope, hint=_hint(verdict.limit))


def _hint(limit: Limit) -> str | None:
    """Say how to raise a limit that outlives the run; of a run's own the error says it."""
    if limit.scope == "session":
        return (
            f"The work so far is kept: raise it with `%zidane /budget session {limit.kind} AMOUNT` and prompt again, "
            "or start anew with `%zidane /new`."
        )
    if limit.scope == "notebook" and limit.kind in ("cost", "tokens"):
        return (
            f"The work so far is kept: raise it with `%zidane /config notebook_max_{limit.kind} AMOUNT` "
            "and prompt again."
        )
    return None

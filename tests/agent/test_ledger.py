"""What a run spends is counted once and everywhere it counts, and no more is spent past a limit."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.support import Recorder
from zidane_lab.agent.budgets import Budgets, Limit, Spent
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.ledger import SPENDABLE, BudgetLedger, check
from zidane_lab.errors import BudgetExceededError, ConfigurationError
from zidane_lab.events import BudgetReached, BudgetWarning, Ids
from zidane_lab.providers.base import Capabilities
from zidane_lab.turns import Usage

IDS = Ids("run_1")


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ledger_of(*limits: Limit, **options) -> BudgetLedger:
    return BudgetLedger(Budgets(limits), clock=options.pop("clock", Clock()), **options)


def bus() -> tuple[HookBus, Recorder]:
    hooks = HookBus()
    return hooks, Recorder(hooks)


# --- counting -------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1)), max_size=20))
def test_calls_add_up_in_the_run_its_session_and_its_notebook(calls):
    before, elsewhere = Spent(3, Usage(input=7), 2.0), Spent(9, Usage(input=70), 20.0)
    ledger = ledger_of(Limit("tokens", "notebook", 10**9), session=before, notebook=lambda: elsewhere)
    for read, written, turns in calls:
        ledger.add(Usage(input=read, output=written, cost=0.5), turns=turns)
    run = ledger.spent()
    assert run.amount("tokens") == sum(read + written for read, written, _ in calls)
    assert run.turns == sum(turns for *_, turns in calls)
    assert ledger.spent("session") == before + run
    assert ledger.spent("notebook") == elsewhere + run


def test_the_notebook_is_only_read_for_a_limit_on_it():
    def read() -> Spent:
        raise AssertionError("it was read")

    ledger_of(Limit("cost", "session", 1), notebook=read)
    with pytest.raises(AssertionError):
        ledger_of(Limit("cost", "notebook", 1), notebook=read)


def test_a_notebook_nobody_knows_of_has_spent_what_the_session_has():
    ledger = ledger_of(Limit("tokens", "notebook", 100), session=Spent(usage=Usage(input=30)))
    assert ledger.left("tokens") == 70


def test_what_a_child_spends_counts_above_it_but_its_turns_are_its_own():
    parent = ledger_of(session=Spent(usage=Usage(input=5)))
    child = parent.child()
    grandchild = child.child()
    parent.add(Usage(input=1, cost=0.1), turns=1)
    child.add(Usage(input=10, cost=0.2), turns=1)
    grandchild.add(Usage(input=100, cost=0.4), turns=1)
    assert [each.spent().amount("tokens") for each in (parent, child, grandchild)] == [111, 110, 100]
    assert [each.spent().turns for each in (parent, child, grandchild)] == [1, 1, 1]
    assert parent.spent().usage.cost == pytest.approx(0.7)
    assert grandchild.spent("session") == parent.spent("session")


# --- time -----------------------------------------------------------------------------------------


def test_time_stands_still_while_a_person_is_waited_for():
    clock = Clock()
    ledger = ledger_of(clock=clock)
    clock.now += 5
    with ledger.paused():
        clock.now += 60
        assert (ledger.spent().seconds, ledger.waited) == (5, 60)
        with ledger.paused():  # a second question beside the first
            clock.now += 10
        clock.now += 1
    clock.now += 2
    assert (ledger.spent().seconds, ledger.waited) == (7, 71)


def test_a_child_s_wait_stops_the_time_of_all():
    clock = Clock()
    parent = ledger_of(clock=clock)
    clock.now += 3
    child = parent.child()
    with child.paused():
        clock.now += 50
    clock.now += 1
    assert (parent.spent().seconds, child.spent().seconds) == (4, 1)


def test_time_goes_on_when_the_wait_fails():
    clock = Clock()
    ledger = ledger_of(clock=clock)

    def ask() -> None:
        with ledger.paused():
            clock.now += 9
            raise KeyError

    with pytest.raises(KeyError):
        ask()
    clock.now += 1
    assert (ledger.spent().seconds, ledger.waited) == (1, 9)


# --- the check ------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_nothing_is_said_of_limits_that_are_far():
    hooks, seen = bus()
    ledger = ledger_of(Limit("turns", "run", 10), Limit("cost", "session", 1))
    ledger.add(Usage(cost=0.1), turns=7)
    await check(ledger, hooks.emit, IDS)
    assert seen.events == []


@pytest.mark.asyncio
async def test_a_limit_is_warned_about_once():
    hooks, seen = bus()
    ledger = ledger_of(Limit("turns", "run", 10))
    ledger.add(None, turns=8, metered=False)
    await check(ledger, hooks.emit, IDS)
    ledger.add(None, turns=1, metered=False)
    await check(ledger, hooks.emit, IDS)
    assert seen.events == [BudgetWarning(IDS, "turns", "run", 10, 8)]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("limit", "hint"),
    [
        (Limit("cost", "run", 0.5), "raise the limit and prompt again"),
        (Limit("cost", "session", 0.5), "/budget session cost"),
        (Limit("cost", "notebook", 0.5), "/config notebook_max_cost"),
    ],
)
async def test_a_limit_that_nobody_extends_ends_the_run(limit, hint):
    hooks, seen = bus()
    ledger = ledger_of(limit)
    ledger.add(Usage(output=5, cost=0.6))
    with pytest.raises(BudgetExceededError) as caught:
        await check(ledger, hooks.emit, IDS)
    error = caught.value
    assert (error.kind, error.limit, error.used, error.scope) == ("cost", 0.5, 0.6, limit.scope)
    assert hint in error.hint
    assert [event.name for event in seen.events] == ["budget:reached"]


@pytest.mark.asyncio
async def test_what_a_session_spent_before_ends_the_next_run_before_it_spends():
    hooks, _ = bus()
    ledger = ledger_of(Limit("tokens", "session", 100), session=Spent(usage=Usage(input=100)))
    with pytest.raises(BudgetExceededError, match="budget of this session"):
        await check(ledger, hooks.emit, IDS)


@pytest.mark.asyncio
async def test_a_limit_that_is_extended_holds_at_the_new_amount_and_is_warned_about_anew():
    hooks, seen = bus()
    hooks.on(BudgetReached, lambda event: setattr(event, "extend_to", 20))
    ledger = ledger_of(Limit("turns", "run", 10))
    for turns in (8, 2, 6, 2):  # 8 warn, 10 reached and extended, 16 warn, 18 nothing new
        ledger.add(None, turns=turns, metered=False)
        await check(ledger, hooks.emit, IDS)
    assert [(event.name, event.limit, event.spent) for event in seen.events] == [
        ("budget:warning", 10, 8),
        ("budget:reached", 10, 10),
        ("budget:warning", 20, 16),
    ]
    ledger.add(None, turns=2, metered=False)
    with pytest.raises(BudgetExceededError, match="20 of 20"):  # the handler gives what is spent already
        await check(ledger, hooks.emit, IDS)


@pytest.mark.asyncio
@pytest.mark.parametrize("extend_to", [None, 0, -5, 9.9, 10, float("nan"), float("inf")])
async def test_an_extension_that_is_none_ends_the_run(extend_to):
    hooks, _ = bus()
    hooks.on(BudgetReached, lambda event: setattr(event, "extend_to", extend_to))
    ledger = ledger_of(Limit("turns", "run", 5))
    ledger.add(None, turns=10, metered=False)
    with pytest.raises(BudgetExceededError):
        await check(ledger, hooks.emit, IDS)


@pytest.mark.asyncio
async def test_a_handler_that_fails_extends_nothing():
    hooks, seen = bus()

    def fail(_event: BudgetReached) -> None:
        raise RuntimeError("no terminal")

    hooks.on(BudgetReached, fail)
    ledger = ledger_of(Limit("turns", "run", 1))
    ledger.add(None, turns=1, metered=False)
    with pytest.raises(BudgetExceededError):
        await check(ledger, hooks.emit, IDS)
    assert seen.of("hook:failed")[0].about == "budget:reached"


@pytest.mark.asyncio
async def test_time_spent_on_the_question_does_not_count():
    clock = Clock()
    hooks, _ = bus()

    async def think(event: BudgetReached) -> None:
        clock.now += 3600
        event.extend_to = 20

    hooks.on(BudgetReached, think)
    ledger = ledger_of(Limit("time", "run", 10), clock=clock)
    clock.now += 10
    await check(ledger, hooks.emit, IDS)
    assert ledger.spent().seconds == 10
    await check(ledger, hooks.emit, IDS)


@pytest.mark.asyncio
async def test_only_the_kinds_asked_for_are_judged():
    hooks, _ = bus()
    ledger = ledger_of(Limit("turns", "run", 1), Limit("tokens", "run", 10))
    ledger.add(Usage(input=1), turns=1, metered=False)
    await check(ledger, hooks.emit, IDS, kinds=SPENDABLE)
    ledger.add(Usage(input=9), metered=False)
    with pytest.raises(BudgetExceededError, match="tokens budget"):
        await check(ledger, hooks.emit, IDS, kinds=SPENDABLE)


# --- children -------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_child_is_bounded_by_its_own_limits_and_those_above():
    hooks, _ = bus()
    parent = ledger_of(Limit("tokens", "run", 100), Limit("turns", "run", 1))
    parent.add(Usage(input=40), turns=1, metered=False)  # its turns are used up; that is its own affair
    child = parent.child(Budgets.of(tokens=1000, turns=50))
    assert child.left("tokens") == 60
    assert child.left("turns") == 50
    child.add(Usage(input=39), turns=1, metered=False)
    await check(child, hooks.emit, IDS)
    child.add(Usage(input=21), turns=1, metered=False)
    with pytest.raises(BudgetExceededError, match="100 of 100"):
        await check(child, hooks.emit, IDS)


@pytest.mark.asyncio
async def test_an_extension_asked_for_by_a_child_is_its_parent_s():
    hooks, _ = bus()
    hooks.on(BudgetReached, lambda event: setattr(event, "extend_to", 200))
    parent = ledger_of(Limit("tokens", "run", 100))
    child = parent.child()
    child.add(Usage(input=100), metered=False)
    await check(child, hooks.emit, IDS)
    assert parent.budgets.get("tokens", "run") == Limit("tokens", "run", 200)
    assert child.left("tokens") == 100


@pytest.mark.asyncio
@pytest.mark.parametrize("extend_to", [200, None])
async def test_of_several_children_one_asks_for_all(extend_to):
    hooks, seen = bus()

    async def slowly(event: BudgetReached) -> None:
        await asyncio.sleep(0)
        event.extend_to = extend_to

    hooks.on(BudgetReached, slowly)
    parent = ledger_of(Limit("tokens", "run", 100))
    parent.add(Usage(input=100), metered=False)
    outcomes = await asyncio.gather(*(check(parent.child(), hooks.emit, IDS) for _ in range(3)), return_exceptions=True)
    assert len(seen.of("budget:reached")) == 1
    assert [type(each) for each in outcomes] == [BudgetExceededError if extend_to is None else type(None)] * 3


# --- prices ---------------------------------------------------------------------------------------


class Service:
    name, default_model = "service", "m"

    def __init__(self, *, metered: bool = True, priced: bool = True) -> None:
        self.capabilities, self.priced = Capabilities(metered=metered), priced

    def price_known(self, model: str) -> bool:
        return self.priced


@pytest.mark.parametrize("scope", ["run", "session", "notebook"])
def test_a_limit_on_money_needs_a_price_on_metered_traffic(scope):
    ledger = ledger_of(Limit("cost", scope, 1))
    for each in (ledger, ledger.child()):
        each.require_price(Service(), "m")
        each.require_price(Service(metered=False, priced=False), "m")
        with pytest.raises(ConfigurationError, match="price of service/m is not known"):
            each.require_price(Service(priced=False), "m")
    ledger_of(Limit("tokens", scope, 1)).require_price(Service(priced=False), "m")


@pytest.mark.asyncio
@pytest.mark.parametrize("usage", [None, Usage(input=10)])
async def test_a_metered_call_without_its_cost_cannot_be_kept_within_a_limit(usage):
    hooks, _ = bus()
    ledger = ledger_of(Limit("cost", "run", 1))
    ledger.add(Usage(input=10, cost=0.1), model="a/b")
    await check(ledger, hooks.emit, IDS)
    ledger.child().add(usage, model="c/d")
    with pytest.raises(ConfigurationError, match="price of c/d"):
        await check(ledger, hooks.emit, IDS)
    await check(ledger, hooks.emit, IDS, kinds=("turns",))
    free = ledger_of(Limit("cost", "run", 1))
    free.add(usage, metered=False)
    await check(free, hooks.emit, IDS)

"""A budget that is used up is put to the person, and only a clear yes goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.budgets import Budgets, Limit
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.ledger import BudgetLedger, check
from zidane_lab.chat.budget_asking import BudgetAsking, budget_question
from zidane_lab.chat.budgets import decided_limits
from zidane_lab.errors import AbortedError, BudgetExceededError
from zidane_lab.events import BudgetReached, Ids
from zidane_lab.session.session import Session
from zidane_lab.turns import Usage

pytestmark = pytest.mark.asyncio

IDS = Ids("run_1")


class Person:
    """Answers as told, and keeps what was asked."""

    def __init__(self, *answers) -> None:
        self.answers, self.asked = list(answers), []

    async def __call__(self, question):
        self.asked.append(question)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def asking(person, session=None) -> HookBus:
    hooks = HookBus()
    hooks.use(BudgetAsking(person, session))
    return hooks


async def spend(ledger, hooks, cost) -> None:
    ledger.add(Usage(cost=cost), turns=1)
    await check(ledger, hooks.emit, IDS)


async def test_yes_extends_by_the_first_amount_each_time():
    person = Person(True, True, False)
    hooks = asking(person)
    ledger = BudgetLedger(Budgets.of(cost=1.0))
    for cost, limit in ((1.04, 2.0), (0.9, 2.0), (0.1, 3.0)):
        await spend(ledger, hooks, cost)
        assert ledger.budgets.get("cost", "run").amount == limit
    with pytest.raises(BudgetExceededError, match=r"of \$3"):
        await spend(ledger, hooks, 1.0)
    assert len(person.asked) == 3


@pytest.mark.parametrize("answer", [False, None, RuntimeError("no terminal"), "yes", 1])
async def test_anything_but_yes_ends_the_run(answer):
    hooks = asking(Person(answer))
    ledger = BudgetLedger(Budgets.of(cost=1.0))
    with pytest.raises(BudgetExceededError):
        await spend(ledger, hooks, 1.0)


async def test_a_stop_at_the_question_stops_the_run():
    with pytest.raises(AbortedError):
        await spend(BudgetLedger(Budgets.of(cost=1.0)), asking(Person(AbortedError("Stopped."))), 1.0)


async def test_the_question_says_what_is_used_up_and_what_a_yes_allows():
    person = Person(True)
    await spend(BudgetLedger(Budgets.of(cost=1.0)), asking(person), 1.0423)
    (question,) = person.asked
    assert question.tool == "budget"
    for words in ("limit of $2.00", "the cost budget of this run is used up", "$1.0423 of $1.00"):
        assert words in question.text


@pytest.mark.parametrize("kind", ["turns", "tokens", "cost", "time"])
async def test_every_kind_is_asked_about_in_its_own_words(kind):
    text = budget_question(BudgetReached(IDS, kind, "session", 60, 61), 120).text
    words = {"turns": "120 turns", "tokens": "120 tokens", "cost": "$120.00", "time": "2m"}[kind]
    assert f"limit of {words}" in text
    assert "of this session" in text


@given(limit=st.floats(0.01, 1000), times=st.floats(1, 50))
async def test_a_yes_always_reaches_past_what_is_spent(limit, times):
    event = BudgetReached(IDS, "cost", "run", limit, limit * times)
    await BudgetAsking(Person(True))(event)
    assert event.extend_to > event.spent
    assert event.extend_to <= event.spent + limit * 1.001


async def test_a_yes_about_the_session_holds_for_its_later_runs():
    session = Session.memory()
    for scope, recorded in (("run", {}), ("session", {("cost", "session"): 2.0})):
        ledger = BudgetLedger(Budgets((Limit("cost", scope, 1.0),)))
        await spend(ledger, asking(Person(True), session), 1.0)
        assert decided_limits(session) == recorded


async def test_what_another_handler_decided_is_not_asked_about():
    person = Person()
    hooks = HookBus()
    hooks.on(BudgetReached, lambda event: setattr(event, "extend_to", 7))
    hooks.use(BudgetAsking(person))
    ledger = BudgetLedger(Budgets.of(cost=1.0))
    await spend(ledger, hooks, 1.0)
    assert (person.asked, ledger.budgets.get("cost", "run").amount) == ([], 7)

"""Limits are values: what reaches one, what is warned about, and what a session had spent."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.budgets import KINDS, SCOPES, WARN_AT, Budgets, Limit, Spent, judge, spent_in
from zidane_lab.errors import ConfigurationError
from zidane_lab.session.session import Session
from zidane_lab.turns import CompactSummaryBlock, TextBlock, Turn, Usage

AMOUNTS = st.floats(min_value=1e-6, max_value=1e12)


def spent_of(kind: str, amount: float) -> Spent:
    """What has spent this much of one kind."""
    return {
        "turns": lambda: Spent(turns=int(amount)),
        "tokens": lambda: Spent(usage=Usage(input=int(amount))),
        "cost": lambda: Spent(usage=Usage(cost=amount)),
        "time": lambda: Spent(seconds=amount),
    }[kind]()


@pytest.mark.parametrize("amount", [0, -1, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_amount_is_no_limit(kind, amount):
    with pytest.raises(ConfigurationError, match=f"A {kind} budget"):
        Limit(kind, "run", amount)


def test_there_is_one_limit_of_a_kind_and_scope():
    with pytest.raises(ConfigurationError, match="same kind and scope"):
        Budgets((Limit("cost", "run", 1), Limit("cost", "run", 2)))
    Budgets((Limit("cost", "run", 1), Limit("cost", "session", 2), Limit("tokens", "run", 1)))


def test_limits_are_set_replaced_and_lifted_without_touching_the_others():
    budgets = Budgets.of(turns=5, cost=0.5, tokens=None)
    assert budgets.limits == (Limit("turns", "run", 5), Limit("cost", "run", 0.5))
    higher = budgets.with_limit("cost", "run", 1.0).with_limit("cost", "session", 9)
    assert (higher.get("cost", "run"), higher.get("cost", "session")) == (
        Limit("cost", "run", 1.0),
        Limit("cost", "session", 9),
    )
    lifted = higher.with_limit("cost", "run", None)
    assert lifted.get("cost", "run") is None
    assert lifted.get("turns", "run") == Limit("turns", "run", 5)
    assert budgets.get("cost", "run") == Limit("cost", "run", 0.5)  # a value


def test_tokens_are_the_whole_prompt_and_the_whole_answer():
    usage = Usage(input=10, output=5, cache_read=300, cache_creation=40, reasoning=4, cost=None)
    assert Spent(usage=usage).amount("tokens") == 355
    assert Spent(usage=usage).amount("cost") == 0.0


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("part", "state"), [(0.0, "ok"), (0.79, "ok"), (0.8, "warn"), (0.99, "warn"), (1.0, "reached"), (3.0, "reached")]
)
def test_each_kind_and_scope_is_warned_about_at_80_percent_and_reached_at_all_of_it(kind, scope, part, state):
    limit = Limit(kind, scope, 1000)
    (verdict,) = judge(Budgets((limit,)), {scope: spent_of(kind, 1000 * part)})
    assert (verdict.limit, verdict.state) == (limit, state)
    assert verdict.left == pytest.approx(max(0, 1000 - 1000 * part))


def test_another_scope_s_spending_is_not_judged():
    (verdict,) = judge(Budgets.of(cost=1, scope="session"), {"run": Spent(usage=Usage(cost=5))})
    assert (verdict.spent, verdict.state) == (0.0, "ok")


@given(amount=AMOUNTS, spent=st.floats(min_value=0, max_value=1e13))
def test_a_limit_is_warned_about_once_but_reached_all_the_same(amount, spent):
    limit = Limit("time", "run", amount)
    by_scope = {"run": Spent(seconds=spent)}
    (first,) = judge(Budgets((limit,)), by_scope)
    (second,) = judge(Budgets((limit,)), by_scope, {limit})
    assert (first.state == "reached") == (second.state == "reached") == (spent >= amount)
    assert second.state != "warn"
    if first.state == "warn":
        assert spent >= WARN_AT * amount
        extended = Limit("time", "run", spent * 1.1 + 1e-9)
        assert judge(Budgets((extended,)), by_scope, {limit})[0].state == "warn"  # another limit, warned about anew


# --- what a session had spent ---------------------------------------------------------------------


def answer(text: str, run_id: str | None, **usage) -> Turn:
    return Turn("assistant", (TextBlock(text),), run_id=run_id, usage=Usage(**usage))


def test_a_session_s_runs_are_counted_by_their_records_and_the_rest_by_its_turns():
    session = Session.memory()
    assert spent_in(session) == Spent()
    run = session.start_run("a")
    session.append(Turn("user", (TextBlock("a"),), run_id=run.id))
    session.append(answer("x", run.id, input=10, output=1, cost=0.1))
    # The record knows more than the turns: children, attempts that failed.
    session.end_run(run.id, "completed", usage=Usage(input=110, output=11, cost=0.3), seconds=4.0)
    cut = session.start_run("b")
    session.append(Turn("user", (TextBlock("b"),), run_id=cut.id))
    session.append(answer("y", cut.id, input=20, output=2))  # a run that is under way, or was cut off
    session.append(answer("z", None, input=1, output=1, cost=0.01))
    spent = spent_in(session)
    assert spent.turns == 3
    assert (spent.usage.input, spent.usage.output) == (131, 14)
    assert spent.usage.cost == pytest.approx(0.31)
    assert spent.seconds == 4.0


def test_a_summary_costs_but_is_no_turn():
    session = Session.memory()
    session.append(Turn("user", (CompactSummaryBlock("s"),), usage=Usage(input=500, cost=0.2)))
    assert spent_in(session) == Spent(0, Usage(input=500, cost=0.2))


def test_what_another_branch_cost_stays_spent():
    session = Session.memory()
    run = session.start_run("a")
    first = session.append(Turn("user", (TextBlock("a"),), run_id=run.id))
    session.append(answer("x", run.id, input=10, cost=1.0))
    session.end_run(run.id, "completed", usage=Usage(input=10, cost=1.0))
    session.move_to(first.id)
    assert spent_in(session).usage.cost == 1.0

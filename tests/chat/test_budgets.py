"""Options go before the session's decisions, those before the settings; what a notebook spent is counted once."""

from __future__ import annotations

import json

import pytest

from zidane_lab.agent.budgets import Budgets, Limit
from zidane_lab.chat.budgets import BUDGET, budgets_in_force, decided_limits, notebook_spent, record_limit
from zidane_lab.chat.settings import Settings
from zidane_lab.errors import ConfigurationError
from zidane_lab.session.session import Session
from zidane_lab.turns import CompactSummaryBlock, TextBlock, Turn, Usage


def test_by_default_only_turns_are_limited():
    assert budgets_in_force(Settings(), Session.memory()) == Budgets.of(turns=100)


def test_settings_limit_the_run_the_session_and_the_notebook():
    settings = Settings(
        max_turns=None,
        max_cost=1,
        max_tokens=2,
        max_minutes=1.5,
        session_max_cost=3,
        session_max_tokens=4,
        notebook_max_cost=5,
        notebook_max_tokens=6,
    )
    assert set(budgets_in_force(settings, Session.memory()).limits) == {
        Limit("cost", "run", 1),
        Limit("tokens", "run", 2),
        Limit("time", "run", 90),
        Limit("cost", "session", 3),
        Limit("tokens", "session", 4),
        Limit("cost", "notebook", 5),
        Limit("tokens", "notebook", 6),
    }


def test_options_of_a_prompt_go_first_for_its_run():
    settings = Settings(max_cost=1, max_tokens=2, max_minutes=3, session_max_cost=4)
    budgets = budgets_in_force(settings, Session.memory(), turns=10, tokens=20, cost=30, seconds=40)
    assert budgets == Budgets(
        (*Budgets.of(turns=10, tokens=20, cost=30, seconds=40).limits, Limit("cost", "session", 4))
    )


def test_the_newest_decision_of_a_session_goes_before_the_settings():
    session, settings = Session.memory(), Settings(max_turns=None, session_max_cost=4)
    record_limit(session, "session", "cost", 9)
    record_limit(session, "session", "time", 60)
    assert set(budgets_in_force(settings, session).limits) == {
        Limit("cost", "session", 9),
        Limit("time", "session", 60),
    }
    record_limit(session, "session", "cost", None)
    record_limit(session, "session", "time", 90)
    assert budgets_in_force(settings, session).limits == (Limit("time", "session", 90),)


@pytest.mark.parametrize("amount", [0, -1, float("nan"), float("inf")])
def test_what_is_no_amount_is_not_recorded(amount):
    session = Session.memory()
    with pytest.raises(ConfigurationError):
        record_limit(session, "session", "cost", amount)
    assert session.records(BUDGET) == ()


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"scope": "session", "kind": "cost"},
        {"scope": "session", "kind": "cost", "limit": "9"},
        {"scope": "session", "kind": "cost", "limit": -1},
        {"scope": "session", "kind": "cost", "limit": True},
        {"scope": "session", "kind": "cost", "limit": float("nan")},
        {"scope": "session", "kind": "love", "limit": 1},
        {"scope": "session", "kind": ["cost"], "limit": 1},
        {"scope": "run", "kind": "cost", "limit": 1},
        {"scope": {}, "kind": "cost", "limit": 1},
    ],
)
def test_damaged_decisions_are_passed_over(data):
    session = Session.memory()
    record_limit(session, "session", "cost", 2)
    session.record(BUDGET, data)
    assert decided_limits(session) == {("cost", "session"): 2}


def test_decisions_outlive_the_process(tmp_path):
    with Session.create(tmp_path) as session:
        record_limit(session, "session", "cost", 2.5)
        session.append(Turn("user", (TextBlock("hi"),)))
    with Session.open(session.path) as again:
        assert decided_limits(again) == {("cost", "session"): 2.5}


def test_a_notebook_spent_what_all_its_sessions_did_and_copies_cost_nothing(tmp_path):
    assert notebook_spent(tmp_path).turns == 0
    with Session.create(tmp_path) as first:
        asked = first.append(Turn("user", (TextBlock("a"),)))
        first.append(Turn("assistant", (TextBlock("x"),), usage=Usage(input=10, output=1, cost=0.5)))
        first.move_to(asked.id)  # another branch; the first was paid all the same
        first.append(Turn("assistant", (TextBlock("y"),), usage=Usage(input=20, output=2, cost=0.25)))
        first.append(Turn("user", (CompactSummaryBlock("s"),), usage=Usage(input=100, cost=1.0)))
    with Session.branch(first.path, folder=tmp_path) as copy:
        copy.append(Turn("user", (TextBlock("b"),)))
        copy.append(Turn("assistant", (TextBlock("z"),), usage=Usage(input=1000)))
    (tmp_path / f"{'2' * 8}-{'1' * 6}-abcdef.jsonl").write_text(json.dumps({"no": "session"}))
    spent = notebook_spent(tmp_path)
    assert spent.turns == 3
    assert (spent.usage.input, spent.usage.output, spent.usage.cost) == (1130, 3, 1.75)

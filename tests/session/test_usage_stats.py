"""What calls used: by model, in all, in the window now, and in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.session.usage_stats import (
    answers_of,
    context_now,
    format_cost,
    format_token_usage,
    spent,
    usage_by_model,
)
from zidane_lab.turns import CompactSummaryBlock, TextBlock, Turn, Usage


def answer(model="a/x", *, text="ok", **usage):
    return Turn("assistant", (TextBlock(text),), usage=Usage(**usage) if usage else None, model=model)


def asked(text="hi"):
    return Turn("user", (TextBlock(text),))


def summary(**usage):
    return Turn(
        "user", (CompactSummaryBlock("so far", ("t1",), {"model": "a/small"}),), usage=Usage(**usage) if usage else None
    )


def test_use_is_split_by_model_in_order_of_the_first_answer():
    turns = [asked(), answer("b/y", input=10, output=1, cost=0.5), answer(input=5, output=2), answer("b/y", output=3)]
    first, second = usage_by_model(turns)
    assert (first.model, first.turns, first.usage) == ("b/y", 2, Usage(10, 4, cost=0.5))
    assert first.unpriced == 1  # the last one has tokens but no price
    assert (second.model, second.turns, second.usage.cost, second.unpriced) == ("a/x", 1, None, 1)


def test_an_answer_without_a_model_is_unknown():
    (only,) = usage_by_model([answer(None, output=1)])
    assert only.model == "unknown"


def test_a_summary_costs_but_is_no_turn():
    (small,) = usage_by_model([summary(input=100, output=20, cost=0.01)])
    assert (small.model, small.turns, small.usage) == ("a/small", 0, Usage(100, 20, cost=0.01))
    assert answers_of([summary()]) == ()


def test_an_answer_that_died_uncounted_is_a_turn_without_use():
    (only,) = usage_by_model([answer()])
    assert (only.turns, only.usage, only.unpriced) == (1, Usage(), 0)


def test_context_now_is_the_newest_counted_prompt():
    turns = [answer(input=10, cache_read=90, output=7), asked(), answer(input=0, output=0), answer()]
    assert context_now(turns) == 100
    assert context_now([asked()]) == 0


def test_a_summary_says_nothing_of_the_window():
    written_by_the_model = Turn("assistant", (CompactSummaryBlock("so far"),), usage=Usage(input=9_000))
    assert context_now([answer(input=50), summary(input=7_000), written_by_the_model]) == 50


def test_context_and_spent_are_two_numbers():
    turns = [answer(input=100), answer(input=20, cache_read=100)]
    assert context_now(turns) == 120
    assert spent(answers_of(turns)).context == 220


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (Usage(2_413, 4_075, 50_000), "in 52413 (cache 50000) / 4075 out"),
        (Usage(10, 5, cache_creation=3), "in 13 / 5 out"),
        (Usage(), "in 0 / 0 out"),
    ],
)
def test_the_line_of_a_count(usage, words):
    assert format_token_usage(usage) == words


def test_thousands_are_parted_for_people():
    assert format_token_usage(Usage(2_413, 4_075, 50_000), separator=",") == "in 52,413 (cache 50,000) / 4,075 out"


@given(st.none() | st.floats(0, 1e9))
def test_a_cost_is_never_a_false_zero(cost):
    words = format_cost(cost)
    assert (words == "") == (not cost)
    assert "$0.00" not in words.split("<")[0] or float(words.lstrip("$")) > 0


@pytest.mark.parametrize(
    ("cost", "words"),
    [(None, ""), (0.0, ""), (0.00003, "<$0.0001"), (0.0123, "$0.0123"), (1.5, "$1.50"), (1234.5, "$1,234.50")],
)
def test_the_words_of_a_cost(cost, words):
    assert format_cost(cost) == words

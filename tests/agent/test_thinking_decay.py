"""Budgets for thinking that shrink in the course of a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.thinking_decay import GeometricDecay, StepDecay, decayed_budget
from zidane_lab.errors import ConfigurationError


def budgets(decay, turns=6, base=8000):
    return [decayed_budget(decay, turn, base) for turn in range(1, turns + 1)]


def test_without_a_schedule_the_budget_stays():
    assert budgets(None) == [8000] * 6


def test_one_step_down():
    assert budgets(StepDecay(after_turn=2, floor=1024)) == [8000, 8000, 1024, 1024, 1024, 1024]


def test_half_as_much_every_turn_down_to_a_floor():
    assert budgets(GeometricDecay(after_turn=2, factor=0.5, floor=1500)) == [8000, 8000, 4000, 2000, 1500, 1500]


def test_a_function_of_ones_own():
    assert budgets(lambda turn, base: base / turn - 2000) == [6000, 2000, 666, 0, 0, 0]


@given(st.integers(0, 10), st.floats(0.01, 0.99), st.integers(0, 10_000), st.integers(0, 50_000), st.integers(1, 2000))
def test_a_schedule_never_raises_a_budget_and_never_goes_below_its_floor(after, factor, floor, base, turn):
    for decay in (StepDecay(after, floor), GeometricDecay(after, factor, floor)):
        now, later = decayed_budget(decay, turn, base), decayed_budget(decay, turn + 1, base)
        assert base >= now >= later >= min(base, floor)


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), "1024", None, True])
def test_what_is_no_number_of_tokens_is_refused(answer):
    with pytest.raises(ConfigurationError, match="turn 3"):
        decayed_budget(lambda _turn, _base: answer, 3, 8000)


@pytest.mark.parametrize(
    "make",
    [
        lambda: StepDecay(-1, 0),
        lambda: StepDecay(1, -1),
        lambda: GeometricDecay(1, 1.0, 0),
        lambda: GeometricDecay(1, 0.0, 0),
        lambda: GeometricDecay(1, float("nan"), 0),
    ],
)
def test_an_impossible_schedule_is_refused(make):
    with pytest.raises(ConfigurationError):
        make()

"""Which model goes on when one has failed for good."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from zidane_lab.agent.fallback import COOLDOWN_SECONDS, FallbackState, next_target
from zidane_lab.errors import (
    AbortedError,
    AuthError,
    BadRequestError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    StreamInterruptedError,
)
from zidane_lab.providers.targets import ModelTarget

A, B = (SimpleNamespace(name=name, default_model="x") for name in "ab")
ONE, TWO, THREE = ModelTarget(A, "big"), ModelTarget(A, "small"), ModelTarget(B, "other")
TARGETS = (ONE, TWO, THREE)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def state(clock):
    return FallbackState(clock)


@pytest.mark.parametrize(
    "error",
    [
        RateLimitError("x"),
        QuotaError("x"),
        OverloadedError("x"),
        NetworkError("x"),
        StreamInterruptedError("x"),
        BadRequestError("x", status=404),
        AuthError("x", status=403),
    ],
)
def test_the_next_one_steps_in(error):
    assert [next_target(TARGETS, index, error) for index in range(3)] == [1, 2, None]


@pytest.mark.parametrize("error", [AbortedError("x"), KeyboardInterrupt(), ValueError("x"), ContextExceededError("x")])
def test_what_no_other_model_would_help_with(error):
    assert next_target(TARGETS, 0, error) is None


@pytest.mark.parametrize("status", [None, 401])
def test_a_refused_key_is_not_tried_again_with_another_model(status):
    assert next_target(TARGETS, 0, AuthError("x", status=status)) == 2


def test_a_conversation_that_is_too_long_is_compacted_first_and_then_goes_to_a_larger_window():
    targets = tuple(ModelTarget(A, f"m{window}", window) for window in (100, 50, 200, None))
    error = ContextExceededError("x")
    assert next_target(targets, 0, error) is None
    assert next_target(targets, 0, error, compacted=True) == 2
    assert next_target(targets, 2, error, compacted=True) is None
    assert next_target(targets, 3, error, compacted=True) is None, "its own window is not known"
    known = {"m100": 100, "m50": 500}
    assert next_target(targets, 0, error, compacted=True, window_of=lambda target: known.get(target.model)) == 1


def test_a_model_that_hit_a_limit_is_left_alone_until_it_resets(state, clock):
    assert state.note(ONE, RateLimitError("x", retry_after=500, resets_at=1500.0)) == 1500.0
    assert state.note(TWO, QuotaError("x", retry_after=100)) == 1100.0
    assert state.note(THREE, OverloadedError("x")) == 1000.0 + COOLDOWN_SECONDS
    assert all(state.is_cooling(target) for target in TARGETS)
    clock.now = 1100.0
    assert [state.is_cooling(target) for target in TARGETS] == [True, False, True]
    clock.now = 1500.0
    assert not any(state.is_cooling(target) for target in TARGETS)


@pytest.mark.parametrize(
    "error", [NetworkError("x"), AuthError("x"), BadRequestError("x"), OverloadedError("x", status=500), ValueError()]
)
def test_other_failures_leave_nothing_behind(state, error):
    assert state.note(ONE, error) is None
    assert not state.is_cooling(ONE)


def test_those_who_cool_are_passed_over(state):
    state.note(TWO, RateLimitError("x", retry_after=10))
    assert next_target(TARGETS, 0, NetworkError("x"), state=state) == 2
    state.note(THREE, RateLimitError("x", retry_after=10))
    assert next_target(TARGETS, 0, NetworkError("x"), state=state) is None


def test_the_next_run_begins_with_the_first_model_again_once_it_may(state, clock):
    assert state.first(TARGETS) == 0
    state.note(ONE, RateLimitError("x", retry_after=100))
    assert state.first(TARGETS) == 1
    assert state.first((ONE,)) == 0, "there is no other"
    clock.now += 100
    assert state.first(TARGETS) == 0


def test_a_model_is_known_by_its_name_from_run_to_run(state):
    state.note(ONE, RateLimitError("x", retry_after=100))
    assert state.is_cooling(ModelTarget(SimpleNamespace(name="a", default_model="x"), "big", 5))

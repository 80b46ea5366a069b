"""When to compact: reasons, their order, and the borders of each."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.compaction.decision import Fire, Skip, effective_window, should_auto_compact
from zidane_lab.providers.catalog import ModelInfo

FULL = {"enabled": True, "window": 120_000, "threshold": 0.85, "input_tokens": 85_000}

# What makes each reason apply, in the order the reasons are looked for.
CAUSES = [
    ("disabled", {"enabled": False}),
    ("unknown-window", {"window": None}),
    ("invalid-threshold", {"threshold": 1.0}),
    ("invalid-input-tokens", {"input_tokens": math.nan}),
    ("under-threshold", {"input_tokens": 84_999}),
    ("cooldown", {"baseline_tokens": 84_999, "min_growth": 0.1}),
    ("already-compacting", {"already_compacting": True}),
]


def test_fires_when_the_threshold_is_reached():
    assert should_auto_compact(**FULL) == Fire(0.85, 100_000)


@pytest.mark.parametrize(("reason", "cause"), CAUSES)
def test_each_reason(reason, cause):
    assert should_auto_compact(**(FULL | cause)) == Skip(reason)


@pytest.mark.parametrize("first", range(len(CAUSES)))
def test_the_most_basic_reason_is_given(first):
    together = dict(FULL)
    for _, cause in reversed(CAUSES[first:]):
        together |= cause
    assert should_auto_compact(**together) == Skip(CAUSES[first][0])


@pytest.mark.parametrize("window", [0, -5, math.nan, math.inf])
def test_windows_that_are_none(window):
    assert should_auto_compact(**(FULL | {"window": window})) == Skip("unknown-window")


@pytest.mark.parametrize("threshold", [0, 1, -0.5, 85, math.nan, math.inf])
def test_thresholds_that_are_none(threshold):
    assert should_auto_compact(**(FULL | {"threshold": threshold})) == Skip("invalid-threshold")


@pytest.mark.parametrize("tokens", [-1, math.inf, -math.inf, math.nan])
def test_counts_that_are_none(tokens):
    assert should_auto_compact(**(FULL | {"input_tokens": tokens})) == Skip("invalid-input-tokens")


def test_growth_after_a_compaction():
    grown = FULL | {"baseline_tokens": 80_000, "min_growth": 0.1}
    assert should_auto_compact(**grown | {"input_tokens": 89_999}) == Skip("cooldown")
    assert should_auto_compact(**grown | {"input_tokens": 90_000}) == Fire(0.9, 100_000)


def test_growth_is_asked_for_only_after_a_compaction():
    assert isinstance(should_auto_compact(**FULL, min_growth=0.9), Fire)
    assert isinstance(should_auto_compact(**FULL, baseline_tokens=80_000), Fire)


def test_a_window_smaller_than_an_answer_is_still_a_window():
    assert [effective_window(window) for window in (1, 8_000, 24_000, 26_000, 200_000)] == [
        1,
        1_600,
        4_800,
        6_000,
        180_000,
    ]
    few = should_auto_compact(enabled=True, window=8_000, threshold=0.85, input_tokens=1)
    assert few == Skip("under-threshold")
    full = should_auto_compact(enabled=True, window=8_000, threshold=0.85, input_tokens=1_600)
    assert full == Fire(1.0, 1_600)


@given(st.integers(1, 2_000_000))
def test_the_effective_window_is_that_of_the_catalogue(window):
    assert effective_window(window) == ModelInfo(window).effective_window

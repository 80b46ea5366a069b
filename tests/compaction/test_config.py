"""The values of compaction."""

from __future__ import annotations

import math

import pytest

from zidane_lab.compaction.config import AutoCompact, auto_compact_of
from zidane_lab.errors import ConfigurationError


def test_defaults():
    config = AutoCompact()
    assert (config.threshold, config.keep_turns, config.max_failures, config.min_growth) == (0.85, 4, 2, 0.1)
    assert (config.restore, config.release, config.window, config.model) == (True, False, None, None)
    assert (config.max_output_tokens, config.max_ptl_retries, config.silence_seconds) == (20_000, 3, 300.0)
    assert config.instructions == ""


@pytest.mark.parametrize(
    "values",
    [
        {"keep_turns": -1},
        {"keep_turns": 2.5},
        {"keep_turns": True},
        {"max_failures": 0},
        {"window": 0},
        {"max_output_tokens": 0},
        {"max_ptl_retries": -1},
        {"max_ptl_retries": None},
        {"threshold": "0.85"},
        {"min_growth": -0.1},
        {"min_growth": 1},
        {"min_growth": math.nan},
        {"silence_seconds": -1},
        {"silence_seconds": math.inf},
        {"model": "  "},
    ],
)
def test_values_that_cannot_be_used(values):
    (name,) = values
    with pytest.raises(ConfigurationError, match=name):
        AutoCompact(**values)


@pytest.mark.parametrize(
    "values", [{"keep_turns": 0}, {"max_ptl_retries": 0}, {"silence_seconds": 0}, {"threshold": 1.5}, {"window": None}]
)
def test_values_at_the_border_can(values):
    AutoCompact(**values)


def test_what_a_setting_stands_for():
    own = AutoCompact(keep_turns=9)
    assert auto_compact_of(True) == AutoCompact()
    assert auto_compact_of(False) is None
    assert auto_compact_of(None) is None
    assert auto_compact_of(own) is own

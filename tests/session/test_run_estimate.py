"""Forecasts from earlier runs: medians, and honest refusals."""

from __future__ import annotations

import pytest

from zidane_lab.session.run_estimate import RunEstimate, RunEstimateFailure, estimate_run
from zidane_lab.session.state import RunRecord
from zidane_lab.turns import Usage


def run(seconds=10.0, model="a/x", status="completed", cost=0.5, tokens=100):
    usage = Usage(tokens, 0, cost=cost) if tokens is not None else None
    return RunRecord("r", model=model, status=status, seconds=seconds, usage=usage)


def test_the_forecast_is_a_median():
    runs = [run(1, tokens=10, cost=0.1), run(100, tokens=900, cost=0.9), run(5, tokens=50, cost=0.2)]
    assert estimate_run(runs, "a/x") == RunEstimate(3, 5, 50, 0.2)


def test_only_the_newest_runs_count():
    runs = [run(1_000)] * 30 + [run(1)] * 20
    assert estimate_run(runs, "a/x").seconds == 1


@pytest.mark.parametrize("other", [run(model="b/y"), run(status="error"), run(status="running"), run(seconds=None)])
def test_other_runs_do_not_count(other):
    assert estimate_run([other] * 9, "a/x") == RunEstimateFailure("no-runs", 0)
    assert estimate_run([run(), run(), other, other], "a/x") == RunEstimateFailure("too-few-runs", 2)


def test_a_cost_is_known_only_if_every_one_is():
    assert estimate_run([run(), run(), run(cost=None)], "a/x").cost is None
    assert estimate_run([run(tokens=None)] * 3, "a/x") == RunEstimate(3, 10.0, 0, None)

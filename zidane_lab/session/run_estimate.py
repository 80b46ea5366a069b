"""What the next run will probably take, from the runs before it: a hint for people, never a limit.

A forecast is the median of the completed runs of the same model, newest first; where there are too few of them it
says so instead of guessing.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from zidane_lab.session.state import RunRecord

__all__ = ["FEWEST_RUNS", "NEWEST_RUNS", "RunEstimate", "RunEstimateFailure", "estimate_run"]

FEWEST_RUNS: Final = 3
"""Runs below which there is no forecast."""

NEWEST_RUNS: Final = 20
"""Runs a forecast looks back on."""


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """A forecast from ``runs`` runs: seconds, tokens of all calls together, and US dollars where prices are known."""

    runs: int
    seconds: float
    tokens: int
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class RunEstimateFailure:
    """Why there is no forecast: no run of this model has ended well, or too few have."""

    reason: Literal["no-runs", "too-few-runs"]
    runs: int


_Outcome: TypeAlias = RunEstimate | RunEstimateFailure


def estimate_run(runs: Sequence[RunRecord], model: str) -> _Outcome:
    """Forecast a run of ``model`` (its full name) from the runs of a session, oldest first.

    The cost is known only if that of every run looked at is.
    """
    ended = [run for run in runs if run.model == model and run.status == "completed" and run.seconds is not None]
    newest = ended[-NEWEST_RUNS:]
    if len(newest) < FEWEST_RUNS:
        return RunEstimateFailure("too-few-runs" if newest else "no-runs", len(newest))
    used = [run.usage for run in newest if run.usage is not None]
    costs = [usage.cost for usage in used if usage.cost is not None]
    return RunEstimate(
        len(newest),
        statistics.median(run.seconds for run in newest if run.seconds is not None),
        round(statistics.median([usage.context + usage.output for usage in used] or [0])),
        statistics.median(costs) if len(costs) == len(newest) else None,
    )

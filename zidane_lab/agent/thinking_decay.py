"""Let a run think less the longer it goes on: the plan is made in the first steps, the rest carries it out.

On services where the budget is part of what the prompt cache is looked up by (Anthropic), each new budget means that
the messages are read anew once. :class:`StepDecay` changes it once; prefer it where prompts are cached.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from zidane_lab.errors import ConfigurationError

__all__ = ["GeometricDecay", "StepDecay", "ThinkingDecay", "decayed_budget"]


@dataclass(frozen=True, slots=True)
class StepDecay:
    """The full budget through turn ``after_turn`` of a run, ``floor`` tokens from then on."""

    after_turn: int
    floor: int

    def __post_init__(self) -> None:
        _check(self.after_turn, self.floor)

    def __call__(self, run_turn: int, base: int) -> float:
        """Return the budget of a turn."""
        return base if run_turn <= self.after_turn else min(base, self.floor)


@dataclass(frozen=True, slots=True)
class GeometricDecay:
    """The full budget through turn ``after_turn``, then ``factor`` times the one before, down to ``floor`` tokens."""

    after_turn: int
    factor: float
    floor: int

    def __post_init__(self) -> None:
        _check(self.after_turn, self.floor)
        if not 0 < self.factor < 1:
            raise ConfigurationError(
                f"A thinking budget cannot decay by the factor {self.factor}.",
                hint="Give a factor between 0 and 1; 0.5 halves the budget every turn.",
            )

    def __call__(self, run_turn: int, base: int) -> float:
        """Return the budget of a turn."""
        return min(base, max(self.floor, base * self.factor ** max(0, run_turn - self.after_turn)))


ThinkingDecay: TypeAlias = StepDecay | GeometricDecay | Callable[[int, int], float]
"""A schedule, or a function of the turn's number in the run (from 1) and the full budget."""


def decayed_budget(decay: ThinkingDecay | None, run_turn: int, base: int) -> int:
    """Return the thinking budget, in tokens, of one turn of a run.

    Parameters
    ----------
    decay
        The schedule; ``None`` keeps the full budget.
    run_turn
        Which turn of the run, counted from 1.
    base
        The full budget in tokens.

    Raises
    ------
    ConfigurationError
        A function of the caller's own gave something that is no number of tokens.
    """
    if decay is None:
        return base
    budget: object = decay(run_turn, base)
    if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not math.isfinite(budget):
        raise ConfigurationError(
            f"The thinking budget for turn {run_turn} came out as {budget!r}.",
            hint="The decay function must return a number of tokens.",
        )
    return max(0, int(budget))


def _check(after_turn: int, floor: int) -> None:
    if after_turn < 0 or floor < 0:
        raise ConfigurationError(
            f"A thinking budget cannot decay after turn {after_turn} to {floor} tokens.",
            hint="Give whole numbers of at least 0.",
        )

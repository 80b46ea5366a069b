"""The steps of an exploration, in the order in which they are taken.

Each step is a small :class:`~zidane_lab.providers.offline.steps.base.Step`: when it applies, the code it
runs (for pandas and for polars), and how its result is read. :data:`STEPS` lists them so that what a step needs
comes before it.
"""

from __future__ import annotations

from typing import Final

from zidane_lab.providers.offline.steps.base import Step
from zidane_lab.providers.offline.steps.look import LOOK, OPEN_POLARS, PREPARE
from zidane_lab.providers.offline.steps.plots import PLOT_ASKED, PLOT_DISTRIBUTIONS, PLOT_MORE, PLOT_PAIR
from zidane_lab.providers.offline.steps.quality import DUPLICATES, MISSING, TEXT
from zidane_lab.providers.offline.steps.relations import CORRELATIONS, GROUPS, WITHIN
from zidane_lab.providers.offline.steps.univariate import CATEGORIES, NUMBERS, TIME

__all__ = ["STEPS", "Step"]

STEPS: Final[tuple[Step, ...]] = (
    LOOK,
    OPEN_POLARS,
    PREPARE,
    MISSING,
    TEXT,
    DUPLICATES,
    NUMBERS,
    CATEGORIES,
    CORRELATIONS,
    TIME,
    GROUPS,
    WITHIN,
    PLOT_DISTRIBUTIONS,
    PLOT_PAIR,
    PLOT_MORE,
    PLOT_ASKED,
)

"""The steps of an exploration, in the order in which they are taken.

Each step is a small :class:`~zidane_lab.providers.offline.steps.base.Step`: when it applies, the code it
runs (for pandas and for polars), and how its result is read. :data:`STEPS` lists them so that what a step needs
comes before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from zidane_lab.providers.offline.intent import Topic
from zidane_lab.providers.offline.steps.base import Step
from zidane_lab.providers.offline.steps.look import LOOK, OPEN_POLARS, PREPARE
from zidane_lab.providers.offline.steps.plots import PLOT_ASKED, PLOT_DISTRIBUTIONS, PLOT_MORE, PLOT_PAIR
from zidane_lab.providers.offline.steps.quality import DUPLICATES, MISSING, TEXT
from zidane_lab.providers.offline.steps.relations import CORRELATIONS, GROUPS, WITHIN
from zidane_lab.providers.offline.steps.univariate import CATEGORIES, NUMBERS, TIME

__all__ = ["STEPS", "Step", "steps_for"]

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

_START: Final = ("look", "open_polars", "prepare")
_QUALITY: Final = (*_START, "missing", "text", "duplicates")
_NARROW: Final[Mapping[Topic, tuple[str, ...]]] = {
    "rows": _START[:2],
    "load": _START[:2],
    "missing": (*_START, "missing"),
    "duplicates": _QUALITY,
    "numbers": (*_START, "missing", "numbers"),
    "categories": (*_QUALITY, "categories"),
    "describe": (*_QUALITY, "numbers", "categories"),
    "correlations": (*_START, "missing", "correlations"),
    "time": (*_QUALITY, "time"),
    "groups": (*_QUALITY, "groups"),
    "plot": (*_QUALITY, "plot_asked"),
}
_EXPLORE: Final = {
    1: tuple(step.name for step in STEPS if step.name != "plot_asked"),
    2: (*_QUALITY, "numbers"),
    3: (*_START, "missing", "duplicates"),
}
"""By the number of tables: the more there are, the less of each."""


def steps_for(topics: AbstractSet[Topic], tables: int) -> tuple[str, ...]:
    """Return the names of the steps that answer these topics about one to three tables, in order."""
    if "explore" in topics:
        return _EXPLORE[tables]
    wanted = {step for topic in topics for step in _NARROW.get(topic, ())}
    return tuple(step.name for step in STEPS if step.name in wanted)

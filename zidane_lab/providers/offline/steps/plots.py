"""Figures: distributions, one pair of columns, one more that the facts suggest, or the one the prompt asks for.

Each has a title and labelled axes. A figure is mentioned only if the result says that it came out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from zidane_lab.providers.offline.columns import (
    category_columns,
    date_column,
    group_columns,
    grouping,
    numbers,
    reversals,
    target,
)
from zidane_lab.providers.offline.facts import LIMITS, Categories, Correlations, Drawing, Groups, Label, Missing, Table
from zidane_lab.providers.offline.results import Outcome, literal
from zidane_lab.providers.offline.scope import Scope
from zidane_lab.providers.offline.steps import figures
from zidane_lab.providers.offline.steps.base import Step, integer
from zidane_lab.providers.offline.steps.figures import Figure
from zidane_lab.providers.offline.steps.quality import has_rows

__all__ = ["PLOT_ASKED", "PLOT_DISTRIBUTIONS", "PLOT_MORE", "PLOT_PAIR"]

_AGAINST: Final = re.compile(r"\b(against|vs\.?|versus|over)\b", re.IGNORECASE)


def _can_plot(table: Table) -> bool:
    return has_rows(table) and table.look is not None and table.look.can_plot


# --- which figure -----------------------------------------------------------------------------------


def _distributions(table: Table) -> Figure | None:
    found = numbers(table)
    if found:
        return figures.histograms(table, found[: LIMITS.plotted])
    categories = category_columns(table)
    return figures.bars(table, categories[0]) if categories else None


def _colour(table: Table) -> Label | None:
    """Return the column to colour points by: few levels, whose names a legend can show."""
    by, found = grouping(table), table.get(Categories)
    levels = found.columns.get(by) if found is not None else None
    # matplotlib leaves labels that start with an underscore out of a legend, and warns.
    clear = levels is not None and not any(str(level).startswith("_") or "$" in str(level) for level in levels.top)
    return by if clear and (table.distinct(by) or 0) <= LIMITS.few_levels else None


def _pair(table: Table) -> Figure | None:
    """Draw a pair whose correlation turns round inside groups if there is one, else the strongest pair."""
    turned = reversals(table)
    if turned:
        group, first, second = turned[0]
        return figures.scatter(table, first, second, group if group == _colour(table) else None)
    found, wished = table.get(Correlations), target(table)
    pairs = list(found.pairs) if found is not None else []
    pair = next((each for each in pairs if wished in (each.first, each.second)), pairs[0] if pairs else None)
    if pair is None:
        return None
    x, y = (pair.second, pair.first) if pair.first == wished else (pair.first, pair.second)
    return figures.scatter(table, x, y, _colour(table))


def _more(table: Table) -> Figure | None:
    """Draw the time, the gaps, or the groups that differ most: the first of them that there is."""
    if date_column(table) is not None:
        return figures.over_time(table)
    missing = table.get(Missing)
    if missing is not None and any(share >= 0.05 for share in missing.share.values()):
        return figures.gaps(table, [label for label, rows in missing.count.items() if rows][:30])
    groups = table.get(Groups)
    eta = groups.eta.get(groups.by) if groups is not None else None
    if groups is None or not eta:
        return None
    return figures.boxes(table, max(eta, key=lambda label: eta[label]), groups.by)


def _asked(table: Table) -> Figure | None:
    """Draw what the prompt names, by the kinds of its columns: scatter, boxes, time series, histogram or bars."""
    by, groups = target(table), group_columns(table)
    named = [label for label in table.ask.columns([each.label for each in table.columns]) if label != by]
    measured = [label for label in named if label in table.labels("number")]
    if len(measured) > 1:
        y, x = measured[:2] if _AGAINST.search(table.ask.text) else measured[1::-1]
        return figures.scatter(table, x, y, by if by in groups else None)
    split = [label for label in [by, *named] if label in groups and label not in measured]
    if measured and split:
        return figures.boxes(table, measured[0], split[0])
    if measured:
        return figures.histograms(table, measured)
    if date_column(table) in named:
        return figures.over_time(table)
    counted = [label for label in [*split, *named] if label in table.labels("text", "category", "bool", "number")]
    return figures.bars(table, counted[0]) if counted else _distributions(table)


# --- steps ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plot:
    """The parts of a plotting step, from the function that chooses its figure."""

    choose: Callable[[Table], Figure | None]

    def applies(self, table: Table) -> bool:
        return _can_plot(table) and self.choose(table) is not None

    def code(self, table: Table, scope: Scope) -> str:
        figure = self.choose(table)
        assert figure is not None
        return figure.code(scope)

    def read(self, outcome: Outcome, table: Table) -> Drawing:
        figure = self.choose(table)
        if figure is None or not outcome.figures:
            raise ValueError("no figure came back")
        return Drawing(figure.caption, None if outcome.value is None else integer(literal(outcome.value)))


def _step(
    choose: Callable[[Table], Figure | None], name: str, topic: str, intent: str, **order: tuple[str, ...]
) -> Step:
    plot = _Plot(choose)
    return Step(name, topic, intent, plot.applies, plot.code, plot.read, **order)


_QUALITY: Final = ("prepare", "missing", "text", "duplicates")

PLOT_DISTRIBUTIONS: Final = _step(
    _distributions,
    "plot_distributions",
    "a figure of the distributions",
    "Draw the distributions of {}",
    after=_QUALITY,
)
PLOT_PAIR: Final = _step(
    _pair,
    "plot_pair",
    "a figure of one pair of columns",
    "Draw the pair of columns of {} that is most worth seeing",
    needs=("look", "correlations"),
    after=("categories", "within"),
)
PLOT_MORE: Final = _step(
    _more,
    "plot_more",
    "one more figure",
    "Draw what else {} suggests: time, gaps or groups",
    after=("missing", "text", "time", "groups", "within"),
)
PLOT_ASKED: Final = _step(
    _asked, "plot_asked", "the figure asked for", "Draw the plot of {} that was asked for", after=_QUALITY
)

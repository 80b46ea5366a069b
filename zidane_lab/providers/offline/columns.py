"""Which columns a step works on: choices made from facts alone, by rules a reader can check.

Where the prompt names columns, only those; else what the kind, the number of distinct values and the limits
of :data:`~zidane_lab.providers.offline.facts.LIMITS` allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from zidane_lab.providers.offline.facts import LIMITS, Correlations, Groups, Label, Missing, Table, Text, Within

__all__ = [
    "candidate_pairs",
    "category_columns",
    "date_column",
    "group_columns",
    "grouping",
    "grouping_choices",
    "is_iso_text",
    "measures",
    "numbers",
    "related_to",
    "reversals",
    "target",
    "text_columns",
    "wanted",
]

_ID: Final = re.compile(r"(?:.*[_ ])?(?:id|index|nr|row)|unnamed: \d+", re.IGNORECASE)
_CANDIDATES: Final = ("target", "label", "class", "outcome", "response", "y")
_LONG_TEXT: Final = 80


def wanted(table: Table, labels: Iterable[Label], at_least: int = 1) -> list[Label]:
    """Keep the labels the prompt names, in its order; all where it names fewer than ``at_least`` beside its target."""
    labels = list(labels)
    if "explore" in table.ask.topics:
        return labels
    named = [label for label in table.ask.columns(labels) if label != target(table)]
    return named if len(named) >= at_least else labels


def numbers(table: Table) -> list[Label]:
    """Return the numeric columns to summarize."""
    return wanted(table, table.labels("number"))[: LIMITS.numbers]


def measures(table: Table, at_least: int = 1) -> list[Label]:
    """Return the numeric columns worth relating: neither constant nor a running number used as a name."""
    return [
        label
        for label in wanted(table, table.labels("number"), at_least)
        if table.distinct(label) != 1 and not (table.is_key(label) and _ID.fullmatch(str(label)))
    ][: LIMITS.numbers]


def text_columns(table: Table) -> list[Label]:
    """Return the columns whose text is to be looked into."""
    return table.labels("text")[: LIMITS.text]


def _is_long(table: Table, label: Label) -> bool:
    text = table.get(Text)
    return text is not None and (text.longest.get(label) or 0) > _LONG_TEXT


def _is_mostly_missing(table: Table, label: Label) -> bool:
    missing = table.get(Missing)
    return missing is not None and missing.share.get(label, 0) > 0.5


def _levels(table: Table, most: int, *, codes: bool) -> list[Label]:
    """Return columns of 1 to ``most`` levels, text first; with ``codes`` also numbers of few values."""
    named = [
        label
        for label in table.labels("text", "category", "bool")
        if 1 <= (table.distinct(label) or 0) <= most and not _is_long(table, label) and not is_iso_text(table, label)
    ]
    coded = [label for label in table.labels("number") if 2 <= (table.distinct(label) or 0) <= LIMITS.few_levels]
    return named + coded if codes else named


def category_columns(table: Table) -> list[Label]:
    """Return the columns whose levels are to be counted."""
    return wanted(table, _levels(table, 50, codes="explore" not in table.ask.topics))[: LIMITS.categories]


def target(table: Table) -> Label | None:
    """Return the column the prompt makes its target, or one whose name says that it is."""
    labels = [each.label for each in table.columns if not table.is_empty(each.label)]
    asked = table.ask.target(labels)
    if asked is not None:
        return asked
    return next((label for name in _CANDIDATES for label in labels if str(label).lower() == name), None)


def group_columns(table: Table) -> list[Label]:
    """Return the columns that split the rows into a few groups, the target or the one compared by first."""
    groups = [
        label
        for label in _levels(table, LIMITS.group_levels, codes=True)
        if 2 <= (table.distinct(label) or 0) < table.rows and not _is_mostly_missing(table, label)
    ]
    compared = table.get(Groups)
    first = compared.by if compared is not None else target(table)
    return sorted(groups, key=lambda label: label != first)[: LIMITS.group_columns]


def grouping_choices(table: Table) -> list[Label]:
    """Return the columns one of which groups are compared by: the target alone, else all of few named levels."""
    groups, wished, numeric = group_columns(table), target(table), table.labels("number")
    if wished in groups:
        return [wished]
    named = [label for label in groups if label not in numeric]
    return [label for label in named if (table.distinct(label) or 0) <= LIMITS.few_levels]


def grouping(table: Table) -> Label | None:
    """Return the column to compare groups by: the one that was compared by, else the first choice."""
    compared, choices = table.get(Groups), grouping_choices(table)
    if compared is not None and compared.by in group_columns(table):
        return compared.by
    return choices[0] if choices else None


def related_to(table: Table) -> Label | None:
    """Return what to relate the other columns to: the target, of whatever kind, else the column to group by."""
    wished, groups, numeric = target(table), group_columns(table), table.labels("number")
    by = wished if wished in numeric and wished not in groups and table.distinct(wished) != 1 else grouping(table)
    others = [label for label in measures(table) if label != by]
    return by if by is not None and (others or (by in numeric and groups)) else None


def candidate_pairs(table: Table) -> list[tuple[Label, Label]]:
    """Return the pairs whose correlation is worth checking inside groups: 0.1 or more, neither a group itself."""
    found, groups = table.get(Correlations), group_columns(table)
    return [
        (pair.first, pair.second)
        for pair in (found.pairs if found is not None else ())
        if abs(pair.pearson) >= 0.1 and pair.first not in groups and pair.second not in groups
    ][:12]


def is_iso_text(table: Table, label: Label) -> bool:
    """Whether a text column's values are nearly all ISO dates (95 % or more)."""
    text = table.get(Text)
    return text is not None and (text.like_iso.get(label) or 0) >= 0.95


def date_column(table: Table) -> Label | None:
    """Return the column that tells the time: one of a date type, else text of ISO dates."""
    dates = wanted(table, [*table.labels("date"), *(it for it in table.labels("text") if is_iso_text(table, it))])
    return dates[0] if dates else None


def reversals(table: Table) -> list[tuple[Label, Label, Label]]:
    """Return ``(group, first, second)`` where every group's correlation has the other sign than the whole's.

    The sizes of r must reach 0.1 overall and in every group, and two groups at least must have one.
    """
    within, overall = table.get(Within), table.get(Correlations)
    if within is None or overall is None:
        return []
    whole = {(pair.first, pair.second): pair.pearson for pair in overall.pairs}
    found = []
    for (group, first, second), by_level in within.r.items():
        r, inside = whole.get((first, second), 0.0), by_level.values()
        if abs(r) >= 0.1 and len(inside) > 1 and all(value * r < 0 and abs(value) >= 0.1 for value in inside):
            found.append((group, first, second))
    return found

"""What the planner knows about a table, each piece from one tool result of this run.

A :class:`Table` starts as a name and gains facts as results come in. A fact that is not there was not
computed: nobody may guess it. The methods choose columns for the next steps; they set the bounds that keep
wide tables readable (:data:`LIMITS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, TypeVar

from zidane_lab.providers.offline.intent import Ask

__all__ = [
    "LIMITS",
    "Categories",
    "Column",
    "Correlations",
    "Distinct",
    "Drawing",
    "Groups",
    "Kind",
    "Label",
    "Levels",
    "Limits",
    "Look",
    "Missing",
    "NumberSummary",
    "Numbers",
    "Pair",
    "Table",
    "Text",
    "Times",
    "Within",
]

Label: TypeAlias = Any
"""A column's label: text or a whole number, once the table is prepared."""

Kind: TypeAlias = Literal["number", "text", "category", "bool", "date", "duration", "other"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of an exploration, all stated in the report when they bite."""

    columns: int = 60
    rows: int = 2_000_000
    sample: int = 200_000
    numbers: int = 20
    text: int = 30
    categories: int = 12
    group_columns: int = 6
    group_levels: int = 20
    few_levels: int = 10
    plotted: int = 9
    points: int = 20_000
    pairs: int = 40
    enough_rows: int = 10


LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its label, its type as the library prints it, and what we take it for."""

    label: Label
    dtype: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Look:
    """First look. ``width`` counts all columns; ``columns`` holds at most :attr:`Limits.columns` of them."""

    library: str
    rows: int
    width: int
    columns: tuple[Column, ...]
    can_plot: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """Missing values. ``together`` pairs a combination of columns missing in the same row with its rows."""

    count: Mapping[Label, int]
    share: Mapping[Label, float]
    rows: int
    rows_share: float
    together: tuple[tuple[tuple[Label, ...], int], ...]
    infinite: Mapping[Label, int]


@dataclass(frozen=True, slots=True)
class Text:
    """What text columns hold: the longest text, and the shares that look like numbers, dates, ISO dates."""

    holds: Mapping[Label, str]
    longest: Mapping[Label, float]
    like_numbers: Mapping[Label, float]
    like_dates: Mapping[Label, float]
    like_iso: Mapping[Label, float]


@dataclass(frozen=True, slots=True)
class Distinct:
    """Repeated rows (each copy after the first) and distinct values, missing ones not counted."""

    duplicates: int
    duplicate_share: float
    count: Mapping[Label, int]


@dataclass(frozen=True, slots=True)
class NumberSummary:
    """A numeric column. ``outliers`` lie more than 1.5 interquartile ranges outside the middle half."""

    count: int
    mean: float | None
    std: float | None
    low: float | None
    q1: float | None
    median: float | None
    q3: float | None
    high: float | None
    skew: float | None
    zeros: int
    outliers: int
    outlier_share: float | None


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numeric columns by label."""

    columns: Mapping[Label, NumberSummary]


@dataclass(frozen=True, slots=True)
class Levels:
    """A categorical column: levels in use, the most frequent with count and share, levels under 1 %."""

    levels: int
    top: Mapping[Any, int]
    share: Mapping[Any, float]
    rare: int


@dataclass(frozen=True, slots=True)
class Categories:
    """Categorical columns by label."""

    columns: Mapping[Label, Levels]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two numeric columns and how they correlate over the rows that have both."""

    first: Label
    second: Label
    pearson: float
    spearman: float


@dataclass(frozen=True, slots=True)
class Correlations:
    """Pairs, strongest first by the size of Pearson's r."""

    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """How columns relate to ``by``: means by level, eta squared and Cramér's V; correlations if it is numeric."""

    by: Label
    means: Mapping[Label, Mapping[Any, float]]
    eta: Mapping[Label, Mapping[Label, float]]
    cramer: Mapping[Label, float]
    pearson: Mapping[Label, float]
    spearman: Mapping[Label, float]


@dataclass(frozen=True, slots=True)
class Within:
    """Pearson's r of a pair inside each level of a grouping column, by ``(group, first, second)``."""

    r: Mapping[tuple[Label, ...], Mapping[Any, float]]


@dataclass(frozen=True, slots=True)
class Times:
    """A date column. Lengths of time are the library's own text; ``regular`` is the share of typical steps."""

    column: Label
    first: str
    last: str
    distinct: int
    typical: str
    regular: float | None
    longest: str
    longest_ends: str
    per_year: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure came back. ``points`` counts the rows drawn, where each row is a point."""

    caption: str
    points: int | None = None


_Fact = TypeVar("_Fact")


@dataclass(frozen=True, slots=True)
class Table:
    """A table under work.

    Parameters
    ----------
    name
        As the person calls it.
    variable
        Its name in the kernel; the one it will get if it comes from ``path``.
    facts
        By the step that found them.
    problems
        Why a step that was tried has no result, by step.
    expr
        How code names the table to work on: ``variable``, or the working copy made of it.
    """

    name: str
    variable: str
    ask: Ask
    path: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    expr: str = ""

    def get(self, kind: type[_Fact], step: str | None = None) -> _Fact | None:
        """Return the fact of one type (the one found by ``step``), or ``None`` if it was not computed."""
        found = [fact for by, fact in self.facts.items() if isinstance(fact, kind) and step in (None, by)]
        return found[-1] if found else None

    @property
    def look(self) -> Look | None:
        """The look at the table to work on: of the working copy where there is one."""
        return self.get(Look)

    @property
    def library(self) -> str:
        """``pandas``, ``polars``, or another library's name."""
        look = self.look
        return look.library if look is not None else ""

    @property
    def rows(self) -> int:
        """Rows of the table to work on; 0 before they are known."""
        look = self.look
        return look.rows if look is not None else 0

    @property
    def is_sample(self) -> bool:
        """Whether the table to work on is a random sample of a longer one."""
        first = self.get(Look, "look") or self.get(Look, "open_polars")
        return first is not None and first.rows > self.rows

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the table to work on, their kinds as well as they are known."""
        look, text = self.look, self.get(Text)
        if look is None:
            return ()
        if text is None:
            return look.columns
        return tuple(
            Column(each.label, each.dtype, kind_of_holding(text.holds.get(each.label), each.kind))
            for each in look.columns
        )

    def labels(self, *kinds: Kind) -> list[Label]:
        """Return the labels of the columns of these kinds that hold any value, as far as is known."""
        return [each.label for each in self.columns if each.kind in kinds and not self.is_empty(each.label)]

    def is_empty(self, label: Label) -> bool:
        """Whether a column is known to hold nothing but missing values."""
        missing = self.get(Missing)
        return missing is not None and self.rows > 0 and missing.count.get(label) == self.rows

    def distinct(self, label: Label) -> int | None:
        """Return a column's number of distinct values, if known."""
        found = self.get(Distinct)
        return None if found is None else found.count.get(label)

    def is_key(self, label: Label) -> bool:
        """Whether a column has another value in every row and none missing: it could serve as a key."""
        missing = self.get(Missing)
        whole = missing is not None and not missing.count.get(label)
        return whole and self.rows > 1 and self.distinct(label) == self.rows


def kind_of_holding(holds: str | None, kind: Kind) -> Kind:
    """Refine the kind of an ``object`` column by what pandas infers that it holds."""
    if holds is None or kind != "text" or holds in ("string", "empty"):
        return kind
    if holds == "boolean":
        return "bool"
    return "date" if holds in ("date", "datetime", "datetime64") else "other"

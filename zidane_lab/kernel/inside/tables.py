"""What all tables have in common: one line per column, whichever library holds it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from zidane_lab.kernel.inside.privacy import is_secret_name
from zidane_lab.kernel.inside.static import subclass_of
from zidane_lab.kernel.inside.text import CELLS, Page, amount, clip, join, listing, one_line
from zidane_lab.kernel.inside.values import HIDDEN, brief, number

__all__ = ["SAMPLES", "Column", "column_lines", "column_name", "columns_to_read", "dtype_groups", "names_gist", "span"]

SAMPLES = 3
"""Values shown of each column, from its head."""

_TYPICAL = 70
"""Characters of a typical column line, to foresee how many columns a page holds."""


_BARE = re.compile(r"[^\W\d](?:[\w .()%/+-]{0,58}[\w)%])?")


@dataclass(frozen=True)
class Column:
    """One column as a reader needs it.

    Parameters
    ----------
    nulls
        How many values are missing; ``None`` when they were not counted.
    note
        What else is known: a range, the categories, the types of objects.
    values
        A few values from the head.
    """

    name: object
    dtype: str
    nulls: int | None = None
    note: str = ""
    values: tuple[object, ...] = ()


def column_name(name: object) -> str:
    """Return a column's name: bare where it cannot be misread, else as a literal."""
    return name if type(name) is str and _BARE.fullmatch(name) else brief(name, 80)


def span(low: object, high: object) -> str:
    """Return a range of values."""
    return f"{number(low)} to {number(high)}"


def names_gist(rows: int, columns: int, names: Iterable[object]) -> str:
    """Return shape and first column names: the gist of every table."""
    head = (column_name(name) for name in itertools.islice(names, 20))
    listed = join(head, 80 if columns <= 20 else 70)
    more = "…" if columns > 20 and not listed.endswith("…") else ""
    return f"{rows:,} × {columns:,}" + (f": {listed}{more}" if columns else "")


def dtype_groups(groups: Iterable[tuple[str, int]]) -> str:
    """Return how many columns each dtype has, most frequent first."""
    counts: dict[str, int] = {}
    for dtype, count in groups:
        counts[dtype] = counts.get(dtype, 0) + count
    ranked = sorted(counts.items(), key=lambda pair: -pair[1])
    return "dtypes: " + join((f"{count:,} {dtype}" for dtype, count in ranked), 200)


def columns_to_read(page: Page, rows: int, columns: int) -> bool:
    """Whether the columns that will be shown may be read whole, to count nulls and to find ranges."""
    return page.afford(rows * min(columns, max(page.room // _TYPICAL, 1)))


def column_lines(columns: Iterable[Column], total: int, page: Page, *, read: bool, cells: int) -> Iterator[str]:
    """Yield the column lines that fit and what was left out."""
    if not total:
        return
    yield "columns: name: dtype, nulls; range; first values"
    if not read:
        yield f"  (nulls and ranges not counted: large, {amount(cells, 'cell')}; at most {CELLS:,} are read)"
    yield from listing(page, map(_line, columns), total, "column")


def _line(column: Column) -> str:
    nulls = "" if column.nulls is None else f", {amount(column.nulls, 'null')}"
    parts = [f"  {column_name(column.name)}: {one_line(column.dtype, 60)}{nulls}", column.note]
    if column.values:
        hidden = is_secret_name(column.name)
        parts.append(HIDDEN if hidden else join((_value(value) for value in column.values), 100))
    return clip("; ".join(part for part in parts if part), 240)


def _value(value: Any) -> str:
    return number(value) if subclass_of(type(value), float) else brief(value, 40, 1)

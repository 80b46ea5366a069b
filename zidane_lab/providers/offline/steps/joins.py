"""Several tables: which columns they share, and how many rows would find a partner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from zidane_lab.providers.offline.facts import Label, Table
from zidane_lab.providers.offline.results import Outcome
from zidane_lab.providers.offline.scope import Scope
from zidane_lab.providers.offline.steps.base import integer, real, value_of
from zidane_lab.providers.offline.steps.look import SUPPORTED, needs_copy

__all__ = ["JOINS_INTENT", "Joined", "joins_code", "read_joins", "shared_columns"]

JOINS_INTENT: Final = "Check the columns that the tables share: would they join?"
_MOST: Final = 6


@dataclass(frozen=True, slots=True)
class Joined:
    """A shared column: distinct values on either side and rows that find a partner on the other."""

    left: str
    right: str
    label: Label
    left_distinct: int
    right_distinct: int
    left_matched: float | None
    right_matched: float | None
    left_unique: bool
    right_unique: bool


def shared_columns(tables: Sequence[Table]) -> list[tuple[int, int, Label]]:
    """Return ``(left, right, label)`` for columns of one name and kind in two tables of one library."""
    found = []
    for left, right in combinations(range(len(tables)), 2):
        one, other = tables[left], tables[right]
        if one.library != other.library or not (_is_workable(one) and _is_workable(other)):
            continue
        kinds = {column.label: column.kind for column in other.columns}
        found += [
            (left, right, column.label)
            for column in one.columns
            if kinds.get(column.label) == column.kind and _could_be_key(one, other, column.label)
        ]
    return found[:_MOST]


def _is_workable(table: Table) -> bool:
    return table.rows > 0 and table.library in SUPPORTED and not (needs_copy(table) and "prepare" in table.problems)


def _could_be_key(one: Table, other: Table, label: Label) -> bool:
    """Whether a column joins at all: words, whole numbers or dates, not measurements."""
    dtypes = [next(column.dtype for column in table.columns if column.label == label) for table in (one, other)]
    return label in one.labels("text", "category", "date", "number") and not any(
        dtype.lower().startswith(("float", "double", "decimal")) for dtype in dtypes
    )


def joins_code(tables: Sequence[Table], scope: Scope) -> str:
    """Write the check: for each shared column, distinct values and matched rows on both sides."""
    shared, columns = shared_columns(tables), scope.own("shared")
    is_polars = tables[shared[0][0]].library == "polars"
    known = "drop_nulls" if is_polars else "dropna"
    entries = ""
    for left, right, label in shared:
        one, other = (f"        {tables[side].expr}[{label!r}].{known}(),\n" for side in (left, right))
        entries += f"    ({left}, {right}, {label!r}): (\n{one}{other}    ),\n"
    distinct = "n_unique" if is_polars else "nunique"
    found = "one.is_in(other.implode()).mean()" if is_polars else "float(one.isin(other).mean())"
    return f"""\
# On either side of each shared column: distinct values, rows that have one, share found on the other side.
{columns} = {{
{entries}}}
{{
    key: [(one.{distinct}(), len(one), {found}) for one, other in ((left, right), (right, left))]
    for key, (left, right) in {columns}.items()
}}"""


def read_joins(outcome: Outcome, tables: Sequence[Table]) -> tuple[Joined, ...]:
    """Read the check's result."""

    def one(key: Any, sides: Any) -> Joined:
        (
            (left, right, label),
            ((left_distinct, left_rows, left_matched), (right_distinct, right_rows, right_matched)),
        ) = key, sides
        return Joined(
            tables[left].name,
            tables[right].name,
            label,
            integer(left_distinct),
            integer(right_distinct),
            real(left_matched),
            real(right_matched),
            left_distinct == left_rows,
            right_distinct == right_rows,
        )

    return tuple(one(key, sides) for key, sides in value_of(outcome).items())

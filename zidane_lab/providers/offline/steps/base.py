"""What a step is, and the small pieces of code that several steps share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from zidane_lab.providers.offline.facts import Label, Missing, Numbers, Table
from zidane_lab.providers.offline.results import Opaque, Outcome, literal
from zidane_lab.providers.offline.scope import Scope, listing

__all__ = [
    "Step",
    "by_label",
    "frame",
    "integer",
    "known_label",
    "numeric_frame",
    "plain",
    "real",
    "shared_numbers",
    "value_of",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of an exploration: the code it runs and the fact it reads from the result.

    Parameters
    ----------
    name
        Its key: lower-case letters and underscores.
    topic
        What it is about, as a noun in a sentence.
    intent
        What it is for, as the person reads it; ``{}`` stands for the table's name.
    applies
        Whether the facts so far call for it.
    code
        Writes the code for a table; a library it has no code for is no table to this step.
    read
        Makes the fact from the outcome; raises ``ValueError``, ``TypeError`` or ``KeyError`` if it cannot.
    needs
        Steps without whose facts it cannot work.
    after
        Steps it waits for, and does without if they failed.
    """

    name: str
    topic: str
    intent: str
    applies: Callable[[Table], bool]
    code: Callable[[Table, Scope], str]
    read: Callable[[Outcome, Table], Any]
    needs: tuple[str, ...] = ("look",)
    after: tuple[str, ...] = ()


_Value = TypeVar("_Value")


def value_of(outcome: Outcome) -> dict[Any, Any]:
    """Read the dictionary a snippet ends in."""
    if outcome.value is None:
        raise ValueError("it returned no value")
    value = literal(outcome.value)
    if not isinstance(value, dict):
        raise TypeError("it returned something else than expected")
    return value


def by_label(value: Any, convert: Callable[[Any], _Value]) -> dict[Label, _Value]:
    """Read a mapping from labels, converting each value."""
    if not isinstance(value, Mapping):
        raise TypeError("it returned something else than expected")
    return {key: convert(each) for key, each in value.items()}


def known_label(table: Table, label: Any) -> Label:
    """Return a label read from a result, if the table has such a column."""
    if not any(column.label == label for column in table.columns):
        raise ValueError("it names an unknown column")
    return label


def integer(value: Any) -> int:
    """Read a count; pandas gives some as floats."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise TypeError("a count was expected")
    return int(value)


def real(value: Any) -> float | None:
    """Read a number; ``None`` and ``nan`` mean that there is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("a number was expected")
    return None if math.isnan(value) else value


def plain(label: Label) -> bool:
    """Whether a label is one that code can name: a text of bearable length, or a whole number."""
    if isinstance(label, (Opaque, bool)):
        return False
    return isinstance(label, int) or (isinstance(label, str) and len(label) <= 120)


def frame(table: Table, labels: list[Label]) -> str:
    """Return code for the table's columns ``labels``, as a table."""
    columns = listing(labels)
    return f"{table.expr}[{columns}]"


def numeric_frame(table: Table, labels: list[Label], scope: Scope) -> str:
    """Return code for numeric columns as plain floating-point numbers, infinities taken as missing."""
    missing = table.get(Missing)
    infinite = missing is not None and any(missing.infinite.get(label) for label in labels)
    if table.library == "polars":
        pl = scope.alias("pl")
        code = f"{table.expr}.select({listing(labels)}).cast({pl}.Float64).fill_nan(None)"
        return f"{code}.select({pl}.all().replace([float('inf'), -float('inf')], None))" if infinite else code
    dtypes = {column.label: column.dtype for column in table.columns}
    code = frame(table, labels)
    if any(not re.fullmatch(r"(u?int|float)\d+", dtypes[label]) for label in labels):
        code += ".astype('float64')"
    return f"{code}.where(lambda numbers: numbers.abs() < float('inf'))" if infinite else code


def shared_numbers(table: Table, labels: list[Label], scope: Scope, *, exactly: bool = True) -> tuple[str, str]:
    """Return a line that assigns numeric columns, and the code that names them (``exactly`` them, or more).

    Where the summary of numbers has been made, its frame is still there: the line is empty, nothing is copied.
    """
    values, summary = scope.own("numbers"), table.get(Numbers)
    if summary is None or any(label not in summary.columns for label in labels):
        return f"{values} = {numeric_frame(table, labels, scope)}\n", values
    return "", values if labels == list(summary.columns) or not exactly else f"{values}[{listing(labels)}]"

"""Describers of Arrow data: Table, RecordBatch, arrays, schema. Null counts come from Arrow's own bookkeeping."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from zidane_lab.kernel.inside.registry import ARRAY, FRAME, Describer, register_name
from zidane_lab.kernel.inside.tables import (
    SAMPLES,
    Column,
    column_lines,
    columns_to_read,
    dtype_groups,
    names_gist,
    span,
)
from zidane_lab.kernel.inside.text import Page, amount, clip, join, listing, megabytes
from zidane_lab.kernel.inside.values import brief

__all__ = ["register_arrow"]


def register_arrow() -> None:
    """Register pyarrow by the names of its classes."""
    for name in ("Table", "RecordBatch"):
        register_name(f"pyarrow.{name}", Describer(_table_gist, _table_lines, title=_table_title, rank=FRAME))
    for name in ("Array", "ChunkedArray"):
        register_name(f"pyarrow.{name}", Describer(_array_gist, _array_lines, rank=ARRAY))
    register_name("pyarrow.Schema", Describer(_schema_gist, _schema_lines))
    register_name("pyarrow.Scalar", Describer(_scalar_gist))


def _table_gist(table: Any) -> str:
    names = table.schema.names
    return names_gist(table.num_rows, len(names), names[:20])


def _table_title(table: Any) -> str:
    return f"{amount(table.num_rows, 'row')} × {amount(table.num_columns, 'column')}, {megabytes(table.nbytes)}"


def _table_lines(table: Any, page: Page) -> Iterator[str]:
    rows, columns = table.num_rows, table.num_columns
    schema = table.schema
    if columns:
        yield dtype_groups((clip(str(kind), 60), 1) for kind in schema.types)
    if schema.metadata:
        yield f"schema metadata for {join((brief(key, 40) for key in list(schema.metadata)[:8]), 120)}"
    read = columns_to_read(page, rows, columns)
    described = (_column(schema.field(i), table.column(i), read=read) for i in range(columns))
    yield from column_lines(described, columns, page, read=read, cells=rows * columns)


def _column(field: Any, data: Any, *, read: bool) -> Column:
    values = tuple(data.slice(0, SAMPLES).to_pylist())
    return Column(field.name, clip(str(field.type), 60), data.null_count, _range(data) if read else "", values)


def _range(data: Any) -> str:
    """Return smallest and largest value, if the user's session has loaded Arrow's functions."""
    functions, types = sys.modules.get("pyarrow.compute"), sys.modules.get("pyarrow.types")
    if functions is None or types is None or data.null_count == len(data):
        return ""
    if not (types.is_integer(data.type) or types.is_floating(data.type) or types.is_temporal(data.type)):
        return ""
    ends = functions.min_max(data).as_py()
    return span(ends["min"], ends["max"])


def _array_gist(data: Any) -> str:
    shown = join((brief(value, 30, 0) for value in data.slice(0, 6).to_pylist()), 60)
    return f"{len(data):,} {clip(str(data.type), 40)}" + (f": {shown}" if shown else "")


def _array_lines(data: Any, page: Page) -> Iterator[str]:
    yield f"{megabytes(data.nbytes)}, {amount(data.null_count, 'null')}"
    values = data.slice(0, min(len(data), max(page.room // 12, 1), 1000)).to_pylist()
    yield from listing(page, (f"  [{i}] {brief(value, 80, 1)}" for i, value in enumerate(values)), len(data), "value")


def _schema_gist(schema: Any) -> str:
    names = schema.names
    return f"{amount(len(names), 'field')}: {join(names[:20], 80)}"


def _schema_lines(schema: Any, page: Page) -> Iterator[str]:
    fields = (schema.field(i) for i in range(len(schema.names)))
    rows = (f"  {field.name}: {clip(str(field.type), 80)}" for field in fields)
    yield from listing(page, rows, len(schema.names), "field")


def _scalar_gist(value: Any) -> str:
    return f"{clip(str(value.type), 40)} {brief(value.as_py(), 60, 1)}"

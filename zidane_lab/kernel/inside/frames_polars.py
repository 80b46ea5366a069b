"""Describers of polars objects held in memory: DataFrame and Series. Lazy frames are in :mod:`.lazy`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zidane_lab.kernel.inside.registry import FRAME, Describer, register_name
from zidane_lab.kernel.inside.tables import (
    SAMPLES,
    Column,
    column_lines,
    column_name,
    columns_to_read,
    dtype_groups,
    names_gist,
    span,
)
from zidane_lab.kernel.inside.text import Page, amount, join, listing, megabytes
from zidane_lab.kernel.inside.values import brief

__all__ = ["register_polars"]


def register_polars() -> None:
    """Register polars by the names of its classes."""
    register_name("polars.DataFrame", Describer(_frame_gist, _frame_lines, title=_frame_title, rank=FRAME))
    register_name("polars.Series", Describer(_series_gist, _series_lines, rank=FRAME))


def _frame_gist(frame: Any) -> str:
    return names_gist(frame.height, frame.width, frame.columns[:20])


def _frame_title(frame: Any) -> str:
    return f"{amount(frame.height, 'row')} × {amount(frame.width, 'column')}, {megabytes(frame.estimated_size())}"


def _frame_lines(frame: Any, page: Page) -> Iterator[str]:
    rows, columns = frame.shape
    if columns:
        yield dtype_groups((str(dtype), 1) for dtype in frame.dtypes)
    read = columns_to_read(page, rows, columns)
    described = (_column(frame.to_series(place), read=read) for place in range(columns))
    yield from column_lines(described, columns, page, read=read, cells=rows * columns)


def _column(series: Any, *, read: bool) -> Column:
    # Null counts are kept by polars itself, so they cost nothing whatever the size.
    nulls = series.null_count()
    note = _range(series, nulls) if read else ""
    return Column(series.name, str(series.dtype), nulls, note, tuple(series.head(SAMPLES).to_list()))


def _range(series: Any, nulls: int) -> str:
    dtype = series.dtype
    if nulls == len(series):
        return ""
    if str(dtype) == "Boolean":
        return f"{series.sum():,} true"
    if str(dtype) in {"Categorical", "Enum"} or str(dtype).startswith(("Categorical(", "Enum(")):
        return f"{series.n_unique():,} distinct"
    return span(series.min(), series.max()) if dtype.is_numeric() or dtype.is_temporal() else ""


def _series_gist(series: Any) -> str:
    shown = join((brief(value, 30, 0) for value in series.head(6).to_list()), 60)
    name = f" named {column_name(series.name)}" if series.name else ""
    return f"{len(series):,} {series.dtype}{name}" + (f": {shown}" if shown else "")


def _series_lines(series: Any, page: Page) -> Iterator[str]:
    rows = len(series)
    column = _column(series, read=page.afford(rows))
    yield f"dtype {column.dtype}, {megabytes(series.estimated_size())}, {amount(column.nulls or 0, 'null')}"
    yield column.note
    values = series.head(min(rows, max(page.room // 12, 1), 1000)).to_list()
    yield from listing(page, (f"  [{i}] {brief(value, 80, 1)}" for i, value in enumerate(values)), rows, "value")

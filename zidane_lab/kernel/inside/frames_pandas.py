"""Describers of pandas objects: DataFrame, Series, Index, and its scalars.

Structure comes from the block manager (dtype, shape and bytes of each block), which costs microseconds
whatever the size; :meth:`DataFrame.dtypes` and :meth:`DataFrame.memory_usage` grow with the columns (13 ms
each for 2,000). Columns are read by position, so duplicate names do no harm.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from zidane_lab.kernel.inside.containers import element_types
from zidane_lab.kernel.inside.registry import ARRAY, FRAME, Describer, register_name
from zidane_lab.kernel.inside.static import MISSING, is_genuine, label, mro, own, qualified_name, root_of
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
from zidane_lab.kernel.inside.text import Page, amount, clip, join, listing, megabytes
from zidane_lab.kernel.inside.values import brief, number

__all__ = ["blocks_of", "register_pandas"]

_BLOCKS = 5000
"""Blocks looked at for the dtypes; a frame built column by column may have one for each."""

_OBJECTS = 200_000
"""Cells of Python objects that are looked at one by one; larger columns are judged by their head."""


def register_pandas() -> None:
    """Register pandas by the names of its classes."""
    register_name("pandas.DataFrame", Describer(_frame_gist, _frame_lines, title=_frame_title, rank=FRAME))
    register_name("pandas.Series", Describer(_series_gist, _series_lines, rank=FRAME))
    register_name("pandas.Index", Describer(_index_gist, _index_lines, rank=ARRAY))
    for name in ("Categorical", "arrays.ExtensionArray", "ExtensionArray"):
        register_name(f"pandas.{name}", Describer(_array_gist, rank=ARRAY))
    for name in ("Timestamp", "Timedelta", "Period", "Interval", "NaTType", "NAType"):
        register_name(f"pandas.{name}", Describer(_scalar_gist, form=_scalar_form))


def blocks_of(obj: Any) -> tuple[Any, ...]:
    """Return the blocks a frame or series keeps its data in; empty where pandas has none such."""
    blocks = getattr(own(obj, "_mgr"), "blocks", ())
    return blocks if type(blocks) is tuple else ()


# --- frames ---------------------------------------------------------------------------------------


def _frame_gist(frame: Any) -> str:
    rows, columns = frame.shape
    return names_gist(rows, columns, frame.columns[:20].tolist())


def _frame_title(frame: Any) -> str:
    rows, columns = frame.shape
    return f"{amount(rows, 'row')} × {amount(columns, 'column')}, {_memory(frame)}"


def _frame_lines(frame: Any, page: Page) -> Iterator[str]:
    rows, columns = frame.shape
    yield f"index: {_index_text(frame.index)}"
    if columns and _is_multi(frame.columns):
        yield f"columns are a {_index_text(frame.columns)}"
    blocks = blocks_of(frame)
    if blocks and len(blocks) <= _BLOCKS:
        yield dtype_groups((str(block.dtype), _width(block)) for block in blocks)
    attrs = own(frame, "_attrs")
    if type(attrs) is dict and attrs:
        yield f"attrs: {brief(attrs, 160)}"
    read = columns_to_read(page, rows, columns)
    described = (_column(frame.iloc[:, place], read=read) for place in range(columns))
    yield from column_lines(described, columns, page, read=read, cells=rows * columns)


def _width(block: Any) -> int:
    """Return how many columns a block holds: extension arrays are one column each."""
    shape = block.shape
    return int(shape[0]) if len(shape) > 1 else 1


def _memory(frame: Any) -> str:
    blocks = blocks_of(frame)
    if not blocks or len(blocks) > _BLOCKS:
        return "memory unknown" if frame.shape[1] else "no data"
    size = sum(int(block.values.nbytes) for block in blocks) + int(frame.index.nbytes)
    shallow = any(str(block.dtype) == "object" for block in blocks)
    return megabytes(size) + (" without the Python objects it points to" if shallow else "")


def _column(series: Any, *, read: bool) -> Column:
    dtype, rows = series.dtype, len(series)
    nulls: int | None = None
    note = ""
    if _is_category(dtype):
        note = _categories(dtype)
        nulls = int(series.isna().sum()) if read else None
    elif str(dtype) == "object":
        nulls, note = _look_at_objects(series, rows)
    elif _reads_fast(series) and read:
        nulls = int(series.isna().sum())
        note = _range(series, dtype, rows - nulls)
    elif rows and getattr(dtype, "kind", "O") in "mM":
        note = f"first {number(series.iloc[0])}, last {number(series.iloc[-1])}"
    values = tuple(series.iloc[:SAMPLES].tolist()) if _reads_fast(series) else ()
    return Column(series.name, str(dtype), nulls, note, values)


def _reads_fast(series: Any) -> bool:
    """Whether the values lie in an array of pandas or NumPy; an extension of others may do anything."""
    return any(root_of(type(block.values)) in {"pandas", "numpy"} for block in blocks_of(series))


def _is_category(dtype: Any) -> bool:
    return qualified_name(type(dtype)) == "CategoricalDtype" and is_genuine(type(dtype))


def _categories(dtype: Any) -> str:
    categories = dtype.categories
    if categories is None:
        return "categories unknown"
    head = join((brief(value, 30, 0) for value in categories[:8].tolist()), 80)
    more = ", …" if len(categories) > 8 and not head.endswith("…") else ""
    return f"{amount(len(categories), 'category', 'categories')}{' in order' if dtype.ordered else ''}: {head}{more}"


def _range(series: Any, dtype: Any, filled: int) -> str:
    """Return smallest and largest value where the dtype has an order and reading is cheap."""
    kind = getattr(dtype, "kind", "O")
    if not filled:
        return ""
    if kind == "b":
        return f"{int(series.sum()):,} true"
    return span(series.min(), series.max()) if kind in "iufmM" else ""


def _look_at_objects(series: Any, rows: int) -> tuple[int | None, str]:
    """Count nulls and types among Python objects by identity and type alone; pandas itself would ask the objects."""
    items = series.iloc[: min(rows, _OBJECTS)].tolist()
    nulls = sum(_is_null(item) for item in items) if rows <= _OBJECTS else None
    head = items[:1000]
    of = "" if len(head) == rows else f" (of the first {len(head):,})"
    return nulls, f"objects: {element_types(head, 4)}{of}" if head else ""


def _is_null(item: object) -> bool:
    if type(item) is float:
        return math.isnan(item)
    cls = type(item)
    return item is None or (root_of(cls) == "pandas" and qualified_name(cls) in {"NaTType", "NAType"})


# --- series, index, scalars -----------------------------------------------------------------------


def _series_gist(series: Any) -> str:
    head = series.iloc[:6].tolist() if _reads_fast(series) else []
    name = "" if series.name is None else f" named {column_name(series.name)}"
    shown = join((brief(value, 30, 0) for value in head), 60)
    return f"{len(series):,} {series.dtype}{name}" + (f": {shown}" if shown else "")


def _series_lines(series: Any, page: Page) -> Iterator[str]:
    rows = len(series)
    yield f"index: {_index_text(series.index)}"
    read = page.afford(rows)
    column = _column(series, read=read)
    yield f"dtype {column.dtype}, {_series_memory(series)}" + (
        ", nulls not counted: large" if column.nulls is None else f", {amount(column.nulls, 'null')}"
    )
    yield column.note
    if _reads_fast(series):
        most = min(rows, max(page.room // 12, 1), 1000)
        marks = series.index[:most].tolist()
        values = series.iloc[:most].tolist()
        lines = (f"  {brief(marks[i], 40, 1)}: {brief(value, 80, 1)}" for i, value in enumerate(values))
        yield from listing(page, lines, rows, "row")


def _series_memory(series: Any) -> str:
    return megabytes(sum(int(block.values.nbytes) for block in blocks_of(series)))


def _is_multi(index: Any) -> bool:
    return any(qualified_name(entry) == "MultiIndex" and root_of(entry) == "pandas" for entry in mro(type(index)))


def _index_text(index: Any) -> str:
    """Return kind, names and ends of an index; its length is the frame's."""
    kind = qualified_name(type(index))
    length = len(index)
    if _is_multi(index):
        names, levels = list(index.names), index.levels
        parts = (f"{brief(names[i], 40, 1)} ({len(level):,} values)" for i, level in enumerate(levels))
        return f"{kind} of {amount(len(levels), 'level')}: {join(parts, 160)}"
    name = "" if index.name is None else f" named {column_name(index.name)}"
    if not length:
        return f"{kind}{name}, empty"
    ends = f"{brief(index[0], 40, 1)} to {brief(index[-1], 40, 1)}"
    if kind == "RangeIndex":
        return f"{kind}{name} {ends}" + (f" by {index.step}" if index.step != 1 else "")
    frequency = own(own(index, "_data"), "_freq")
    every = "" if frequency in (None, MISSING) else f", frequency {getattr(frequency, 'freqstr', '?')}"
    return f"{kind}{name} of {index.dtype}, {ends}{every}"


def _index_gist(index: Any) -> str:
    return f"{len(index):,}: {_index_text(index)}"


def _index_lines(index: Any, page: Page) -> Iterator[str]:
    values = index[: min(len(index), max(page.room // 12, 1), 1000)].tolist()
    yield from listing(page, (f"  {brief(value, 80, 1)}" for value in values), len(index), "label")


def _array_gist(values: Any) -> str:
    if root_of(type(values)) != "pandas":
        return "an extension array of another package"
    head = join((brief(value, 30, 0) for value in itertools.islice(values[:6], 6)), 60)
    return f"{len(values):,} {values.dtype}: {head}"


def _scalar_gist(value: Any) -> str:
    return _scalar_form(value, 100)


def _scalar_form(value: Any, width: int, *_: int) -> str:
    kind = qualified_name(type(value))
    if kind in {"NaTType", "NAType"}:
        return "NaT" if kind == "NaTType" else "<NA>"
    return clip(str(value).removesuffix(" 00:00:00"), width) if is_genuine(type(value)) else f"<{label(type(value))}>"

"""Describers of NumPy arrays and scalars, and of SciPy's sparse matrices.

An array of a subclass is looked at through a plain view, so what the subclass overrides never runs. Whole
arrays are read only within the cell budget of the page; never those mapped from a file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from zidane_lab.kernel.inside.containers import element_types
from zidane_lab.kernel.inside.registry import ARRAY, Describer, register_name
from zidane_lab.kernel.inside.static import MISSING, label, own, qualified_name, root_of, subclass_of
from zidane_lab.kernel.inside.tables import span
from zidane_lab.kernel.inside.text import Page, amount, clip, join, listing, megabytes
from zidane_lab.kernel.inside.values import brief, number

__all__ = ["plain_array", "register_numpy"]

_HEAD = 6
_OBJECTS = 1000
_BYTES = 1_000_000
"""Most bytes of elements turned into Python values (text of fixed width can be long)."""


def register_numpy() -> None:
    """Register NumPy and SciPy's sparse matrices by the names of their classes."""
    register_name("numpy.ndarray", Describer(_gist, _lines, title=_title, rank=ARRAY))
    register_name("numpy.generic", Describer(_scalar_gist, form=_scalar_form))
    register_name("numpy.dtype", Describer(_dtype_gist))
    for name in ("_spbase", "spmatrix"):
        register_name(f"scipy.{name}", Describer(_sparse_gist, rank=ARRAY))


def plain_array(array: Any) -> Any:
    """Return a view of the array as a plain ``ndarray``: no copy, no method of a subclass."""
    base = sys.modules["numpy"].ndarray
    return array if type(array) is base else base.view(array, base)


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{length:,}" for length in shape) if shape else "scalar"


def _head(array: Any, count: int) -> list[Any]:
    """Return the first elements in the order of the last axis, without copying or flattening the array."""
    if not array.size:
        return []
    row = array[(0,) * (array.ndim - 1)] if array.ndim > 1 else array
    count = max(1, min(count, _BYTES // max(array.dtype.itemsize, 1)))
    if row.dtype.kind in "mM":
        return list(row[:count]) if row.ndim else [row[()]]
    items: list[Any] = row[:count].tolist() if row.ndim else [row.item()]
    return items


def _dtype(dtype: Any) -> str:
    if dtype.names is None:
        return clip(str(dtype), 60)
    fields = join((f"{name}: {clip(str(dtype.fields[name][0]), 24)}" for name in dtype.names), 70)
    return f"record of {amount(len(dtype.names), 'field')} ({fields})"


def _gist(array: Any) -> str:
    view = plain_array(array)
    values = join((number(value) for value in _head(view, _HEAD)), 50)
    return f"{_shape(view.shape)} {_dtype(view.dtype)}" + (f": {values}" if values else "")


def _title(array: Any) -> str:
    view = plain_array(array)
    return f"{_shape(view.shape)} {_dtype(view.dtype)}, {_memory(view)}"


def _lines(array: Any, page: Page) -> Iterator[str]:
    view = plain_array(array)
    mapped = own(array, "filename")
    if mapped is not MISSING and qualified_name(type(array)) == "memmap":
        yield f"mapped from the file {brief(mapped, 120)}; its data were not read beyond the head"
    elif own(array, "_mask") is not MISSING:
        yield "masked array: the values below are those under the mask, too"
    if view.dtype.names is not None:
        fields = (f"  {name}: {clip(str(view.dtype.fields[name][0]), 80)}" for name in view.dtype.names)
        yield from listing(page, fields, len(view.dtype.names), "field", share=0.5)
    elif view.dtype.hasobject:
        head = _head(view, _OBJECTS)
        yield f"objects: {element_types(head)}" + (f" (of the first {len(head):,})" if len(head) < view.size else "")
    elif mapped is MISSING:
        yield _statistics(view, page)
    values = _head(view, max(page.room // 12, 1))
    if values:
        yield f"first values: {join((number(value) for value in values), max(min(page.room - 60, 240), 20))}"


def _memory(view: Any) -> str:
    if view.size and 0 in view.strides and max(view.shape) > 1:
        return f"a broadcast view (copied it would take {megabytes(view.nbytes)})"
    return megabytes(view.nbytes) + ("" if view.base is None else ", a view")


def _statistics(view: Any, page: Page) -> str:
    """Return nulls and range of numbers and times, if reading all of them is affordable."""
    numpy = sys.modules["numpy"]
    kind = view.dtype.kind
    if kind not in "biufcmM" or not view.size:
        return ""
    if not page.afford(view.size):
        return f"range not computed: large, {amount(view.size, 'element')}"
    if kind == "b":
        return f"{int(view.sum()):,} of {view.size:,} are true"
    with numpy.errstate(all="ignore"):
        nulls = int(numpy.isnat(view).sum() if kind in "mM" else numpy.isnan(view).sum() if kind in "fc" else 0)
        filled = view.size - nulls
        said = f"{amount(nulls, 'null')}" if kind in "fcmM" else ""
        if filled and kind != "c":
            low, high = (numpy.fmin, numpy.fmax) if kind in "fmM" else (numpy.minimum, numpy.maximum)
            ends = span(*(_item(edge.reduce(view, axis=None)) for edge in (low, high)))
            said = f"{said}, {ends}" if said else ends
    return said


def _item(value: Any) -> Any:
    return value if value.dtype.kind in "mM" else value.item()


def _scalar_gist(value: Any) -> str:
    return _scalar_form(value, 100)


def _scalar_form(value: Any, width: int, *_: int) -> str:
    if root_of(type(value)) != "numpy" or value.dtype.hasobject or value.dtype.names is not None:
        return f"<{label(type(value))}>"
    if value.dtype.kind in "USV":
        return brief(value.item(), width, 0)
    return clip(str(value), width)


def _dtype_gist(dtype: Any) -> str:
    return _dtype(dtype)


def _sparse_gist(matrix: Any) -> str:
    shape, data = own(matrix, "_shape"), own(matrix, "data")
    numpy = sys.modules.get("numpy")
    if type(shape) is not tuple or numpy is None or not subclass_of(type(data), numpy.ndarray):
        return "sparse"
    stored = plain_array(data)
    return f"{_shape(shape)} {stored.dtype}, {amount(int(stored.size), 'stored value')}, {megabytes(stored.nbytes)}"

"""Cheap marks of a mutable object's state: equal marks do not prove that nothing changed, different ones do.

A mark costs microseconds and holds no data: sizes, shapes, identities of what the object is made of, and a
few sampled bytes. No method of an unknown class is called.
"""

from __future__ import annotations

import array
import collections
import itertools
import types
from collections.abc import Callable
from typing import Any

from zidane_lab.kernel.inside.arrays_numpy import plain_array
from zidane_lab.kernel.inside.frames_pandas import blocks_of
from zidane_lab.kernel.inside.static import full_name, instance_dict, is_genuine, mro, own, qualified_name, root_of

__all__ = ["fingerprint"]

_SAMPLES = 32
"""Elements sampled of an array."""

_COLUMN_SAMPLES = 8
"""Elements sampled of a column: each is likely a cache miss, some 0.1 µs."""

_ELEMENTS = 24
"""Elements of a container whose identity is noted."""

_COLUMNS = 64
"""Columns of a frame that are sampled."""

_ATTRIBUTES = 200


def fingerprint(obj: object) -> object:
    """Return a small mark of an object's state; ``None`` where none is known.

    Marks are tuples of numbers, bytes and names: comparing two of them reads no data and runs no code.
    """
    found = _EXACT.get(id(type(obj)))
    if found is not None:
        return found(obj)
    for entry in mro(type(obj))[:-1]:
        found = _EXACT.get(id(entry))
        if found is None and root_of(entry) in _ROOTS and is_genuine(entry):
            found = _NAMED.get(f"{root_of(entry)}.{qualified_name(entry)}")
        if found is not None:
            return found(obj)
    return _stored(obj)


def _nothing(_obj: Any) -> object:
    return None


def _stored(obj: object) -> object:
    """Return names and identities of an object's public attributes; private ones may be caches."""
    held = instance_dict(obj)
    if held is None or len(held) > _ATTRIBUTES:
        return None if held is None else len(held)
    return tuple((name, id(value)) for name, value in list(held.items()) if type(name) is str and name[:1] != "_")


# --- containers -----------------------------------------------------------------------------------


def _sequence(base: Any) -> Callable[[Any], object]:
    def mark(value: Any) -> object:
        length = base.__len__(value)
        if length <= _ELEMENTS:
            return length, tuple(map(id, base.__iter__(value)))
        step = max(length // 8, 1)
        places = [*range(8), *range(0, length, step), length - 1]
        return length, tuple(id(base.__getitem__(value, place)) for place in places)

    return mark


def _numbers(base: Any) -> Callable[[Any], object]:
    """Return the mark of flat memory: its elements are made anew at each look, so they count by value."""

    def mark(value: Any) -> object:
        length = base.__len__(value)
        return length, bytes(memoryview(value).cast("B")[:: max(length // _SAMPLES, 1)][:256]) if length else b""

    return mark


def _mapping(value: Any) -> object:
    length = dict.__len__(value)
    items = list(itertools.islice(dict.values(value), _ELEMENTS))
    last = next(iter(dict.__reversed__(value)), None) if length > _ELEMENTS else None
    return length, tuple(map(id, items)), id(last)


def _set(value: Any) -> object:
    return set.__len__(value), tuple(map(id, itertools.islice(set.__iter__(value), _ELEMENTS)))


# --- arrays and tables ----------------------------------------------------------------------------


def _array(value: Any) -> object:
    view = plain_array(value)
    return view.shape, view.strides, view.dtype.str, view.__array_interface__["data"][0], _samples(view)


def _samples(view: Any) -> bytes | None:
    """Return a sample of an array; of one with several dimensions only if it lies in one piece of memory."""
    if view.ndim != 1:
        if not (view.flags.c_contiguous or view.flags.f_contiguous):
            return None
        view = view.ravel(order="K")  # a view, as it is contiguous
    return _sample(view, _SAMPLES)


def _sample(row: Any, count: int) -> bytes:
    """Return bytes of some elements spread over a one-dimensional array (of objects: their identities)."""
    data: bytes = row[:: max(len(row) // count, 1)][: 2 * count].tobytes()
    return data[:4096]


def _frame(value: Any) -> object:
    """Mark a frame or a series by its axes, its arrays, and a sample of each column.

    Reading does not exchange the arrays (pandas before 2.0 may merge those of one dtype, which then counts as
    a change); writing does, or writes into them.
    """
    axes = getattr(own(value, "_mgr"), "axes", ())
    marks: list[object] = []
    for block in blocks_of(value)[:_COLUMNS]:
        values = block.values
        data = values if full_name(type(values)) == "numpy.ndarray" else own(values, "_ndarray")
        known = full_name(type(data)) == "numpy.ndarray"
        rows = () if not known else (data,) if data.ndim == 1 else data[:_COLUMNS]
        marks.append((id(values), *(_sample(row, _COLUMN_SAMPLES) for row in rows)))
    return *map(id, axes), *map(len, axes), *marks


def _polars(value: Any) -> object:
    return value.shape, tuple(value.columns[:200]), tuple(map(str, value.dtypes[:200]))


def _dataset(value: Any) -> object:
    held = own(value, "_variables")
    if type(held) is not dict:
        return None
    return tuple((id(name), id(variable), _data(variable)) for name, variable in list(held.items())[:_COLUMNS])


def _data_array(value: Any) -> object:
    return _data(own(value, "_variable"))


def _data(variable: Any) -> object:
    """Return the mark of an xarray variable; what is not in memory is known by identity alone."""
    data = own(variable, "_data")
    return id(data), _array(data) if full_name(type(data)) == "numpy.ndarray" else None


def _tensor(value: Any) -> object:
    # PyTorch counts the writes to a tensor itself; tensors of inference mode have no count.
    plain = full_name(type(value)) in {"torch.Tensor", "torch.nn.parameter.Parameter"}
    return value._version if plain and not value.is_inference() else None  # noqa: SLF001 — the name it is documented by


_EXACT: dict[int, Callable[[Any], object]] = {
    **{
        id(base): _nothing
        for base in (
            *(int, float, complex, str, bytes, bool, type(None), tuple, frozenset, range),
            *(type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType),
        )
    },
    **{id(base): _sequence(base) for base in (list, collections.deque)},
    **{id(base): _numbers(base) for base in (bytearray, array.array)},
    id(dict): _mapping,
    id(set): _set,
}
_NAMED: dict[str, Callable[[Any], object]] = {
    "pandas.DataFrame": _frame,
    "pandas.Series": _frame,
    "pandas.Index": _nothing,
    "polars.DataFrame": _polars,
    "polars.Series": _nothing,
    "pyarrow.Table": _nothing,
    "numpy.ndarray": _array,
    "numpy.generic": _nothing,
    "xarray.Dataset": _dataset,
    "xarray.DataArray": _data_array,
    "torch.Tensor": _tensor,
}
_ROOTS = frozenset(name.partition(".")[0] for name in _NAMED)

"""Describers of xarray objects. Variables backed by a file or by Dask are named with shape and dtype, never loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zidane_lab.kernel.inside.arrays_numpy import plain_array
from zidane_lab.kernel.inside.registry import ARRAY, FRAME, Describer, register_name
from zidane_lab.kernel.inside.static import full_name, label, own
from zidane_lab.kernel.inside.tables import column_name
from zidane_lab.kernel.inside.text import Page, amount, join, listing, megabytes
from zidane_lab.kernel.inside.values import brief, number

__all__ = ["register_xarray"]


def register_xarray() -> None:
    """Register xarray by the names of its classes."""
    register_name("xarray.Dataset", Describer(_dataset_gist, _dataset_lines, rank=FRAME))
    register_name("xarray.DataArray", Describer(_array_gist, _array_lines, rank=ARRAY))
    register_name("xarray.Variable", Describer(_variable_gist, rank=ARRAY))


def _sizes(sizes: Mapping[Any, int]) -> str:
    return join((f"{column_name(name)}: {size:,}" for name, size in sizes.items()), 80)


def _head(variable: Any) -> str:
    """Return first values of what lies in memory, else why there are none."""
    data = own(variable, "_data")
    if full_name(type(data)) != "numpy.ndarray":
        name = label(type(data))
        return "" if name.startswith("xarray.PandasIndexing") else f"not loaded ({name})"
    view = plain_array(data)
    if not view.size:
        return "empty"
    row = view[(0,) * (view.ndim - 1)] if view.ndim > 1 else view
    values = row[:4].tolist() if row.ndim else [row.item()]
    return join((number(value) for value in values), 60)


def _variable_gist(variable: Any) -> str:
    dims = join((f"{column_name(name)}: {size:,}" for name, size in zip(variable.dims, variable.shape)), 60)  # noqa: B905 — `strict` is not there before Python 3.10
    return f"({dims}) {variable.dtype}, {_head(variable)}".removesuffix(", ")


def _dataset_gist(dataset: Any) -> str:
    names = join(map(column_name, list(dataset.data_vars)[:12]), 60)
    return f"{_sizes(dataset.sizes)}; {amount(len(dataset.data_vars), 'variable')}: {names}"


def _dataset_lines(dataset: Any, page: Page) -> Iterator[str]:
    yield f"sizes {_sizes(dataset.sizes)}; {megabytes(dataset.nbytes)} when loaded"
    yield from _coordinates(dataset, page)
    yield "variables:"
    held = dataset.data_vars
    rows = (f"  {column_name(name)}: {_variable_gist(held[name].variable)}" for name in held)
    yield from listing(page, rows, len(held), "variable", share=0.8)
    yield from _attributes(dataset.attrs)


def _coordinates(obj: Any, page: Page) -> Iterator[str]:
    coords = obj.coords
    if len(coords):
        yield "coordinates:"
        rows = (f"  {column_name(name)}: {_variable_gist(coords[name].variable)}" for name in coords)
        yield from listing(page, rows, len(coords), "coordinate", share=0.5)


def _attributes(attrs: Mapping[Any, Any]) -> Iterator[str]:
    if attrs:
        yield f"attrs: {brief(dict(attrs), 300)}"


def _array_gist(array: Any) -> str:
    name = "" if array.name is None else f"{column_name(array.name)} "
    return f"{name}{_variable_gist(array.variable)}"


def _array_lines(array: Any, page: Page) -> Iterator[str]:
    yield f"sizes {_sizes(array.sizes)}; dtype {array.dtype}; {megabytes(array.nbytes)} when loaded"
    yield f"values: {_head(array.variable)}"
    yield from _coordinates(array, page)
    yield from _attributes(array.attrs)

"""Resolving ``name``, ``name["column"]`` and ``name[0]`` without running code of the objects on the way.

Anything else (attributes, calls, slices, parts of unknown types) could run code, so it is left to
``run_python``, where it is seen and gated as code.
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Callable, Mapping
from typing import Any

from zidane_lab.kernel.inside.arrays_numpy import plain_array
from zidane_lab.kernel.inside.registry import problem
from zidane_lab.kernel.inside.static import MISSING, exactly, is_genuine, label, mro, qualified_name, root_of
from zidane_lab.kernel.inside.text import join, one_line
from zidane_lab.kernel.inside.values import brief

__all__ = ["InspectError", "resolve"]

_USE = "Use run_python for that."


class InspectError(LookupError):
    """A path that leads nowhere, or that only running code could follow."""


def resolve(
    namespace: Mapping[str, Any], path: str, near: Callable[[str], list[str]] | None = None
) -> tuple[object, Any]:
    """Follow a path from a name through constant subscripts.

    Returns
    -------
    tuple
        The last name or key of the path, and the object it leads to.

    Raises
    ------
    InspectError
        With a message for whoever wrote the path.
    """
    name, keys = _parse(path)
    value = namespace.get(name, MISSING)
    if value is MISSING:
        close = near(name) if near is not None else []
        hint = f" Near names: {', '.join(close)}." if close else " List the variables to see what there is."
        raise InspectError(f"There is no variable named {one_line(name, 80)}.{hint}")
    last: object = name
    for key in keys:
        value, last = _part(value, key), key
    return last, value


def _parse(path: str) -> tuple[str, list[Any]]:
    """Split a path into its name and its constant subscripts."""
    refusal = InspectError(
        f"{brief(path, 100)} is not a name with constant subscripts, such as df, df['price'] or runs[0]. {_USE}"
    )
    try:
        node = ast.parse(path.strip()[:1000], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise refusal from error
    keys: list[Any] = []
    while type(node) is ast.Subscript:
        keys.append(_constant(node.slice, refusal))
        node = node.value
    if type(node) is not ast.Name:
        raise refusal
    return node.id, keys[::-1]


def _constant(node: ast.expr, refusal: InspectError) -> Any:
    """Return a constant key: text, bytes, a number, or a tuple of such."""
    if type(node) is ast.Constant and exactly(type(node.value), (str, bytes, int, float, bool, type(None))):
        return node.value
    if type(node) is ast.UnaryOp and type(node.op) is ast.USub and type(node.operand) is ast.Constant:
        number = _constant(node.operand, refusal)
        if exactly(type(number), (int, float)):
            return -number
    if type(node) is ast.Tuple:
        return tuple(_constant(part, refusal) for part in node.elts)
    raise refusal


def _part(value: Any, key: Any) -> Any:
    """Return ``value[key]`` for the types whose subscripts are known to be cheap and harmless."""
    for entry in mro(type(value)):
        get = _BUILT_IN.get(id(entry))
        if get is None and root_of(entry) in _ROOTS and is_genuine(entry):
            get = _NAMED.get(f"{root_of(entry)}.{qualified_name(entry)}")
        if get is not None:
            try:
                return get(value, key)
            except InspectError:
                raise
            except Exception as error:
                raise InspectError(f"{label(type(value))} has no {brief(key)} ({problem(error)}).") from error
    raise InspectError(f"A part of {label(type(value))} cannot be looked at without running its code. {_USE}")


def _entry(value: Any, key: Any) -> Any:
    # `dict.__getitem__` would call `__missing__` of a subclass, which may insert.
    found = dict.get(value, key, MISSING)
    if found is MISSING:
        names = join((brief(known, 40, 0) for known in list(dict.keys(value))[:20]), 200)
        raise InspectError(f"There is no key {brief(key)}; keys: {names or 'none'}.")
    return found


def _item(base: Any) -> Callable[[Any, Any], Any]:
    def get(value: Any, key: Any) -> Any:
        if type(key) is not int:
            raise InspectError(f"{label(type(value))} is subscripted by integers, not by {brief(key)}.")
        length = base.__len__(value)
        if not -length <= key < length:
            raise InspectError(f"There is no item {key}: {label(type(value))} has {length:,}.")
        return base.__getitem__(value, key)

    return get


def _column(value: Any, key: Any) -> Any:
    """Return a column of a frame (pandas, polars, Arrow) by its name."""
    names = value.columns if root_of(mro(type(value))[0]) != "pyarrow" else value.schema.names
    if type(key) is int and root_of(type(value)) in {"polars", "pyarrow"}:
        raise InspectError(f"Columns are looked up by name, not by {key}; rows need code. {_USE}")
    if key not in names:
        raise InspectError(f"There is no column {brief(key)}; columns: {join(map(brief, list(names[:30])), 300)}.")
    return value.column(key) if root_of(type(value)) == "pyarrow" else value[key]


def _variable(value: Any, key: Any) -> Any:
    """Return a variable of an xarray Dataset; nothing is loaded."""
    if key not in value.variables:
        names = join(map(brief, list(value.variables)[:30]), 300)
        raise InspectError(f"There is no variable {brief(key)} in the dataset; it has {names}.")
    return value[key]


def _element(value: Any, key: Any) -> Any:
    return plain_array(value)[key]


_BUILT_IN: dict[int, Callable[[Any, Any], Any]] = {
    id(dict): _entry,
    **{id(base): _item(base) for base in (list, tuple, str, bytes, bytearray, range, collections.deque)},
}
_NAMED: dict[str, Callable[[Any, Any], Any]] = {
    "pandas.DataFrame": _column,
    "polars.DataFrame": _column,
    "pyarrow.Table": _column,
    "pyarrow.RecordBatch": _column,
    "xarray.Dataset": _variable,
    "numpy.ndarray": _element,
}
_ROOTS = frozenset(name.partition(".")[0] for name in _NAMED)

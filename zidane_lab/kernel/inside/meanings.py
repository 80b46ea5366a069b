"""What the names of a namespace stand for, in words that code can be judged by.

Only types and modules are looked at, never values, with one exception: whether a text is an address.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from zidane_lab.kernel.inside.static import exactly, instance_dict, module_name, qualified_name, subclass_of

__all__ = ["meanings"]

_SHORTENED = ("pandas", "polars", "numpy", "xarray", "pathlib")
"""Packages whose public names are re-exported at the top: ``pandas.DataFrame``, not where it is defined."""

_ADDRESS = 200
"""Characters of a text that may be an address."""


def meanings(namespace: Mapping[str, Any]) -> dict[str, str]:
    """Say for each name what it stands for.

    A module becomes its name (``{"sp": "subprocess"}``), a function or class its full name, a text that is an
    address that address, anything else the result of its class (``{"df": "pandas.DataFrame()"}``).
    """
    return {name: _meaning(value) for name, value in list(namespace.items()) if type(name) is str}


def _meaning(value: Any) -> str:
    cls = type(value)
    if subclass_of(cls, ModuleType):
        name = (instance_dict(value) or {}).get("__name__", "")
        return name if type(name) is str else ""
    if cls is str:
        head = value[:_ADDRESS]
        return head if "://" in head else "str()"
    if exactly(cls, (FunctionType, BuiltinFunctionType)):
        return _full_name(value.__module__, value.__qualname__)
    if subclass_of(cls, type):
        return _full_name(module_name(value), qualified_name(value))
    return f"{_full_name(module_name(cls), qualified_name(cls))}()"


def _full_name(module: Any, name: str) -> str:
    if type(module) is not str or module in {"builtins", "__main__", ""}:
        return name
    root = module.partition(".")[0]
    if root in {"posix", "nt"}:
        return f"os.{name}"
    return f"{root if root in _SHORTENED else module}.{name}"

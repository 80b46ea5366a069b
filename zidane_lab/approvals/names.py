"""What the names of a live namespace stand for, told so that code can be judged by it.

Only types and modules are looked at, never values, with one exception: whether a text is an address.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

__all__ = ["known_names"]

_MOST: Final = 20_000


def known_names(namespace: Mapping[str, Any]) -> dict[str, str]:
    """Describe names for :func:`zidane_lab.approvals.python_code.classify`.

    A module becomes its name (``{"sp": "subprocess"}``), a function or class its full name, a text that is an
    address that address, anything else the result of its class (``{"df": "pandas.DataFrame()"}``).
    """
    found: dict[str, str] = {}
    for name, value in list(namespace.items())[:_MOST]:
        kind = type(value)  # not `isinstance`, which asks the value itself
        if issubclass(kind, ModuleType):
            found[name] = str(ModuleType.__getattribute__(value, "__dict__").get("__name__", ""))
        elif kind is str:
            found[name] = value[:200] if "://" in value[:200] else "str()"
        elif issubclass(kind, type) or kind in {FunctionType, BuiltinFunctionType}:
            found[name] = _full_name(value)
        else:
            found[name] = f"{_full_name(kind)}()"
    return found


def _full_name(value: type | FunctionType | BuiltinFunctionType) -> str:
    """Name a class or function as people import it: ``pandas.DataFrame``, not where it is defined."""
    module = str(getattr(value, "__module__", None) or "")
    name = str(getattr(value, "__qualname__", getattr(value, "__name__", "")))
    if module in {"builtins", "__main__", ""}:
        return name
    if module in {"posix", "nt"}:
        return f"os.{name}"
    root = module.partition(".")[0]
    return f"{root}.{name}" if root in {"pandas", "polars", "numpy", "xarray", "pathlib"} else f"{module}.{name}"

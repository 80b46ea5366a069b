"""Describers other people provide, for their own types.

Two ways lead in. A class may define ``__zidane_describe__(self, budget) -> str``: it is looked up on the type,
as Python does for its own special methods, never on the instance. A package may declare an entry point in
the group ``zidane_lab.describers`` whose name is the fully qualified name of a type and whose object is a
function ``describe(obj, budget) -> str``; it is loaded when an object of that type is first described.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zidane_lab.kernel.inside.static import MISSING, class_dict, full_name, mro

__all__ = ["ENTRY_POINTS", "METHOD", "External", "external", "forget_entry_points"]

ENTRY_POINTS = "zidane_lab.describers"
"""The entry point group of describers."""

METHOD = "__zidane_describe__"
"""The method a class describes its objects with."""


@dataclass(frozen=True)
class External:
    """A describer from outside, not loaded yet.

    Parameters
    ----------
    place
        Position in the method resolution order of the class it was given for.
    name
        What to call it when it fails.
    describe
        Runs it: ``describe(obj, budget)``.
    """

    place: int
    name: str
    describe: Callable[[Any, int], object]


_declared: dict[str, Any] | None = None


def forget_entry_points() -> None:
    """Read the installed entry points anew next time (a package was installed in the running kernel)."""
    global _declared  # noqa: PLW0603 — a cache of the process, as the installed packages are
    _declared = None


def _entry_points() -> dict[str, Any]:
    """Return the declared entry points by name; read once, none of them loaded."""
    global _declared  # noqa: PLW0603 — a cache of the process, as the installed packages are
    if _declared is None:
        import importlib.metadata  # slow to import, and needed at the first description only

        found: Any = importlib.metadata.entry_points()
        # Python 3.9 returns a plain dictionary of groups.
        group = found.select(group=ENTRY_POINTS) if hasattr(found, "select") else found.get(ENTRY_POINTS, ())
        _declared = {point.name: point for point in group}
    return _declared


def external(cls: type) -> External | None:
    """Return the describer from outside that is closest to a class, its method before an entry point."""
    for place, entry in enumerate(mro(cls)[:-1]):
        method = class_dict(entry).get(METHOD, MISSING)
        if method is not MISSING:
            return External(place, f"{full_name(entry)}.{METHOD}", _by_method(method))
        point = _entry_points().get(full_name(entry))
        if point is not None:
            return External(place, f"entry point {point.name} = {point.value}", _by_entry_point(point))
    return None


def _by_method(method: Any) -> Callable[[Any, int], object]:
    def describe(obj: Any, budget: int) -> object:
        bind = getattr(type(method), "__get__", None)
        bound = method if bind is None else bind(method, obj, type(obj))
        return bound(budget)

    return describe


def _by_entry_point(point: Any) -> Callable[[Any, int], object]:
    def describe(obj: Any, budget: int) -> object:
        return point.load()(obj, budget)

    return describe

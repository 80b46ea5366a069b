"""Who describes what: describers by type, found without importing or touching anything.

Types of the standard library are registered as objects, types of other packages by name: the top-level
package and the qualified name, ``pandas.DataFrame``. A name counts only where the module that a class claims
really holds that class, so a class cannot pass itself off as another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from zidane_lab.kernel.inside.static import (
    is_genuine,
    label,
    module_name,
    mro,
    qualified_name,
)
from zidane_lab.kernel.inside.text import Page, clip, one_line

__all__ = [
    "ARRAY",
    "CODE",
    "FRAME",
    "LINE",
    "VALUE",
    "Describer",
    "find",
    "gist",
    "position",
    "problem",
    "register_family",
    "register_name",
    "register_type",
    "summarize",
]

FRAME, ARRAY, VALUE, CODE = range(4)
"""Ranks, in the order a person wants to see variables: tables, arrays, other values, code."""

LINE = 120
"""Most characters a one-line summary has."""


def _no_lines(_obj: Any, _page: Page) -> Iterator[str]:
    """Add nothing: the one-line summary says it all."""
    yield from ()


@dataclass(frozen=True)
class Describer:
    """How to describe objects of one type.

    Parameters
    ----------
    gist
        The object in a few words, without its type. Constant time; reads no data.
    lines
        The rest of the description, made while the page asks for more.
    form
        For values that have a literal form (numbers, text, containers): ``form(value, width, depth)``;
        it is shown bare where others stand in angle brackets.
    title
        What the description says instead of the gist, where its lines would repeat that.
    rank
        Where the type belongs in a list of variables.
    """

    gist: Callable[[Any], str]
    lines: Callable[[Any, Page], Iterator[str]] = _no_lines
    form: Callable[[Any, int, int], str] | None = None
    title: Callable[[Any], str] | None = None
    rank: int = VALUE


_TYPES: dict[int, Describer] = {}
_NAMES: dict[str, Describer] = {}
_FAMILIES: dict[str, Describer] = {}
_ROOTS: set[str] = set()
_FIRST: dict[int, Describer] = {}


def register_type(cls: type, describer: Describer, *, first: bool = False) -> None:
    """Register a type of the standard library (it must live for ever: it is kept by identity).

    ``first`` lets it win over more specific bases: an enumeration's member may also be an ``int``.
    """
    (_FIRST if first else _TYPES)[id(cls)] = describer


def register_name(name: str, describer: Describer) -> None:
    """Register ``package.Class``: the top-level package and the qualified name of the class."""
    _NAMES[name] = describer
    _ROOTS.add(name.partition(".")[0])


def register_family(package: str, describer: Describer) -> None:
    """Register every class of a package; for describers that touch nothing, since names are not verified."""
    _FAMILIES[package] = describer
    _ROOTS.add(package)


def find(cls: type) -> tuple[int, Describer]:
    """Return the describer of a type and its place in the method resolution order; ``object`` ends every search."""
    chosen = _TYPES.get(id(cls))
    if chosen is not None:
        return 0, chosen
    order = mro(cls)
    for place, entry in enumerate(order):
        chosen = _FIRST.get(id(entry))
        if chosen is not None:
            return place, chosen
    for place, entry in enumerate(order):
        chosen = _TYPES.get(id(entry))
        if chosen is None:
            root = module_name(entry).partition(".")[0]
            if root not in _ROOTS:
                continue
            chosen = _NAMES.get(f"{root}.{qualified_name(entry)}")
            if chosen is None or not is_genuine(entry):
                chosen = _FAMILIES.get(root)
        if chosen is not None:
            return place, chosen
    raise LookupError("The describer of `object` is not registered: import zidane_lab.kernel.inside.describe first.")


def position(cls: type) -> int:
    """Return the rank of a type: ``FRAME``, ``ARRAY``, ``VALUE`` or ``CODE``."""
    return find(cls)[1].rank


def gist(obj: object, width: int = LINE) -> str:
    """Return the object in a few words, without its type; never raises."""
    try:
        return one_line(find(type(obj))[1].gist(obj), width)
    except Exception as error:  # noqa: BLE001 — one broken object must not hide all the others
        return clip(f"(not readable: {problem(error)})", width)


def summarize(obj: object) -> str:
    """Return the object's type and its gist on one line of at most 120 characters; never raises.

    Third-party describers are not asked: a summary is made for every variable there is.
    """
    name, words = label(type(obj)), gist(obj)
    return one_line(f"{name}: {words}" if words else name, LINE)


def problem(error: BaseException) -> str:
    """Name an exception and its message; the message only if it is plain text (``str`` could run anything)."""
    name = qualified_name(type(error))
    arguments = BaseException.args.__get__(error)  # type: ignore[attr-defined]
    message = next((part for part in arguments if type(part) is str), "")
    return one_line(f"{name}: {message}" if message else name, LINE)

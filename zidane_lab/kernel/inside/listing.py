"""The user's variables at a glance, and one of them, or a part of one, in detail."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Container, Mapping
from typing import Any

from zidane_lab.kernel.inside.describe import BUDGET, describe
from zidane_lab.kernel.inside.names import user_items
from zidane_lab.kernel.inside.paths import InspectError, resolve
from zidane_lab.kernel.inside.privacy import hides
from zidane_lab.kernel.inside.registry import gist, position
from zidane_lab.kernel.inside.static import label
from zidane_lab.kernel.inside.text import clip, one_line
from zidane_lab.kernel.inside.values import HIDDEN

__all__ = ["LIMIT", "InspectError", "inspect", "list_variables", "near_names"]

LIMIT = 200
"""Variables listed unless told otherwise."""

_NAMES = 2000
"""Names searched for near ones."""


def list_variables(
    namespace: Mapping[str, Any], pattern: str | None = None, limit: int = LIMIT, hidden: Container[str] = ()
) -> dict[str, Any]:
    """List the user's variables: tables first, then arrays, other values, and code; else in order of definition.

    Parameters
    ----------
    namespace
        The kernel's global names.
    pattern
        Part of a name, or with ``*``, ``?`` or ``[`` a glob for whole names; case does not matter.
    limit
        Most variables listed. Only these are looked at; the others cost nothing but their type.
    hidden
        Names that are not the user's, besides those IPython always has.

    Returns
    -------
    dict
        ``{"variables": [{"name", "type", "summary"}, …], "total": matching, "shown": listed}``.
    """
    matching = [(name, value) for name, value in user_items(namespace, hidden) if _matches(name, pattern)]
    ranked = sorted(matching, key=lambda item: position(type(item[1])))
    listed = [
        {
            "name": one_line(name, 200),
            "type": label(type(value)),
            "summary": HIDDEN if hides(name, value) else gist(value),
        }
        for name, value in ranked[: max(limit, 0)]
    ]
    return {"variables": listed, "total": len(matching), "shown": len(listed)}


def _matches(name: str, pattern: str | None) -> bool:
    if not pattern:
        return True
    low, wanted = name.lower(), pattern.lower()
    return fnmatch.fnmatchcase(low, wanted) if set(wanted) & set("*?[") else wanted in low


def near_names(namespace: Mapping[str, Any], name: str, hidden: Container[str] = ()) -> list[str]:
    """Return up to five of the user's names that resemble ``name``, best first."""
    names = [known for known, _ in user_items(namespace, hidden)][-_NAMES:]
    folded: dict[str, str] = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower()[:200], folded, n=5, cutoff=0.6)
    return [folded[match] for match in close]


def inspect(namespace: Mapping[str, Any], path: str, budget: int = BUDGET) -> str:
    """Describe a variable, or a part of one such as ``df["price"]`` or ``runs[0]["loss"]``.

    Raises
    ------
    InspectError
        There is no such name or part, or the path asks for more than a look; the message says what to do.
    """
    name, value = resolve(namespace, path, lambda wanted: near_names(namespace, wanted))
    if hides(name, value):
        return clip(f"{label(type(value))}: {HIDDEN} its name says that it holds a credential", budget)
    return describe(value, budget)

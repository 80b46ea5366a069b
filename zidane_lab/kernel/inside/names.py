"""Which names of a namespace are the user's."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

__all__ = ["MACHINERY", "user_items"]

MACHINERY = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})
"""Names IPython puts beside the user's; what starts with an underscore is never the user's."""


def user_items(namespace: Mapping[str, Any], hidden: Container[str] = ()) -> list[tuple[str, Any]]:
    """Return the user's names and objects in the order of definition, read in one go.

    Parameters
    ----------
    namespace
        The kernel's global names, a ``dict``.
    hidden
        Further names to leave out.
    """
    items = list(namespace.items())  # one step of C code for a dict: other threads may be defining names
    return [
        (name, value)
        for name, value in items
        if type(name) is str and not name.startswith("_") and name not in MACHINERY and name not in hidden
    ]

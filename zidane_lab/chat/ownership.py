"""Whose variables are these? Names the agent made are its own to change; all others are the user's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from zidane_lab.turns import Turn

__all__ = ["made_by_agent", "users_names"]

_HIDDEN: Final = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})
"""Names IPython itself puts into the namespace."""


def made_by_agent(turns: Iterable[Turn]) -> frozenset[str]:
    """Return the names that code in a conversation created and did not delete again."""
    names: set[str] = set()
    for turn in turns:
        for result in turn.tool_results:
            execution = result.metadata.get("execution")
            if isinstance(execution, Mapping):
                names.update(execution.get("created", ()))
                names.difference_update(execution.get("deleted", ()))
    return frozenset(names)


def users_names(namespace: Mapping[str, Any], turns: Iterable[Turn]) -> frozenset[str]:
    """Return the names of the user's own variables: what is there now, less what the agent made."""
    own = {name for name in tuple(namespace) if not name.startswith("_")}
    return frozenset(own - _HIDDEN - made_by_agent(turns))

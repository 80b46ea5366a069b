"""What has been decided about how a session is sent, apart from its turns.

Turns are never changed once said. That an old result is left out of requests, or that a summary no longer
stands for the turns it was made of, is decided once, recorded in the session, and holds from then on: what is
sent changes only when such a decision is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

__all__ = ["COMPACT_UNDO", "ELIDE", "WireState", "wire_state"]

ELIDE: Final = "elide"
"""Kind of the session record that leaves results out: ``{"results": {call id: the text sent instead}}``.

With ``after``, the turn the conversation ended in then."""

COMPACT_UNDO: Final = "compact-undo"
"""Kind of the session record that undoes a compaction: ``{"turn": id of the summary's turn}``, and ``after``."""


@dataclass(frozen=True, slots=True)
class WireState:
    """How a session's turns are sent.

    Parameters
    ----------
    elided
        For the ids of calls whose results are left out, the text that stands in their place.
    undone
        Ids of the turns whose summaries no longer count.
    changed_after
        The turn the conversation ended in when the last of these was decided; ``None`` if nothing was, or it is not
        known.
    """

    elided: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    undone: frozenset[str] = frozenset()
    changed_after: str | None = None


def wire_state(records: Iterable[tuple[str, Mapping[str, Any]]]) -> WireState:
    """Add up the records of a session, as pairs of kind and data; damaged ones are passed over."""
    elided: dict[str, str] = {}
    undone: set[str] = set()
    changed_after: str | None = None
    for kind, data in records:
        if kind == ELIDE and isinstance(results := data.get("results"), Mapping):
            elided |= {call: text for call, text in results.items() if isinstance(text, str)}
        elif kind == COMPACT_UNDO and isinstance(turn := data.get("turn"), str):
            undone.add(turn)
        else:
            continue
        changed_after = after if isinstance(after := data.get("after"), str) else None
    return WireState(MappingProxyType(elided), frozenset(undone), changed_after)

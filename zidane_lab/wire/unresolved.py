"""Leave out assistant turns whose calls were never answered, before a session goes on.

A process that died between a call and its result leaves such a turn. Asking again is often better than telling the
model that its calls failed; where the calls should stay, :mod:`zidane_lab.wire.pairing` answers them.
"""

from __future__ import annotations

from zidane_lab.turns import Turn

__all__ = ["filter_unresolved_calls"]


def filter_unresolved_calls(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Drop assistant turns none of whose calls has a result anywhere later.

    Turns without calls stay, and so do turns with one answered call: repairing the pairing gives the others an error
    result. Ids stay as they are. The very same tuple comes back when nothing is dropped.
    """
    answered: set[str] = set()
    kept: list[Turn] = []
    for turn in reversed(turns):
        calls = turn.tool_calls if turn.role == "assistant" else ()
        if not calls or any(call.id in answered for call in calls):
            kept.append(turn)
        if turn.role == "user":
            answered.update(result.call_id for result in turn.tool_results)
    return turns if len(kept) == len(turns) else tuple(reversed(kept))

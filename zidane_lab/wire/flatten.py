"""A conversation and those its tools started, as one list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from zidane_lab.turns import Turn

__all__ = ["flatten_turns"]


def flatten_turns(turns: tuple[Turn, ...], children: Mapping[str, Sequence[Turn]]) -> tuple[Turn, ...]:
    """Put the turns of child runs behind the turns whose calls started them, at any depth.

    Parameters
    ----------
    turns
        The parent's turns.
    children
        For the ids of calls, the turns of the runs they started; each is put in once.

    Returns
    -------
    tuple of Turn
        The very same tuple when no child belongs to it. For sums and displays: it is no history to send.
    """
    used: set[str] = set()

    def walk(some: Sequence[Turn]) -> Iterator[Turn]:
        for turn in some:
            yield turn
            for call in turn.tool_calls:
                if call.id in children and call.id not in used:
                    used.add(call.id)
                    yield from walk(children[call.id])

    out = tuple(walk(turns))
    return out if used else turns

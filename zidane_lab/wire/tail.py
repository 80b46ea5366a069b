"""How a request starts and ends: with a user turn, and without empty turns between.

Services refuse a request that ends in an assistant turn (it would be a prefill) or starts with one. Also
here: what the last turn of a session tells about the run that wrote it.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from zidane_lab.turns import TextBlock, ThinkingBlock, ToolCallBlock, Turn

__all__ = [
    "CONTINUE",
    "EARLIER_OMITTED",
    "TailState",
    "drop_empty",
    "ensure_user_head",
    "ensure_user_tail",
    "is_empty",
    "open_calls",
    "tail_state",
]

CONTINUE: Final = "Continue."
"""What the model is told when the conversation ends in its own turn."""

EARLIER_OMITTED: Final = "[The earlier part of this conversation is not included]"
"""What stands before an assistant turn that comes first."""

TailState: TypeAlias = Literal["clean", "interrupted", "completed"]
"""``clean``: empty or ending in a user turn; ``interrupted``: ending in a call nobody answered;
``completed``: ending in an answer."""


def open_calls(turns: tuple[Turn, ...]) -> tuple[ToolCallBlock, ...]:
    """Return the calls of the last turn, which by its place nothing has answered."""
    return turns[-1].tool_calls if turns and turns[-1].role == "assistant" else ()


def tail_state(turns: tuple[Turn, ...]) -> TailState:
    """Say how the history ends."""
    if not turns or turns[-1].role == "user":
        return "clean"
    return "interrupted" if open_calls(turns) else "completed"


def drop_empty(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Leave out turns that say nothing: no blocks, or an assistant turn of reasoning alone.

    Nothing can be orphaned by it: such turns hold neither calls nor results. Do it before the pairing is
    mended, so that a call and its result with an empty turn between them become neighbours.
    """
    kept = tuple(turn for turn in turns if not is_empty(turn))
    return turns if len(kept) == len(turns) else kept


def is_empty(turn: Turn) -> bool:
    """Tell whether a turn says nothing: no blocks, or reasoning alone."""
    return all(isinstance(block, ThinkingBlock) for block in turn.blocks)


def ensure_user_head(turns: tuple[Turn, ...], text: str = EARLIER_OMITTED) -> tuple[Turn, ...]:
    """Put a user turn saying ``text`` in front when an assistant turn comes first; nothing stays nothing."""
    if not turns or turns[0].role == "user":
        return turns
    return (_user(turns[0], "head", text), *turns)


def ensure_user_tail(turns: tuple[Turn, ...], text: str = CONTINUE) -> tuple[Turn, ...]:
    """Put a user turn saying ``text`` at the end when an assistant turn comes last; nothing stays nothing.

    Calls of that last turn must have been answered before (:func:`~zidane_lab.wire.pairing.repair_pairing`).
    """
    if not turns or turns[-1].role == "user":
        return turns
    return (*turns, _user(turns[-1], "tail", text))


def _user(neighbour: Turn, place: str, text: str) -> Turn:
    """Make a user turn whose id and time follow from ``neighbour``: the same history, the same bytes."""
    return Turn(role="user", blocks=(TextBlock(text),), id=f"{neighbour.id}-{place}", created_at=neighbour.created_at)

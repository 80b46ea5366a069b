"""What of a conversation a summary is made of, and what stays word for word.

A summary is made of what the model still sees: a turn that an earlier summary stands for is not summarised twice,
and an earlier summary is itself part of what the new one takes in. The turns handed back are those of the session,
unchanged. A call and its results always end up on the same side.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from zidane_lab.compaction.scope import From, Scope, Tail, UpTo
from zidane_lab.errors import CompactInvalidInputError
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.cutoff import apply_summary_cutoff, is_marker, summary_turn_id

__all__ = [
    "CompactionSlice",
    "borders",
    "covered_ids",
    "has_text",
    "is_marker",
    "slice_for_compaction",
    "still_visible",
]


@dataclass(frozen=True, slots=True)
class CompactionSlice:
    """The parts of a conversation, each in the order the model sees it.

    Parameters
    ----------
    scope
        What was asked for.
    to_summarize
        The turns a summary is to stand for, earlier summaries included.
    preserved
        The turns that stay: before them under :class:`~zidane_lab.compaction.scope.From`, else after them.
    anchor
        The turn the scope names, or where the kept tail begins; ``None`` if there is none.
    """

    scope: Scope
    to_summarize: tuple[Turn, ...]
    preserved: tuple[Turn, ...]
    anchor: Turn | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the turns to summarise."""
        return tuple(turn.id for turn in self.to_summarize)

    @property
    def visible(self) -> tuple[Turn, ...]:
        """All turns the model sees, in order."""
        if isinstance(self.scope, From):
            return self.preserved + self.to_summarize
        return self.to_summarize + self.preserved


def slice_for_compaction(
    turns: Sequence[Turn], scope: Scope, *, undone: Collection[str] = frozenset()
) -> CompactionSlice:
    """Part a conversation for a summary.

    Parameters
    ----------
    turns
        The session's turns, summaries among them.
    scope
        Which part. Where a border would part a call from its results, the call stays with the results: a kept tail
        begins a little earlier, a named turn takes its calls or results along.
    undone
        Ids of the summaries that no longer count.

    Raises
    ------
    CompactInvalidInputError
        There is nothing to summarise: no turns, fewer turns than are to be kept, no such turn, nothing with text,
        or nothing but one earlier summary.
    """
    if not turns:
        raise CompactInvalidInputError("The conversation is empty.", hint="There is nothing to compact yet.")
    visible = still_visible(turns, undone)
    allowed = borders(visible)
    head, tail = visible, visible[:0]
    anchor: Turn | None = None
    match scope:
        case Tail(keep_turns):
            at = _tail_border(len(visible), keep_turns, allowed)
            head, tail = visible[:at], visible[at:]
            anchor = tail[0] if tail else None
        case From(turn_id):
            place = _place(turn_id, visible, turns)
            at = max(border for border in allowed if border <= place)
            tail, head = visible[:at], visible[at:]
            anchor = visible[place]
        case UpTo(turn_id):
            place = _place(turn_id, visible, turns)
            at = min(border for border in allowed if border > place)
            head, tail = visible[:at], visible[at:]
            anchor = visible[place]
    _check(head)
    return CompactionSlice(scope, head, tail, anchor)


def still_visible(turns: Sequence[Turn], undone: Collection[str] = frozenset()) -> tuple[Turn, ...]:
    """Return the turns of a session that a model is still shown, in the order it is shown them.

    Summaries that count are among them, where :func:`~zidane_lab.wire.cutoff.apply_summary_cutoff` puts them.
    """
    if not any(map(is_marker, turns)):
        return tuple(turns)
    own = {turn.id: turn for turn in turns}
    own |= {summary_turn_id(turn.id): turn for turn in turns if is_marker(turn)}
    sent = apply_summary_cutoff(tuple(turns), undone)
    return tuple({turn.id: turn for turn in (own[each.id] for each in sent)}.values())


def covered_ids(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return the ids a summary of ``turns`` stands for: theirs, and those that summaries among them stood for.

    With the latter named too, the new summary comes where the oldest of them was, and hides them by itself.
    """
    ids = (each for turn in turns for each in (*_replaced(turn), turn.id))
    return tuple(dict.fromkeys(ids))


def borders(turns: Sequence[Turn]) -> tuple[int, ...]:
    """Return where ``turns`` may be cut, from 0 to their number: not between a call and its result."""
    calls: dict[str, int] = {}
    closed = [0] * (len(turns) + 1)  # +1 where a call's reach begins, -1 where it ends
    for place, turn in enumerate(turns):
        for result in turn.tool_results:
            made = calls.get(result.call_id)
            if made is not None:
                closed[made + 1] += 1
                closed[place + 1] -= 1
        for call in turn.tool_calls:
            calls[call.id] = place
    depth, out = 0, []
    for place, change in enumerate(closed):
        depth += change
        if depth == 0:
            out.append(place)
    return tuple(out)


def has_text(turn: Turn) -> bool:
    """Whether a turn says anything a summary could be made of: text, a call with arguments, a result with text."""
    return any(
        (isinstance(block, (TextBlock, CompactSummaryBlock, ToolResultBlock)) and bool(block.text.strip()))
        or (isinstance(block, ToolCallBlock) and bool(block.input or block.raw))
        for block in turn.blocks
    )


def _replaced(turn: Turn) -> tuple[str, ...]:
    return tuple(each for block in turn.blocks if isinstance(block, CompactSummaryBlock) for each in block.replaces)


def _tail_border(count: int, keep_turns: int, allowed: Sequence[int]) -> int:
    keep = max(0, keep_turns)
    if keep >= count:
        raise CompactInvalidInputError(
            f"The conversation has {count} turn(s) that are sent, and {keep} are to stay.",
            hint="Keep fewer turns, or go on and compact later.",
        )
    at = max(border for border in allowed if border <= count - keep)
    if at == 0:
        raise CompactInvalidInputError(
            f"All that comes before the last {keep} turn(s) belongs to a call they answer.",
            hint="Keep fewer turns, or go on and compact later.",
        )
    return at


def _place(turn_id: str, visible: Sequence[Turn], turns: Sequence[Turn]) -> int:
    for place, turn in enumerate(visible):
        if turn.id == turn_id:
            return place
    if any(turn.id == turn_id for turn in turns):
        raise CompactInvalidInputError(
            f"The turn {turn_id!r} is no longer sent: a summary stands for it, or it was undone.",
            hint="Choose a turn that is still part of the conversation.",
        )
    raise CompactInvalidInputError(f"There is no turn {turn_id!r}.", hint="Choose a turn of this conversation.")


def _check(turns: Sequence[Turn]) -> None:
    telling = [turn for turn in turns if has_text(turn)]
    if not telling:
        raise CompactInvalidInputError("There is no text in what is to be summarised.")
    if len(telling) == 1 and is_marker(telling[0]):
        raise CompactInvalidInputError(
            "What is to be summarised is a summary already.", hint="Keep fewer turns, or go on and compact later."
        )

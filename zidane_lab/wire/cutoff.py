"""Summaries in place of the turns they were made of.

A turn with a :class:`~zidane_lab.turns.CompactSummaryBlock` is a *marker*: its text stands for the turns it
names. Leaving out is final: what any marker names is never sent again, also when a newer summary did not take in
the older one. Otherwise a compaction that misses something would bring back all that was compacted before it.
Only an undone marker gives its turns back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from zidane_lab.turns import Block, CompactSummaryBlock, TextBlock, ThinkingBlock, Turn
from zidane_lab.wire.tail import EARLIER_OMITTED

__all__ = [
    "SUMMARY_HEAD",
    "active_markers",
    "apply_summary_cutoff",
    "is_marker",
    "replaced_ids",
    "summary_text",
    "summary_turn_id",
]

SUMMARY_HEAD: Final = (
    "[Summary of an earlier part of this conversation. That part is no longer included; go on from this account of it.]"
)
"""What stands before a summary, so that the model does not take it for a person's words."""


def apply_summary_cutoff(turns: tuple[Turn, ...], undone: Collection[str] = frozenset()) -> tuple[Turn, ...]:
    """Return ``turns`` as they are sent: summaries as text, without the turns they stand for.

    A marker that no newer one names becomes a user turn of plain text, where the first turn it names stood, so
    that the order stays that of the conversation; in its own place when none of them is here. A marker that a newer
    one names only hides its turns. Assistant turns before the newest marker lose reasoning that carries a seal: the
    seal counts for a beginning that is no longer sent.

    Parameters
    ----------
    turns
        The turns of a session, oldest first.
    undone
        Ids of marker turns that no longer count: they hide nothing and are not sent.

    Returns
    -------
    tuple of Turn
        The very same tuple when there is no marker. Turns other than markers, and those that lose reasoning, stay
        the same objects; neighbours of one role are not joined.
    """
    if not any(map(is_marker, turns)):
        return turns
    found = _read(turns, undone)
    inserted: dict[int, list[Turn]] = {}
    for marker in found.active:
        if (rendered := _render(turns[marker.index], marker)) is not None:
            inserted.setdefault(marker.slot, []).append(rendered)
    out: list[Turn] = []
    for index, turn in enumerate(turns):
        out += inserted.get(index, ())
        if turn.id in found.gone:
            continue
        if is_marker(turn):
            rest = tuple(block for block in turn.blocks if not isinstance(block, CompactSummaryBlock))
            if not rest:
                continue
            turn = replace(turn, blocks=rest)  # noqa: PLW2901  # the loop goes on with what is left of it
        out.append(_without_seals(turn) if index < found.newest else turn)
    out += inserted.get(len(turns), ())
    return tuple(out)


def active_markers(turns: Sequence[Turn], undone: Collection[str] = frozenset()) -> tuple[Turn, ...]:
    """Return the marker turns whose summaries are sent, oldest first."""
    return tuple(turns[marker.index] for marker in _read(turns, undone).active)


def replaced_ids(turns: Sequence[Turn], undone: Collection[str] = frozenset()) -> frozenset[str]:
    """Return the ids that summaries stand for, those of markers within newer summaries among them.

    Ids of turns that are not in ``turns`` (another branch, say) are there too.
    """
    return _read(turns, undone).gone


def is_marker(turn: Turn) -> bool:
    """Tell whether a turn holds a summary."""
    return any(isinstance(block, CompactSummaryBlock) for block in turn.blocks)


def summary_turn_id(marker_id: str) -> str:
    """Return the id of the turn that is sent for a marker; naming it in ``replaces`` names the marker."""
    return f"{marker_id}-summary"


def summary_text(text: str) -> str:
    """Return what is sent for a summary saying ``text``; a blank one still says that something is left out."""
    return f"{SUMMARY_HEAD}\n\n{text}" if text.strip() else EARLIER_OMITTED


@dataclass(frozen=True, slots=True)
class _Marker:
    """A marker that counts: where it is, what it says, what it names, and before which turn it is sent."""

    index: int
    text: str
    names: frozenset[str]
    slot: int
    replaced_some: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """``newest`` is the place of the last marker that counts, -1 without one."""

    active: tuple[_Marker, ...]
    gone: frozenset[str]
    newest: int


def _read(turns: Sequence[Turn], undone: Collection[str]) -> _Found:
    markers = _counted(turns, undone)
    gone: set[str] = set()
    active: list[_Marker] = []
    for marker in reversed(markers):  # only a newer marker can have taken in an older one
        turn_id = turns[marker.index].id
        if turn_id in gone or summary_turn_id(turn_id) in gone:
            gone.add(turn_id)
        else:
            active.append(marker)
        gone |= marker.names
    gone -= {turns[marker.index].id for marker in active}
    return _Found(tuple(reversed(active)), frozenset(gone), markers[-1].index if markers else -1)


def _counted(turns: Sequence[Turn], undone: Collection[str]) -> list[_Marker]:
    """Return the markers that are not undone, oldest first.

    A marker that names an older one takes over its slot: there the older summary stood.
    """
    slots: dict[str, int] = {}
    for index, turn in enumerate(turns):
        slots.setdefault(turn.id, index)
    markers: list[_Marker] = []
    for index, turn in enumerate(turns):
        if turn.id in undone or not is_marker(turn):
            continue
        summaries = [block for block in turn.blocks if isinstance(block, CompactSummaryBlock)]
        names = frozenset(name for block in summaries for name in block.replaces if name != turn.id)
        places = [slots[name] for name in names if name in slots]
        # What else a marker's turn holds must stay next to its neighbours: results behind their calls, calls before.
        own = index + 1 if turn.role == "user" else index
        slot = min(places, default=own)
        text = "\n\n".join(block.text for block in summaries if block.text.strip())
        markers.append(_Marker(index, text, names, slot, bool(places)))
        if places:
            slots[turn.id] = slots[summary_turn_id(turn.id)] = slot
    return markers


def _render(turn: Turn, marker: _Marker) -> Turn | None:
    if not (marker.text or marker.replaced_some):
        return None  # it says nothing and hides nothing
    return Turn(
        role="user",
        blocks=(TextBlock(summary_text(marker.text)),),
        id=summary_turn_id(turn.id),
        created_at=turn.created_at,
        run_id=turn.run_id,
        parent_id=turn.parent_id,
    )


def _without_seals(turn: Turn) -> Turn:
    if turn.role != "assistant":
        return turn
    blocks: tuple[Block, ...] = tuple(
        block
        for block in turn.blocks
        if not (isinstance(block, ThinkingBlock) and (block.signature is not None or block.redacted))
    )
    return turn if len(blocks) == len(turn.blocks) else replace(turn, blocks=blocks)

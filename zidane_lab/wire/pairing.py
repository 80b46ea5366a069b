"""Mend histories so that every tool call has its result in the very next user turn.

Every provider refuses a request in which a call lacks its result, or a result its call. A history gets
into that state when a kernel dies between the two, when a turn is lost, or when a service numbers its
calls anew in each answer. The repair patches and never rewrites: a call without a result keeps its place
and gets an error result that says so, and the model can try again.

The texts put in are exported, so that whoever collects transcripts can tell them from real content.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from zidane_lab.errors import ToolPairingError
from zidane_lab.turns import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn

__all__ = [
    "MISSING_RESULT",
    "ORPHANED_RESULT",
    "REPAIR_TEXTS",
    "TOOL_USE_INTERRUPTED",
    "OnRepair",
    "PairingMode",
    "PairingRepair",
    "PairingRepairer",
    "missing_results",
    "remint_duplicate_calls",
    "repair_pairing",
]

MISSING_RESULT: Final = "[Tool result missing due to internal error]"
"""Stands for the result of a call that has none."""

ORPHANED_RESULT: Final = "[Orphaned tool result removed due to conversation resume]"
"""Stands for a user turn that held nothing but results without calls."""

TOOL_USE_INTERRUPTED: Final = "[Tool use interrupted]"
"""Stands for an assistant turn that lost all its blocks, and for results a dead kernel never delivered."""

REPAIR_TEXTS: Final = frozenset({MISSING_RESULT, ORPHANED_RESULT, TOOL_USE_INTERRUPTED})
"""Every text a repair can put into a history."""

PairingMode: TypeAlias = Literal[
    "orphan-tool-use-prepend",
    "orphan-tool-use-append",
    "orphan-tool-result-strip",
    "duplicate-tool-use-strip",
    "duplicate-tool-result-strip",
    "empty-assistant-marker",
    "duplicate-tool-use-remint",
]
"""What was broken and how it was mended; the last one is told by whoever stores turns."""


@dataclass(frozen=True, slots=True)
class PairingRepair:
    """One repair. ``index`` is the place of the broken turn in the history that was handed in."""

    mode: PairingMode
    index: int
    call_id: str | None = None


OnRepair: TypeAlias = Callable[[PairingRepair], None]


def repair_pairing(
    turns: tuple[Turn, ...],
    *,
    placeholder: str = MISSING_RESULT,
    on_repair: OnRepair | None = None,
    strict: bool = False,
) -> tuple[Turn, ...]:
    """Return ``turns`` with each call answered exactly once, in the turn right after it.

    Six things are mended:

    1. the next user turn lacks a result: an error result is put in front of it;
    2. no user turn follows the call: one with an error result is put in;
    3. a result without its call in the turn just before: it is removed, and a turn left empty says so;
    4. the id of an earlier call used again: the later call is removed, then its result by rule 3;
    5. two results for one call in one turn: the first stays;
    6. an assistant turn left without content, or with reasoning at its end: it gets a text saying so.

    Parameters
    ----------
    placeholder
        Text of the error results put in. Keep to one text for one conversation: what a model has seen
        must stay the same.
    on_repair
        Told about each repair, in order. What it raises ends the pass.
    strict
        Raise at the first thing that would need mending.

    Returns
    -------
    tuple of Turn
        The very same tuple when nothing needed mending. Turns put in have ids derived from their
        neighbours, so the same history always gives the same result.

    Raises
    ------
    ToolPairingError
        Something needs mending and ``strict`` is set.
    """
    repairer = PairingRepairer(placeholder=placeholder, on_repair=on_repair, strict=strict)
    for turn in turns:
        repairer.feed(turn)
    answer = repairer.answer()
    if answer is not None:
        return (*repairer.out, answer)
    return tuple(repairer.out) if repairer.changed else turns


class PairingRepairer:
    """The repair, one turn at a time; parameters as of :func:`repair_pairing`.

    Attributes
    ----------
    out
        The turns so far. Only :meth:`answer` is still to be added.
    changed
        Whether ``out`` differs from what was fed.
    """

    __slots__ = ("_count", "_on_repair", "_placeholder", "_seen", "_strict", "_waiting", "changed", "out")

    def __init__(
        self, *, placeholder: str = MISSING_RESULT, on_repair: OnRepair | None = None, strict: bool = False
    ) -> None:
        self._placeholder, self._on_repair, self._strict = placeholder, on_repair, strict
        self.out: list[Turn] = []
        self.changed = False
        self._count = 0
        self._seen: set[str] = set()
        self._waiting: dict[str, None] = {}  # the calls of the turn just before, in their order

    def feed(self, turn: Turn) -> None:
        """Take the next turn."""
        if turn.role == "user":
            mended = self._mend_user(turn)
            self._waiting = {}
        else:
            if (answer := self.answer()) is not None:
                self.out.append(answer)
                self.changed = True
            mended = self._mend_assistant(turn)
            self._waiting = dict.fromkeys(call.id for call in mended.tool_calls)
        self.changed = self.changed or mended is not turn
        self.out.append(mended)
        self._count += 1

    def answer(self) -> Turn | None:
        """Return the user turn that answers the calls the last turn fed has made, if it made any (rule 2)."""
        if not self._waiting:
            return None
        for call_id in self._waiting:
            self._note("orphan-tool-use-append", self._count - 1, call_id)
        turn = self.out[-1]
        return Turn(
            role="user",
            blocks=missing_results(tuple(self._waiting), self._placeholder),
            id=f"{turn.id}-results",
            created_at=turn.created_at,
            run_id=turn.run_id,
            parent_id=turn.id,
        )

    def _note(self, mode: PairingMode, index: int, call_id: str | None = None) -> None:
        if self._strict:
            which = f" (call {call_id!r})" if call_id is not None else ""
            raise ToolPairingError(f"Turn {index} breaks the pairing of calls and results: {mode}{which}.")
        if self._on_repair is not None:
            self._on_repair(PairingRepair(mode, index, call_id))

    def _mend_user(self, turn: Turn) -> Turn:
        """Apply rules 1, 3 and 5 to a user turn that follows the calls that wait."""
        answered: set[str] = set()
        kept: list[Block] = []
        for block in turn.blocks:
            if isinstance(block, ToolResultBlock):
                if block.call_id not in self._waiting:
                    self._note("orphan-tool-result-strip", self._count, block.call_id)
                    continue
                if block.call_id in answered:
                    self._note("duplicate-tool-result-strip", self._count, block.call_id)
                    continue
                answered.add(block.call_id)
            kept.append(block)
        missing = [call_id for call_id in self._waiting if call_id not in answered]
        for call_id in missing:
            self._note("orphan-tool-use-prepend", self._count, call_id)
        if not missing and len(kept) == len(turn.blocks):
            return turn
        blocks: tuple[Block, ...] = (*missing_results(missing, self._placeholder), *kept)
        return replace(turn, blocks=blocks or (TextBlock(ORPHANED_RESULT),))

    def _mend_assistant(self, turn: Turn) -> Turn:
        """Apply rules 3, 4 and 6 to an assistant turn."""
        kept: list[Block] = []
        for block in turn.blocks:
            if isinstance(block, ToolResultBlock):
                self._note("orphan-tool-result-strip", self._count, block.call_id)
                continue
            if isinstance(block, ToolCallBlock):
                if block.id in self._seen:
                    self._note("duplicate-tool-use-strip", self._count, block.id)
                    continue
                self._seen.add(block.id)
            kept.append(block)
        if len(kept) == len(turn.blocks):
            return turn
        if not kept or isinstance(kept[-1], ThinkingBlock):  # no wire takes a turn that ends in reasoning
            self._note("empty-assistant-marker", self._count)
            kept.append(TextBlock(TOOL_USE_INTERRUPTED))
        return replace(turn, blocks=tuple(kept))


def missing_results(call_ids: Sequence[str], text: str = MISSING_RESULT) -> tuple[ToolResultBlock, ...]:
    """Return one error result per call, saying ``text``."""
    return tuple(ToolResultBlock(call_id, (TextBlock(text),), is_error=True) for call_id in call_ids)


def remint_duplicate_calls(turn: Turn, used: Collection[str]) -> tuple[Turn, tuple[tuple[str, str], ...]]:
    """Give new ids to calls whose id is in ``used`` or comes twice in ``turn``.

    Done before a turn is stored and its tools run, so that call, execution and result share the new id
    and nothing needs mending later. The new id is ``<old>_r<n>`` with the first ``n`` from 1 that is free.

    Returns
    -------
    tuple
        The turn (the very same object when no id collides) and the ``(old, new)`` pairs, in order.
    """
    taken = {call.id for call in turn.tool_calls}
    met: set[str] = set()
    blocks: list[Block] = []
    minted: list[tuple[str, str]] = []
    numbers: dict[str, int] = {}  # the last one tried for an id
    for block in turn.blocks:
        mended = block
        if isinstance(block, ToolCallBlock):
            if block.id in used or block.id in met:
                n = numbers.get(block.id, 0) + 1
                while (new := f"{block.id}_r{n}") in used or new in taken:
                    n += 1
                numbers[block.id] = n
                taken.add(new)
                minted.append((block.id, new))
                mended = replace(block, id=new)
            met.add(block.id)
        blocks.append(mended)
    return (replace(turn, blocks=tuple(blocks)), tuple(minted)) if minted else (turn, ())

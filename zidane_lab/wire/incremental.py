"""The turns to send for a session that grows, without going over all of it each time.

A run asks the model again after every batch of tools, and between two requests only the end of the session is new.
Turns built before are handed out as the same objects, so that whoever spells them out can remember what it made.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_

from zidane_lab.turns import Turn
from zidane_lab.wire.build import NO_STATE, visible_turn
from zidane_lab.wire.cutoff import apply_summary_cutoff, is_marker, replaced_ids
from zidane_lab.wire.elide import elide_turn
from zidane_lab.wire.pairing import PairingRepairer
from zidane_lab.wire.state import WireState
from zidane_lab.wire.tail import ensure_user_head, ensure_user_tail, is_empty

__all__ = ["WireBuilder"]


class WireBuilder:
    """Builds the turns to send, remembering what it built last. For one session and one thread at a time."""

    def __init__(self) -> None:
        self._turns: tuple[Turn, ...] = ()
        self._replaced: frozenset[str] = frozenset()
        self._head: tuple[Turn, ...] = ()
        self._start(NO_STATE, changed=False)

    def build(self, turns: tuple[Turn, ...], state: WireState = NO_STATE) -> tuple[Turn, ...]:
        """Return what :func:`~zidane_lab.wire.build.wire_turns` returns for ``turns`` and ``state``.

        Only new turns are worked on when ``turns`` begins with the very turns of the last call and ``state`` is the
        same object. Everything is done anew after another branch was taken, something was decided, or a summary came.
        """
        if state is self._state and self._goes_on(turns):
            self._take(turns[len(self._turns) :])
        else:
            cut = apply_summary_cutoff(turns, state.undone)
            self._start(state, changed=cut is not turns)
            self._replaced = replaced_ids(turns, state.undone)
            self._take(cut)
        self._turns = turns
        return self._result()

    def _start(self, state: WireState, *, changed: bool) -> None:
        self._state = state
        self._changed = changed  # apart from the pairing
        self._pairing = PairingRepairer()
        self._head = ()

    def _goes_on(self, turns: tuple[Turn, ...]) -> bool:
        """Whether ``turns`` are those of the last call and more, and no summary has to do with the new ones."""
        known = len(self._turns)
        return (
            len(turns) >= known
            and all(map(is_, self._turns, turns))
            and not any(is_marker(turn) or turn.id in self._replaced for turn in turns[known:])
        )

    def _take(self, turns: Iterable[Turn]) -> None:
        for turn in turns:
            seen = visible_turn(elide_turn(turn, self._state.elided))
            if is_empty(seen):
                self._changed = True
                continue
            self._changed = self._changed or seen is not turn
            self._pairing.feed(seen)
            if len(self._pairing.out) == 1:
                self._head = ensure_user_head((seen,))[:-1]

    def _result(self) -> tuple[Turn, ...]:
        """Close what was built so far; the next turn may close it otherwise, so nothing of this is kept."""
        out, answer = self._pairing.out, self._pairing.answer()
        if answer is not None:
            return (*self._head, *out, answer)
        tail = ensure_user_tail((out[-1],))[1:] if out else ()
        if self._changed or self._pairing.changed or self._head or tail:
            return (*self._head, *out, *tail)
        return self._turns

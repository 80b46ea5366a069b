"""Keep text that is still being streamed, so that a killed kernel loses next to nothing that was shown.

A turn is stored when it is complete. Until then its visible text is recorded about once a second, outside the
conversation; when a session whose process died is taken up again, what had been recorded of an unfinished
turn becomes that turn.
"""

from __future__ import annotations

import time
from typing import Final

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.errors import SessionError
from zidane_lab.events import StreamEnd, StreamText
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock, Turn

__all__ = ["PartialTexts", "recover"]

SECONDS: Final = 1.0
"""Least time between two records of one stream: at most this much of the text shown can be lost."""

_KIND: Final = "partial-text"


class PartialTexts:
    """A subscriber that records streamed text piecemeal."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: list[str] = []
        self._since = time.monotonic()

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        off = [hooks.on(StreamText, self._text), hooks.on(StreamEnd, self._end)]

        def uninstall() -> None:
            for each in off:
                each()

        return uninstall

    def _text(self, event: StreamText) -> None:
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.append(event.text)
        if time.monotonic() - self._since >= SECONDS:
            piece = {"turn": event.ids.turn_id, "run": event.ids.run_id, "text": "".join(self._waiting)}
            self._waiting.clear()
            try:
                self._session.record(_KIND, piece)
            except SessionError:
                # The turn itself is stored when it is complete, and then the failure ends the run.
                return

    def _end(self, _event: StreamEnd) -> None:
        self._waiting.clear()


def recover(session: Session, model: str | None = None) -> Turn | None:
    """Make a turn of the text an unfinished one had shown, if the session's last run died in the middle of it.

    Returns
    -------
    Turn or None
        The turn that was appended; ``None`` when there was nothing to recover.
    """
    pieces = session.records(_KIND)
    if not pieces:
        return None
    turn_id, run_id = str(pieces[-1].get("turn")), pieces[-1].get("run")
    last = session.turns[-1] if session.turns else None
    if last is None or last.role != "user" or last.run_id != run_id or session.holds(turn_id):
        return None
    text = "".join(str(piece.get("text", "")) for piece in pieces if piece.get("turn") == turn_id)
    return session.append(Turn("assistant", (TextBlock(text),), id=turn_id, run_id=last.run_id, model=model))

"""Draw a run in a terminal: plain text as it comes, one line per tool call."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TextIO

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.events import StreamEnd, StreamText, ToolAfter, ToolBefore
from zidane_lab.notebook import bundles
from zidane_lab.notebook.card_results import ASKING, ended
from zidane_lab.notebook.cards import card_for
from zidane_lab.notebook.render import CellRenderer

__all__ = ["TerminalPublisher", "TerminalRenderer", "clean"]

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Remove control characters: text from models and tools must not drive the terminal."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


class TerminalPublisher:
    """Prints the plain form of each bundle once; what is updated later is printed by the renderer."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    @property
    def stream(self) -> TextIO:
        """Where text goes; standard output at the time of use if none was given."""
        return self._stream if self._stream is not None else sys.stdout

    def show(self, bundle: Mapping[str, Any], _metadata: Mapping[str, Any] | None = None) -> str:
        """Print a bundle."""
        self.write(str(bundle.get("text/plain", "")) + "\n")
        return ""

    def update(self, _display_id: str, _bundle: Mapping[str, Any]) -> None:
        """Ignore updates: a terminal cannot take back what it printed."""

    def write(self, text: str) -> None:
        """Print text, cleaned."""
        self.stream.write(clean(text))
        self.stream.flush()


class _Notices(CellRenderer):
    """The cell renderer's notices, each drawn once: what is printed cannot be updated."""

    _live = False


class TerminalRenderer:
    """Prints text deltas at once, each call when it starts, and what came of it in a line."""

    def __init__(self, publisher: TerminalPublisher, *, window: Callable[[str], int | None]) -> None:
        self._to = publisher
        self._open = False
        # The notices and the usage line are the cell renderer's own.
        self._notices = _Notices(publisher, window=window)

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        events: tuple[tuple[type[Any], Any], ...] = (
            (StreamText, self._text),
            (StreamEnd, self._end),
            (ToolBefore, self._before),
            (ToolAfter, self._after),
            *self._notices.notices(),
        )
        off = [hooks.on(event, handler) for event, handler in events]

        def uninstall() -> None:
            for each in off:
                each()

        return uninstall

    def _text(self, event: StreamText) -> None:
        self._to.write(event.text)
        self._open = True

    def _end(self, _event: StreamEnd) -> None:
        if self._open:
            self._to.write("\n")
        self._open = False

    def _before(self, event: ToolBefore) -> None:
        card = card_for(event.ids.call_id or "", event.tool, event.input)
        # What is asked is printed by whoever asks.
        body = "" if event.tool in ASKING else card.body
        self._to.show(bundles.tool_card(replace(card, status="started", body=body)))

    def _after(self, event: ToolAfter) -> None:
        card = ended(card_for(event.ids.call_id or "", event.tool, event.input), event.outcome, event.result)
        execution = event.result.metadata.get("execution")
        if execution is not None and execution["error"] is not None:
            error = execution["error"]
            self._to.show(bundles.traceback(error["name"], error["message"], error["traceback"]))
        elif event.outcome != "ok":
            self._to.write(f"✗ {card.title or event.tool}: {card.result}\n")
        elif card.note:
            self._to.write(f"✓ {card.title or event.tool}: {card.note}\n")

"""What a headless run says, and where: the report or events on standard output, all else on standard error."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.events import (
    BudgetReached,
    CompactSummarize,
    ContextTransform,
    Event,
    GuardHit,
    HookFailed,
    SystemTransform,
    ToolAfter,
    ToolBefore,
    ToolGate,
    ToolTransform,
    TurnBoundary,
    event_to_json,
)
from zidane_lab.notebook.context_notices import ContextNotices
from zidane_lab.notebook.terminal import clean

__all__ = ["EventLines", "Pipe", "Progress", "Refusals"]

_QUESTIONS: Final = (
    BudgetReached,
    CompactSummarize,
    ContextTransform,
    SystemTransform,
    ToolGate,
    ToolTransform,
    TurnBoundary,
)
"""Put to subscribers so that they change something; what came of them is in the events that follow."""

_ENDS: Final[Mapping[str, str]] = {
    "ok": "✓ {}",
    "error": "✗ {} failed",
    "blocked": "⊘ {} refused",
    "skipped": "– {} skipped",
    "cancelled": "– {} cancelled",
    "interrupted": "■ {} interrupted",
}


class Pipe:
    """A stream whose reader may go away early (``… | head``): then what is written is dropped, and nothing breaks."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.broken = False
        if isinstance(stream, io.TextIOWrapper):
            # A terminal has an encoding of its own; a file or another program gets UTF-8 everywhere.
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")

    def line(self, text: str) -> None:
        """Write one line or several, at once."""
        if self.broken or self._stream is None:
            return
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self.broken = True
            # What is buffered would be tried again, loudly, when Python ends.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def text(self, text: str) -> None:
        """Write text of a model, a tool or a file: it must not drive the terminal."""
        self.line(clean(text))

    def json(self, value: Mapping[str, Any]) -> None:
        """Write one object as one line."""
        self.line(json.dumps(value, default=repr))


class EventLines:
    """Writes every notification as one line of JSON."""

    def __init__(self, to: Pipe) -> None:
        self._to = to

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return hooks.on("*", self._write)

    def _write(self, event: Event) -> None:
        if not isinstance(event, _QUESTIONS):
            self._to.json(event_to_json(event))


class Progress:
    """Says what is going on: a line when a call starts, a line when it ended."""

    def __init__(self, to: Pipe) -> None:
        self._to = to
        self._started: set[str | None] = set()

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return _all(
            hooks.on(ToolBefore, self._before),
            hooks.on(ToolAfter, self._after),
            hooks.on(HookFailed, self._failed),
            *(hooks.on(event, handler) for event, handler in ContextNotices(self, live=False).subscriptions()),
        )

    def show(self, bundle: Mapping[str, Any], _metadata: Mapping[str, Any] | None = None) -> str:
        """Write the first line of a notice: what happens to the context, waits, another model."""
        self._to.text(str(bundle.get("text/plain", "")).split("\n")[0])
        return ""

    def update(self, _display_id: str, _bundle: Mapping[str, Any]) -> None:
        """Do nothing: a line cannot be taken back."""

    def _before(self, event: ToolBefore) -> None:
        self._started.add(event.ids.call_id)
        self._to.text(f"▸ {_call_words(event.tool, event.input)}")

    def _after(self, event: ToolAfter) -> None:
        if event.ids.call_id not in self._started:  # refused or skipped
            self._to.text(f"▸ {_call_words(event.tool, event.input)}")
        reason = "" if event.outcome == "ok" else f": {_reason(event)}"
        self._to.text(f"  {_ENDS[event.outcome].format(event.tool)}, {event.seconds:.1f} s{reason}")

    def _failed(self, event: HookFailed) -> None:
        self._to.text(f"  ! {event.handler} failed at {event.about}: {event.error}")


class Refusals:
    """Counts the calls that were refused; what a guard stopped because it repeats itself is none of them."""

    def __init__(self) -> None:
        self.calls: list[dict[str, str | None]] = []
        self._guarded: set[str | None] = set()

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return _all(hooks.on(ToolAfter, self._after), hooks.on(GuardHit, self._guard))

    def _guard(self, event: GuardHit) -> None:
        self._guarded.add(event.ids.call_id)

    def _after(self, event: ToolAfter) -> None:
        if event.outcome == "blocked" and event.ids.call_id not in self._guarded:
            self.calls.append({"call_id": event.ids.call_id, "tool": event.tool, "reason": _reason(event)})


def _call_words(tool: str, arguments: Mapping[str, Any]) -> str:
    intent = " ".join(str(arguments.get("intent", "")).split())[:200]
    return f"{tool}: {intent}" if intent else tool


def _reason(event: ToolAfter) -> str:
    """Return the most telling line of a result: of code that failed its error, else the first line."""
    execution = event.result.metadata.get("execution")
    error = execution.get("error") if isinstance(execution, Mapping) else None
    text = f"{error.get('name')}: {error.get('message')}" if isinstance(error, Mapping) else event.result.text
    lines = text.removeprefix("Blocked: ").strip().splitlines() or [""]
    return lines[0][:300]


def _all(*uninstall: Callable[[], None]) -> Uninstall:
    def run() -> None:
        for each in uninstall:
            each()

    return run

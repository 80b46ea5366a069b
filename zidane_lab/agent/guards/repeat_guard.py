"""Noticing that a model goes round in circles, and getting it out: a word, then a refusal, then the end of the run.

A *repetition* is one call again and again, or a cycle of up to three calls (look, try, look, try). Other calls in
between end it, since something else is being tried; so does a word from the person. Running Python again counts only
when it also came to the same: code that draws from a generator, watches a job or moves variables on is progress.
So does reading a file again: one that was changed meanwhile is another file.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from zidane_lab.agent.guards.bundle import announcer, subscribe
from zidane_lab.agent.guards.keys import stable_stringify
from zidane_lab.agent.guards.shell_form import normalize_shell_command
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.errors import AbortedError, ConfigurationError
from zidane_lab.events import AgentStart, Ids, Injection, ToolAfter, ToolGate, TurnBoundary, UserTurn
from zidane_lab.session.read_state import READ
from zidane_lab.turns import ToolResultBlock

__all__ = [
    "ABORT_AT",
    "BLOCK_AT",
    "LONGEST_CYCLE",
    "NOTE_AT",
    "TRACKED_TOOLS",
    "Normalize",
    "RepeatGuard",
    "default_repeat_guard_normalize",
    "default_repeat_guard_tracked",
]

NOTE_AT: Final = 3
"""The repetition after which the model is told; two may well be meant."""
BLOCK_AT: Final = 5
"""The repetition that is refused: the model has been told twice by then."""
ABORT_AT: Final = 8
"""The repetition that ends the run: the model has been refused three times and goes on all the same."""
LONGEST_CYCLE: Final = 3
"""Calls in the longest cycle that is looked for."""

TRACKED_TOOLS: Final = frozenset({"shell", "read_file", "run_python"})
"""Tools that models are known to repeat for ever, and that cost little enough for nobody to notice."""

_GUARD: Final = "repeat-guard"
_CODE_TOOL: Final = "run_python"
_OUTPUT: Final = ("kind", "text", "data")
_UNTOLD: Final = frozenset({"intent"})
"""Arguments that say what a call is for, not what it does."""

Normalize: TypeAlias = Callable[[str, Mapping[str, Any]], str | None]
"""From a tool and the arguments of a call to a key; ``None`` when there is nothing to tell calls apart by."""


def default_repeat_guard_tracked(name: str) -> bool:
    """Whether the repetitions of a tool are acted on unless said otherwise: see :data:`TRACKED_TOOLS`."""
    return name in TRACKED_TOOLS


def default_repeat_guard_normalize(name: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the key of a call: shell commands in canonical form, code without blank lines, the rest as sorted JSON.

    ``None`` when there are no arguments: such calls are not told apart, so they are never taken for a repetition.
    """
    if name == "shell" and isinstance(command := arguments.get("command"), str):
        return normalize_shell_command(command) or None
    if name == _CODE_TOOL and isinstance(code := arguments.get("code"), str):
        lines = (line.rstrip() for line in code.splitlines())
        return "\n".join(line for line in lines if line) or None
    payload = {key: value for key, value in arguments.items() if key not in _UNTOLD and value is not None}
    return stable_stringify(payload) if payload else None


@dataclass(frozen=True, slots=True)
class RepeatGuard:
    """A hook bundle that breaks loops; the counts are of repetitions in a row, the first call included.

    Parameters
    ----------
    tools
        Tools to track besides those of :func:`default_repeat_guard_tracked`: their names, or a function of a name.
    normalize
        Asked before :func:`default_repeat_guard_normalize`, which decides when this returns ``None``.
    note_at, block_at, abort_at
        When the model is told (an injection, reason ``progress-nudge``), refused, and stopped. The run is stopped
        at the boundary of a turn, with :class:`~zidane_lab.errors.AbortedError`, and only if an earlier turn was
        refused already.

    Raises
    ------
    ConfigurationError
        The counts do not rise from at least 2.
    """

    tools: Collection[str] | Callable[[str], bool] = ()
    normalize: Normalize | None = None
    note_at: int = NOTE_AT
    block_at: int = BLOCK_AT
    abort_at: int = ABORT_AT

    def __post_init__(self) -> None:
        if not 2 <= self.note_at <= self.block_at <= self.abort_at:
            raise ConfigurationError(
                f"The repeat guard cannot tell at {self.note_at}, refuse at {self.block_at} and stop at "
                f"{self.abort_at}.",
                hint="Give three whole numbers that do not fall, the first of them at least 2.",
            )

    def install(self, hooks: HookBus) -> Uninstall:
        """Watch the calls of a conversation."""
        watch = _Watch(self, hooks)
        return subscribe(
            hooks,
            {
                AgentStart: watch.at_start,
                UserTurn: watch.at_user_turn,
                ToolGate: watch.at_gate,
                ToolAfter: watch.after,
                TurnBoundary: watch.at_boundary,
            },
        )

    def tracks(self, tool: str) -> bool:
        """Whether the repetitions of a tool are acted on."""
        more = self.tools(tool) if callable(self.tools) else tool in self.tools
        return more or default_repeat_guard_tracked(tool)

    def key(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the key of a call."""
        own = self.normalize(tool, arguments) if self.normalize is not None else None
        return own or default_repeat_guard_normalize(tool, arguments)


@dataclass(slots=True, eq=False)
class _Step:
    """A call: its key (``None``: like no other), and what it came to (``None``: not known, or not looked at)."""

    tool: str
    key: str | None
    outcome: str | None = None

    def repeats(self, other: _Step) -> bool:
        if self.key is None or (self.tool, self.key) != (other.tool, other.key):
            return False
        return self.outcome == other.outcome or self.outcome is None or other.outcome is None


def _repetitions(steps: Sequence[_Step]) -> int:
    """Count how many times in a row the latest call, or the latest cycle of calls, has come."""
    most = 1
    for period in range(1, LONGEST_CYCLE + 1):
        matches = 0
        for at in range(len(steps) - 1, period - 1, -1):
            if not steps[at].repeats(steps[at - period]):
                break
            matches += 1
        most = max(most, matches // period + 1)
    return most


@dataclass(slots=True)
class _Watch:
    """The handlers of one subscription."""

    guard: RepeatGuard
    hooks: HookBus
    steps: deque[_Step] = field(default_factory=deque)
    by_call: dict[str | None, _Step] = field(default_factory=dict)
    told: int = 0
    refused_in: str | None = None
    ending: str | None = None

    def __post_init__(self) -> None:
        self._forget()

    def at_start(self, _event: AgentStart) -> None:
        self._forget()

    def at_user_turn(self, event: UserTurn) -> None:
        if event.how != "injected":
            self._forget()

    def _forget(self) -> None:
        self.steps = deque(maxlen=LONGEST_CYCLE * (self.guard.abort_at + 1))
        self.by_call.clear()
        self.told = 0
        self.refused_in = self.ending = None

    async def at_gate(self, event: ToolGate) -> None:
        step = _Step(event.tool, await self._key(event))
        self.steps.append(step)
        self.by_call[event.ids.call_id] = step
        count = _repetitions(self.steps)
        if count < self.guard.block_at:
            self.refused_in = self.ending = None
            return
        if not self.guard.tracks(event.tool):
            return
        if event.block is None:
            event.block = (
                f"this is repetition {count} of the same step, or the same few, with nothing else in between. It is "
                "refused until you do something else: use the results you have, try another approach, or say what is "
                "in the way."
            )
        await self._announce(event.ids, event.tool, f"refused: repetition {count} of the same step")
        if self.refused_in is None:
            self.refused_in = event.ids.turn_id
        elif count >= self.guard.abort_at and event.ids.turn_id != self.refused_in:
            self.ending = f"The model repeated the same step ({event.tool}) {count} times, although it was refused."

    def after(self, event: ToolAfter) -> None:
        step = self.by_call.pop(event.ids.call_id, None)
        if step is None or event.outcome == "blocked":
            return
        if event.tool == _CODE_TOOL:
            step.outcome = _came_to(event.result)
            if _moved_on(event.result):
                step.key = None
        elif isinstance(read := event.result.metadata.get(READ), Mapping):
            step.outcome = f"{read.get('mtime')} {read.get('size')}"

    async def at_boundary(self, event: TurnBoundary) -> None:
        if self.ending is not None:
            text = self.ending
            await self._announce(event.ids, self.steps[-1].tool, "run stopped: " + text)
            self._forget()
            raise AbortedError(text, hint="Say what to do differently, or ask it what is in the way.")
        if not (event.results and self.steps and self.guard.tracks(self.steps[-1].tool)):
            return
        count = _repetitions(self.steps)
        told, self.told = self.told, count  # of a cycle, not every call is worth a word
        nudged = any(injection.reason == "progress-nudge" for injection in event.inject)
        if self.guard.note_at <= count < self.guard.block_at and count > told and not nudged:
            tool = self.steps[-1].tool
            event.inject.append(Injection("progress-nudge", _note(tool, count)))
            await self._announce(event.ids, tool, f"told the model: {count} times the same step")

    async def _key(self, event: ToolGate) -> str | None:
        try:
            return self.guard.key(event.tool, event.input)
        except Exception as error:  # noqa: BLE001 - a broken normalizer must not stop the call
            text = f"left alone: its normalizer failed ({type(error).__name__}: {error})"
            await self._announce(event.ids, event.tool, text)
            return None

    async def _announce(self, ids: Ids, tool: str, text: str) -> None:
        await announcer(self.hooks, _GUARD)(ids, tool, text)


def _note(tool: str, count: int) -> str:
    return (
        f"You have now taken the same step, or the same few, {count} times in a row (last: {tool}). Do not go on like "
        "that: use the results you have, try a different approach, or say what is in the way. "
        "If you are waiting for something, wait longer in one call."
    )


def _moved_on(result: ToolResultBlock) -> bool:
    """Whether code went well and left variables created, changed or deleted."""
    evidence = result.metadata.get("execution")
    if not isinstance(evidence, Mapping) or evidence.get("status") != "ok":
        return False
    return any(evidence.get(name) for name in ("created", "changed", "deleted"))


def _came_to(result: ToolResultBlock) -> str:
    """Return what running code came to, as a digest: its outputs and its error, without times and counters."""
    evidence = result.metadata.get("execution")
    seen: list[Any] = [result.text]
    if isinstance(evidence, Mapping):
        error = evidence.get("error")
        outputs = [each for each in evidence.get("outputs") or () if isinstance(each, Mapping)]
        # The traceback names cells by their number, which rises: the error's own words say the same.
        words = [error.get("name"), error.get("message")] if isinstance(error, Mapping) else None
        seen = [evidence.get("status"), words, *([each.get(name) for name in _OUTPUT] for each in outputs)]
    return hashlib.sha256(stable_stringify(seen).encode("utf-8", "replace")).hexdigest()

"""Nudges: a word to a model that is not getting anywhere, at most one of each kind in a run.

A nudge is said at the boundary of a turn, in a user turn marked ``progress-nudge``; nothing is refused or cut. By
default only the one that costs nothing is on: it accompanies results that go to the model anyway.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from zidane_lab.agent.guards.bundle import is_guard_answer, subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import AgentDone, Injection, TurnBoundary
from zidane_lab.turns import Turn
from zidane_lab.wire.markers import MARKERS

__all__ = ["MESSAGES", "NUDGE_KINDS", "NudgeKind", "ProgressNudges"]

NudgeKind: TypeAlias = Literal["same-error", "silent-work", "announced-work"]
"""``same-error``: a tool fails the same way turn after turn. ``silent-work``: many turns of calls without a word to the
person. ``announced-work``: an answer says what comes next, calls nothing, and would end the run."""

NUDGE_KINDS: Final[tuple[NudgeKind, ...]] = get_args(NudgeKind)

MESSAGES: Final[dict[NudgeKind, str]] = {
    "same-error": (
        "`{tool}` has failed with the same error {count} times in a row. Do not try it the same way again: find out "
        "why it fails, take another way, or say what is missing."
    ),
    "silent-work": (
        "You have made calls in {count} turns without a word to the user. Say in one or two sentences what you have "
        "found and what you are doing, then go on."
    ),
    "announced-work": (
        "You said what you would do next but made no call. If it is still to be done, do it now; "
        "if not, say how things stand and what the result is."
    ),
}
"""What is said, by kind; ``{tool}`` and ``{count}`` are filled in."""

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{4,}|\bIn ?\[\d+\]")
"""What differs from one traceback to the next though the error is the same."""

_ANNOUNCES: Final = re.compile(
    r"^(?:(?:now|next|first|then|okay|ok|great|good)\b[, ]*)*"
    r"(?:let me|i(?:'|’)ll|i will|i(?:'|’)m going to|i am going to|let(?:'|’)s)\b"
    r"(?! know\b)",
    re.IGNORECASE,
)
_LONGEST_ANNOUNCEMENT: Final = 200
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(slots=True)
class _Progress:
    """What is known of one run."""

    failing: Counter[tuple[str, str]] = field(default_factory=Counter)
    silent: int = 0
    said: set[NudgeKind] = field(default_factory=set)


@dataclass(slots=True)
class ProgressNudges:
    """A hook bundle that nudges.

    Parameters
    ----------
    kinds
        The kinds that are on.
    same_errors
        Turns in a row with the same error of the same tool. Several such calls of one turn count once.
    silent_turns
        Turns in a row with calls and without text.

    Raises
    ------
    ConfigurationError
        There is no such kind, or a number is below 2.
    """

    kinds: frozenset[NudgeKind] = frozenset({"same-error"})
    same_errors: int = 3
    silent_turns: int = 20
    _runs: dict[str, _Progress] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if unknown := self.kinds - frozenset(NUDGE_KINDS):
            raise ConfigurationError(f"There is no nudge {min(unknown)!r}.", hint=f"Nudges: {', '.join(NUDGE_KINDS)}.")
        if min(self.same_errors, self.silent_turns) < 2:
            raise ConfigurationError("A nudge after fewer than 2 turns is none.", hint="Give whole numbers from 2 on.")

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        return subscribe(hooks, {TurnBoundary: self._boundary, AgentDone: self._done})

    def _done(self, event: AgentDone) -> None:
        self._runs.pop(event.ids.run_id, None)

    def _boundary(self, event: TurnBoundary) -> None:
        run = self._runs.setdefault(event.ids.run_id, _Progress())
        run.failing = Counter({key: run.failing[key] + 1 for key in _errors(event.turn, event.results)})
        run.silent = run.silent + 1 if event.turn.tool_calls and not event.turn.text.strip() else 0
        for kind, text in self._due(run, event):
            if kind in self.kinds and kind not in run.said:
                run.said.add(kind)
                event.inject.append(Injection("progress-nudge", text))

    def _due(self, run: _Progress, event: TurnBoundary) -> list[tuple[NudgeKind, str]]:
        due: list[tuple[NudgeKind, str]] = []
        if run.failing:
            (tool, _), count = run.failing.most_common(1)[0]
            if count >= self.same_errors:
                due.append(("same-error", MESSAGES["same-error"].format(tool=tool, count=count)))
        if run.silent >= self.silent_turns:
            due.append(("silent-work", MESSAGES["silent-work"].format(count=run.silent)))
        ends = event.finish == "stop" and not event.turn.tool_calls and not event.inject
        if ends and _announces(event.turn.text):
            due.append(("announced-work", MESSAGES["announced-work"]))
        return due


def _errors(turn: Turn, results: Turn | None) -> set[tuple[str, str]]:
    """Return the failures of a turn's calls, as tool and text; not what a person or a guard did to a call."""
    names = {call.id: call.name for call in turn.tool_calls}
    return {
        (names[result.call_id], _ADDRESS.sub("…", result.text))
        for result in (results.tool_results if results is not None else ())
        if result.is_error
        and result.call_id in names
        and not is_guard_answer(result)
        and not any(result.text.startswith(marker) for marker in MARKERS)
    }


def _announces(text: str) -> bool:
    """Whether a text ends by saying what its author is about to do; a question to the person is none."""
    sentences = [each for each in _SENTENCES.split(text.strip()) if each.strip()]
    last = sentences[-1].strip() if sentences else ""
    return len(last) <= _LONGEST_ANNOUNCEMENT and not last.endswith("?") and _ANNOUNCES.match(last) is not None

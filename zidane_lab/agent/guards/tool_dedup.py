"""Answering identical calls of a tool with the result it gave already, and in the end refusing them.

For tools whose answer depends on their arguments alone. What counts as identical is said by a *hasher*: a function
from the arguments to a key. Mode ``replay`` gives the earlier result again; that is cheap but breaks no loop. Mode
``block-after`` replays too, until so many identical calls have come in a row, and then refuses them until the
arguments change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.agent.guards.bundle import announcer, answered_by, subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import AgentDone, ToolAfter, ToolGate
from zidane_lab.turns import ToolResultBlock

__all__ = ["DEFAULT_THRESHOLD", "DedupHasher", "DedupReason", "DedupTool", "ToolDedup"]

DEFAULT_THRESHOLD: Final = 3
"""The identical call that is refused, unless said otherwise: by then the model has had the same result twice."""

_GUARD: Final = "tool-dedup"

DedupHasher: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""From a call's arguments to its key; ``None``, an empty text or anything but a text leaves this call alone."""

DedupReason: TypeAlias = str | Callable[[Mapping[str, Any], int], str]
"""What the model is told when a call is refused, or a function of the arguments and the count that says it."""


@dataclass(frozen=True, slots=True)
class DedupTool:
    """How the identical calls of one tool are answered.

    Parameters
    ----------
    hasher
        See :data:`DedupHasher`.
    mode
        ``replay`` or ``block-after``.
    threshold
        With ``block-after``: the how manieth identical call in a row is the first to be refused.
    reason
        See :data:`DedupReason`; the model reads ``Blocked: <reason>``.
    scope
        Whether results are kept for the whole session or for one run.

    Raises
    ------
    ConfigurationError
        A mode or scope that does not exist, or a threshold below 2, which would refuse the first call.
    """

    hasher: DedupHasher
    mode: Literal["replay", "block-after"] = "replay"
    threshold: int = DEFAULT_THRESHOLD
    reason: DedupReason | None = None
    scope: Literal["session", "run"] = "session"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("mode", self.mode, ("replay", "block-after")),
            ("scope", self.scope, ("session", "run")),
        ):
            if value not in known:
                raise ConfigurationError(f"There is no dedup {name} {value!r}.", hint=f"One of: {', '.join(known)}.")
        if self.threshold < 2:
            raise ConfigurationError(
                f"A dedup threshold of {self.threshold} refuses the very first call.", hint="Give 2 or more."
            )


@dataclass(frozen=True, slots=True)
class ToolDedup:
    """A hook bundle: for each named tool, how its identical calls are answered; a bare hasher means ``replay``.

    Only results of calls that went well are given again: what failed may work the next time. A call that comes
    while an identical one is running waits for that one's result.
    """

    tools: Mapping[str, DedupTool | DedupHasher]

    def install(self, hooks: HookBus) -> Uninstall:
        """Watch the calls of the named tools; what is remembered is this subscription's own."""
        rules = {name: rule if isinstance(rule, DedupTool) else DedupTool(rule) for name, rule in self.tools.items()}
        watch = _Watch(rules, hooks)
        return subscribe(hooks, {ToolGate: watch.at_gate, ToolAfter: watch.after, AgentDone: watch.at_end})


@dataclass(slots=True)
class _Memory:
    """What is known of one tool in one scope: its results by key, and the streak of the latest key."""

    results: dict[str, ToolResultBlock] = field(default_factory=dict)
    running: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    latest: str | None = None
    count: int = 0


class _Watch:
    """The handlers of one subscription."""

    def __init__(self, rules: Mapping[str, DedupTool], hooks: HookBus) -> None:
        self._rules = rules
        self._announce = announcer(hooks, _GUARD)
        self._memories: dict[tuple[str, str], _Memory] = {}
        self._running: dict[tuple[str, str | None], tuple[_Memory, str]] = {}

    async def at_gate(self, event: ToolGate) -> None:
        rule = self._rules.get(event.tool)
        if rule is None or event.block is not None or event.result is not None:
            return
        key = await self._key(rule, event)
        if key is None:
            return
        scope = event.ids.run_id if rule.scope == "run" else ""
        memory = self._memories.setdefault((scope, event.tool), _Memory())
        memory.count = memory.count + 1 if key == memory.latest else 1
        memory.latest = key
        if rule.mode == "block-after" and memory.count >= rule.threshold:
            event.block = _reason(rule, event, memory.count)
            await self._announce(event.ids, event.tool, f"refused: {memory.count} identical calls in a row")
            return
        while (running := memory.running.get(key)) is not None:
            await asyncio.wait({running})
        known = memory.results.get(key)
        if known is None:
            memory.running[key] = asyncio.get_running_loop().create_future()
            self._running[event.ids.run_id, event.ids.call_id] = memory, key
            return
        event.result = replace(known, metadata=answered_by(_GUARD, same_as=known.call_id))
        await self._announce(event.ids, event.tool, f"answered with the result of {known.call_id}")

    def after(self, event: ToolAfter) -> None:
        memory, key = self._running.pop((event.ids.run_id, event.ids.call_id), (None, ""))
        if memory is not None:
            if event.outcome == "ok" and not event.result.is_error:
                memory.results[key] = event.result
            _release(memory, key)

    def at_end(self, event: AgentDone) -> None:
        """Forget the run: its results, and its calls that never ended."""
        for call in [call for call in self._running if call[0] == event.ids.run_id]:
            _release(*self._running.pop(call))
        for scope in [scope for scope in self._memories if scope[0] == event.ids.run_id]:
            del self._memories[scope]

    async def _key(self, rule: DedupTool, event: ToolGate) -> str | None:
        try:
            key: object = rule.hasher(event.input)
        except Exception as error:  # noqa: BLE001 - a broken hasher must not stop the call
            text = f"left alone: its hasher failed ({type(error).__name__}: {error})"
            await self._announce(event.ids, event.tool, text)
            return None
        return key if isinstance(key, str) and key else None


def _release(memory: _Memory, key: str) -> None:
    running = memory.running.pop(key, None)
    if running is not None and not running.done() and not running.get_loop().is_closed():
        running.set_result(None)


def _reason(rule: DedupTool, event: ToolGate, count: int) -> str:
    default = (
        f"{count} identical {event.tool} calls in a row. The result will not change: use the one you have, "
        "or try a different approach."
    )
    if rule.reason is None or isinstance(rule.reason, str):
        return rule.reason or default
    try:
        return rule.reason(event.input, count)
    except Exception:  # noqa: BLE001 - the refusal stands, in our own words
        return default

"""The seam for runs that are recorded and played again: where time, ids, waits and outside results come from.

Code that must come out the same when played again takes these instead of asking the system itself. The defaults ask the
system and record nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from zidane_lab.errors import AbortedError, SessionError
from zidane_lab.turns import new_id

__all__ = [
    "AgentClock",
    "Durable",
    "Journal",
    "RecordingJournal",
    "RetryClock",
    "SystemClock",
    "SystemRetryClock",
    "direct",
    "is_control_error",
]

T = TypeVar("T")


class AgentClock(Protocol):
    """Where the time and the ids of turns come from."""

    def now(self) -> datetime:
        """Return the present moment, in UTC."""
        ...

    def new_id(self, prefix: str) -> str:
        """Mint an id such as ``turn_3f9c…``."""
        ...


class RetryClock(Protocol):
    """How waits before a retry are spent."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def jitter(self) -> float:
        """Return a number from 0 up to 1 that spreads the waits of many clients; the same one when played again."""
        ...


class Journal(Protocol):
    """Runs the steps whose results come from outside."""

    async def __call__(self, name: str, fn: Callable[[], Awaitable[T]], /) -> T:
        """Return the result of ``fn``, or the one recorded for this step."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The system's time and random ids."""

    def now(self) -> datetime:
        """Return the present moment."""
        return datetime.now(UTC)

    def new_id(self, prefix: str) -> str:
        """Mint a random id."""
        return new_id(prefix)


@dataclass(frozen=True, slots=True)
class SystemRetryClock:
    """Real waits, and jitter from a generator of its own: the user's seed is neither used nor disturbed."""

    source: random.Random = field(default_factory=random.SystemRandom)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def jitter(self) -> float:
        """Return a random number."""
        return self.source.random()


async def direct(name: str, fn: Callable[[], Awaitable[T]], /) -> T:  # noqa: ARG001 - a journal's signature
    """Run the step and record nothing."""
    return await fn()


class RecordingJournal:
    """Plays recorded steps and records the others; the results must be JSON if they are to be kept in a file.

    Parameters
    ----------
    recorded
        Steps of an earlier run, in order: name and result.
    keep
        Called with the name and the result of each step that was really run, once it has gone well.
    """

    def __init__(self, recorded: Iterable[tuple[str, Any]], keep: Callable[[str, Any], None]) -> None:
        self._recorded = list(recorded)
        self._keep = keep
        self._at = 0

    async def __call__(self, name: str, fn: Callable[[], Awaitable[T]], /) -> T:
        """Return the next recorded result, or run the step when there is none left.

        Raises
        ------
        SessionError
            Another step was recorded at this point: the run does not go as it went before.
        """
        if self._at < len(self._recorded):
            known, result = self._recorded[self._at]
            if known != name:
                raise SessionError(
                    f"Step {self._at + 1} was {known!r} when it was recorded and is {name!r} now.",
                    hint="This run cannot be played again; start a new one.",
                )
            self._at += 1
            played: T = result
            return played
        made = await fn()
        self._keep(name, made)
        return made


def is_control_error(error: BaseException) -> bool:
    """Whether an error stops or suspends the run, so that no retry or fallback may swallow it.

    Cancellation, :class:`~zidane_lab.errors.AbortedError` and whatever is not an ordinary exception; a group counts
    when one of its members does.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(is_control_error(each) for each in error.exceptions)
    return isinstance(error, AbortedError) or not isinstance(error, Exception)


@dataclass(frozen=True, slots=True)
class Durable:
    """The whole seam, as one value."""

    clock: AgentClock = field(default_factory=SystemClock)
    retry: RetryClock = field(default_factory=SystemRetryClock)
    journal: Journal = direct
    controls: Callable[[BaseException], bool] = is_control_error

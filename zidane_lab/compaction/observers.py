"""Who is told how a compaction goes; what they do wrong never spoils it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from zidane_lab.compaction.calls import Attempt, Progress
from zidane_lab.compaction.scope import Scope
from zidane_lab.errors import AbortedError
from zidane_lab.turns import Turn, Usage

__all__ = ["End", "Observers", "Start", "tell"]

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")
Listener: TypeAlias = Callable[[T], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class Start:
    """A compaction begins: it has something to summarise, and nothing has been asked yet."""

    model: str
    scope: Scope
    to_summarize: tuple[Turn, ...]
    preserved: tuple[Turn, ...]
    before: int


@dataclass(frozen=True, slots=True)
class End(Generic[R]):
    """A compaction ended, well or not.

    ``spent`` is what all calls cost together, those that failed too, as far as the service told. ``result`` is there
    when it was compacted, ``error`` when it failed.
    """

    status: Literal["compacted", "aborted", "failed"]
    seconds: float
    spent: Usage
    result: R | None = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Observers(Generic[R]):
    """Functions, sync or async, that are told; each may be left out.

    Parameters
    ----------
    on_start
        Told once, after the input was found fit.
    on_attempt
        Told before each call of a model.
    on_progress
        Told at each piece of an answer; pieces come fast, so take every so many.
    on_end
        Told exactly once if ``on_start`` was.
    """

    on_start: Listener[Start] | None = None
    on_attempt: Listener[Attempt] | None = None
    on_progress: Listener[Progress] | None = None
    on_end: Listener[End[R]] | None = None


async def tell(listener: Listener[T] | None, value: T) -> None:
    """Tell a listener; what it raises goes to the log, except for the wish to stop."""
    if listener is None:
        return
    try:
        outcome = listener(value)
        if inspect.isawaitable(outcome):
            await outcome
    except AbortedError:
        raise
    except Exception:  # noqa: BLE001 - watching must not spoil what is watched; the log has it
        _LOG.warning("A listener of a compaction failed at %s.", type(value).__name__, exc_info=True)

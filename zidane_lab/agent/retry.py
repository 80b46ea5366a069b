"""Making a failed call of a model again: how often, after how long, and when not.

Only failures that pass by themselves are repeated (:attr:`~zidane_lab.errors.ProviderError.retryable`): a rate limit
or an overload that is over within a minute, a broken connection. A conversation that is too long is compacted
instead; a bad key, a malformed request and a stop are final.

A call may be repeated as long as nobody has seen an answer: no visible text, no tool call (:func:`shows_answer`).
Reasoning does not count. It is drawn folded, belongs to no answer yet, and is left out of the conversation together
with the failed call; what was drawn of it stays there, and that of the next attempt is drawn anew below.
"""

from __future__ import annotations

import asyncio
import random as _random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from zidane_lab.errors import LONGEST_RETRY_WAIT, ConfigurationError, ProviderError
from zidane_lab.providers.base import StreamEvent, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart

__all__ = ["OnWait", "RetryPolicy", "shows_answer", "with_retries"]

T = TypeVar("T")

OnWait: TypeAlias = Callable[[int, int, float, ProviderError], Awaitable[None]]
"""Told before each wait: the number of the retry (from 1), the most there will be, the seconds, and the failure."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a call is repeated.

    Parameters
    ----------
    max_retries
        Most retries after the first attempt; 0 for none.
    base_delay
        Seconds before the first retry; doubled for each one after it (2, 4, 8 s).
    max_delay
        Longest wait, in seconds. A service that asks for more is not waited for.
    jitter
        By how much a wait varies, as a fraction, so that many agents do not all come back at once.
    """

    max_retries: int = 3
    base_delay: float = 2.0
    max_delay: float = LONGEST_RETRY_WAIT
    jitter: float = 0.25

    def __post_init__(self) -> None:
        if self.max_retries < 0:
            raise ConfigurationError(f"max_retries is {self.max_retries}.", hint="Give 0 for none, or a whole number.")
        for name in ("base_delay", "max_delay"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise ConfigurationError(f"{name} is {value}.", hint="Give a number of seconds of at least 0.")
        if self.max_delay > LONGEST_RETRY_WAIT:
            raise ConfigurationError(
                f"max_delay is {self.max_delay}.", hint=f"Nothing is waited for longer than {LONGEST_RETRY_WAIT:g} s."
            )
        if not 0 <= self.jitter <= 1:
            raise ConfigurationError(f"jitter is {self.jitter}.", hint="Give a fraction between 0 and 1.")

    def seconds(self, retry: int, announced: float | None, chance: float) -> float:
        """Return how long to wait before the ``retry``-th retry (from 1).

        At least as long as the service ``announced``; ``chance`` is a random number from 0 to 1.
        """
        own = min(self.base_delay * 2.0 ** min(retry - 1, 64), self.max_delay)
        own = min(own * (1 + self.jitter * (2 * chance - 1)), self.max_delay)
        return own if announced is None else max(own, announced + self.jitter * self.base_delay * chance)

    def waits_for(self, error: ProviderError) -> bool:
        """Tell whether ``error`` is worth another attempt."""
        return error.retryable and (error.retry_after is None or error.retry_after <= self.max_delay)


DEFAULT_POLICY: Final = RetryPolicy()


def _always() -> bool:
    return True


async def with_retries(
    attempt: Callable[[int], Awaitable[T]],
    policy: RetryPolicy = DEFAULT_POLICY,
    *,
    may_retry: Callable[[], bool] = _always,
    on_wait: OnWait | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    random: Callable[[], float] = _random.random,
) -> T:
    """Make an attempt, and make it again while it fails in passing.

    Parameters
    ----------
    attempt
        Makes the call; gets the number of retries before it (0 at first).
    policy
        How often, and how long to wait.
    may_retry
        Asked after a failure: ``False`` once something of the answer was shown.
    on_wait
        Told before each wait.
    sleep, random
        The clock and the chance, to be replaced in tests and replays.

    Returns
    -------
    T
        What the first attempt that succeeds returns.

    Raises
    ------
    ProviderError
        The last failure, its message unchanged; after several attempts its hint says how many there were.

    Notes
    -----
    Only a :class:`~zidane_lab.errors.ProviderError` is repeated. Cancelling passes at once, also out of a wait.
    """
    retries = 0
    while True:
        try:
            return await attempt(retries)
        except ProviderError as error:
            if retries >= policy.max_retries or not policy.waits_for(error) or not may_retry():
                if retries:
                    error.add_hint(f"It was tried {retries + 1} times.")
                raise
            failure = error
        retries += 1
        seconds = policy.seconds(retries, failure.retry_after, random())
        if on_wait is not None:
            await on_wait(retries, policy.max_retries, seconds, failure)
        await sleep(seconds)


def shows_answer(event: StreamEvent) -> bool:
    """Tell whether a piece of a stream is part of the answer, after which the call may not be repeated."""
    if isinstance(event, TextDelta):
        return bool(event.text.strip())
    return isinstance(event, (ToolCallStart, ToolCallDelta, ToolCallEnd))

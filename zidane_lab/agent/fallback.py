"""Which model goes on when one has failed for good.

A call fails for good when its retries are used up, or when repeating is of no use. Then the next model of the run
answers in its place. It answers a conversation that is valid as it stands: what the failed model had already said is
stored there as its turn, calls it had begun are not, and the request ends with a user turn. So nothing is lost, said
twice or run twice, and a fallback is allowed also after text was shown, where a retry is not.

A model that hit a limit is left alone until the limit resets (:class:`FallbackState`); the run after that begins with
the first model again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from zidane_lab.errors import AuthError, ContextExceededError, ProviderError
from zidane_lab.providers.limits import classify_provider_limit
from zidane_lab.providers.targets import ModelTarget

__all__ = ["COOLDOWN_SECONDS", "FallbackState", "next_target"]

COOLDOWN_SECONDS: Final = 300.0
"""How long a model that hit a limit is left alone when the service does not say when it resets."""


@dataclass(slots=True)
class FallbackState:
    """Remembers which models hit a limit, by their full names; one for all runs of a session.

    Parameters
    ----------
    clock
        Seconds since 1970, to be replaced in tests and replays.
    """

    clock: Callable[[], float] = time.time
    _until: dict[str, float] = field(default_factory=dict)

    def note(self, target: ModelTarget, error: BaseException) -> float | None:
        """Leave ``target`` alone if ``error`` is a limit; return until when, in seconds since 1970."""
        limit = classify_provider_limit(error)
        if limit is None:
            return None
        until = limit.resets_at
        if until is None:
            until = self.clock() + (COOLDOWN_SECONDS if limit.retry_after is None else limit.retry_after)
        self._until[target.name] = until
        return until

    def is_cooling(self, target: ModelTarget) -> bool:
        """Whether ``target`` hit a limit that has not reset yet."""
        until = self._until.get(target.name)
        if until is not None and until <= self.clock():
            del self._until[target.name]
            until = None
        return until is not None

    def first(self, targets: Sequence[ModelTarget]) -> int:
        """Return the index of the target a run begins with: the first that is not cooling, or else the first."""
        return next((index for index, target in enumerate(targets) if not self.is_cooling(target)), 0)


def next_target(
    targets: Sequence[ModelTarget],
    index: int,
    error: BaseException,
    *,
    state: FallbackState | None = None,
    compacted: bool = False,
    window_of: Callable[[ModelTarget], int | None] = lambda target: target.window,
) -> int | None:
    """Return the index of the target that goes on after ``targets[index]`` failed with ``error``, or ``None``.

    Parameters
    ----------
    targets
        The targets of the run, in order.
    index
        The one that failed, its retries used up.
    error
        What it failed with. A stop, and whatever is no failure of a service, ends the run.
    state
        Which targets are cooling; they are passed over.
    compacted
        Whether compacting was tried. A conversation that is too long is compacted first; only when that did not
        help it goes to a model whose window is known to be larger.
    window_of
        Gives a target's context window in tokens.

    Notes
    -----
    Pure: it changes neither ``state`` nor anything else. Call :meth:`FallbackState.note` before it.
    """
    if not isinstance(error, ProviderError):
        return None
    failed = targets[index]
    window = window_of(failed) if isinstance(error, ContextExceededError) else None
    if isinstance(error, ContextExceededError) and not (compacted and window):
        return None
    for later in range(index + 1, len(targets)):
        target = targets[later]
        if state is not None and state.is_cooling(target):
            continue
        if isinstance(error, AuthError) and error.status != 403 and target.provider is failed.provider:
            continue  # the same key
        if window is not None and (window_of(target) or 0) <= window:
            continue
        return later
    return None

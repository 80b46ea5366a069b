"""The bus: ordered, typed, failure-isolated subscribers of events.

A handler is a function of one event, sync or async. Handlers of one event run in the order they were
added, one after another; a handler that raises is reported as a ``hook:failed`` event and the rest still
run. Only stops pass through: cancellation and :class:`~zidane_lab.errors.AbortedError`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from zidane_lab.errors import AbortedError, ConfigurationError
from zidane_lab.events import EVENTS, Event, HookFailed

__all__ = ["Handler", "HookBundle", "HookBus", "Uninstall"]

Handler: TypeAlias = Callable[[Any], Awaitable[None] | None]
Uninstall: TypeAlias = Callable[[], None]
E = TypeVar("E", bound=Event)


class HookBundle(Protocol):
    """Several handlers that belong together (a renderer, a logger, a meter)."""

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe, and return the function that unsubscribes."""
        ...


class HookBus:
    """Subscribers by event name; ``"*"`` hears every event."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, Handler]] = []

    def on(self, event: str | type[Any], handler: Handler) -> Uninstall:
        """Subscribe ``handler`` to an event, by class or dotted name.

        Returns
        -------
        Callable
            Removes this subscription; calling it twice is harmless.

        Raises
        ------
        ConfigurationError
            There is no such event.
        """
        name = event if isinstance(event, str) else getattr(event, "name", "")
        if name != "*" and name not in EVENTS:
            raise ConfigurationError(f"There is no event {name!r}.", hint=f"Events: {', '.join(sorted(EVENTS))}, *.")
        entry = (name, handler)
        self._entries.append(entry)

        def uninstall() -> None:
            self._entries = [each for each in self._entries if each is not entry]

        return uninstall

    def use(self, bundle: HookBundle) -> Uninstall:
        """Install a bundle; the returned function uninstalls it."""
        return bundle.install(self)

    async def emit(self, event: E) -> list[HookFailed]:
        """Tell every subscriber, in order, and return what failed (empty when all went well)."""
        failures: list[HookFailed] = []
        for handler in [handler for name, handler in self._entries if name in (event.name, "*")]:
            try:
                outcome = handler(event)
                if inspect.isawaitable(outcome):
                    await outcome
            except AbortedError:
                raise
            except Exception as error:  # noqa: BLE001 - isolation is the point; the failure is reported below
                label = getattr(handler, "__qualname__", repr(handler))
                failures.append(HookFailed(event.ids, event.name, label, f"{type(error).__name__}: {error}"))
        if event.name != HookFailed.name:  # a failing listener of failures must not feed itself
            for failure in failures:
                await self.emit(failure)
        return failures

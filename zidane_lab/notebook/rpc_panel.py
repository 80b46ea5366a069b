"""The side panels of a kernel: which are there, and the front that lets one of them answer.

A panel cannot be called from here; it asks what is pending and answers by :mod:`zidane_lab.notebook.rpc`. To show an
interaction in it means to wait: until it is answered, or until no panel is there any more and the next front is asked.
A page that is closed often has no time to say so, so a panel must be heard of regularly.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from zidane_lab.notebook.interactions import Announced, announced_at
from zidane_lab.session.interactions import Interaction, InteractionAnswer

__all__ = ["LONGEST_SILENCE", "MOST_PANELS", "NAME", "SILENCE", "Panels", "panels_of"]

NAME: Final = "panel"
"""What panels are called among the fronts, and in the answers they give."""

SILENCE: Final = 30.0
"""Seconds a panel may be silent unless it asks for another time. Answers are taken from it after that, too."""

SHORTEST_SILENCE: Final = 2.0
LONGEST_SILENCE: Final = 300.0
"""What a panel may ask for; pages in the background are slowed down to one timer a minute."""

MOST_PANELS: Final = 32
"""Panels at once; the one that was silent longest makes room."""


@dataclass(slots=True)
class _Panel:
    silence: float
    until: float


@dataclass(slots=True, eq=False)
class _Waiter:
    """A front that waits in some loop."""

    loop: asyncio.AbstractEventLoop
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # its loop has ended: nobody waits
            self.loop.call_soon_threadsafe(self.changed.set)


class Panels:
    """The panels that have announced themselves to one kernel. Any thread may use it.

    Parameters
    ----------
    announced
        The fronts of the kernel: this is one of them while a panel is there.
    clock
        Seconds that never go back.
    """

    def __init__(self, announced: Announced, clock: Callable[[], float] = time.monotonic) -> None:
        self._announced, self._clock = announced, clock
        self._lock = threading.Lock()
        self._panels: dict[str, _Panel] = {}
        self._waiters: set[_Waiter] = set()

    def announce(self, client: str, silence: float = SILENCE) -> float:
        """Say that a panel is there, and return the seconds it may be silent.

        Panels are asked before forms in the cell, whichever was there first: whoever opens one wants to use it.
        """
        silence = min(max(silence, SHORTEST_SILENCE), LONGEST_SILENCE)
        with self._lock:
            self._panels[client] = _Panel(silence, self._clock() + silence)
            while len(self._panels) > MOST_PANELS:
                del self._panels[min(self._panels, key=lambda name: self._panels[name].until)]
            if self._announced.get(NAME) != self.front:
                self._announced.leave("widget")  # it takes its place again, behind, with the next form
                self._announced.announce(NAME, self.front)
        return silence

    def hear(self, client: str) -> bool:
        """Take note that a panel was heard of; ``False`` if it has not announced itself, or was silent too long."""
        with self._lock:
            self._drop_silent()
            panel = self._panels.get(client)
            if panel is not None:
                panel.until = self._clock() + panel.silence
            return panel is not None

    def leave(self, client: str) -> bool:
        """Take a panel away; ``False`` if it was not there."""
        with self._lock:
            known = self._panels.pop(client, None) is not None
            self._drop_silent()
            waiters = tuple(self._waiters)
        for each in waiters:
            each.wake()
        return known

    @property
    def names(self) -> tuple[str, ...]:
        """The panels that are there."""
        with self._lock:
            self._drop_silent()
            return tuple(self._panels)

    async def front(self, _interaction: Interaction) -> InteractionAnswer | None:
        """Wait while a panel is there (a :data:`~zidane_lab.chat.interacting.Front`); its answer ends the waiting."""
        with self._waiting() as waiter:
            while (seconds := self._seconds_left()) > 0:
                waiter.changed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(waiter.changed.wait(), seconds)
        return None

    @contextmanager
    def _waiting(self) -> Iterator[_Waiter]:
        waiter = _Waiter(asyncio.get_running_loop())
        with self._lock:
            self._waiters.add(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._waiters.discard(waiter)

    def _seconds_left(self) -> float:
        """Return how long at least one panel may still be silent; 0 when none is there."""
        with self._lock:
            self._drop_silent()
            return max((each.until for each in self._panels.values()), default=self._clock()) - self._clock()

    def _drop_silent(self) -> None:
        present = self._clock()
        for name in [name for name, panel in self._panels.items() if panel.until <= present]:
            del self._panels[name]
        if not self._panels and self._announced.get(NAME) == self.front:
            self._announced.leave(NAME)


_PANELS: WeakKeyDictionary[Any, Panels] = WeakKeyDictionary()


def panels_of(shell: Any) -> Panels:
    """Return the one :class:`Panels` of a shell."""
    return _PANELS.setdefault(shell, Panels(announced_at(shell)))

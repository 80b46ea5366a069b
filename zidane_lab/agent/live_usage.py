"""What an answer has used so far, while it streams: its size, its prompt's size, and a running price.

Services count at different moments: some in every piece, some only at the end, some put a placeholder at the
beginning. What they have not counted yet is estimated from the text, and marked so. The settled usage of the
turn replaces all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from zidane_lab.providers.base import Finish, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta, UsageUpdate
from zidane_lab.turns import Usage
from zidane_lab.wire.tokens import UNITS_PER_TOKEN

__all__ = ["LiveUsage", "Price", "running_cost"]

Price: TypeAlias = Callable[[Usage], float | None]
"""What a call costs in US dollars; ``None`` where no price is known to apply, as for traffic at a flat rate."""


@dataclass(frozen=True, slots=True)
class LiveUsage:
    """The state of a count in mid-stream; :meth:`after` gives the next one.

    Parameters
    ----------
    units
        UTF-16 units of text, reasoning and arguments that have arrived.
    reported
        The newest running totals of the service.
    counted_units
        The units that had arrived when it last counted the output.
    finished
        Whether the answer is complete, so that its count is final.
    """

    units: int = 0
    reported: Usage | None = None
    counted_units: int = 0
    finished: bool = False

    def after(self, event: StreamEvent) -> LiveUsage:
        """Return the state after one more event; the same object where it says nothing of usage."""
        match event:
            case TextDelta(text) | ThinkingDelta(text) | ToolCallDelta(_, text):
                return replace(self, units=self.units + _units(text)) if text else self
            case UsageUpdate(usage):
                before = self.reported.output if self.reported is not None else 0
                fresh = self.units if usage.output > before else self.counted_units
                return replace(self, reported=usage, counted_units=fresh)
            case Finish():
                return replace(self, finished=True)
        return self

    @property
    def output(self) -> int:
        """Tokens of the answer so far: the service's count, and an estimate of what arrived after it."""
        if self._is_final:
            return self.reported.output if self.reported is not None else 0
        # A count before anything has arrived is a placeholder.
        counted = self.reported.output if self.reported is not None and self.counted_units else 0
        return counted + -(-(self.units - self.counted_units) // UNITS_PER_TOKEN)

    @property
    def is_estimated(self) -> bool:
        """Whether :attr:`output` holds an estimate."""
        return not self._is_final and self.units > self.counted_units

    @property
    def _is_final(self) -> bool:
        return self.finished and self.reported is not None and self.reported.output > 0

    def so_far(self, previous: Usage | None = None) -> Usage:
        """Return the usage up to now, without cost.

        Parameters
        ----------
        previous
            What the answer before used. Until the service counts this prompt, that one's size and its split
            into cached and new tokens stand in; in a first answer the prompt counts nothing.
        """
        prompt = self.reported if self.reported is not None and self.reported.context else previous or Usage()
        return Usage(prompt.input, self.output, prompt.cache_read, prompt.cache_creation)


def running_cost(live: LiveUsage, previous: Usage | None = None, price: Price | None = None) -> float | None:
    """Return what the answer has cost so far in US dollars; ``None`` where it is not known, never zero.

    What the service told goes before a price for an estimate, unless text has arrived since: then it is only the
    least it can be, and stands where no ``price`` is given.
    """
    told = live.reported.cost if live.reported is not None else None
    if price is None or (told is not None and not live.is_estimated):
        return told or None
    return price(live.so_far(previous)) or None


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2

"""Watch the provider's prompt cache: say when it was missed and why, how long it lasts, what a change would cost.

Only the provider's own numbers show a miss; what our requests changed only explains it. Nothing is said of providers
that count no cached tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from zidane_lab.agent.dimensions import Dimension, Dimensions, Fingerprint, diff_dimensions
from zidane_lab.events import CacheBreak, Ids
from zidane_lab.providers.base import CacheTtl, Request, ThinkingLevel
from zidane_lab.turns import Usage

__all__ = [
    "TTL_SECONDS",
    "CacheChange",
    "CacheImpact",
    "CacheWatch",
    "ImpactReason",
    "Price",
    "break_headline",
    "break_notice",
]

TTL_SECONDS: Final[Mapping[CacheTtl, float]] = {"5m": 300.0, "1h": 3600.0}
"""How long a provider keeps a prompt nobody asks for."""

LEAST_TOKENS: Final = 2_000
LEAST_SHARE: Final = 0.05
"""Fewer tokens than these, or a smaller share of what could have been read, are no miss: providers round."""

LEAST_COST: Final = 0.005
"""US dollars; less rounds to no cent at all."""

THOUSAND: Final = 1_000

Price: TypeAlias = Callable[[Usage], float | None]
"""What tokens cost in US dollars, or ``None`` where no price is known."""

ImpactReason: TypeAlias = Literal["system", "tools", "thinking", "model"]

_LIKELY: Final[Mapping[Dimension, str]] = {
    "model": "another model was chosen, or a fallback took over",
    "thinking": "the thinking level or its budget was changed",
    "tools": "a profile, an extension or a server changed what tools there are",
    "system": "a profile, an extension or a changed file rewrote the instructions",
    "messages": "compaction, history trimming or a hook rewrote what was sent before",
}


@dataclass(frozen=True, slots=True)
class CacheChange:
    """A change about to be made. ``model`` and ``thinking`` count if they differ from the last request's."""

    model: str | None = None
    thinking: ThinkingLevel | None = None
    system: bool = False
    tools: bool = False


@dataclass(frozen=True, slots=True)
class CacheImpact:
    """What a change would cost.

    ``tokens`` would be read anew for these ``reasons``; both are empty when nothing differs. ``expired``: the next
    request reads the prompt anew in any case, because the cache is probably gone or nothing was sent yet.
    """

    tokens: int
    reasons: tuple[ImpactReason, ...]
    expired: bool


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request that was answered."""

    request_model: str
    thinking: ThinkingLevel
    dimensions: Dimensions
    usage: Usage
    at: float
    expires_at: float


class CacheWatch:
    """Compares each request of a conversation with the one before; lives as long as the conversation.

    Times are seconds since the epoch, of the moment a request was sent: from then on the cache's time runs.
    """

    def __init__(self) -> None:
        self._fingerprint = Fingerprint()
        self._last: _Sent | None = None
        self._counting: set[str] = set()  # models seen to count cached tokens
        self._writing: set[str] = set()  # those that also count what they store
        self._declared: list[str] = []

    @property
    def declared(self) -> tuple[str, ...]:
        """What was declared since the last answer."""
        return tuple(self._declared)

    def declare(self, reason: str) -> None:
        """Announce that the next request differs on purpose (a compaction, a pruning, an undo): no fault, no notice."""
        self._declared.append(reason)

    def observe(
        self,
        request: Request,
        usage: Usage,
        *,
        ids: Ids,
        provider: str = "",
        now: float | None = None,
        price: Price | None = None,
    ) -> CacheBreak | None:
        """Take in an answered request and what it used; return the notice of a miss, if it was one.

        Parameters
        ----------
        request, usage
            What was sent, and what the provider says it took. Without any count the request is passed over.
        ids
            For the event.
        provider
            Name of the provider, which tells apart models of the same name.
        now
            When it was sent; the present moment if left out.
        price
            What tokens of this model cost; without it, or where the answer itself had no known cost, the notice
            states none.
        """
        if usage.is_empty:
            return None
        now = time.time() if now is None else now
        dimensions = self._fingerprint(request, provider=provider)
        last, declared = self._last, self._declared
        expires_at = now + TTL_SECONDS[request.cache_ttl]
        self._last = _Sent(request.model, request.thinking, dimensions, usage, now, expires_at)
        self._declared = []
        if usage.cache_read or usage.cache_creation:
            self._counting.add(dimensions.model)
        if usage.cache_creation:
            self._writing.add(dimensions.model)
        if last is None or declared or dimensions.model not in self._counting:
            return None
        readable = min(self._stored(last), usage.context)
        lost = readable - usage.cache_read
        if lost < max(LEAST_TOKENS, LEAST_SHARE * readable):
            return None
        anew = Usage(cache_creation=lost) if dimensions.model in self._writing else Usage(input=lost)
        cost = _more(price, anew, Usage(cache_read=lost)) if usage.cost is not None else None
        changes = () if now >= last.expires_at else diff_dimensions(last.dimensions, dimensions)
        culprit = "; ".join(change.detail for change in changes)
        return CacheBreak(ids, lost, cost, culprit, _LIKELY[changes[0].dimension] if changes else "")

    def cache_expires_at(self) -> float | None:
        """Return when the cache is probably gone unless asked for before; ``None`` if nothing was sent yet."""
        return None if self._last is None else self._last.expires_at

    def cache_impact(self, change: CacheChange, *, now: float | None = None) -> CacheImpact:
        """Return what a change would cost the cache, before it is made."""
        last = self._last
        if last is None:
            return CacheImpact(0, (), expired=True)
        same_model = change.model in (None, last.request_model, last.dimensions.model)
        differs: dict[ImpactReason, bool] = {
            "system": change.system,
            "tools": change.tools,
            "thinking": change.thinking not in (None, last.thinking),
            "model": not same_model,
        }
        reasons = tuple(reason for reason, counts in differs.items() if counts)
        expired = (time.time() if now is None else now) >= last.expires_at
        return CacheImpact(last.usage.context if reasons else 0, reasons, expired)

    def _stored(self, sent: _Sent) -> int:
        """Return how many tokens of a prompt the cache holds: those it was told of, else the whole prompt."""
        if sent.dimensions.model in self._writing:
            return sent.usage.cache_read + sent.usage.cache_creation
        return sent.usage.context


def _more(price: Price | None, anew: Usage, cached: Usage) -> float | None:
    """Return how much more tokens cost when read anew than from the cache."""
    if price is None or (high := price(anew)) is None or (low := price(cached)) is None:
        return None
    return max(0.0, high - low)


def break_headline(event: CacheBreak) -> str:
    """Return the notice in a line: ``cache break ↑116.9k tokens ~$0.48``, without the price if it is not known."""
    line = f"cache break ↑{_short(event.tokens)} tokens"
    if event.cost is None:
        return line
    return f"{line} ~${event.cost:.2f}" if event.cost >= LEAST_COST else f"{line} <$0.01"


def break_notice(event: CacheBreak) -> str:
    """Return the whole notice, a fact a line: the headline, what changed, what probably did it."""
    lines = [break_headline(event), event.culprit, f"likely {event.likely}" if event.likely else ""]
    return "\n".join(filter(None, lines))


def _short(count: int) -> str:
    if count < THOUSAND:
        return str(count)
    thousands = round(count / THOUSAND, 1)
    return f"{thousands}k" if thousands < THOUSAND else f"{count / THOUSAND**2:.1f}M"

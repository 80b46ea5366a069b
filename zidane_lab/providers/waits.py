"""How long a service asks to wait: from its headers, its JSON, its sentences; and the same for people.

Every service has a way of its own, most have several. What is stated as a wait goes before what is stated as the
end of a window, and that before words.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Final

__all__ = ["LONGEST_WAIT", "announced_wait", "human_seconds", "rate_limit_reset_from_json", "retry_after"]

LONGEST_WAIT: Final = 30 * 24 * 3600.0
"""Seconds; a service that asks for a longer wait has made a mistake."""

_UNITS: Final[Mapping[str, float]] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_UNIT: Final = (
    r"(?:ms|milliseconds?|msecs?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![A-Za-z])"
)
_AMOUNT: Final = re.compile(rf"(\d+(?:\.\d+)?)\s*({_UNIT})", re.IGNORECASE)
_AMOUNTS: Final = rf"(?:\d+(?:\.\d+)?\s*(?:{_UNIT})[\s,]*(?:and\s+)?)+"
_DURATION: Final = re.compile(_AMOUNTS, re.IGNORECASE)
_ANNOUNCED: Final = re.compile(
    r"(?:try again|available again|retry(?:ing)?|retry[-_ ]?delay|resets?|wait)\W{0,4}(?:after|in|for)?\W{0,4}"
    rf"(?:about |approximately |another |at least )?({_AMOUNTS})",
    re.IGNORECASE,
)

# A window's reset, its own name on either side: `anthropic-ratelimit-tokens-reset`, `x-ratelimit-reset-tokens`.
_RESET_HEADER: Final = re.compile(r"((?:anthropic-|x-)?ratelimit-)(?:(.+)-)?reset(?:-(.+))?")
_IN_MILLISECONDS: Final = 1e11
"""A moment above this is in milliseconds since 1970; in seconds it would be the year 5138."""

_SINCE_1970: Final = 1e9
"""A number above this is a moment, below it a wait."""

# Names in JSON bodies, without case, hyphens and underscores, and what one unit of the number is in seconds.
_WAITS_IN_JSON: Final[Mapping[str, float]] = {
    "retryafter": 1.0,
    "retryafterseconds": 1.0,
    "retryafterms": 0.001,
    "retrydelay": 1.0,
    "resetsinseconds": 1.0,
    "resetinseconds": 1.0,
    "resetsat": 1.0,
    "resetat": 1.0,
    "quotaresetdelay": 1.0,
}


def retry_after(
    headers: Mapping[str, str], text: str = "", *, body: object = None, now: datetime | None = None
) -> float | None:
    """Return the seconds a service asked to wait, or ``None``.

    Parameters
    ----------
    headers
        Of the answer: ``retry-after-ms``, ``retry-after`` (seconds or a date), then the reset of each window
        (``anthropic-ratelimit-*-reset``, ``x-ratelimit-reset-*``, ``ratelimit-reset``) that is used up, the latest of
        them, since all must be over.
    text
        The service's sentences, tried last.
    body
        Its JSON, tried before.
    now
        The present moment; the ``date`` header goes before, since our own clock may be wrong.
    """
    lowered = {name.lower(): str(value).strip() for name, value in headers.items()}
    clock = _date(lowered.get("date", "")) or now or datetime.now(UTC)
    milliseconds = _number(lowered.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _plausible(milliseconds / 1000)
    stated = _wait(lowered.get("retry-after", ""), clock)
    if stated is not None:
        return stated
    over = list(_resets(lowered, clock))
    if over:
        return max(over)
    in_body = next(_waits_in(body, clock), None)
    return in_body if in_body is not None else announced_wait(text)


def announced_wait(text: str) -> float | None:
    """Return the seconds that a sentence such as ``try again in 2h30m14s`` asks to wait, all units summed."""
    found = _ANNOUNCED.search(text)
    return _total(found[1]) if found is not None else None


def rate_limit_reset_from_json(text: str, resource: str = "graphql") -> float | None:
    """Return when a quota of GitHub's resets, in seconds since 1970, from what ``gh api rate_limit`` prints.

    Parameters
    ----------
    text
        The output.
    resource
        Which quota: ``"core"`` or ``"graphql"``.

    Returns
    -------
    float or None
        ``None`` when it cannot be read.
    """
    try:
        value = json.loads(text)["resources"][resource]["reset"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def human_seconds(seconds: float) -> str:
    """Return a waiting time for people, in its two largest units: ``45 s``, ``2 min 30 s``, ``3 d 4 h``."""
    left = max(1, math.ceil(seconds))
    amounts = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        amount, left = divmod(left, size)
        if amount:
            amounts.append(f"{amount} {unit}")
    return " ".join(amounts[:2])


def _resets(headers: Mapping[str, str], now: datetime) -> Iterator[float]:
    """Yield the seconds until each window that is used up is over."""
    for name, value in headers.items():
        found = _RESET_HEADER.fullmatch(name)
        if found is None:
            continue
        prefix, before, after = found.groups()
        window = None if after in ("ms", "after") else after
        stem = f"{prefix}{before}-%s" if before else f"{prefix}%s-{window}" if window else f"{prefix}%s"
        remaining, status = headers.get(stem % "remaining"), headers.get(stem % "status")
        is_used_up = status == "rejected" if status is not None else remaining is None or _number(remaining) == 0
        wait = _wait(value, now, unit=0.001 if after == "ms" else 1.0) if is_used_up else None
        if wait is not None:
            yield wait


def _waits_in(value: object, now: datetime, depth: int = 6) -> Iterator[float]:
    """Yield the waits that a JSON value states, at most ``depth`` levels down."""
    if not depth:
        return
    if isinstance(value, list):
        for item in value[:8]:
            yield from _waits_in(item, now, depth - 1)
    if not isinstance(value, Mapping):
        return
    for name, inner in islice(value.items(), 32):
        key = re.sub(r"[-_]", "", str(name)).lower()
        if key == "headers" and isinstance(inner, Mapping):  # a router quotes those of the service behind it
            wait = retry_after({str(header): str(content) for header, content in inner.items()}, now=now)
        elif key in _WAITS_IN_JSON and isinstance(inner, (str, int, float)) and not isinstance(inner, bool):
            wait = _wait(str(inner), now, unit=_WAITS_IN_JSON[key])
        else:
            yield from _waits_in(inner, now, depth - 1)
            continue
        if wait is not None:
            yield wait


def _wait(value: str, now: datetime, *, unit: float = 1.0) -> float | None:
    """Read a number, a duration (``6m0s``), a date, or a moment since 1970, as seconds from ``now``."""
    number = _number(value)
    if number is not None:
        if number >= _SINCE_1970:
            moment = number / 1000 if number >= _IN_MILLISECONDS else number
            return _plausible(max(0.0, moment - now.timestamp()))
        return _plausible(number * unit)
    if _DURATION.fullmatch(value):
        return _plausible(_total(value))
    until = _date(value)
    return _plausible(max(0.0, (until - now).total_seconds())) if until is not None else None


def _total(amounts: str) -> float | None:
    total = 0.0
    for amount, unit in _AMOUNT.findall(amounts):
        name = unit.lower()
        total += float(amount) * _UNITS["ms" if name.startswith(("ms", "milli")) else name[0]]
    return total if math.isfinite(total) else None


def _plausible(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds <= LONGEST_WAIT else None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _date(value: str) -> datetime | None:
    """Read the date of a header, or one as in RFC 3339."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(value)
        except (TypeError, ValueError):
            continue
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None

"""From what a service said to the error tree: one classifier for every vendor.

Services agree on little: the same cause arrives with different statuses, bodies and words. :func:`classify`
looks at all three. Its messages are for people: the service's own sentence, its status and what to do next;
never a header, never a key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeAlias

from zidane_lab.errors import (
    AuthError,
    BadRequestError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
)

__all__ = ["CONTEXT_EXCEEDED", "announced_wait", "classify", "human_seconds", "is_context_exceeded", "retry_after"]

MAX_MESSAGE: Final = 600
"""Characters of a service's own words that are quoted."""

_TOO_LONG: Final = (
    r"prompt is too long",  # Anthropic
    r"input length and `?max_tokens`? exceed context limit",  # Anthropic
    r"request exceeds the maximum (?:size|allowed number of bytes)",  # Anthropic, 413
    r"maximum context length",  # OpenAI, vLLM, OpenRouter, DeepSeek
    r"exceeds? (?:(?:the|this|your|its|maximum|model'?s?) )*context (?:window|length|size|limit)",  # OpenAI
    r"context[ _](?:length|window|size)[ _]exceeded",  # OpenAI's code, LM Studio
    r"(?:input|output) tokens must be reduced",  # OpenAI: larger than a whole minute's allowance
    r"reduce the length of the (?:messages|prompt|input)",  # OpenAI, Groq
    r"exceed_context_size_error|exceeds the available context size",  # llama.cpp
    r"exceed(?:s|ed)? (?:the )?context window of \d+",  # llama-cpp-python
    r"longer than the (?:maximum )?(?:model|context) length|max_model_len",  # vLLM
    r"input length exceeds the context length|exceeds maximum context",  # Ollama
    r"greater than the context length",  # LM Studio
    r"input token count.{0,40}exceeds the maximum",  # Gemini
    r"maximum prompt length is \d+",  # xAI
    r"input is too long for (?:the )?requested model",  # Bedrock
    r"exceed(?:s|ed)? (?:the )?model(?:'s)? (?:token|context) (?:limit|window)",  # Moonshot
    r"context window exceeds limit",  # MiniMax
    r"too large for model with \d+ maximum context length",  # Mistral
)
CONTEXT_EXCEEDED: Final = re.compile("|".join(_TOO_LONG), re.IGNORECASE | re.DOTALL)
"""Sentences that mean the conversation no longer fits, across vendors."""

_QUOTA: Final = re.compile(
    r"insufficient[_ ](?:quota|credits?|balance|funds)|exceeded your current quota|credit balance is too low"
    r"|billing[_ ](?:error|hard limit|required)|payment required|out of credits|requires? more credits",
    re.IGNORECASE,
)
_OVERLOADED: Final = re.compile(r"overloaded|over capacity|at capacity|temporarily unavailable", re.IGNORECASE)
_RATE: Final = re.compile(r"rate[_ ]limit|too many requests|RESOURCE_EXHAUSTED", re.IGNORECASE)

# The statuses behind the error types that services send inside a stream, where no status can follow.
_STATUS_OF_TYPE: Final[Mapping[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

_Cause: TypeAlias = tuple[type[ProviderError], str, str | None]
_MAY_USE: Final = "Check the key and what it may use, or pick another model."
_BY_STATUS: Final[Mapping[int, _Cause]] = {
    401: (AuthError, "the key was refused", _MAY_USE),
    402: (QuotaError, "the account's allowance is spent", None),
    403: (AuthError, "access was refused", _MAY_USE),
    404: (BadRequestError, "not found", "Check the model's name and the base URL."),
    408: (NetworkError, "the service did not answer in time", "Try again in a moment."),
    409: (OverloadedError, "the service was in conflict with itself", None),
    429: (RateLimitError, "too many requests for the moment", None),
    503: (OverloadedError, "the service is overloaded", None),
    504: (NetworkError, "the service did not answer in time", "Try again in a moment."),
    529: (OverloadedError, "the service is overloaded", None),
}
_BY_CLASS: Final[Mapping[int, _Cause]] = {
    2: (BadRequestError, "this is no model's answer", "Correct the base URL."),
    3: (BadRequestError, "the address has moved", "Correct the base URL."),
    5: (OverloadedError, "the service failed", None),
}

_UNITS: Final[Mapping[str, float]] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNIT: Final = r"(?:ms|milliseconds?|msecs?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![A-Za-z])"
_AMOUNT: Final = re.compile(rf"(\d+(?:\.\d+)?)\s*({_UNIT})", re.IGNORECASE)
_ANNOUNCED: Final = re.compile(
    r"(?:try again|retry(?:ing)?|retry[-_ ]?delay|resets?|wait)\W{0,4}(?:after|in|for)?\W{0,4}"
    rf"((?:\d+(?:\.\d+)?\s*(?:{_UNIT})[\s,]*(?:and\s+)?)+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a body says: its sentence, and every type or code it names."""

    message: str
    codes: tuple[str, ...] = ()

    @property
    def everything(self) -> str:
        return " ".join((self.message, *self.codes))


LONGEST_WAIT: Final = 30 * 24 * 3600.0
"""Seconds; a service that asks for a longer wait has made a mistake."""


def classify(
    *,
    provider: str,
    status: int | None,
    headers: Mapping[str, str] | None = None,
    body: bytes | str | Mapping[str, Any] = b"",
    secrets: Iterable[str] = (),
) -> ProviderError:
    """Return the error that a refusal means.

    Parameters
    ----------
    provider
        Name of the provider, for the message.
    status
        HTTP status; ``None`` for an error sent inside a stream, whose type or code is used instead.
    headers, body
        Of the answer; headers are only searched for a waiting time.
    secrets
        Texts that must not be repeated, should the service quote them.
    """
    said = _read_body(body)
    status = status if status is not None else _status_of(said)
    wait = retry_after(headers or {}, said.everything)
    kind, what, hint = _cause(status, said, wait)
    if wait is not None and kind.retryable:
        hint = f"Wait {human_seconds(wait)} and try again."
    text = _quote(said.message, secrets)
    number = f" ({status})" if status is not None else ""
    message = f"{provider}: {what}{number}: {text}" if text else f"{provider}: {what}{number}."
    return kind(message, provider=provider, status=status, retry_after=wait, hint=hint)


def _cause(status: int | None, said: _Said, wait: float | None) -> _Cause:
    """Return the error's class, what happened, and a hint where the class's own is too general."""
    if status not in (401, 402, 403) and is_context_exceeded(status, said.everything):
        return ContextExceededError, "the conversation is too long for the model", None
    # With an announced wait, words about a quota mean a limit per minute (Gemini's free tier, for one).
    if "insufficient_quota" in said.codes or (wait is None and _QUOTA.search(said.everything)):
        status = 402
    if status is None and _RATE.search(said.everything):
        status = 429
    if status is None and _OVERLOADED.search(said.everything):
        status = 529
    if status is None:
        return ProviderError, "the service reported an error", None
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return _BY_CLASS.get(status // 100, (BadRequestError, "the request was refused", None))


def is_context_exceeded(status: int | None, text: str) -> bool:
    """Tell whether an answer means that the conversation no longer fits."""
    return status == 413 or CONTEXT_EXCEEDED.search(text) is not None


# --- waiting times --------------------------------------------------------------------------------


def retry_after(headers: Mapping[str, str], text: str = "", *, now: datetime | None = None) -> float | None:
    """Return the seconds a service asked to wait: by ``retry-after-ms``, ``retry-after`` or in its own words."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(lowered.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = lowered.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    until = _date(value)
    if until is not None:
        # Both dates come from the service, so that our own clock may be wrong.
        since = _date(lowered.get("date", "")) or now or datetime.now(UTC)
        return max(0.0, (until - since).total_seconds())
    return announced_wait(text)


def announced_wait(text: str) -> float | None:
    """Return the seconds that a sentence such as ``try again in 2h30m14s`` asks to wait, all units summed."""
    found = _ANNOUNCED.search(text)
    if found is None:
        return None
    total = 0.0
    for amount, unit in _AMOUNT.findall(found[1]):
        name = unit.lower()
        total += float(amount) * _UNITS["ms" if name.startswith(("ms", "milli")) else name[0]]
    return total if math.isfinite(total) else None


def human_seconds(seconds: float) -> str:
    """Return a waiting time for people, in its two largest units: ``45 s``, ``2 min 30 s``, ``3 d 4 h``."""
    left = max(1, math.ceil(seconds))
    amounts = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        amount, left = divmod(left, size)
        if amount:
            amounts.append(f"{amount} {unit}")
    return " ".join(amounts[:2])


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number <= LONGEST_WAIT else None


def _date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# --- bodies ---------------------------------------------------------------------------------------


def _read_body(body: bytes | str | Mapping[str, Any]) -> _Said:
    if isinstance(body, Mapping):
        return _read_json(body)
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _Said(_plain(text))
    return _read_json(value)


def _read_json(value: Any, depth: int = 6) -> _Said:
    """Find the sentence and the codes in any of the shapes services use, at most ``depth`` levels down."""
    if not depth:
        return _Said("")
    if isinstance(value, list):
        # Gemini's compatibility layer wraps its error in a list; FastAPI lists what does not fit.
        inner = [_read_json(item, depth - 1) for item in value[:5]]
        return _Said("; ".join(said.message for said in inner if said.message), sum((said.codes for said in inner), ()))
    if not isinstance(value, Mapping):
        return _Said(value.strip() if isinstance(value, str) else "")
    codes = tuple(str(value[name]) for name in ("type", "code", "status") if isinstance(value.get(name), (str, int)))
    for name in ("error", "detail", "message", "msg", "errors"):
        if value.get(name):
            said = _read_json(value[name], depth - 1)
            said = _Said(said.message + _raw_metadata(value), (*codes, *said.codes))
            if said.message:
                return said
            codes = said.codes
    return _Said("", codes)


def _raw_metadata(value: Mapping[str, Any]) -> str:
    """Return what a router (OpenRouter) quotes of the service behind it, and a stated delay (Gemini)."""
    metadata = value.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    out = f" — {_read_body(raw).message}" if isinstance(raw, str) and raw else ""
    details = value.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and isinstance(detail.get("retryDelay"), str):
            out += f" Retry in {detail['retryDelay']}."
    return out


def _plain(text: str) -> str:
    """Return a body that is not JSON as one readable line; of a web page only the title."""
    if re.match(r"\s*<(?:!doctype|html|\?xml)", text, re.IGNORECASE):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        return f"a web page came back instead of an answer{f' ({title[1].strip()})' if title else ''}"
    return " ".join(text.split())


def _quote(message: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        if secret:
            message = message.replace(secret, "[key]")
    return message if len(message) <= MAX_MESSAGE else message[:MAX_MESSAGE] + "…"


def _status_of(said: _Said) -> int | None:
    for code in said.codes:
        if re.fullmatch(r"[45][0-9]{2}", code):
            return int(code)
        if code in _STATUS_OF_TYPE:
            return _STATUS_OF_TYPE[code]
    return None

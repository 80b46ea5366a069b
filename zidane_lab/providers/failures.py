"""From what a service said to the error tree: one classifier for every vendor.

Services agree on little: the same cause arrives with different statuses, bodies and words. :func:`classify`
looks at all three. Its messages are for people: a limit in the one sentence that all surfaces share
(:mod:`zidane_lab.providers.limits`), anything else with the service's own sentence and status, and what to do
next; never a header, never a key.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from zidane_lab.errors import (
    LONGEST_RETRY_WAIT,
    AuthError,
    BadRequestError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
)
from zidane_lab.providers.limits import OVERLOADED, ProviderLimit, describe_provider_limit, limit_reason, product_name
from zidane_lab.providers.overflow import CONTEXT_EXCEEDED, is_context_exceeded
from zidane_lab.providers.signin import sign_in_help
from zidane_lab.providers.waits import announced_wait, human_seconds, retry_after

__all__ = ["CONTEXT_EXCEEDED", "announced_wait", "classify", "human_seconds", "is_context_exceeded", "retry_after"]

MAX_MESSAGE: Final = 600
"""Characters of a service's own words that are quoted."""

_QUOTA: Final = re.compile(
    r"insufficient[_ ](?:quota|credits?|balance|funds)|exceeded your current quota|credit balance is too low"
    r"|billing[_ ](?:error|hard limit|required)|payment required|out of credits|no credits remaining"
    r"|requires? more credits|extra usage is required|usage[_ ]limit[_ ](?:has been )?reached",
    re.IGNORECASE,
)
_RATE: Final = re.compile(r"rate[_ -]limit|too many requests|RESOURCE_EXHAUSTED|throttl", re.IGNORECASE)
_IN_PASSING: Final = re.compile(
    r"upstream (?:connect|request)|timed? ?out|connection (?:reset|refused|error|lost|closed)|socket hang up"
    r"|(?:bad gateway|service unavailable|gateway time-?out|internal server error)"
    r"|(?:retry|try) your request",
    re.IGNORECASE,
)
"""Words of something between us and the model that broke and may work again."""

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
    "usage_limit_reached": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

_Cause: TypeAlias = tuple[type[ProviderError], str, str | None]
_PICK_ANOTHER: Final = "Try again then, or pick another model with `--model provider/name`."
_BY_STATUS: Final[Mapping[int, _Cause]] = {
    401: (AuthError, "the key was refused", None),
    402: (QuotaError, "the account's allowance is spent", None),
    403: (AuthError, "access was refused", None),
    404: (BadRequestError, "not found", "Check the model's name and the base URL."),
    408: (NetworkError, "the service did not answer in time", "Try again in a moment."),
    409: (OverloadedError, "the service was in conflict with itself", None),
    429: (RateLimitError, "too many requests for the moment", None),
    503: (OverloadedError, "the service is not available for the moment", None),
    504: (NetworkError, "the service did not answer in time", "Try again in a moment."),
    529: (OverloadedError, "the service is overloaded", None),
}
_BY_CLASS: Final[Mapping[int, _Cause]] = {
    2: (BadRequestError, "this is no model's answer", "Correct the base URL."),
    3: (BadRequestError, "the address has moved", "Correct the base URL."),
    5: (OverloadedError, "the service failed", None),
}


@dataclass(frozen=True, slots=True)
class _Said:
    """What a body says: its sentence, and every type or code it names, the outermost first."""

    message: str
    codes: tuple[str, ...] = ()

    @property
    def everything(self) -> str:
        return " ".join((self.message, *self.codes))

    @property
    def native_code(self) -> str | None:
        """The innermost code that is not just a status again."""
        return next((code for code in reversed(self.codes) if not re.fullmatch(r"[1-5]\d\d", code)), None)


def classify(
    *,
    provider: str,
    status: int | None,
    headers: Mapping[str, str] | None = None,
    body: bytes | str | Mapping[str, Any] = b"",
    secrets: Iterable[str] = (),
    base_url: str | None = None,
    now: float | None = None,
) -> ProviderError:
    """Return the error that a refusal means.

    Parameters
    ----------
    provider
        Name of the provider, for the message.
    status
        HTTP status; ``None`` for an error sent inside a stream. Then, and behind a status that says all is well, the
        error's own type or code is used instead.
    headers, body
        Of the answer; headers are only searched for a waiting time and for whether to ask again.
    secrets
        Texts that must not be repeated, should the service quote them.
    base_url
        Where the service is, which tells what people call it.
    now
        Seconds since 1970; the present moment if left out.
    """
    now = time.time() if now is None else now
    headers = headers or {}
    value = _parse(body)
    said = _read_json(value)
    if status is None or status // 100 == 2:
        status = _status_of(said) or status
    wait = retry_after(headers, said.everything, body=value, now=datetime.fromtimestamp(now, UTC))
    kind, what, hint = _cause(status, said, wait)
    if issubclass(kind, AuthError):
        hint = sign_in_help(provider)
    text = _quote(said.message, secrets)
    product, resets_at = product_name(provider, base_url), None if wait is None else now + wait
    reason = limit_reason(kind, status, text)
    if reason is not None:
        message = describe_provider_limit(ProviderLimit(reason, product, wait, resets_at), now)
        hint = _PICK_ANOTHER if wait else hint or kind.default_hint
        hint = f'{hint} The service said: "{text}"' if text else hint
    else:
        number = f" ({status})" if status is not None else ""
        message = f"{provider}: {what}{number}: {text}" if text else f"{provider}: {what}{number}."
        if wait and kind.transient:
            hint = f"Wait {human_seconds(wait)} and try again."
    return kind(
        message,
        provider=provider,
        status=status,
        retry_after=wait,
        resets_at=resets_at,
        product=product,
        native_code=said.native_code,
        said=text,
        final={name.lower(): content for name, content in headers.items()}.get("x-should-retry") == "false",
        hint=hint,
    )


def _cause(status: int | None, said: _Said, wait: float | None) -> _Cause:
    """Return the error's class, what happened, and a hint where the class's own is too general."""
    if status not in (401, 402, 403) and is_context_exceeded(status, said.everything):
        return ContextExceededError, "the conversation is too long for the model", None
    # With a short wait, words about a quota mean a limit per minute (Gemini's free tier, for one).
    is_spent = wait is None or wait > LONGEST_RETRY_WAIT
    if "insufficient_quota" in said.codes or (is_spent and _QUOTA.search(said.everything)):
        status = 402
    if status is None or status // 100 == 2:  # an error in a stream, or behind a status that says all is well
        if _RATE.search(said.everything):
            status = 429
        elif OVERLOADED.search(said.everything):
            status = 529
        elif _IN_PASSING.search(said.everything):
            status = 504
    if status is None:
        return ProviderError, "the service reported an error", None
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return _BY_CLASS.get(status // 100, (BadRequestError, "the request was refused", None))


# --- bodies ---------------------------------------------------------------------------------------


def _parse(body: bytes | str | Mapping[str, Any]) -> Any:
    """Return the JSON of a body, or its words as one text."""
    if isinstance(body, Mapping):
        return body
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _plain(text)


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
            said = _Said(said.message + _quoted_by_router(value), (*codes, *said.codes))
            if said.message:
                return said
            codes = said.codes
    return _Said("", codes)


def _quoted_by_router(value: Mapping[str, Any]) -> str:
    """Return what a router (OpenRouter) quotes of the service behind it."""
    metadata = value.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f" — {_read_json(_parse(raw)).message}" if isinstance(raw, str) and raw else ""


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

"""Help with keys: which variable holds one, and what to say when it is missing or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from zidane_lab.errors import AuthError, ProviderError
from zidane_lab.providers.limits import causes

__all__ = ["KEY_VARIABLES", "AuthFailure", "auth_failure_of", "sign_in_help"]

KEY_VARIABLES: Final[Mapping[str, str]] = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""The environment variable that holds a provider's key."""


@dataclass(frozen=True, slots=True)
class AuthFailure:
    """Why a service could not be used.

    ``kind``: no key was there (``"missing"``), the service did not accept it (``"refused"``), or it accepted the
    key but not this use of it (``"forbidden"``). ``hint`` says what to do.
    """

    kind: Literal["missing", "refused", "forbidden"]
    provider: str
    message: str
    hint: str
    status: int | None = None


def auth_failure_of(error: BaseException | None) -> AuthFailure | None:
    """Return the failure to sign in that is behind an error, or ``None``.

    An :class:`~zidane_lab.errors.AuthError` anywhere among its causes; failing that, any error of a service with
    status 401, which means that a key was sent and refused.
    """
    links = [link for link in causes(error) if isinstance(link, ProviderError)]
    refused = [link for link in links if link.status == 401]
    found = next((link for link in links if isinstance(link, AuthError)), refused[0] if refused else None)
    if found is None:
        return None
    kind: Literal["missing", "refused", "forbidden"] = (
        "missing" if found.status is None else "forbidden" if found.status == 403 else "refused"
    )
    hint = found.hint if isinstance(found, AuthError) else sign_in_help(found.provider)
    return AuthFailure(kind, found.provider, found.message, hint, found.status)


def sign_in_help(provider: str, *, missing: bool = False) -> str:
    """Say what to do when ``provider``'s key is ``missing``, or was refused."""
    variable = KEY_VARIABLES.get(provider)
    if missing:
        key = f"Set {variable or 'the key'} in the environment and start the kernel again"
    else:
        key = f"Check {variable or 'the key'} in the environment of the kernel and what it may be used for"
    return (
        f"{key}; `%zidane /doctor` shows which keys are seen. Without one, `--model offline` asks the offline planner."
    )

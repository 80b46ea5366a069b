"""How pages are fetched: what may be reached, within which limits, over which way."""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from zidane_lab.tools.web.addresses import Allowed
from zidane_lab.tools.web.urls import ALLOW_VARIABLE

__all__ = ["PROXY_VARIABLE", "REDIRECTS_VARIABLE", "Resolver", "WebSettings", "user_agent"]

PROXY_VARIABLE: Final = "ZIDANE_WEB_PROXY"
REDIRECTS_VARIABLE: Final = "ZIDANE_WEB_REDIRECTS"
_YES: Final = frozenset({"1", "true", "yes", "on"})

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Finds the IP addresses of a name; raises :class:`OSError` where there are none."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Settings of fetching.

    Parameters
    ----------
    allowed
        What may be reached besides the public web.
    connect, idle, total
        Seconds: to find and reach a server, of silence, and for one page with all its redirects.
    most_bytes
        Bytes of a page, as sent and as unpacked; a longer text is cut, anything else is refused.
    most_redirects
        Redirects followed for one page.
    follow_anywhere
        Follow redirects to other sites too. Without it such a redirect is reported, so that whoever gates calls by
        their host decides about the new one.
    through_proxy
        Use the proxy that the environment names. The proxy then looks names up, so what it reaches is its own
        decision; without it pages are fetched directly and connections go to the very address that was checked.
    resolver
        Looks names up; the system does unless given.
    """

    allowed: Allowed = field(default=Allowed())
    connect: float = 10.0
    idle: float = 20.0
    total: float = 60.0
    most_bytes: int = 20 * 1_048_576
    most_redirects: int = 5
    follow_anywhere: bool = False
    through_proxy: bool = False
    resolver: Resolver | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> WebSettings:
        """Read what the environment says.

        Raises
        ------
        ConfigurationError
            An entry of what may be reached cannot be read.
        """
        values = os.environ if environment is None else environment
        return cls(
            allowed=Allowed.parse(values.get(ALLOW_VARIABLE, "").split(",")),
            through_proxy=values.get(PROXY_VARIABLE, "").strip().lower() in _YES,
            follow_anywhere=values.get(REDIRECTS_VARIABLE, "").strip().lower() == "anywhere",
        )


@functools.cache
def user_agent() -> str:
    """Return how we call ourselves: what we are, and nothing we are not."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        name = f"zidane_lab/{version('zidane_lab')}"
    except PackageNotFoundError:
        name = "zidane_lab"
    return f"{name} (assistant in a notebook; fetches single pages for its user)"

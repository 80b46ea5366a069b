"""Sites that have a better address for a reader than the one people share: the same file, without the decoration."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from zidane_lab.tools.web.urls import WebAddress, read_address

__all__ = ["Site", "site_of"]

_FILE: Final = re.compile(r"/([\w.-]+)/([\w.-]+)/(?:blob|raw)/(.+)")
_BLOB: Final = re.compile(r"((?:/[\w.-]+){1,3}|(?:/[\w.-]+){2,6}/-)/blob/(.+)")
_SOURCE: Final = re.compile(r"(/[\w.-]+/[\w.-]+)/src/([0-9a-f]{7,40}|[\w.-]+)/(.+[^/])")
_GIST: Final = re.compile(r"/([\w-]+)/([0-9a-f]{20,40})/?")


@dataclass(frozen=True, slots=True)
class Site:
    """A better address.

    Parameters
    ----------
    name
        What the way is called.
    address
        Where to look instead; it belongs to the same service.
    """

    name: str
    address: WebAddress


def site_of(address: WebAddress) -> Site | None:
    """Return the better address of a page, if one is known."""
    host, path = address.host.removeprefix("www."), address.target.partition("?")[0]
    if address.scheme != "https" or address.authority != address.host:
        return None
    if host == "github.com" and (match := _FILE.fullmatch(path)):
        raw = read_address("https://raw.githubusercontent.com/")
        return Site("the file itself", replace(raw, target=f"/{match[1]}/{match[2]}/{match[3]}"))
    if host == "gist.github.com" and (match := _GIST.fullmatch(path)):
        raw = read_address("https://gist.githubusercontent.com/")
        return Site("the file itself", replace(raw, target=f"/{match[1]}/{match[2]}/raw"))
    if host in {"gitlab.com", "huggingface.co"} and (match := _BLOB.fullmatch(path)):
        return Site("the file itself", replace(address, target=f"{match[1]}/raw/{match[2]}"))
    if host == "bitbucket.org" and (match := _SOURCE.fullmatch(path)):
        return Site("the file itself", replace(address, target=f"{match[1]}/raw/{match[2]}/{match[3]}"))
    return None

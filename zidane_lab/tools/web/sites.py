"""Sites that have a better address for a reader than the one people share: the same content, without the decoration."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from zidane_lab.tools.web.text import one_line
from zidane_lab.tools.web.urls import WebAddress, read_address

__all__ = ["Reader", "Site", "site_of"]

Reader = Callable[[bytes], str | None]
"""Makes text of an answer; ``None`` where it is not what was expected."""

_PYPI: Final = re.compile(r"/project/([\w.-]+)/?(?:([\w.+!-]+)/?)?")
_GITHUB: Final = re.compile(r"/([\w.-]+)/([\w.-]+)/(?:blob|raw)/(.+)")
_GIST: Final = re.compile(r"/([\w-]+)/([0-9a-f]{20,40})/?")


@dataclass(frozen=True, slots=True)
class Site:
    """A better address, and how to read what is there.

    Parameters
    ----------
    name
        What the way is called.
    address
        Where to look instead.
    read
        Makes text of it; without one it is read like any other page.
    """

    name: str
    address: WebAddress
    read: Reader | None = None


def site_of(address: WebAddress) -> Site | None:
    """Return the better address of a page, if one is known; it belongs to the same service."""
    host, path = address.host.removeprefix("www."), address.target.partition("?")[0]
    if address.scheme != "https" or address.authority != address.host:
        return None
    if host == "pypi.org" and (match := _PYPI.fullmatch(path)):
        version = f"/{match[2]}" if match[2] else ""
        return Site("pypi json", address.at(f"/pypi/{match[1]}{version}/json"), _pypi)
    if host == "github.com" and (match := _GITHUB.fullmatch(path)):
        raw = replace(read_address("https://raw.githubusercontent.com/"), target=f"/{match[1]}/{match[2]}/{match[3]}")
        return Site("github raw", raw)
    if host == "gist.github.com" and (match := _GIST.fullmatch(path)):
        raw = replace(read_address("https://gist.githubusercontent.com/"), target=f"/{match[1]}/{match[2]}/raw")
        return Site("gist raw", raw)
    return None


def _pypi(data: bytes) -> str | None:
    """Write what the index of packages says of one."""
    try:
        value = json.loads(data)
        info = value["info"]
        name, version = str(info["name"]), str(info["version"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    lines = [f"# {name} {version}", "", one_line(str(info.get("summary") or ""), 500), ""]
    lines += [f"- {label}: {text}" for label, text in _pypi_facts(info) if text]
    if isinstance(needs := info.get("requires_dist"), list) and needs:
        lines += ["", "## Requires", "", *(f"- {one_line(str(each), 200)}" for each in needs[:200])]
    if description := str(info.get("description") or "").strip():
        lines += ["", "## Description", "", description]
    return "\n".join(lines)


def _pypi_facts(info: dict[str, Any]) -> list[tuple[str, str]]:
    urls = info.get("project_urls")
    named = [(str(key), str(value)) for key, value in urls.items()] if isinstance(urls, dict) else []
    facts = [
        ("Python", info.get("requires_python")),
        ("Licence", info.get("license_expression") or info.get("license")),
        ("Yanked", info.get("yanked_reason") if info.get("yanked") else ""),
        *named,
    ]
    return [(one_line(label, 60), one_line(str(text or ""), 300)) for label, text in facts]

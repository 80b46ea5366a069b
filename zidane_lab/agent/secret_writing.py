"""How a credential is written where an argument is more than text: a command, code, a pattern, an address, a patch.

A value put there as it is would be read as part of the command, the pattern or the address it stands in: it would
match something else, be sent to another place, or do what nobody allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from zidane_lab.secrets.masking import unmask
from zidane_lab.secrets.restoring import restore_command, restore_python
from zidane_lab.secrets.vault import PLACEHOLDER, Vault
from zidane_lab.tools.reading.targets import is_url

__all__ = ["MASKED_TOOLS", "TOLD", "writer_of"]

TOLD: Final = frozenset({"ask_user", "todowrite", "checkpoint", "rewind", "present_plan", "web_search", "intent"})
"""Tools whose arguments people or strangers read, and the argument that is only read: nothing is restored there."""

MASKED_TOOLS: Final = frozenset({"read_output"})
"""Tools that look through what is kept with placeholders in it: those are what is to be found there."""

Writer: TypeAlias = Callable[[str, Vault], str | None]
"""Puts the values into a text; ``None`` where that cannot be done."""

_SPECIAL: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
_ENCODED: Final = re.compile(r"(?:[A-Za-z0-9_.~!$'()*,;:@/-]|%[0-9A-Fa-f]{2})*")
_CONTENT: Final = frozenset(" +-")


def writer_of(tool: str, name: str, arguments: Mapping[str, Any]) -> Writer | None:
    """Return how values are written in one argument of a call; ``None`` where they are put in as they are."""
    if name == "code":
        return restore_python
    if name == "command" or (tool, name) == ("recipe", "op"):
        return restore_command
    if (tool, name) == ("grep", "pattern"):
        return None if arguments.get("literal") is True else _pattern
    if (tool, name) == ("apply_patch", "patch"):
        return _patch
    if (tool, name) == ("write_file", "content"):
        return _content
    if name in {"url", "path"} and is_url(str(arguments[name])):
        return _address
    return None


def _put(text: str, vault: Vault, write: Callable[[str, re.Match[str]], str]) -> str:
    def put(match: re.Match[str]) -> str:
        value = vault.value_of(match[0])
        return match[0] if value is None else write(value, match)

    return PLACEHOLDER.sub(put, text)


def _pattern(text: str, vault: Vault) -> str:
    """Write values so that they match themselves."""
    return _put(text, vault, lambda value, _: _SPECIAL.sub(r"\\\g<0>", value).replace("\n", r"\n"))


def _address(text: str, vault: Vault) -> str:
    """Write values as parts of an address that end no part of it; what was met encoded is encoded already."""

    def write(value: str, match: re.Match[str]) -> str:
        if "-escaped:" in match[0] and _ENCODED.fullmatch(value):
            return value
        return quote(value, safe="/" if "?" not in text[: match.start()] else "")

    return _put(text, vault, write)


def _patch(text: str, vault: Vault) -> str | None:
    """Write values of several lines as lines of the same kind; elsewhere than in such a line they cannot stand."""
    lines = []
    for line in text.split("\n"):
        restored = unmask(line, vault)
        if restored.count("\n") > line.count("\n"):
            if line[:1] not in _CONTENT or line.startswith(("+++ ", "--- ")):
                return None
            restored = restored.replace("\n", f"\n{line[0]}")
        lines.append(restored)
    return "\n".join(lines)


def _content(text: str, vault: Vault) -> str:
    """Write values into JSON as its texts want them, whatever is in them; into anything else as they are."""
    plain = unmask(text, vault)
    if text.lstrip()[:1] not in {"{", "["} or _shape(text) is None:
        return plain

    def write(value: str, match: re.Match[str]) -> str:
        return value if "-escaped:" in match[0] else json.dumps(value, ensure_ascii=False)[1:-1]

    written = _put(text, vault, write)
    return written if _shape(written) == _shape(_put(text, vault, lambda *_: "x")) else plain


def _shape(text: str) -> str | None:
    """Return JSON without its texts; ``None`` if it is none."""

    def bare(value: Any) -> Any:
        if isinstance(value, list):
            return [bare(each) for each in value]
        return [bare(each) for each in value.values()] if isinstance(value, dict) else isinstance(value, str) or value

    try:
        return json.dumps(bare(json.loads(text)))
    except (ValueError, RecursionError):
        return None

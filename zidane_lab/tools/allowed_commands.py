"""A list of what the shell may run at most: commands by their first words.

It is a fence for sessions that should only look, not the permission system: whatever it cannot read with certainty
(substitutions, files written, functions, variables in a command's place) it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from zidane_lab.tools.command_line import is_operator, words

__all__ = ["READ_ONLY", "why_not_allowed"]

READ_ONLY: Final[tuple[str, ...]] = (
    *("ls", "cat", "head", "tail", "wc", "nl", "cut", "tr", "stat", "du", "df", "pwd", "echo", "true"),
    *("grep", "egrep", "fgrep", "basename", "dirname", "realpath", "readlink", "whoami", "id", "uname", "which"),
    *("md5sum", "sha1sum", "sha256sum", "cmp", "comm", "diff"),
    *("git status", "git log", "git show", "git diff", "git blame", "git rev-parse", "git ls-files", "git shortlog"),
)
"""Commands that change nothing, whatever their arguments, but for :data:`_NEVER`."""

_NEVER: Final = ("--output", "--ext-diff", "--open-files-in-pager", "--exec", "--pager")
"""Options that make one of those write a file or run a program; programs take them abbreviated, too."""

_SHORTEST: Final = 4
"""Characters of an abbreviated option, with its dashes."""

_JOINS: Final = frozenset({"|", "||", "&&", ";", "\n"})
_HARMLESS_TARGETS: Final = frozenset({"/dev/null", "&1", "&2", "1", "2"})
_ASSIGNMENT: Final = re.compile(r"\w+\+?=")
_SUBSTITUTIONS: Final = ("`", "$(", "<(", ">(", "${", "$'", '$"')


def why_not_allowed(command: str, prefixes: Sequence[str]) -> str | None:
    """Return why a command is not within a list; ``None`` when each of its parts begins with an allowed one."""
    if odd := next((text for text in _SUBSTITUTIONS if text in command), None):
        return f"it holds {odd!r}, which may run anything"
    parts = words(command.strip())
    if not parts:
        return "it cannot be read"
    allowed = [prefix.split() for prefix in prefixes]
    for segment in _segments(parts):
        if isinstance(segment, str):
            return segment
        if reason := _why_not(segment, allowed):
            return reason
    return None


def _segments(parts: list[str]) -> list[list[str] | str]:
    """Take a line apart into its commands, without harmless redirections; a text says what cannot be read."""
    segments: list[list[str] | str] = [[]]
    at = 0
    while at < len(parts):
        word = parts[at]
        current = segments[-1]
        at += 1
        if not is_operator(word):
            if isinstance(current, list):
                current.append(word)
        elif word.strip("\n") in _JOINS or not word.strip("\n"):
            segments.append([])
        elif word in {">", ">&", ">>"} and at < len(parts) and parts[at] in _HARMLESS_TARGETS:
            at += 1
            if isinstance(current, list) and current and current[-1] in {"1", "2"}:
                current.pop()
        else:
            segments.append(f"it holds {word.strip()!r}, which is not among what can be judged here")
    return [segment for segment in segments if segment]


def _why_not(command: list[str], allowed: list[list[str]]) -> str | None:
    head = command[0]
    if head.startswith("$") or _ASSIGNMENT.match(head):
        return f"{head!r} stands where a command should"
    if not any(command[: len(prefix)] == prefix for prefix in allowed if prefix):
        return f"{' '.join(command[:2])!r} is not on the list"
    for word in command[1:]:
        name = word.partition("=")[0]
        if name.startswith("-O") or (len(name) >= _SHORTEST and any(option.startswith(name) for option in _NEVER)):
            return f"{word!r} may write a file or run a program"
    return None

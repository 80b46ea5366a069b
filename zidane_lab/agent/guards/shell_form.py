"""The canonical form of a shell command, so that retries dressed up differently count as the same.

Models repeat a command with another ``cd`` in front or another wait behind it. Those two wrappers and differences in
blanks are taken off, and nothing else: flags are not reordered and nothing is parsed, so the form is always a piece
of what was written. It is a key to compare by, never a command to run.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["normalize_shell_command"]

_WORD: Final = r"""(?:"[^"]*"|'[^']*'|\\.|[^\s;&|"'\\])+"""
_LEADING_CD: Final = re.compile(rf"cd {_WORD} ?(?:&&|;) ?(?=\S)")
_NUMBER: Final = r"\d+(?:\.\d+)?[smhd]?"
_POLL_TAIL: Final = re.compile(rf"(?:(?<!&)& ?sleep {_NUMBER} ?;|; ?sleep {_NUMBER} ?&&) ?\S")


def normalize_shell_command(command: str) -> str:
    """Return the canonical form of ``command``.

    A leading ``cd <path> &&`` or ``cd <path>;`` goes, and so does everything from ``& sleep N ;`` or
    ``; sleep N &&`` on (waiting for something just started and looking at it); blanks and line ends become one space.
    A wrapper with nothing inside stays.
    """
    form = " ".join(command.split())
    while (shorter := _unwrapped(form)) != form:
        form = shorter
    return form


def _unwrapped(form: str) -> str:
    if leading := _LEADING_CD.match(form):
        return form[leading.end() :]
    tail = _POLL_TAIL.search(form)
    return (form[: tail.start()].rstrip() if tail else "") or form

"""Lines of a stream as plain text: decoded piece by piece, without colours, progress bars or control characters."""

from __future__ import annotations

import codecs
import re
from typing import Final

__all__ = ["LineSplitter", "plain_line"]

LONGEST_LINE: Final = 4_096
"""Characters of a line that are kept; a stream without line ends must not pile up."""

_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])?")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain_line(line: str) -> str:
    """Return a line as it stands in the end: the last state of a progress bar, nothing that moves or colours."""
    states = [state for state in _ESCAPE.sub("", line).split("\r") if state.strip()]
    return _CONTROL.sub("", states[-1]).rstrip() if states else ""


class LineSplitter:
    """Makes lines of pieces that may end in the middle of a line or a character."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""

    def feed(self, data: bytes, *, final: bool = False) -> list[str]:
        """Return the lines that are complete now and not blank; with ``final`` also one that has no end."""
        *lines, begun = (self._begun + self._decoder.decode(data, final)).split("\n")
        self._begun = "" if final else begun[-LONGEST_LINE:] if "\r" in begun else begun[:LONGEST_LINE]
        if final:
            lines.append(begun)
        return [text for line in lines if (text := plain_line(line)[:LONGEST_LINE])]

"""What a terminal would show of a stream: colours gone, progress bars settled at their last state.

A progress bar redraws its line thousands of times by carriage returns and backspaces. The person sees one line;
a model that got every state would pay for all of them.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["settled"]

_ANSI: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def settled(text: str) -> str:
    """Return ``text`` as it stands once everything has been written.

    Within a line, what follows a carriage return overwrites the line from its start, as far as it reaches. Cursor
    movements other than that are dropped together with colours.
    """
    if "\x1b" in text:
        text = _ANSI.sub("", text).replace("\x1b", "")  # what is left of torn sequences goes too
    if "\r" not in text and "\b" not in text:
        return text
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    line = line.removesuffix("\r")  # the end of a line on some systems
    if "\r" not in line and "\b" not in line:
        return line
    shown: list[str] = []
    for state in line.split("\r"):
        at = 0
        for character in state:
            if character == "\b":
                at = max(0, at - 1)
                continue
            shown[at : at + 1] = [character]
            at += 1
    return "".join(shown).rstrip()

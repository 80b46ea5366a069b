"""Text of the web, free of what cannot be seen.

Characters without a picture serve to hide words from people that a model reads all the same: letters of the tag
block, characters of no width, marks that turn the direction of writing. They go, with terminal sequences.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["cleaned", "one_line"]

_TERMINAL: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, but not tab and line feed
    "\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""The characters that join and separate letters in several scripts, U+200C and U+200D, are none of these."""
_JOINING: Final = "\u200c\u200d\ufe00-\ufe0f"
_RUNS: Final = re.compile(
    f"([\u200c\u200d])[\u200c\u200d]+|([\ufe00-\ufe0f])[\ufe00-\ufe0f]+|(?<=[{_JOINING}]{{2}})[{_JOINING}]+"
)
"""They and the selectors of variants come one or two at a time; a row of them spells something nobody sees."""
_BREAKS: Final = re.compile("\r\n?|[\u2028\u2029\x85]")


def cleaned(text: str) -> str:
    """Return text with plain line ends and without terminal sequences and characters that cannot be seen."""
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return _RUNS.sub(r"\1\2", _UNSEEN.sub("", _BREAKS.sub("\n", text)))


def one_line(text: str, most: int) -> str:
    """Return text on one line of at most ``most`` characters."""
    line = " ".join(cleaned(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"

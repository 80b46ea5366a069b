"""Which part of a page is asked for behind its address: ``:50-100``, ``:50+20``, ``:50-``, ``:5-9,20-30``, ``:raw``.

An address may have colons of its own. A single number behind one is a port or part of a name, so a part always has a
sign; nothing of it is ever sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.reading.selectors import read_selection

__all__ = ["Part", "split_part"]

_RANGE: Final = r"L?\d{1,12}[-+](?:L?\d{1,12})?"
_BEHIND: Final = re.compile(rf"(?::(?:raw|{_RANGE}(?:,{_RANGE})*)){{1,4}}$")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page.

    Parameters
    ----------
    ranges
        First and last line of each range, from 1; a last of ``None`` is as far as is shown at once.
    raw
        The source, as it stands.
    """

    ranges: tuple[tuple[int, int | None], ...] = ()
    raw: bool = False


def split_part(text: str) -> tuple[str, Part]:
    """Split what a model wrote into an address and the part behind it.

    Raises
    ------
    ToolError
        The part is of a line 0, or ends before it starts.
    """
    text = text.strip()
    match = _BEHIND.search(text)
    if match is None or not text[: match.start()].rpartition("//")[2]:
        return text, Part()
    selection = read_selection(match[0])
    if selection is None:
        raise ToolError(f"`{match[0]}` is no part of a page.", hint="Write lines as `:50-100` or `:50+20`.")
    return text[: match.start()], Part(selection.lines, selection.raw)

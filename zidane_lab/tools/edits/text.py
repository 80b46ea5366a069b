"""A text file as an editor must see it: lines that end in LF, and the way back to the very bytes.

Encoding, byte order mark and the ending of each line are those of the file. A change touches only what it replaces:
where a file mixes line endings, every other line keeps its own.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.diff import line_changes, split_lines

__all__ = ["Span", "TextFile", "decode", "to_lf"]

Span: TypeAlias = tuple[int, int, str]
"""Replace the characters from the first index up to the second with the text; equal ones insert."""

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; UTF-32 before UTF-16, whose little-endian mark it begins with."""

_ENDING: Final = re.compile(r"\r\n|\n")


@dataclass(frozen=True, slots=True)
class TextFile:
    r"""The text of a file.

    Parameters
    ----------
    raw
        The characters, with the file's own line endings, without a byte order mark.
    encoding
        ``utf-8``, ``utf-16-le`` and the like, or ``latin-1`` for bytes that are nothing else.
    mark
        The byte order mark, empty without one.
    newline
        How lines end: most of them, where endings are mixed. ``\r`` only where no line ends otherwise.
    mixed
        Some lines end with LF, some with CR LF.
    """

    raw: str = ""
    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"
    mixed: bool = False

    @property
    def text(self) -> str:
        """The text with LF at the end of each line; a lone CR inside a line stays."""
        return self.raw.replace("\r", "\n") if self.newline == "\r" else self.raw.replace("\r\n", "\n")

    def splice(self, spans: Sequence[Span]) -> TextFile:
        """Return the file with parts of :attr:`text` replaced, all other characters as they are.

        New lines end as those they replace, further ones as most lines of the file do.

        Parameters
        ----------
        spans
            In the order of the text, not overlapping; their indices count in :attr:`text`.
        """
        pieces: list[str] = []
        breaks = self._breaks()
        at = 0
        for start, end, new in spans:
            first, last = (index + bisect_left(breaks, index) for index in (start, end))
            if first < at:
                raise ValueError("spans overlap or are out of order")
            pieces += (self.raw[at:first], self._ended(new, self.raw[first:last]))
            at = last
        pieces.append(self.raw[at:])
        return replace(self, raw="".join(pieces))

    def with_text(self, text: str) -> TextFile:
        """Return the file with another text; lines that stay keep their endings."""
        if not self.mixed:
            return replace(self, raw=self._ended(text, ""))
        old, new = split_lines(self.text), split_lines(text)
        offsets = [0]
        for line in old:
            offsets.append(offsets[-1] + len(line))
        changes = [change for change in line_changes(old, new) if change[0] != "equal"]
        return self.splice([(offsets[i1], offsets[i2], "".join(new[j1:j2])) for _, i1, i2, j1, j2 in changes])

    def encode(self) -> bytes:
        """Return the bytes of the file.

        Raises
        ------
        ToolError
            A character cannot be written in the file's encoding.
        """
        try:
            return self.mark + self.raw.encode(self.encoding)
        except UnicodeEncodeError as error:
            line = self.text.count("\n", 0, error.start) + 1
            bad = error.object[error.start]
            if self.encoding == "latin-1":
                hint = "The file is not UTF-8, so only Latin-1 characters can be added; write it in another way."
            else:
                hint = "It is half of a surrogate pair, no character; leave it out."
            raise ToolError(
                f"The character {bad.encode('unicode_escape').decode('ascii')} near line {line} cannot be written as "
                f"{self.encoding}; nothing was changed.",
                hint=hint,
            ) from error

    def _breaks(self) -> list[int]:
        """Return where in :attr:`text` stand the LFs that are CR LF in the file."""
        if self.newline != "\r\n" and not self.mixed:
            return []
        return [found.start() - number for number, found in enumerate(re.finditer("\r\n", self.raw))]

    def _ended(self, text: str, replaced: str) -> str:
        """Give the lines of ``text`` the endings of those they replace, then the file's."""
        if not self.mixed:
            return text if self.newline == "\n" else text.replace("\n", self.newline)
        endings = iter(_ENDING.findall(replaced))
        return re.sub("\n", lambda _: next(endings, self.newline), text)


def decode(data: bytes, name: str) -> TextFile:
    """Read the bytes of a file as text.

    Bytes that are neither UTF-8 nor marked as something else count as Latin-1, in which every byte is a character:
    what is not edited comes back as it was.

    Raises
    ------
    ToolError
        A byte order mark announces an encoding the bytes are not in.
    """
    mark, encoding = next((each for each in _MARKS if data.startswith(each[0])), (b"", "utf-8"))
    body = data[len(mark) :]
    try:
        raw = body.decode(encoding)
    except UnicodeDecodeError as error:
        if mark:
            raise ToolError(
                f"{name} starts as {encoding} text, but is not.", hint="Look at its bytes with run_python."
            ) from error
        raw, encoding = body.decode("latin-1"), "latin-1"
    windows = raw.count("\r\n")
    unix = raw.count("\n") - windows
    newline = "\r\n" if windows > unix else "\n"
    if not windows and not unix and "\r" in raw:
        newline = "\r"
    return TextFile(raw, encoding, mark, newline, mixed=bool(windows and unix))


def to_lf(text: str) -> str:
    """Return what a model sent with LF at the end of each line.

    Raises
    ------
    ToolError
        It holds a zero byte, which would make a text file binary.
    """
    if "\0" in text:
        raise ToolError("The text holds a zero byte, so it is no text.", hint="Write binary files with run_python.")
    return text.replace("\r\n", "\n")

"""What the model gets of a command's output: both streams as lines in the order they came, settled and bounded.

Lines are settled as they come (:mod:`zidane_lab.tools.terminal`), so a progress bar of ten thousand states costs one
line, and memory stays bounded however much is printed: text goes to a temporary file of bounded size.
"""

from __future__ import annotations

import codecs
from typing import Final

from zidane_lab.contexts.base import OutputStream
from zidane_lab.contexts.bounded_log import BoundedLog, in_temporary_file
from zidane_lab.tools.terminal import settled

__all__ = ["KEPT_BYTES", "SettledLines", "ShellOutput", "visible"]

KEPT_BYTES: Final = 8 * 1_048_576
"""Most bytes of settled text kept of one command: of more its beginning and its end, with a note between."""

_PENDING: Final = 65_536
"""Characters of a line without an end that are kept before it counts as one."""

_BINARY_SHARE: Final = 0.1
_BINARY_LEAST: Final = 64

_PICTURES: Final = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}


def visible(text: str) -> str:
    """Return a text in which control characters show as pictures (``␀``); line ends and tabs stay."""
    return text.translate(_PICTURES)


class SettledLines:
    """Settles a stream line by line, whatever pieces it comes in."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""

    @property
    def begun(self) -> str:
        """A line that has no end yet, as it came."""
        return self._begun

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Return the lines that are complete now; with ``final`` also one without an end."""
        text = self._begun + self._decoder.decode(data, final)
        whole, end, self._begun = text.rpartition("\n")
        if final:
            whole, end, self._begun = text, "", ""
        elif len(self._begun) > _PENDING:
            self._begun, early = _shortened(self._begun)
            whole, end = f"{whole}{end}{early}", ""
        return "\n".join(_settle(line) for line in whole.split("\n")) + end if whole or end else ""


def _shortened(line: str) -> tuple[str, str]:
    """Return what to keep of a long line without an end, and what of it counts as written."""
    head, back, state = line.rpartition("\r")
    if back and len(state) <= _PENDING // 2:
        kept = _settle(head)
        if len(kept) <= _PENDING // 2:
            return f"{kept}\r{state}", ""
    return "", line


def _settle(line: str) -> str:
    """Settle one line; the states of a progress bar are laid over each other from the last one back."""
    line = line.removesuffix("\r")
    if "\r" not in line or "\b" in line:
        return settled(line)
    shown = ""
    for state in reversed(line.split("\r")):
        plain = settled(state) if "\x1b" in state else state
        if len(plain) > len(shown):
            shown += plain[len(shown) :]
    return shown.rstrip()


class ShellOutput:
    """Gathers the output of one command."""

    def __init__(self, *, limit: int = KEPT_BYTES) -> None:
        self._log = BoundedLog(in_temporary_file, limit=limit)
        self._lines: dict[str, SettledLines] = {"stdout": SettledLines(), "stderr": SettledLines()}
        self._characters = self._odd = 0
        self.raw_bytes = 0
        """Bytes as they came."""

    def take(self, stream: OutputStream, data: bytes) -> None:
        """Take a piece."""
        self.raw_bytes += len(data)
        self._keep(self._lines[stream].feed(data))

    def _keep(self, text: str) -> None:
        shown = visible(text)
        self._characters += len(shown)
        if not shown.isascii():
            self._odd += shown.count("\ufffd") + sum(shown.count(chr(code)) for code in range(0x2400, 0x2422))
        self._log.append(shown.encode("utf-8", "replace"))

    def finish(self) -> str:
        """Return all the text there is; more must not be taken after this."""
        for lines in self._lines.values():
            if rest := lines.feed(b"", final=True):
                self._keep(rest if rest.endswith("\n") else f"{rest}\n")
        text, trouble = self._log.whole().decode("utf-8", "replace").rstrip("\n"), self._log.trouble
        self._log.discard()
        if self._odd >= _BINARY_LEAST and self._odd > _BINARY_SHARE * self._characters:
            return f"[binary output, {self.raw_bytes:,} bytes, not shown: write it to a file and look at that]"
        return f"[{trouble}]\n{text}" if trouble else text

    def discard(self) -> None:
        """Give everything up."""
        self._log.discard()

    def so_far(self) -> bytes:
        """Return the text up to now; lines that have only begun come last."""
        begun = "".join(self._lines[stream].begun for stream in ("stderr", "stdout"))
        return self._log.whole() + begun.encode("utf-8", "replace")

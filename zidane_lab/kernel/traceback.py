"""Tracebacks trimmed to what a reader can act on.

Frames of the user's own code are kept; runs of library frames between and after them are folded into a
line that counts them, except the last one, which shows where it broke.
"""

from __future__ import annotations

import linecache
import sysconfig
import traceback
from collections.abc import Iterable
from typing import Final

from zidane_lab.kernel.execution import ErrorInfo

__all__ = ["MESSAGE_CHARACTERS", "error_info"]

MESSAGE_CHARACTERS: Final = 4_000
"""Longest exception message kept whole; some libraries put whole frames into theirs."""

_STDLIB: Final = sysconfig.get_paths()["stdlib"]
_CELL_MARKS: Final = ("<ipython-input", "ipykernel_", "<string>", "<zidane")


def _is_user(filename: str) -> bool:
    if any(mark in filename for mark in _CELL_MARKS):
        return True
    return "site-packages" not in filename and not filename.startswith(_STDLIB)


def _label(filename: str) -> str:
    return "cell" if any(mark in filename for mark in _CELL_MARKS) else filename


def _frames(frames: Iterable[traceback.FrameSummary]) -> list[str]:
    lines: list[str] = []
    hidden = 0
    listed = [frame for frame in frames if "IPython/core" not in frame.filename.replace("\\", "/")]
    for position, frame in enumerate(listed):
        if not _is_user(frame.filename) and position < len(listed) - 1:
            hidden += 1
            continue
        if hidden:
            lines.append(f"  … {hidden} library frame{'s' if hidden > 1 else ''} …")
            hidden = 0
        lines.append(f"  {_label(frame.filename)}, line {frame.lineno}, in {frame.name}")
        source = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip()
        if source:
            lines.append(f"    {source}")
    return lines


def _clip(text: str) -> str:
    if len(text) <= MESSAGE_CHARACTERS:
        return text
    return f"{text[:MESSAGE_CHARACTERS]}… ({len(text):,} characters in all)"


def _message(error: BaseException) -> str:
    try:
        return _clip(str(error))
    except Exception as broken:  # noqa: BLE001 - an exception whose own text raises must still be reported
        return f"(its message cannot be shown: {type(broken).__name__})"


def error_info(error: BaseException) -> ErrorInfo:
    """Describe an exception, its causes first, as in a normal traceback."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain and len(chain) < 5:
        chain.append(current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    lines: list[str] = []
    for position, each in enumerate(reversed(chain)):
        if position:
            lines.append("which led to:")
        if isinstance(each, SyntaxError):
            lines.extend(line.rstrip("\n") for line in traceback.format_exception_only(type(each), each))
            continue
        lines.extend(_frames(traceback.extract_tb(each.__traceback__)))
        lines.append(f"{type(each).__name__}: {_message(each)}".rstrip(": "))
    return ErrorInfo(type(error).__name__, _message(error), "\n".join(lines))

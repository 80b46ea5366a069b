"""Tracebacks trimmed to what a reader can act on.

Frames of the user's own code are kept; runs of library frames between and after them are folded into a
line that counts them, except the last one, which shows where it broke.
"""

from __future__ import annotations

import itertools
import linecache
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from zidane_lab.kernel.execution import ErrorInfo

__all__ = ["MESSAGE_CHARACTERS", "error_info"]

MESSAGE_CHARACTERS: Final = 4_000
"""Longest exception message kept whole; some libraries put whole frames into theirs."""

REPEATS: Final = 3
"""How often one place is shown in a row; recursion shows it a thousand times."""

MOST_LINES: Final = 60
"""Longest list of frames; the beginning and, more of it, the end are kept."""

_OURS: Final = str(Path(__file__).parents[1])
_STDLIB: Final = sysconfig.get_paths()["stdlib"]
_CELL_MARKS: Final = ("<ipython-input", "ipykernel_", "<string>", "<zidane")


def _is_user(filename: str) -> bool:
    if any(mark in filename for mark in _CELL_MARKS):
        return True
    return "site-packages" not in filename and not filename.startswith(_STDLIB)


def _is_machinery(filename: str) -> bool:
    """Whether a frame is IPython's or ours: how the code was run, not what it did."""
    return "IPython/core" in filename.replace("\\", "/") or filename.startswith(_OURS)


def _label(filename: str) -> str:
    return "cell" if any(mark in filename for mark in _CELL_MARKS) else filename


def _frames(frames: Iterable[traceback.FrameSummary]) -> list[str]:
    """Show frames, folding runs of library code and of calls that repeat."""
    listed = [frame for frame in frames if not _is_machinery(frame.filename)]
    lines: list[str] = []
    for kind, group in itertools.groupby(
        enumerate(listed), key=lambda item: _kind(item[1], last=item[0] == len(listed) - 1)
    ):
        run = [frame for _, frame in group]
        if kind == "library":
            lines.append(f"  … {len(run)} library frame{'s' if len(run) > 1 else ''} …")
            continue
        for frame in run[:REPEATS]:
            lines.append(f"  {_label(frame.filename)}, line {frame.lineno}, in {frame.name}")
            source = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip()
            if source:
                lines.append(f"    {source}")
        if len(run) > REPEATS:
            lines.append(f"  … {len(run) - REPEATS} more like it …")
    if len(lines) > MOST_LINES:
        head, tail = lines[: MOST_LINES // 3], lines[-(MOST_LINES - MOST_LINES // 3) :]
        lines = [*head, f"  … {len(lines) - MOST_LINES} more lines …", *tail]
    return lines


def _kind(frame: traceback.FrameSummary, *, last: bool) -> object:
    """Frames of one kind are folded together: library code, or one place of the user's code."""
    if not _is_user(frame.filename) and not last:
        return "library"
    return (frame.filename, frame.lineno, frame.name)


def _clip(text: str) -> str:
    if len(text) <= MESSAGE_CHARACTERS:
        return text
    return f"{text[:MESSAGE_CHARACTERS]}… ({len(text):,} characters in all)"


def _message(error: BaseException) -> str:
    try:
        return _clip(str(error))
    except BaseException as broken:  # noqa: BLE001 - an exception whose own text raises must still be reported
        return f"(its message cannot be shown: {type(broken).__name__})"


def error_info(error: BaseException) -> ErrorInfo:
    """Describe an exception, its causes first, as in a normal traceback."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and not any(current is each for each in chain) and len(chain) < 5:
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

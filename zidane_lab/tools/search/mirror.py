"""Files of a place that has neither ripgrep nor Python, copied here to be searched: few and small ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from zidane_lab.tools.reading.files import Files
from zidane_lab.tools.walk import Walk

__all__ = ["mirror"]

MOST_FILES: Final = 1_000
MOST_BYTES: Final = 32 * 1_048_576
LARGEST: Final = 4 * 1_048_576


def mirror(
    files: Files, root: str, target: Path, *, ignored: bool, wanted: Callable[[str], bool], seconds: float
) -> str | None:
    """Copy the files below ``root`` that are wanted to the folder ``target``; return what was left out, if anything."""
    walk = Walk(root, ignored=ignored, files=files, seconds=seconds)
    copied, left_out, room = 0, 0, MOST_BYTES
    for entry in walk:
        if entry.is_folder or entry.is_link or not wanted(entry.name):
            continue
        info = entry.stat()
        if info is None or info.kind != "file":
            continue
        if copied >= MOST_FILES or info.size > min(LARGEST, room):
            left_out += 1
            continue
        try:
            with files.open(entry.path) as handle:
                data = handle.read(LARGEST)
        except OSError:
            left_out += 1
            continue
        copy = target / entry.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(data)
        copied, room = copied + 1, room - len(data)
    if not left_out and walk.complete:
        return None
    return (
        f"neither ripgrep nor Python 3.11 is there: {copied:,} files were copied and searched, "
        f"{left_out:,} or more left out; give a smaller folder"
    )

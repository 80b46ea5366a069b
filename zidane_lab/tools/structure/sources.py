"""Files read as texts to parse, piece by piece; what cannot be parsed is told, never fatal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.text import decode
from zidane_lab.tools.filetypes import HEAD_BYTES, identify
from zidane_lab.tools.paths import describe_size
from zidane_lab.tools.reading.files import Files
from zidane_lab.tools.structure.cells import code_cells
from zidane_lab.tools.structure.languages import Language
from zidane_lab.tools.structure.scope import Candidate, is_notebook

__all__ = ["MOST_BYTES", "MOST_NOTEBOOK_BYTES", "Batch", "Source", "batches"]

MOST_BYTES: Final = 4 * 1_048_576
"""Largest file that is parsed."""

MOST_NOTEBOOK_BYTES: Final = 16 * 1_048_576
"""Largest notebook: most of one is outputs."""

MOST_FAR_FILES: Final = 1_000
MOST_FAR_BYTES: Final = 32 * 1_048_576
"""How much is fetched from a place that is not this machine."""

_BATCH_CHARS: Final = 8 * 1_048_576
_BATCH_TEXTS: Final = 500


@dataclass(frozen=True, slots=True)
class Source:
    """A text: a file's, with LF line ends, or a cell's; ``parsed`` is what the parser gets, as long as ``text``."""

    file: Candidate
    language: Language
    text: str
    parsed: str
    cell: str | None = None

    @property
    def label(self) -> str:
        """What it is called in results."""
        return self.file.name if self.cell is None else f"{self.file.name} [code] id={self.cell}"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some texts, what could not be read, and why no more come, if they do not."""

    sources: tuple[Source, ...]
    problems: tuple[str, ...] = ()
    stopped: str = ""


def batches(files: Files, candidates: Sequence[Candidate], language: Language | None, end: float) -> Iterator[Batch]:
    """Yield the texts of files, in order. To be used in a worker thread.

    Parameters
    ----------
    language
        The one that cells of notebooks must be in, if not any.
    end
        When to stop, by :func:`time.monotonic`.
    """
    sources: list[Source] = []
    problems: list[str] = []
    chars, fetched = 0, 0
    for number, each in enumerate(candidates):
        stopped = "the time was over" if time.monotonic() > end else ""
        if not files.is_local and (number >= MOST_FAR_FILES or fetched > MOST_FAR_BYTES):
            stopped = f"at most {MOST_FAR_FILES:,} files or {describe_size(MOST_FAR_BYTES)} are fetched"
        if stopped:
            yield Batch(tuple(sources), tuple(problems), f"{len(candidates) - number:,} files were not read: {stopped}")
            return
        try:
            data = _read(files, each)
            fetched += len(data)
            found = [one for one in _sources(each, data) if language is None or one.language is language]
        except ToolError as error:
            problems.append(f"{each.name}: {error.message}")
            continue
        sources += found
        chars += sum(len(one.text) for one in found)
        if chars >= _BATCH_CHARS or len(sources) >= _BATCH_TEXTS:
            yield Batch(tuple(sources), tuple(problems))
            sources, problems, chars = [], [], 0
    yield Batch(tuple(sources), tuple(problems))


def _read(files: Files, file: Candidate) -> bytes:
    most = MOST_NOTEBOOK_BYTES if is_notebook(file.path) else MOST_BYTES
    try:
        with files.open(file.path) as handle:
            data = handle.read(most + 1)
    except OSError as error:
        raise ToolError(f"cannot be read: {error.strerror or error}") from error
    if len(data) > most:
        raise ToolError(f"larger than {describe_size(most)}, not parsed")
    return data


def _sources(file: Candidate, data: bytes) -> Iterator[Source]:
    if file.language is None:
        yield from _cells(file, data)
        return
    kind = identify(data[:HEAD_BYTES], PurePosixPath(file.name))
    if kind is not None and not data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        raise ToolError(f"{kind.name}, no text")
    text = decode(data, file.name).text
    yield Source(file, file.language, text, text)


def _cells(file: Candidate, data: bytes) -> Iterator[Source]:
    found = code_cells(data)
    if found is None:
        raise ToolError("no notebook that can be read")
    cells, others = found
    for cell in cells:
        yield Source(file, cell.language, cell.text, cell.parsed, cell.name)
    if others and not cells:
        raise ToolError("its code is in a language that cannot be parsed")

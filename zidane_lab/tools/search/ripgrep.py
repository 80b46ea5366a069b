"""ripgrep as an engine, told to follow our rules: ``.gitignore`` files only, hidden files too, NUL means binary."""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.ignore import ALWAYS_IGNORED
from zidane_lab.tools.search.engines import LINE_WIDTH, Counts, Found, Line, Search
from zidane_lab.tools.search.processes import Ended, Runner

__all__ = ["Ripgrep", "UnsuitableError", "find_ripgrep"]

_COMMON: Final = (
    "--no-config",
    "--color=never",
    "--no-mmap",  # read to the end, so that a NUL byte anywhere is seen
    "--hidden",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-ignore-global",
    "--regex-size-limit=256M",
    "--dfa-size-limit=256M",
)
_SIMPLE_NAME: Final = re.compile(r"[\w.*?+-]+")
_GLOB_MARK: Final = re.compile(r"[][*?{}\\!]")
_UNKNOWN: Final = ("unrecognized flag", "unexpected argument", "wasn't expected", "unrecognized file type")


class UnsuitableError(Exception):
    """Ripgrep is there, but cannot do what is asked (it is too old, say)."""


@functools.cache
def find_ripgrep() -> str | None:
    """Return the path of ``rg``: of this environment first, else of the machine."""
    beside = Path(sys.executable or ".").with_name("rg.exe" if os.name == "nt" else "rg")
    return str(beside) if beside.is_file() else shutil.which("rg")


class Ripgrep:
    """Searches with ripgrep.

    Parameters
    ----------
    runner
        Starts the process.
    program
        Its path.
    in_project
        From :class:`zidane_lab.tools.ignore.IgnoreRules` at the root: outside a git project, and in an ignored folder,
        ``.gitignore`` files above the root do not count.
    """

    name = "ripgrep"

    def __init__(self, runner: Runner, program: str, *, in_project: bool) -> None:
        self._runner, self._program, self._in_project = runner, program, in_project

    async def count(self, search: Search, seconds: float) -> Counts:
        """Count matching lines in every file."""
        argv = [self._program, *_COMMON, "--count", "--null", "--with-filename", *self._rules(search)]
        if types := _types(search.globs):
            argv += [*(f"--type-add=asked:{glob}" for glob in types), "--type=asked"]
        ended = await self._run([*argv, *_pattern(search), "--", search.root], search, seconds)
        if ended.complete and ended.code == 2 and not ended.stdout and not _io_errors(ended.stderr):
            raise _failure(ended.stderr)
        return Counts(dict(_counts(ended.stdout, search.root)), _io_errors(ended.stderr), ended.complete, ended.full)

    async def lines(self, search: Search, files: Sequence[tuple[str, int]], around: int, seconds: float) -> Found:
        """Fetch the first so many matching lines of each file, with their neighbours."""
        most = max((count for _, count in files), default=0)
        argv = [self._program, *_COMMON, "--json", "--threads=1", f"--max-count={most}", f"--context={around}"]
        paths = [_joined(search.root, name) for name, _ in files]
        ended = await self._run([*argv, *_pattern(search), "--", *paths], search, seconds)
        by_file: dict[str, list[_Raw]] = {name: [] for name, _ in files}
        for raw in _raw_lines(ended.stdout, search.root):
            by_file.get(raw.name, []).append(raw)
        lines = [_line(raw) for name, most in files for raw in _limited(by_file[name], most, around)]
        return Found(lines, ended.complete, ended.full)

    def _rules(self, search: Search) -> list[str]:
        kept = [f"--glob=!/{_as_glob(name)}" for name in sorted(search.kept)]
        if search.ignored:
            return ["--no-ignore", *kept]
        hidden = [*kept, *(f"--glob=!{name}" for name in sorted(ALWAYS_IGNORED))]
        return hidden if self._in_project else [*hidden, "--no-require-git", "--no-ignore-parent"]

    async def _run(self, argv: list[str], search: Search, seconds: float) -> Ended:
        cwd = search.root.rpartition("/")[0] or "/" if search.is_file else search.root
        ended = await self._runner.run(argv, cwd=cwd, seconds=seconds)
        if ended.code == 2 and any(text in ended.stderr for text in _UNKNOWN):
            raise UnsuitableError(ended.stderr.strip()[:200])
        return ended


def _as_glob(name: str) -> str:
    """Write a name so that it means itself in a pattern for names."""
    return _GLOB_MARK.sub(r"\\\g<0>", name)


def _pattern(search: Search) -> list[str]:
    case = "--ignore-case" if search.pattern.ignore_case else "--case-sensitive"
    return [case, f"--regexp={search.pattern.rust}"]


def _types(globs: Sequence[str]) -> list[str]:
    """Return patterns for the last names of the files, as far as both sides surely read them alike; else none.

    A file type, unlike ``--glob``, does not bring back what is ignored. The rest of the filtering is the caller's.
    """
    lasts = [glob.rpartition("/")[2] for glob in globs]
    return lasts if all(map(_SIMPLE_NAME.fullmatch, lasts)) else []


def _counts(stdout: bytes, root: str) -> Iterator[tuple[str, int]]:
    whole = stdout[: stdout.rfind(b"\n") + 1]
    at = 0
    while (zero := whole.find(b"\0", at)) >= 0:
        end = whole.index(b"\n", zero)
        yield _name(os.fsdecode(whole[at:zero]), root), int(whole[zero + 1 : end])
        at = end + 1


@dataclass(frozen=True, slots=True)
class _Raw:
    """A line as ripgrep gives it: bytes, and where the first match is in them."""

    name: str
    number: int
    is_match: bool
    data: bytes
    start: int
    end: int


def _raw_lines(stdout: bytes, root: str) -> Iterator[_Raw]:
    for raw in stdout[: stdout.rfind(b"\n") + 1].split(b"\n"):
        if not raw.startswith((b'{"type":"match"', b'{"type":"context"')):
            continue
        message = json.loads(raw)
        data: Mapping[str, Any] = message["data"]
        is_match = message["type"] == "match"
        found = data["submatches"][0] if is_match and data["submatches"] else {"start": 0, "end": 0}
        name = _name(os.fsdecode(_bytes(data["path"])), root)
        text = _bytes(data["lines"]).rstrip(b"\n").removesuffix(b"\r")
        yield _Raw(name, data["line_number"], is_match, text, found["start"], found["end"])


def _limited(lines: Sequence[_Raw], most: int, around: int) -> list[_Raw]:
    """Keep the first matches of a file and their neighbours; what matches behind the last one is a neighbour."""
    matches = [line.number for line in lines if line.is_match]
    if len(matches) <= most:
        return list(lines)
    last = matches[most - 1]
    near = (replace(line, is_match=False, start=0, end=0) for line in lines if last < line.number <= last + around)
    return [*(line for line in lines if line.number <= last), *near]


def _line(raw: _Raw) -> Line:
    """Cut a line round its match; offsets of bytes become offsets of characters."""
    text, before, match = (
        part.decode("utf-8", "surrogateescape")
        for part in (raw.data, raw.data[: raw.start], raw.data[raw.start : raw.end])
    )
    first, size = len(before), min(len(match), LINE_WIDTH)
    left = max(0, min(first - (LINE_WIDTH - size) // 2, len(text) - LINE_WIDTH))
    shown = text[left : left + LINE_WIDTH]
    end = min(first + len(match) - left, len(shown))
    return Line(raw.name, raw.number, raw.is_match, shown, first - left, end, left, len(text))


def _bytes(data: Mapping[str, str]) -> bytes:
    return base64.b64decode(data["bytes"]) if "bytes" in data else data["text"].encode("utf-8", "surrogatepass")


def _name(path: str, root: str) -> str:
    return path[len(root) :].lstrip("/") if path.startswith(root) else path


def _joined(root: str, name: str) -> str:
    return f"{root.rstrip('/')}/{name}" if name else root


def _io_errors(stderr: str) -> int:
    return sum("(os error " in line for line in stderr.splitlines())


def _failure(stderr: str) -> ToolError:
    said = " ".join(stderr.split())[:300] or "no reason given"
    if "size limit" in said:
        return ToolError("The pattern is too large.", hint="Use smaller counts.")
    return ToolError(f"ripgrep failed: {said}", hint="Use a simpler pattern, or set `literal`.")

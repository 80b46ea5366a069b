"""The ``grep`` tool: lines of files that match a pattern, by page, with ripgrep or our own engine to the same result.

A search runs in a process of its own and for a limited time, so no pattern and no tree can hold up the kernel.
"""

from __future__ import annotations

import functools
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.filetypes import HEAD_BYTES, identify
from zidane_lab.tools.glob import MADE_UP_NAMES, expand_braces, name_pattern, refuse_made_up
from zidane_lab.tools.pages import PAGE_BYTES
from zidane_lab.tools.paths import show_name
from zidane_lab.tools.reading.files import Files, files_of, found, real_path, threaded
from zidane_lab.tools.reading.ordinary import what_it_is
from zidane_lab.tools.search.choose import choose_engine
from zidane_lab.tools.search.engines import Counts, Engine, Found, Line, Search
from zidane_lab.tools.search.pattern import read_pattern
from zidane_lab.tools.search.types import TYPES
from zidane_lab.tools.search.worker import path_filter
from zidane_lab.tools.useless import USELESS
from zidane_lab.turns import TextBlock

__all__ = ["DEFAULT_LIMIT", "MAX_LIMIT", "MOST_AROUND", "TIME_LIMIT", "grep", "grep_tool"]

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 500
MOST_AROUND: Final = 20
TIME_LIMIT: Final = 30.0
"""Seconds; what was found until then is shown, and that there may be more."""

Mode: TypeAlias = Literal["lines", "files", "count"]
Private: TypeAlias = Callable[[str], bool]
"""Whether a file is not to be shown unless it is asked for by its own path."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of a call."""

    pattern: str
    path: str = "."
    glob: str | None = None
    file_type: str | None = None
    mode: Mode = "lines"
    ignore_case: bool = False
    literal: bool = False
    around: int = 0
    skip: int = 0
    limit: int = DEFAULT_LIMIT
    ignored: bool = False


@functools.cache
def grep_tool(private: Private | None = None) -> Tool:
    """Return the tool.

    Parameters
    ----------
    private
        Files it says yes to are left out of a search in a folder, and counted.
    """
    from zidane_lab.tools.decorator import tool

    @functools.wraps(grep)
    async def searching(context: ToolContext, pattern: str, **named: Any) -> ToolOutput:
        return await _search(context, _Asked(pattern, **named), private)

    return tool(name="grep", tier="read", concurrency="shared")(searching)


async def grep(
    context: ToolContext,
    pattern: Annotated[
        str, r"A regular expression; spans lines only where it says `\n`. No look-around, no backreferences."
    ],
    path: Annotated[str, "The folder or file to search."] = ".",
    *,
    glob: Annotated[str | None, "Only files like this: `*.py`, `src/**/*.{ts,tsx}`."] = None,
    file_type: Annotated[str | None, "Only files of a kind: `py`, `js`, `md`, `json`, `csv`, `notebook` …"] = None,
    mode: Annotated[Mode, "Show matching `lines`, the `files` that have some, or the `count` in each."] = "lines",
    ignore_case: Annotated[bool, "Let small letters match capitals and the reverse."] = False,
    literal: Annotated[bool, "Take the pattern as plain text."] = False,
    around: Annotated[int, f"Lines to show before and after each match, at most {MOST_AROUND}."] = 0,
    skip: Annotated[int, "Matches (or files) to leave out at the start: the next page."] = 0,
    limit: Annotated[int, f"Most matches (or files) to show, at most {MAX_LIMIT}."] = DEFAULT_LIMIT,
    ignored: Annotated[bool, "Also search what .gitignore, .git, .venv, node_modules and the like hide."] = False,
) -> ToolOutput:
    """Search the content of files. Hidden files are searched, binary ones are not; the order is that of paths.

    Raises
    ------
    ToolError
        There is no such file or folder, or the pattern cannot be used; the message says what to do instead.
    """
    asked = _Asked(pattern, path, glob, file_type, mode, ignore_case, literal, around, skip, limit, ignored)
    return await _search(context, asked, None)


async def _search(context: ToolContext, asked: _Asked, private: Private | None) -> ToolOutput:
    end = time.monotonic() + TIME_LIMIT
    pattern = read_pattern(asked.pattern, ignore_case=asked.ignore_case, literal=asked.literal)
    globs, kinds = _alternatives(asked.glob), _kinds(asked.file_type)
    where = await threaded(_where)(context, asked.path)
    search = Search(where.root, pattern, where.is_file, globs or kinds, asked.ignored, where.kept)
    limit, around = min(max(1, asked.limit), MAX_LIMIT), min(max(0, asked.around), MOST_AROUND)
    what = "match that spans lines" if pattern.spans else "matching line"
    page = _Page(asked.mode, max(0, asked.skip), limit, around, where.shown_as, what)
    with tempfile.TemporaryDirectory(prefix="zidane-grep-", ignore_cleanup_errors=True) as scratch:
        engine, place, note = await choose_engine(context, search, Path(scratch), end - time.monotonic())
        counts = await engine.count(place, end - time.monotonic())
        wanted = _Filter(path_filter([*globs]), path_filter([*kinds]), where, private)
        kept = {name: count for name, count in counts.counts.items() if wanted.takes(name)}
        lines, fetched = await _shown(engine, place, kept, page, end)
    notes = [] if kept else [_nothing(asked.pattern, page, search, complete=counts.complete)]
    notes += [note] if note else []
    if pattern.repaired:
        notes.append(f"taken as plain text, because as an expression {pattern.repaired}")
    elif not kept and "\\|" in asked.pattern and not asked.literal:
        notes.append("alternatives are separated by `|` alone, `\\|` is the character")
    notes += _notes(counts, wanted, fetched)
    text = "\n".join([*lines, *(f"[{each}]" for each in notes)])
    return ToolOutput((TextBlock(text),), metadata={} if kept or notes[1:] else {USELESS: True})


@dataclass(frozen=True, slots=True)
class _Page:
    """What part of the result is asked for, and how files are named in it."""

    mode: Mode
    skip: int
    limit: int
    around: int
    shown_as: str
    what: str = "matching line"

    def name(self, name: str) -> str:
        """Name a file so that it can be given to another tool."""
        if not name:
            return show_name(self.shown_as)
        return show_name(name if self.shown_as == "." else f"{self.shown_as.rstrip('/')}/{name}")


@dataclass(frozen=True, slots=True)
class _Where:
    """Where to search: the path, whether it is a file, how it is named in results, and what below it is left alone.

    ``held_back`` is how much of that the isolation policy keeps from the agent.
    """

    root: str
    is_file: bool
    shown_as: str
    kept: frozenset[str] = frozenset()
    held_back: int = 0

    def holds_back(self, name: str) -> bool:
        """Whether a file below the root is one of those left alone, or in one."""
        return any(name == each or name.startswith(f"{each}/") for each in self.kept)


@dataclass(slots=True)
class _Filter:
    """Which files count, and how many were left out as private."""

    by_glob: Callable[[str], bool]
    by_kind: Callable[[str], bool]
    where: _Where
    private: Private | None
    left_out: int = 0

    def takes(self, name: str) -> bool:
        """Whether a file's matches are shown."""
        if self.where.is_file:
            return True
        if self.where.holds_back(name) or not (self.by_glob(name) and self.by_kind(name)):
            return False
        if self.private is not None and self.private(f"{self.where.root.rstrip('/')}/{name}"):
            self.left_out += 1
            return False
        return True


def _where(context: ToolContext, path: str) -> _Where:
    """Find where to search; it is named from the working folder if it is below that."""
    files = files_of(context)
    target, info = found(files, path)
    root = real_path(files, target)
    if info.kind == "file":
        _refuse_binary(files, target)
    elif info.kind != "folder":
        raise ToolError(
            f"{show_name(target)} is {what_it_is(info.mode)}, not an ordinary file.",
            hint="Search files and folders only.",
        )
    else:
        refuse_made_up(files, root)
    base = real_path(files, files.cwd)
    shown_as = "." if root == base else root.removeprefix(f"{base.rstrip('/')}/")
    kept = frozenset(each for each in files.kept_below(root) if _exists(files, f"{root.rstrip('/')}/{each}"))
    held_back = len(kept)
    return _Where(root, info.kind == "file", shown_as, kept | (MADE_UP_NAMES if root == "/" else set()), held_back)


def _exists(files: Files, path: str) -> bool:
    try:
        files.stat(path, follow=False)
    except OSError:
        return False
    return True


def _refuse_binary(files: Files, target: str) -> None:
    try:
        with files.open(target) as handle:
            kind = identify(handle.read(HEAD_BYTES), Path(target))
    except OSError as error:
        raise ToolError(
            f"{show_name(target)} cannot be read: {error.strerror or error}.", hint="Choose another."
        ) from error
    if kind is not None:
        raise ToolError(
            f"{show_name(target)} is {kind.name}; only text is searched.", hint="See what read_file shows of it."
        )


def _alternatives(glob: str | None) -> tuple[str, ...]:
    if glob is None or not glob.strip():
        return ()
    return tuple(each.removeprefix("./").removeprefix("/") for each in expand_braces(name_pattern(glob.strip())))


def _kinds(file_type: str | None) -> tuple[str, ...]:
    if not file_type:
        return ()
    if (found_kind := TYPES.get(file_type.lower().lstrip("."))) is None:
        raise ToolError(f"There is no file type {file_type!r}.", hint=f"Types: {', '.join(TYPES)}. Or use `glob`.")
    return found_kind


async def _shown(
    engine: Engine, search: Search, counts: dict[str, int], page: _Page, end: float
) -> tuple[list[str], Found]:
    """Return the text of a page with a line on the whole, and what was fetched for it."""
    if not counts:
        return [], Found()
    names = sorted(counts, key=lambda name: name.split("/"))
    total, files = sum(counts.values()), len(counts)
    if page.mode != "lines":
        listed = names[page.skip : page.skip + page.limit]
        texts = [page.name(each) + (f": {counts[each]:,}" if page.mode == "count" else "") for each in listed]
        texts, number = _fitting(texts)
        return [*texts, _position(page, number, files, "file", _plural(total, page.what))], Found()
    chosen, skipped = _chosen(names, counts, page)
    if not chosen:
        return [_position(page, 0, total, page.what, _in_files(files))], Found()
    # Of the first file the lines before the page are fetched too, and dropped here.
    asked = [(name, count + (skipped if index == 0 else 0)) for index, (name, count) in enumerate(chosen)]
    result = await engine.lines(search, asked, page.around, max(1.0, end - time.monotonic()))
    texts, number = _rendered(result.lines, page, skipped)
    return [*texts, _position(page, number, total, page.what, _in_files(files))], result


def _in_files(count: int) -> str:
    return f"in {_plural(count, 'file')}"


def _plural(count: int, what: str) -> str:
    if count == 1:
        return f"1 {what}"
    return f"{count:,} " + ("matches that span lines" if what.startswith("match that") else f"{what}s")


def _chosen(names: Sequence[str], counts: dict[str, int], page: _Page) -> tuple[list[tuple[str, int]], int]:
    """Return the files of a page with how many lines each gives, and how many of the first come before the page."""
    skip, room, first = page.skip, page.limit, 0
    chosen: list[tuple[str, int]] = []
    for name in names:
        count = counts[name]
        if skip >= count:
            skip -= count
            continue
        if not chosen:
            first = skip
        taken = min(count - skip, room)
        chosen.append((name, taken))
        skip, room = 0, room - taken
        if not room:
            break
    return chosen, first


def _rendered(lines: Sequence[Line], page: _Page, skipped: int) -> tuple[list[str], int]:
    """Write lines under the names of their files, as many as have room; return how many of them match."""
    texts: list[str] = []
    room, number, name, last = PAGE_BYTES, 0, None, 0
    pending: list[str] = []
    for line in _behind(lines, skipped, page.around):
        if line.name != name:
            pending = [*([""] if texts else []), page.name(line.name)]
        elif page.around and line.number > last + 1:
            pending.append("--")
        name, last = line.name, line.number
        pending.append(f"{line.number}{':' if line.is_match else '-'} {_written(line)}")
        cost = sum(len(each.encode("utf-8", "replace")) + 1 for each in pending)
        if cost > room and texts:
            break
        if line.is_match or texts:
            texts += pending
            room, pending, number = room - cost, [], number + line.is_match
    return texts, number


def _behind(lines: Sequence[Line], skipped: int, around: int) -> Sequence[Line]:
    """Drop the first ``skipped`` matches of the first file, and their neighbours."""
    if not skipped or not lines:
        return lines
    name = lines[0].name
    matches = [line.number for line in lines if line.is_match and line.name == name]
    start = max(matches[skipped] - around, matches[skipped - 1] + 1) if len(matches) > skipped else math.inf
    return [line for line in lines if line.name != name or line.number >= start]


def _written(line: Line) -> str:
    """Return the shown part of a line, with what is left out of it."""
    text = line.text.encode("utf-8", "replace").decode("utf-8")
    right = line.length - line.left - len(line.text)
    before = f"[{line.left:,} characters] …" if line.left else ""
    after = f"… [{right:,} characters]" if right > 0 else ""
    return f"{before}{text}{after}"


def _fitting(texts: list[str]) -> tuple[list[str], int]:
    room = PAGE_BYTES
    for index, text in enumerate(texts):
        room -= len(text.encode("utf-8", "replace")) + 1
        if room < 0:
            return texts[:index], index
    return texts, len(texts)


def _position(page: _Page, number: int, total: int, what: str, rest: str) -> str:
    """Say which part of the whole is shown, and how to go on."""
    whole, comma = _plural(total, what), "," if what == "file" else ""
    if not number:
        return f"[there are {whole} {rest}; none behind the first {page.skip:,}]"
    last = page.skip + number
    if page.skip == 0 and last >= total:
        return f"[{whole}{comma} {rest}]"
    on = f"go on with skip={last}" if last < total else "this is the end"
    return f"[{page.skip + 1:,}–{last:,} of {whole}{comma} {rest}; {on}]"


def _notes(counts: Counts, wanted: _Filter, fetched: Found) -> list[str]:
    notes = []
    if wanted.left_out:
        notes.append(
            f"{wanted.left_out:,} matching files that commonly hold secrets are left out; "
            "one is searched when it is given as `path`"
        )
    if wanted.where.held_back:
        notes.append(f"{wanted.where.held_back:,} left out that the isolation policy keeps from the agent")
    if counts.failed:
        notes.append(f"{counts.failed:,} files or folders could not be read")
    if not counts.complete:
        why = "too many files match to be listed" if counts.full else f"{TIME_LIMIT:g} seconds were over"
        notes.append(f"stopped early, because {why}: there may be more; search a smaller folder, or narrow `glob`")
    elif not fetched.complete:
        why = "they are too long" if fetched.full else f"{TIME_LIMIT:g} seconds were over"
        notes.append(f"not all lines could be fetched, because {why}; show `files` instead, or a smaller page")
    return notes


def _nothing(pattern: str, page: _Page, search: Search, *, complete: bool) -> str:
    where = "the working folder" if page.shown_as == "." else show_name(page.shown_as)
    of = " of the files asked for" if search.globs else ""
    hidden = "" if search.ignored or search.is_file else "; ignored files were not searched, `ignored` true does"
    if not complete:
        return f"no line{of} in {where} was found to match {pattern!r}{hidden}"
    return f"no line{of} in {where} matches {pattern!r}{hidden}"

"""The ``glob`` tool: files by pattern, the newest first, bounded and without ignored files."""

from __future__ import annotations

import functools
import heapq
import itertools
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import Tool, ToolContext
from zidane_lab.tools.ignore import wildcard_regex
from zidane_lab.tools.paths import require_path, show_name, unescaped
from zidane_lab.tools.reading.files import Files, files_of, found, real_path, threaded
from zidane_lab.tools.reading.ordinary import MADE_UP
from zidane_lab.tools.walk import Entry, Walk

__all__ = [
    "DEFAULT_LIMIT",
    "MADE_UP_NAMES",
    "MAX_LIMIT",
    "expand_braces",
    "glob",
    "glob_tool",
    "name_pattern",
    "refuse_made_up",
]

DEFAULT_LIMIT: Final = 200
MAX_LIMIT: Final = 1_000
TIME_LIMIT: Final = 5.0
TIME_ELSEWHERE: Final = 20.0
"""Seconds a walk may take, here and where each look is a question to another machine; what it found is shown."""
SHARED_MEMORY: Final = "/dev/shm/"  # noqa: S108 - files of anybody, in memory
MADE_UP_NAMES: Final = frozenset(path.lstrip("/") for path in MADE_UP)
_MOST_ALTERNATIVES: Final = 256
_SPECIAL: Final = re.compile(r"[*?\[{\\]")


@functools.cache
def glob_tool() -> Tool:
    """Return the tool."""
    from zidane_lab.tools.decorator import tool
    from zidane_lab.tools.useless import flag_useless

    return tool(tier="read", concurrency="shared")(flag_useless(_found_nothing)(threaded(glob)))


def glob(
    context: ToolContext,
    pattern: Annotated[
        str, "Such as `*.csv`, `src/*.py`, `src/**/*.py`, `data/{raw,clean}/*.parquet`; ends in `/` for folders."
    ],
    path: Annotated[str, "The folder to look in."] = ".",
    limit: Annotated[int, f"Most files to list, at most {MAX_LIMIT}."] = DEFAULT_LIMIT,
    ignored: Annotated[bool, "Also look into what .gitignore, .git, .venv, node_modules and the like hide."] = False,
) -> str:
    """Find files whose path matches a pattern, the newest first. `*` stays within a folder, `**` spans folders.

    A pattern without a slash is looked for in all folders; `./*.csv` stays in the first.

    Raises
    ------
    ToolError
        The folder does not exist, is that of the whole machine, or the pattern has too many alternatives.
    """
    base, rest = _split(name_pattern(pattern.strip()), path)
    files = files_of(context)
    folder, info = found(files, base)
    if info.kind != "folder":
        raise ToolError(f"{show_name(folder)} is a file.", hint="Give a folder as `path`.")
    root = real_path(files, folder)
    limit = min(max(1, limit), MAX_LIMIT)
    want_folders = rest.endswith("/")
    alternatives = [each.strip("/") for each in expand_braces(rest)]
    depth = None if any("**" in each for each in alternatives) else max(each.count("/") for each in alternatives) + 1
    if depth != 1:
        refuse_made_up(files, root)
    regexes = [regex for each in alternatives if (regex := wildcard_regex(os.fsencode(each))) is not None]
    seconds = TIME_LIMIT if files.is_local else TIME_ELSEWHERE
    walk = Walk(root, depth=depth, ignored=ignored, files=files, seconds=seconds)
    matching = _matching(walk, regexes, want_folders=want_folders)
    total = len(matching)
    newest = heapq.nsmallest(limit, matching, key=lambda each: each[:2])
    notes = walk.notes()
    if total > limit:
        notes.insert(0, f"{total - limit:,} older ones left out; narrow the pattern, or raise `limit`")
    if not total:
        advice = "" if depth is None or want_folders else f"; `**/{rest}` looks in its folders too"
        notes.insert(0, f"nothing in {show_name(folder)} matches {rest!r}{advice}")
    head = [show_name(walk.root)] if total else []
    return "\n".join([*head, *(entry.describe() for *_, entry in newest), *(f"[{note}]" for note in notes)])


def _matching(walk: Walk, regexes: Iterable[re.Pattern[bytes]], *, want_folders: bool) -> list[tuple[int, str, Entry]]:
    """Return what matches with its age as a sort key (the name breaks ties)."""
    found = []
    for entry in walk:
        if entry.is_folder == want_folders and any(regex.fullmatch(os.fsencode(entry.name)) for regex in regexes):
            info = entry.stat()
            found.append((-info.mtime_ns if info else 0, entry.name, entry))
    return found


def name_pattern(pattern: str) -> str:
    r"""Return a pattern for names with what results show escaped (`\udcff`) as it is in the name.

    Raises
    ------
    ToolError
        No name can match it.
    """
    found_pattern = unescaped(pattern, is_pattern=True) or pattern
    if pattern:
        require_path(found_pattern)
    return found_pattern


def refuse_made_up(files: Files, root: str) -> None:
    """Refuse to go through the whole machine, or what its system makes up.

    Raises
    ------
    ToolError
        The folder is one of those.
    """
    if root == "/" and real_path(files, files.cwd) != "/":
        raise ToolError("`/` is the whole machine.", hint="Name a folder, or leave `path` out for the working folder.")
    within = [each for each in MADE_UP if root == each or root.startswith(f"{each}/")]
    if within and not f"{root}/".startswith(SHARED_MEMORY):
        raise ToolError(
            f"The files in {show_name(root)} are made up by the system; they are not searched through.",
            hint="List a folder of it with list_files, and read one file with read_file.",
        )


def _split(pattern: str, path: str) -> tuple[str, str]:
    """Move the folders that a pattern spells out into the base, so that only what can match is walked."""
    if not pattern:
        raise ToolError("The pattern is empty.", hint="Use `./*` for the files of a folder, `*` for all below it.")
    if "/" not in pattern.rstrip("/") and not pattern.startswith("**"):
        return path, f"**/{pattern}"
    parts = pattern.split("/")
    fixed = 0
    while fixed < len(parts) - 1 and not _SPECIAL.search(parts[fixed]):
        fixed += 1
    if fixed == len(parts) - 1 and not parts[-1] and fixed:  # `data/`: the last folder is what is looked for
        fixed -= 1
    base = "/".join(parts[:fixed]) or ("/" if pattern.startswith("/") else "")
    rest = "/".join(parts[fixed:])
    return (str(Path(path, base)) if not base.startswith("~") else base) if base else path, rest


def expand_braces(pattern: str) -> list[str]:
    r"""Expand ``{a,b}``, nested or not; a brace without a comma, or escaped by a backslash, stays as it is.

    Raises
    ------
    ToolError
        There are more than 256 alternatives.
    """
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        found = _first_group(text)
        if found is None:
            done.append(text)
        else:
            start, end, options = found
            waiting.extend(text[:start] + option + text[end:] for option in reversed(options))
        if len(done) + len(waiting) > _MOST_ALTERNATIVES:
            raise ToolError(
                f"The pattern has more than {_MOST_ALTERNATIVES} alternatives.", hint="Use fewer `{a,b}` groups."
            )
    return list(dict.fromkeys(done))


def _first_group(text: str) -> tuple[int, int, list[str]] | None:
    """Find the first brace group with a comma: where it starts and ends, and its options."""
    opened: list[tuple[int, list[int]]] = []
    best: tuple[int, int, list[int]] | None = None
    index = 0
    while index < len(text):
        char = text[index]
        if char == "\\":
            index += 1
        elif char == "{":
            opened.append((index, []))
        elif char == "," and opened:
            opened[-1][1].append(index)
        elif char == "}" and opened:
            start, commas = opened.pop()
            if commas and (best is None or start < best[0]):
                best = (start, index, commas)
        index += 1
    if best is None:
        return None
    start, end, commas = best
    cuts = [start, *commas, end]
    return start, end + 1, [text[left + 1 : right] for left, right in itertools.pairwise(cuts)]


def _found_nothing(text: str) -> bool:
    return text.startswith("[nothing in ")

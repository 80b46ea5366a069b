"""Patches as models write them: unified diffs, and the envelope of ``*** Begin Patch``.

Both become the same thing, one :class:`FilePatch` for each file. Nothing is looked up here, so that a gate can ask what
files a patch would touch (:func:`patched_paths`) before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.text import to_lf

__all__ = ["FilePatch", "Hunk", "PatchError", "parse_patch", "patched_paths"]

Mark: TypeAlias = Literal[" ", "-", "+"]

_HUNK: Final = re.compile(r"@@ -(?P<line>\d+)(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_MARKED: Final = re.compile(r"\*\*\* (?P<what>Add|Delete|Update) File: *(?P<path>.+)")
_MOVE: Final = "*** Move to:"
_END_OF_FILE: Final = "*** End of File"
_UNENDED: Final = "\\"
_PREFIXES: Final = frozenset({("a", "b"), ("i", "w"), ("c", "i"), ("c", "w"), ("o", "w"), ("1", "2")})
"""What git puts before the two names of a file."""

_NULL: Final = "/dev/null"
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PIECE: Final = re.compile(r"\\([0-7]{3}|.)|[^\\]+")
_ESCAPES: Final = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_EXAMPLE: Final = (
    "A patch is a unified diff (`--- a/x.py`, `+++ b/x.py`, `@@ -1,3 +1,3 @@`), or `*** Begin Patch`, "
    "`*** Update File: x.py`, `@@ def f():`, lines that begin with a space, - or +, `*** End Patch`."
)


class PatchError(ToolError):
    """A text is no patch, or one that cannot be understood."""

    code = "bad_patch"


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of a file.

    Parameters
    ----------
    lines
        A mark (context, removed, added) and the line with its end; a last line of a file may be without.
    line
        Where the old lines are said to begin, from 1; the line before, where there are none.
    above
        Lines said to stand somewhere above, one below the other.
    at_end
        The old lines are the last of the file.
    """

    lines: tuple[tuple[Mark, str], ...]
    line: int | None = None
    above: tuple[str, ...] = ()
    at_end: bool = False

    @property
    def old(self) -> tuple[str, ...]:
        """What must be there."""
        return tuple(text for mark, text in self.lines if mark != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """What it becomes."""
        return tuple(text for mark, text in self.lines if mark != "-")

    def without_mark(self) -> Hunk:
        """Return it without the byte order mark that diffs show as part of the first line."""
        return replace(self, lines=tuple((mark, text.removeprefix("\ufeff")) for mark, text in self.lines))


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What becomes of one file; ``target`` is its new name, ``mode`` the bits a new one is said to have."""

    op: Literal["add", "update", "delete"]
    path: str
    hunks: tuple[Hunk, ...] = ()
    target: str | None = None
    mode: int | None = None

    @property
    def content(self) -> str:
        """The text of a new file."""
        return "".join(text for hunk in self.hunks for text in hunk.new)


def parse_patch(patch: str) -> tuple[FilePatch, ...]:
    """Read a patch.

    Raises
    ------
    PatchError
        It is none; the message says where and what was expected.
    """
    lines = _bare(to_lf(patch))
    if any(line.rstrip() == "*** Begin Patch" or _MARKED.match(line) for line in lines):
        found = tuple(_Envelope(lines).files())
    else:
        found = tuple(_Unified(lines).files())
    if not found:
        raise PatchError("There is no change of a file in this patch.", hint=_EXAMPLE)
    return found


def patched_paths(patch: str) -> tuple[str, ...]:
    """Return all paths a patch reads, writes or removes, as it writes them.

    Raises
    ------
    PatchError
        See :func:`parse_patch`.
    """
    parts = parse_patch(patch)
    return tuple(dict.fromkeys(path for part in parts for path in (part.path, part.target) if path is not None))


def _bare(text: str) -> list[str]:
    """Return the lines of a patch without a fence or a shell's here-document around it."""
    lines = text.removesuffix("\n").split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    first = lines[0].strip() if lines else ""
    here = re.match(r"(?:apply_patch|git apply|patch)\b.*<<-?\s*['\"]?(\w+)['\"]?$", first)
    end = "```" if first.startswith("```") else here[1] if here else None
    if end is None:
        return lines
    while lines and lines[-1].strip() in {"", end}:
        lines.pop()
    return lines[1:]


class _Lines:
    """The lines of a patch, one after the other."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines, self._at = lines, 0

    @property
    def now(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def ahead(self, count: int = 1) -> str:
        return self._lines[self._at + count] if self._at + count < len(self._lines) else ""

    def take(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def wrong(self, what: str, hint: str = _EXAMPLE) -> PatchError:
        return PatchError(f"Line {self._at + 1} of the patch: {what}", hint=hint)


# --- *** Begin Patch ------------------------------------------------------------------------------


class _Envelope(_Lines):
    def files(self) -> Iterator[FilePatch]:
        while (line := self.now) is not None:
            if line.strip() in {"", "*** Begin Patch"}:
                self.take()
            elif line.strip() == "*** End Patch":
                return
            elif (header := _MARKED.match(line)) is not None:
                self.take()
                yield self._file(header["what"], header["path"].strip())
            else:
                raise self.wrong(f"{line[:80]!r} is outside of any file.")

    def _file(self, what: str, path: str) -> FilePatch:
        if what == "Delete":
            return FilePatch("delete", path)
        if what == "Add":
            lines: list[tuple[Mark, str]] = []
            while (line := self.now) is not None and not line.startswith("*** "):
                if not line.startswith("+"):
                    raise self.wrong(f"{line[:80]!r}: each line of a new file begins with +.")
                lines.append(("+", f"{self.take()[1:]}\n"))
            return FilePatch("add", path, (Hunk(tuple(lines)),))
        target = None
        if (self.now or "").startswith(_MOVE):
            target = self.take()[len(_MOVE) :].strip()
        hunks: list[Hunk] = []
        while (line := self.now) is not None and not (line.startswith("*** ") and line.strip() != _END_OF_FILE):
            hunks.append(self._hunk())
        hunks = [hunk for hunk in hunks if hunk.lines]
        if not hunks and target is None:
            raise self.wrong(f"nothing is to be changed in {path}.")
        return FilePatch("update", path, tuple(hunks), target)

    def _hunk(self) -> Hunk:
        above: list[str] = []
        said: int | None = None
        while (line := self.now) is not None and line.startswith("@@"):
            self.take()
            if (header := _HUNK.match(line)) is not None:
                said = int(header["line"])
            elif words := line[2:].strip().removesuffix("@@").strip():
                above.append(words)
        lines: list[tuple[Mark, str]] = []
        at_end = False
        while (line := self.now) is not None and not line.startswith("@@"):
            if line.rstrip() == _END_OF_FILE:
                self.take()
                at_end = True
                break
            if line.startswith("*** "):
                break
            lines.append(_marked(line) or self._refuse(line))
            self.take()
        while lines and lines[-1] == (" ", "\n") and not at_end:
            lines.pop()  # blank lines between the parts of a patch
        if not lines and not above and said is None and not at_end:
            raise self.wrong("a change without lines.")
        return Hunk(tuple(lines), said, tuple(above), at_end)

    def _refuse(self, line: str) -> tuple[Mark, str]:
        raise self.wrong(f"{line[:80]!r} begins with neither a space nor - nor +.")


def _marked(line: str) -> tuple[Mark, str] | None:
    if line.startswith(" ") or not line:  # a blank line of context often loses its space
        return " ", f"{line[1:]}\n"
    if line.startswith("-"):
        return "-", f"{line[1:]}\n"
    return ("+", f"{line[1:]}\n") if line.startswith("+") else None


# --- unified diffs --------------------------------------------------------------------------------


class _Unified(_Lines):
    def files(self) -> Iterator[FilePatch]:
        while (line := self.now) is not None:
            if line.startswith("diff --git "):
                yield self._git()
            elif self._names_follow():
                yield self._file({})
            elif line.startswith("@@"):
                raise self.wrong("a change of no file.", "Write `--- a/name` and `+++ b/name` above it.")
            else:
                self.take()  # what people write around a diff

    def _names_follow(self) -> bool:
        return (self.now or "").startswith("--- ") and self.ahead().startswith("+++ ")

    def _git(self) -> FilePatch:
        names = self.take().removeprefix("diff --git ")
        said: dict[str, str] = {}
        while (line := self.now) is not None and not line.startswith(("diff --git ", "@@")):
            if self._names_follow():
                return self._file(said)
            if line.startswith(("GIT binary patch", "Binary files ")):
                raise self.wrong("binary files cannot be patched here.", "Leave them out.")
            found = re.match(r"(rename from|rename to|copy from|new file mode|deleted file mode|old mode) (.+)", line)
            if found:
                said[found[1]] = found[2]
            self.take()
        if "copy from" in said:
            raise self.wrong("copies cannot be made by a patch here.", "Give the whole new file.")
        if "rename from" in said and "rename to" in said:
            return FilePatch("update", _name(said["rename from"]), (), _name(said["rename to"]))
        if "old mode" in said:
            raise self.wrong("rights of files are not changed here.", "Use the shell for that.")
        old, new = _git_names(names)
        if "new file mode" in said:
            return FilePatch("add", new, mode=_mode(said))
        if "deleted file mode" in said:
            return FilePatch("delete", old)
        raise self.wrong(f"nothing is to be changed in {old}.")

    def _file(self, said: dict[str, str]) -> FilePatch:
        old, new = (_name(self.take()[4:]) for _ in range(2))
        hunks: list[Hunk] = []
        while (line := self.now) is not None and line.startswith("@@"):
            hunks.append(self._hunk())
        if not hunks:
            raise self.wrong(f"nothing is to be changed in {new if old == _NULL else old}.")
        old, new = _unprefixed(old, new)
        if old == _NULL:
            return FilePatch("add", new, tuple(hunks), mode=_mode(said))
        if new == _NULL:
            return FilePatch("delete", old, tuple(hunks))
        return FilePatch("update", old, tuple(hunks), new if new != old else None)

    def _hunk(self) -> Hunk:
        header = _HUNK.match(self.take())
        if header is None:
            self._at -= 1
            raise self.wrong(f"{(self.now or '')[:80]!r} should be like `@@ -1,3 +1,4 @@`.")
        start = self._at
        lines = self._counted(int(header["old"] or 1), int(header["new"] or 1))
        if lines is None:  # models count badly: then a change ends where the next thing begins
            self._at = start
            lines = self._until_next()
        return Hunk(tuple(lines), int(header["line"]))

    def _counted(self, old: int, new: int) -> list[tuple[Mark, str]] | None:
        lines: list[tuple[Mark, str]] = []
        while old > 0 or new > 0 or (self.now or "").startswith(_UNENDED):
            if (line := self.now) is None or (self._names_follow() and self.ahead(2).startswith("@@")):
                return None
            if line.startswith(_UNENDED):
                self._unend(lines)
                continue
            if (marked := _marked(line)) is None:
                return None
            lines.append(marked)
            old, new = old - (marked[0] != "+"), new - (marked[0] != "-")
            self.take()
        after = self.now
        if old < 0 or new < 0 or (after is not None and after[:1] in {" ", "+"}):
            return None
        return None if after is not None and after.startswith("-") and not self._ends(after) else lines

    def _until_next(self) -> list[tuple[Mark, str]]:
        lines: list[tuple[Mark, str]] = []
        while (line := self.now) is not None and not line.startswith(("@@", "diff --git ")):
            if self._names_follow() or line == "-- ":  # another file, the signature of a mail
                break
            if line.startswith(_UNENDED):
                self._unend(lines)
            elif (marked := _marked(line)) is not None:
                lines.append(marked)
                self.take()
            else:
                break
        while lines and lines[-1] == (" ", "\n"):
            lines.pop()
        return lines

    def _ends(self, line: str) -> bool:
        return self._names_follow() or line == "-- "

    def _unend(self, lines: list[tuple[Mark, str]]) -> None:
        r"""Take the line end from the line before, as ``\ No newline at end of file`` says."""
        self.take()
        if lines:
            mark, text = lines[-1]
            lines[-1] = mark, text.removesuffix("\n")


def _mode(said: dict[str, str]) -> int | None:
    return 0o755 if said.get("new file mode", "").endswith("755") else None


def _name(text: str) -> str:
    """Return a file's name without the time behind it; quotes are those of git."""
    quoted = _QUOTED.match(text)
    if quoted is None:
        return text.partition("\t")[0].strip()
    pieces: list[bytes] = []
    for found in _PIECE.finditer(quoted[1]):
        code = found[1]
        if code is None:
            pieces.append(found[0].encode("utf-8", "surrogatepass"))
        else:
            pieces.append(bytes([int(code, 8) & 255 if code.isdigit() else _ESCAPES.get(code, ord(code) & 127)]))
    return b"".join(pieces).decode("utf-8", "surrogateescape")


def _git_names(names: str) -> tuple[str, str]:
    """Return both names of ``diff --git a/x b/x``; without quotes, they are the same but for what git puts before."""
    quoted = [found[0] for found in re.finditer(rf"{_QUOTED.pattern}|\S+", names)]
    if names.startswith('"') and len(quoted) == 2:
        return _unprefixed(_name(quoted[0]), _name(quoted[1]))
    half = len(names) // 2
    return _unprefixed(names[:half].strip(), names[half:].strip())


def _unprefixed(old: str, new: str) -> tuple[str, str]:
    """Take away what git puts before names, where it is what git puts there."""
    first, second = (name.partition("/") for name in (old, new))
    if old == _NULL:
        return old, (second[2] if second[0] == "b" and second[2] else new)
    if new == _NULL:
        return (first[2] if first[0] == "a" and first[2] else old), new
    return (first[2], second[2]) if (first[0], second[0]) in _PREFIXES else (old, new)

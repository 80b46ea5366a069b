"""Which files a project ignores: ``.gitignore`` files, nested and with negation, by git's own rules.

The rules are those of gitignore(5) and of git's ``wildmatch`` with path names: the last pattern that matches
decides, a deeper file overrules a shallower one, and nothing below an ignored folder can be taken back (so a
walker simply does not enter it). Names are matched as bytes, as git does.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zidane_lab.tools.reading.ordinary import open_ordinary

__all__ = ["ALWAYS_IGNORED", "MOST_RULE_BYTES", "IgnoreRules", "Rule", "parse_rules", "wildcard_regex"]

ALWAYS_IGNORED: Final = frozenset({".git", ".ipynb_checkpoints", ".venv", ".zidane", "__pycache__", "node_modules"})
"""Folders (and files) hidden whatever the project says, unless asked for."""

MOST_RULE_BYTES: Final = 1_048_576
"""A longer ``.gitignore`` is read up to here."""

_SPECIAL: Final = re.compile(rb"[*?\[\\]")

_POSIX: Final[dict[bytes, bytes]] = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t-\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern: ``anchored`` ones match the path below their file's folder, others any name below it."""

    regex: re.Pattern[bytes]
    negated: bool
    folders_only: bool
    anchored: bool


def parse_rules(data: bytes) -> tuple[Rule, ...]:
    """Read the content of a ``.gitignore`` file; a pattern that can never match is left out."""
    rules: list[Rule] = []
    for raw in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = _strip_spaces(raw.removesuffix(b"\r"))
        if not line or line.startswith(b"#"):
            continue
        negated = line.startswith(b"!")
        line = line[1:] if negated else line
        folders_only = line.endswith(b"/")
        line = line[:-1] if folders_only else line
        anchored = b"/" in line
        line = line.removeprefix(b"/")
        # What is before the first wildcard is compared by itself, so that the rest starts anew: `a**/b` is `a`, `**/b`.
        special = _SPECIAL.search(line) if anchored else None
        regex = wildcard_regex(line, special.start() if special else 0)
        if line and regex is not None:
            rules.append(Rule(regex, negated, folders_only, anchored))
    return tuple(rules)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules in force in a folder: one layer per ``.gitignore``, the outermost first.

    A walker asks :meth:`ignores` for each entry, does not enter what is ignored, and calls :meth:`inside` for
    each folder it enters.

    Parameters
    ----------
    layers
        The rules of each file, with its folder.
    in_project
        Whether this is inside a git project; a project within it has rules of its own only.
    """

    layers: tuple[tuple[str, tuple[Rule, ...]], ...] = ()
    in_project: bool = False

    @classmethod
    def at(cls, folder: Path) -> IgnoreRules:
        """Return the rules in force in ``folder``: its own and, inside a git project, its parents' up to the root.

        In a folder that is itself ignored nothing is left to distinguish, so only its own are in force.
        """
        line = [folder, *folder.parents]
        root = next((index for index, each in enumerate(line) if (each / ".git").exists()), None)
        rules = cls(in_project=root is not None)
        for each in reversed(line[: (root or 0) + 1]):
            if rules.ignores(each, is_folder=True):
                return cls().inside(folder)
            rules = rules.inside(each)
        return rules

    def inside(self, folder: Path) -> IgnoreRules:
        """Return the rules with those of ``folder`` added."""
        try:
            with open(open_ordinary(folder / ".gitignore"), "rb") as handle:  # noqa: PTH123 - a descriptor
                data = handle.read(MOST_RULE_BYTES)
        except OSError:  # none there, no ordinary file, or not ours to read: git goes on without it, too
            data = b""
        return self.with_rules(str(folder), data, is_project=self.in_project and (folder / ".git").exists())

    def with_rules(self, folder: str, data: bytes, *, is_project: bool = False) -> IgnoreRules:
        """Return the rules with the content of a folder's ``.gitignore`` added; a project's own root starts anew."""
        found = parse_rules(data) if data else ()
        if is_project and self.layers:
            return IgnoreRules(((folder, found),) if found else (), self.in_project)
        return IgnoreRules((*self.layers, (folder, found)), self.in_project) if found else self

    def ignores(self, path: Path | str, *, is_folder: bool) -> bool:
        """Whether this entry is ignored by itself; whether a parent is, is the walker's concern."""
        if not self.layers:
            return False
        text = os.fspath(path)
        whole = os.fsencode(text.replace(os.sep, "/"))
        name = whole.rpartition(b"/")[2]
        for folder, rules in reversed(self.layers):
            relative = whole[len(os.fsencode(folder.rstrip(os.sep))) + 1 :]
            for rule in reversed(rules):
                if rule.folders_only and not is_folder:
                    continue
                if rule.regex.fullmatch(relative if rule.anchored else name):
                    return not rule.negated
        return False


def _strip_spaces(line: bytes) -> bytes:
    """Drop trailing spaces that no backslash keeps."""
    kept = line.rstrip(b" ")
    backslashes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if backslashes % 2 and len(line) > len(kept) else kept


def wildcard_regex(pattern: bytes, start: int = 0) -> re.Pattern[bytes] | None:
    r"""Translate a pattern to a regular expression for whole paths; ``None`` when it can never match.

    ``*`` and ``?`` stay within a name, ``**`` between slashes (or at an end) spans folders, ``[a-z]``,
    ``[!a]`` and ``[[:alpha:]]`` are one character, a backslash takes the next character as it is.

    What stands between two ``*`` is found at its first place and kept there (an atomic group): that never
    misses a match within a name, and no pattern takes more than linear time on it.

    Parameters
    ----------
    start
        A place where ``**`` counts as standing after a slash.
    """
    out: list[bytes] = []
    star: int | None = None  # where in ``out`` the last `*` opened its group
    index, size = 0, len(pattern)
    while index < size:
        char = pattern[index : index + 1]
        if char == b"*":
            end = index + len(pattern[index:]) - len(pattern[index:].lstrip(b"*"))
            spans = end - index > 1 and (index in {0, start} or pattern[index - 1 : index] == b"/")
            if star is not None:
                out.append(b")")
                star = None
            if spans and end == size:
                out.append(b".*")
            elif spans and pattern[end : end + 1] == b"/":
                out.append(b"(?:.*/)?")
                end += 1
            else:
                star = len(out)
                out.append(b"(?>[^/]*?")
            index = end
        elif char == b"[":
            found = _character_class(pattern, index)
            if found is None:
                return None
            expression, index = found
            out.append(expression)
        else:
            literal, index = _member(pattern, index)
            if not literal:
                return None
            out.append(b"[^/]" if char == b"?" else re.escape(literal))
    if star is not None:  # nothing but the end follows: this one may reach as far as it must
        out[star] = b"(?:[^/]*"
        out.append(b")")
    return re.compile(b"".join(out), re.DOTALL)


def _character_class(pattern: bytes, start: int) -> tuple[bytes, int] | None:
    """Translate ``[…]`` from ``start``; return the expression and the index after it, ``None`` if it never ends."""
    index = start + 1
    negated = pattern[index : index + 1] in {b"!", b"^"}
    index += negated
    members: list[bytes] = []
    previous: bytes | None = None
    first = True
    while first or pattern[index : index + 1] != b"]":
        first = False
        char = pattern[index : index + 1]
        if not char:
            return None
        end = pattern.find(b"]", index + 2) if pattern[index : index + 2] == b"[:" else -1
        if end > 0 and pattern[end - 1 : end] == b":":
            if (named := _POSIX.get(pattern[index + 2 : end - 1])) is None:
                return None
            members.append(named)
            previous, index = None, end + 1
            continue
        if char == b"-" and previous is not None and pattern[index + 1 : index + 2] not in {b"", b"]"}:
            index += 1
            last, index = _member(pattern, index)
            if not last:
                return None
            if previous <= last:
                members.append(re.escape(previous) + b"-" + re.escape(last))
            previous = None
            continue
        previous, index = _member(pattern, index)
        if not previous:
            return None
        members.append(re.escape(previous))
    body = b"".join(members)
    if negated:
        return b"[^/" + body + b"]", index + 1
    return (b"(?!/)[" + body + b"]" if body else b"(?!)"), index + 1


def _member(pattern: bytes, index: int) -> tuple[bytes, int]:
    """Read one character, an escaped one as it is; return it (empty at the end) and the index after it."""
    if pattern[index : index + 1] == b"\\":
        index += 1
    return pattern[index : index + 1], index + 1

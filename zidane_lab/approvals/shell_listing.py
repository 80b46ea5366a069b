"""What programs whose output becomes the words of others would list: ``cat $(find .)``, ``ls | while read f``."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from zidane_lab.approvals.secret_files import Ground, SecretFile, Tree
from zidane_lab.approvals.shell_filters import name_filter, read_options
from zidane_lab.approvals.shell_heads import plain_name
from zidane_lab.approvals.shell_parse import Head
from zidane_lab.approvals.shell_rules import names_in
from zidane_lab.approvals.shell_words import Word

__all__ = ["ListingUnseenError", "listed"]

_QUIET: Final = names_in("cd true false : test [ read set pwd date sleep wc exit break continue")
"""Programs that name no files."""
_PASSING: Final = names_in("sort uniq head tail tac grep egrep fgrep rg")
"""Programs that pass on some of the lines they get."""


class ListingUnseenError(Exception):
    """What is listed cannot be told; the words say why."""


def listed(heads: Sequence[Head], ground: Ground) -> Tree:
    """Return the files among those that programs list which commonly hold secrets.

    Raises
    ------
    ListingUnseenError
        One of the programs makes names of its own.
    """
    found: dict[str, SecretFile] = {}
    complete, is_source = True, False
    for head in heads:
        name = plain_name(head.name)
        if name in _LISTERS and (tree := _LISTERS[name](head, ground)) is not None:
            found.update({each.path: each for each in tree.files})
            complete, is_source = complete and tree.complete, True
        elif name in _PASSING and not _file_words(head, name):
            found = {path: each for path, each in found.items() if _passes(head, name, path)}
        elif name not in _QUIET:
            raise ListingUnseenError(f"reads files whose names {name} makes")
    if not is_source:
        raise ListingUnseenError("reads files whose names cannot be told")
    return Tree(tuple(found.values()), complete)


def _file_words(head: Head, name: str) -> tuple[Word, ...]:
    """Return the words of a filter that name files."""
    searches = name in {"grep", "egrep", "fgrep", "rg"}
    given = read_options(head.argv, "efmABCdDktn" if name != "grep" else "efmABCdD", frozenset())
    return given.operands[1:] if searches and not given.values("-e", "-f") else given.operands


def _passes(head: Head, name: str, path: str) -> bool:
    """Whether a filter surely or perhaps passes a name on."""
    if name not in {"grep", "egrep", "fgrep", "rg"}:
        return True
    given = read_options(head.argv, "efmABCdD", frozenset())
    patterns = [*given.values("-e"), *(word.text for word in given.operands[:1] if word.is_known)]
    if len(patterns) != 1 or given.values("-f"):
        return True
    literal = name == "fgrep" or given.has_flag("F", ("--fixed",))
    text = re.escape(patterns[0]) if literal else patterns[0].replace("\\|", "|")
    hit = _found(text, path, ignore_case=given.has_flag("i", ("--ignore",)))
    return hit is None or hit != given.has_flag("v", ("--invert",))


def _found(pattern: str, text: str, *, ignore_case: bool) -> bool | None:
    """Whether a pattern is found in a name; ``None`` for one that could take for ever, or is none."""
    if len(re.findall(r"[*+{]", re.sub(r"\\.", "", pattern))) > 2 or re.search(r"\)[*+{?]", pattern) or len(text) > 300:
        return None
    try:
        return re.search(pattern, text, re.IGNORECASE if ignore_case else 0) is not None
    except (re.error, RecursionError, OverflowError):
        return None


def _folders(words: Iterable[Word]) -> list[str]:
    folders = [word.text for word in words]
    if any("*" in each for each in folders):
        raise ListingUnseenError("reads files of folders that cannot be told")
    return folders or ["."]


def _joined(
    folders: Iterable[str], ground: Ground, takes: Callable[[SecretFile], bool], *, narrow: bool = False
) -> Tree:
    found: list[SecretFile] = []
    complete = True
    for folder in folders:
        tree = ground.under(folder)
        complete = complete and (tree.complete or narrow)
        found += (
            SecretFile(_named(folder, each.path), each.hidden, each.ignored) for each in tree.files if takes(each)
        )
    return Tree(tuple(found), complete)


def _named(folder: str, path: str) -> str:
    return path if folder in {".", "./"} else f"{folder.rstrip('/')}/{path}"


def _find(head: Head, ground: Ground) -> Tree:
    start = next((i for i, word in enumerate(head.argv) if re.match(r"[-(!]", word.text)), len(head.argv))
    tests = [word.text for word in head.argv[start:]]
    patterns, left_out = _names_tested(tests)
    chosen, other = name_filter(patterns), name_filter(left_out)
    narrow = bool(patterns) and chosen.is_narrow
    shallow = "-maxdepth" in tests and tests[tests.index("-maxdepth") + 1 :][:1] == ["1"]

    def takes(each: SecretFile) -> bool:
        if shallow and "/" in each.path:
            return False
        return chosen.takes(each.path) and not (left_out and "-o" not in tests and other.names(each.path))

    return _joined(_folders(head.argv[:start]), ground, takes, narrow=narrow)


def _names_tested(tests: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the patterns of names that ``find`` wants, and those behind a ``!``."""
    wanted: list[str] = []
    left_out: list[str] = []
    for index, (name, value) in enumerate(itertools.pairwise(tests)):
        if name in {"-name", "-iname"}:
            (left_out if list(tests[max(index - 1, 0) : index]) in (["!"], ["-not"]) else wanted).append(value)
    return wanted, left_out


def _ls(head: Head, ground: Ground) -> Tree:
    given = read_options(head.argv, "", frozenset())
    hidden, deep = given.has_flag("aA", ("--all", "--almost")), given.has_flag("R", ("--rec",))
    globs = [word for word in given.operands if not word.is_known]
    found = [SecretFile(path) for word in globs for path in ground.matches(_glob(word))]
    folders = [word.text for word in given.operands if word.is_known]
    plain = [each for each in folders if not ground.is_folder(each)]
    found += [SecretFile(each) for each in plain if ground.holds_secrets(each)]
    folders = [each for each in folders if each not in plain] or ([] if given.operands else ["."])
    tree = _joined(folders, ground, lambda each: (deep or "/" not in each.path) and (hidden or not each.hidden))
    return Tree((*found, *tree.files), tree.complete or not deep)


def _glob(word: Word) -> str:
    if "$" in word.raw or "`" in word.raw:
        raise ListingUnseenError("reads files of folders that cannot be told")
    text = word.text
    for special in "?[{}":
        text = text.replace(f"*{special}", special)
    return text


def _fd(head: Head, ground: Ground) -> Tree:
    given = read_options(head.argv, "deEtSc", frozenset())
    endings = tuple(f".{each.lstrip('.')}" for each in given.values("-e", "--extension"))
    hidden, ignored = given.has_flag("H", ("--hidden",)), given.has_flag("I", ("--no-ignore",))
    pattern = given.operands[0].text if given.operands else ""

    def takes(each: SecretFile) -> bool:
        shown = (hidden or not each.hidden) and (ignored or not each.ignored)
        fits = _found(pattern, each.path, ignore_case=True)
        return shown and fits is not False and (not endings or each.path.endswith(endings))

    return _joined(_folders(given.operands[1:]), ground, takes)


def _git(head: Head, ground: Ground) -> Tree | None:
    words = [word.text for word in head.argv]
    if words[:1] == ["rev-parse"] or words[:2] == ["branch", "--show-current"]:
        return Tree()
    lists = words[:1] == ["ls-files"] or (
        words[:1] in (["diff"], ["show"], ["grep"]) and bool({"--name-only", "-l"} & {*words})
    )
    if not lists:
        return None
    index = ground.tracked(".")
    others = bool({"-o", "--others"} & {*words})
    patterns = [word for word in words[1:] if not word.startswith("-") and ("*" in word or "." in word)]
    chosen = name_filter(patterns) if words[0] == "ls-files" else name_filter(())

    def takes(each: SecretFile) -> bool:
        return chosen.takes(each.path) and (others or index is None or os.fsencode(f"{each.path}\0") in index)

    return _joined(["."], ground, takes, narrow=index is not None and not others)


def _searched(head: Head, ground: Ground) -> Tree | None:
    """Return what ``grep -l`` and ``rg -l`` may list; ``None`` where they show lines."""
    name = plain_name(head.name)
    given = read_options(head.argv, "efmABCdDgtT", names_in("--include --exclude --glob --type"))
    if not given.has_flag("lL", ("--files",)):
        return None
    files = given.has_flag("", ("--files",)) and name == "rg"
    operands = given.operands if files or given.values("-e", "--regexp") else given.operands[1:]
    chosen = name_filter(
        [each for each in (*given.values("--include"), *given.values("-g", "--glob")) if each[:1] != "!"]
    )
    deep = name == "rg" or given.has_flag("rR", ("--rec",))
    hidden = name != "rg" or given.has_flag("u.", ("--hidden", "--no-ignore"))
    folders = [each for each in _folders(operands) if ground.is_folder(each)] if deep else []
    return _joined(
        folders,
        ground,
        lambda each: chosen.takes(each.path) and (hidden or not (each.hidden or each.ignored)),
        narrow=chosen.is_narrow,
    )


def _names_none(_head: Head, _ground: Ground) -> Tree:
    return Tree()


_LISTERS: Final[Mapping[str, Callable[[Head, Ground], Tree | None]]] = {
    "find": _find,
    "ls": _ls,
    "fd": _fd,
    "git": _git,
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), _searched),
    **dict.fromkeys(("which", "seq", "nproc"), _names_none),
}

"""Which files that commonly hold secrets a shell command would show without naming them.

``grep -r``, ``cat *`` and loops over what ``find`` lists reach files nobody wrote down. Each program that shows content
is looked at with its words: folders it searches, patterns it is given, options that leave files out. What is found is
told with how to leave it out, because a search rarely means those files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from zidane_lab.approvals.secret_files import Ground, SecretFile
from zidane_lab.approvals.shell_filters import Given, glob_filter, read_options, ripgrep_filter
from zidane_lab.approvals.shell_heads import plain_name
from zidane_lab.approvals.shell_listing import ListingUnseenError, listed
from zidane_lab.approvals.shell_parse import Head, Parsed
from zidane_lab.approvals.shell_rules import names_in
from zidane_lab.approvals.shell_words import Word
from zidane_lab.tools.glob import expand_braces

__all__ = ["SHOWS_CONTENT", "Reach", "plainly", "secret_reach"]

SHOWS_CONTENT: Final = names_in(
    """cat head tail nl tac rev od strings cut tr paste join comm fold fmt expand unexpand cmp grep egrep fgrep sort
    uniq diff xxd hexdump column rg jq zcat bzcat xzcat sed awk gawk mawk tsort"""
)
"""Programs that go unasked and show what is in files."""
_SEARCHES: Final = names_in("grep egrep fgrep rg")
_MOST_TOLD: Final = 3
_MOST_LEFT_OUT: Final = 12


@dataclass(slots=True)
class Reach:
    """What a command would show: files, and how to leave them out; ``unseen`` says why that cannot be told."""

    files: dict[str, None] = field(default_factory=dict)
    hints: dict[str, None] = field(default_factory=dict)
    unseen: dict[str, None] = field(default_factory=dict)
    is_unfinished: bool = False

    @property
    def advice(self) -> str:
        """What to do instead, for the model; empty where nothing is reached."""
        if not self.files and not self.is_unfinished:
            return ""
        names = [plainly(each) for each in self.files]
        told = ", ".join(names[:_MOST_TOLD]) + (
            f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
        )
        shows = f"this would also show {told}, which commonly {'hold' if len(names) > 1 else 'holds'} secrets"
        if not names:
            shows = "this searches more files than can be checked for secrets beforehand"
        how = "; ".join(self.hints) or "name the files you need"
        return f"{shows}. Leave such files out: {how}. If you need one of them, name it alone, then the user is asked"


def plainly(path: str) -> str:
    """Return a path as it may stand in a message: the name of a file can hold anything."""
    return "".join(char if char.isprintable() else "?" for char in path)[:120]


def secret_reach(parsed: Parsed, heads: Sequence[Head], ground: Ground) -> Reach:
    """Find out what the programs of a command would show.

    Parameters
    ----------
    heads
        All programs it starts, those that others start in plain sight included.
    """
    reach = Reach()
    sources = _Sources(parsed, heads, ground)
    for head in heads:
        name = plain_name(head.name)
        if name in _SEARCHES or (name == "git" and "grep" in [word.text for word in head.argv[:2]]):
            _searching(head, name, ground, reach, sources)
        elif name == "diff":
            _comparing(head, ground, reach, sources)
        elif name in SHOWS_CONTENT:
            _reading(head, [word for word in head.argv if not _is_option(word)], reach, sources)
    return reach


def _is_option(word: Word) -> bool:
    return word.start.startswith("-")


# --- files that are named or matched --------------------------------------------------------------------


def _reading(head: Head, words: Iterable[Word], reach: Reach, sources: _Sources) -> None:
    """Judge the files of a program that shows content."""
    for word in words:
        if word.is_known or word.raw.startswith(("<(", ">(")):
            continue  # a name that stands there is judged by it
        found = list(sources.files(word, head))
        reach.files.update(dict.fromkeys(found))
        if found:
            reach.hints["name the files you need, or take a narrower pattern"] = None
    reach.unseen.update(sources.unseen)
    reach.is_unfinished = reach.is_unfinished or sources.is_unfinished


@dataclass(slots=True)
class _Sources:
    """Where words that are not all known get their text from."""

    parsed: Parsed
    heads: Sequence[Head]
    ground: Ground
    unseen: dict[str, None] = field(default_factory=dict)
    is_unfinished: bool = False
    _active: set[str] = field(default_factory=set)

    def files(self, word: Word, head: Head) -> Iterator[str]:
        """Yield what a word may stand for that commonly holds secrets."""
        substituted = "$(" in word.raw or "`" in word.raw
        names = re.findall(r"\$\{?[#!]?(\w+|[@*])", word.raw)
        if not substituted and not names:
            yield from self._matches(word)
            return
        if not _may_be_any_file(word):
            return
        if substituted:
            yield from self._from_listing(word, head)
        for name in names:
            yield from self._variable(name, word, head)

    def _matches(self, word: Word) -> Iterator[str]:
        for pattern in expand_braces(_pattern(word.text)):
            yield from self.ground.matches(pattern)

    def _variable(self, name: str, word: Word, head: Head) -> Iterator[str]:
        if name in self._active:
            return
        assigned = [each for each in self.parsed.assignments if each.name == name and not each.is_for_head]
        read = any(
            plain_name(each.name) == "read" and any(part.text == name for part in each.argv) for each in self.heads
        )
        self._active.add(name)
        for value in (value for each in assigned for value in each.words):
            if value.is_known:
                yield from self._put_in(value.text, name, word)
            else:
                yield from self.files(value, head)
        self._active.discard(name)
        if read:
            yield from self._from_listing(word, head)
        elif not assigned:
            yield from self._put_in(self.ground.env.get(name, ""), name, word)

    def _put_in(self, value: str, name: str, word: Word) -> Iterator[str]:
        """Yield what a word that begins with a variable of this value stands for."""
        begins = re.match(rf"\"?\$\{{?{re.escape(name)}\b", word.raw) is not None
        text = value + word.text[1:] if begins and word.text.startswith("*") else value
        if "*" in text:
            yield from self.ground.matches(_pattern(text))
        elif text and self.ground.holds_secrets(text):
            yield text

    def _from_listing(self, word: Word, head: Head) -> Iterator[str]:
        """Yield what the programs whose output becomes a word would list."""
        feeding = [each for each in self.heads if each.feeds and each is not head and word not in each.argv]
        from_file = any(not each.writes for each in self.parsed.redirects) or not feeding
        if from_file:
            self.unseen[f"takes the names of files from elsewhere ({head.text[:80]})"] = None
            return
        try:
            tree = listed(feeding, self.ground)
        except ListingUnseenError as error:
            self.unseen[f"{error} ({head.text[:80]})"] = None
            return
        self.is_unfinished = self.is_unfinished or not tree.complete
        yield from (each.path for each in tree.files)


def _pattern(text: str) -> str:
    """Return a shell's pattern again: the reader of words puts ``*`` before whatever may stand for more."""
    for special in "?[{}":
        text = text.replace(f"*{special}", special)
    return text


def _may_be_any_file(word: Word) -> bool:
    """Whether what is not known of a word decides which file it is: not so where its last part is all known."""
    return "*" in word.text.rpartition("/")[2]


# --- searching ------------------------------------------------------------------------------------------

_GREP_VALUED: Final = names_in(
    """--regexp --file --max-count --after-context --before-context --context --directories --devices --include
    --exclude --exclude-from --exclude-dir --label --binary-files --group-separator"""
)
_RG_VALUED: Final = names_in(
    """--glob --iglob --type --type-not --max-count --max-depth --after-context --before-context --context --regexp
    --replace --sort --sortr --color --colors --max-columns --max-filesize --encoding --threads --file"""
)
_GIT_VALUED: Final = names_in("--max-depth --context --after-context --before-context --threads")


def _searching(head: Head, name: str, ground: Ground, reach: Reach, sources: _Sources) -> None:
    plan = {"rg": _ripgrep, "git": _git_grep}.get(name, _grep)(head, ground)
    if plan is None:
        return
    _reading(head, plan.operands, reach, sources)
    for folder in plan.folders:
        tree = ground.under(folder, follow=plan.follow, lean=plan.is_lean)
        found = [each for each in tree.files if (plan.follow or not each.linked) and plan.takes(each, folder)]
        reach.files.update(dict.fromkeys(_below(folder, each.path) for each in found))
        reach.is_unfinished = reach.is_unfinished or not (tree.complete or plan.is_narrow)
        if found or not (tree.complete or plan.is_narrow):
            reach.hints[plan.hint(found)] = None


def _below(folder: str, path: str) -> str:
    return path if folder in {".", "./"} else f"{folder.rstrip('/')}/{path}"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a search looks into: operands as written, folders, and which of the files there."""

    operands: tuple[Word, ...]
    folders: tuple[str, ...]
    takes: Callable[[SecretFile, str], bool]
    hint: Callable[[Sequence[SecretFile]], str]
    follow: bool = False
    is_narrow: bool = False
    is_lean: bool = False


def _operands(given: Given, *, has_pattern: bool) -> tuple[Word, ...]:
    return tuple(given.operands if has_pattern else given.operands[1:])


def _folders(operands: Sequence[Word], ground: Ground, *, default: bool) -> tuple[str, ...]:
    if not operands:
        return (".",) if default else ()
    known = [word.text.replace("*/", "~/", 1) if _at_home(word) else word.text for word in operands]
    return tuple(text for text, word in zip(known, operands, strict=True) if _is_folder(word, text, ground))


def _at_home(word: Word) -> bool:
    return re.match(r"[\"']?\$\{?HOME\}?[\"']?(?:/|$)", word.raw) is not None


def _is_folder(word: Word, text: str, ground: Ground) -> bool:
    return (word.is_known or _at_home(word)) and ground.is_folder(text)


def _names(found: Sequence[SecretFile]) -> list[str]:
    """Return the names to leave out; of odd ones the rest of the advice must do."""
    names = dict.fromkeys(each.path.rpartition("/")[2] for each in found)
    return [name for name in names if re.fullmatch(r"[\w.@+=~ -]+", name)][:_MOST_LEFT_OUT]


def _grep(head: Head, ground: Ground) -> _Plan | None:
    given = read_options(head.argv, "efmABCdD", _GREP_VALUED)
    if given.has_flag("lLcq", ("--files-with", "--files-without", "--count", "--quiet", "--silent")):
        return None
    long = [name for name, _ in given.options if name.startswith(("--r", "--dereference-r"))]
    recursive = given.has_flag("rR") or any("recursive".startswith(name[2:]) or name.startswith("--d") for name in long)
    recursive = recursive or "recurse" in {value for name, value in given.options if name in {"-d", "--directories"}}
    operands = _operands(given, has_pattern=bool(given.values("-e", "--regexp", "-f", "--file")))
    chosen = glob_filter(given.values("--include"), given.values("--exclude"), given.values("--exclude-dir"))
    return _Plan(
        operands,
        _folders(operands, ground, default=recursive) if recursive else (),
        lambda each, _: chosen.takes(each.path),
        lambda found: " ".join(f"--exclude='{name}'" for name in _names(found)) or "--include='*.py' or the like",
        follow=given.has_flag("R", ("--dereference-r",)),
        is_narrow=chosen.is_narrow,
    )


def _ripgrep(head: Head, ground: Ground) -> _Plan | None:
    given = read_options(head.argv, "ABCeEfgjmMrtTd", _RG_VALUED)
    names_only = ("--files", "--count", "--type-list", "--quiet", "--version")
    if given.has_flag("lcqV", names_only):
        return None
    lifted = given.count_flag("u") + sum(name == "--unrestricted" for name, _ in given.options)
    hidden = lifted >= 2 or given.has_flag(".", ("--hidden",))
    ignored = lifted >= 1 or given.has_flag("", ("--no-ignore",))
    operands = _operands(given, has_pattern=bool(given.values("-e", "--regexp", "-f", "--file")))
    chosen = ripgrep_filter(given)

    def takes(each: SecretFile, _folder: str) -> bool:
        shown = (hidden or not each.hidden) and (ignored or not each.ignored)
        return chosen.takes(each.path) and (shown or chosen.names(each.path))

    return _Plan(
        operands,
        _folders(operands, ground, default=True),
        takes,
        lambda found: " ".join(f"-g '!{name}'" for name in _names(found)) or "-g '*.py' or the like",
        follow=given.has_flag("L", ("--follow",)),
        is_narrow=chosen.is_narrow,
        is_lean=not (hidden or ignored or chosen.rules),
    )


def _git_grep(head: Head, ground: Ground) -> _Plan | None:
    start = [word.text for word in head.argv].index("grep") + 1
    given = read_options(head.argv[start:], "efABCm", _GIT_VALUED)
    if given.has_flag("lLcq", ("--files-with", "--name-only", "--count", "--quiet")):
        return None
    operands = _operands(given, has_pattern=bool(given.values("-e", "-f")))
    paths = [word.text for word in operands]
    left_out = tuple(re.sub(r"^:(?:[!^]|\(exclude\))", "", text) for text in paths if re.match(r":(?:[!^]|\(ex)", text))
    wanted = [text for text in paths if not text.startswith(":")]
    folders = tuple(text for text in wanted if ground.is_folder(text))
    patterns = tuple(text for text in wanted if "*" in text)
    chosen = replace(glob_filter(patterns, left_out, ()), whole=True)
    everywhere = given.has_flag("", ("--no-index",))
    untracked = everywhere or given.has_flag("", ("--untracked",))
    index = None if untracked else ground.tracked(".")

    def takes(each: SecretFile, folder: str) -> bool:
        if not chosen.takes(each.path):
            return False
        if untracked:
            return everywhere or not each.ignored
        return index is None or os.fsencode(f"{_below(folder, each.path)}\0") in index

    return _Plan(
        tuple(word for word in operands if not word.text.startswith(":")),
        folders or (".",),
        takes,
        lambda found: "-- " + " ".join(f"':!*{name}'" for name in _names(found)),
        is_narrow=chosen.is_narrow or (index is not None and not untracked),
    )


def _comparing(head: Head, ground: Ground, reach: Reach, sources: _Sources) -> None:
    """Judge ``diff``, of files or of whole folders."""
    given = read_options(head.argv, "UCIFxXW", names_in("--exclude --label --width"))
    _reading(head, given.operands, reach, sources)
    if given.has_flag("q", ("--brief",)):
        return
    chosen = glob_filter((), given.values("-x", "--exclude"), ())
    for folder in _folders(given.operands, ground, default=False) if given.has_flag("r", ("--rec",)) else ():
        tree = ground.under(folder)
        found = [each for each in tree.files if chosen.takes(each.path)]
        reach.files.update(dict.fromkeys(_below(folder, each.path) for each in found))
        reach.is_unfinished = reach.is_unfinished or not tree.complete
        if found:
            reach.hints[" ".join(f"--exclude='{name}'" for name in _names(found))] = None

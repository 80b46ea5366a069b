"""Classify a shell command before it runs: it only looks, or it is asked about with the reasons.

Every program that a command line starts is judged, wherever it stands: behind ``&&``, ``||``, ``;`` and ``|``, in
substitutions, subshells, loops and here-documents. So are redirections, variables that are set, and words that name
what commonly holds secrets. What cannot be read asks.

This is a guard against accidents and against instructions smuggled in with data, not a sandbox: a command is judged by
what it says, and programs are trusted to do what their manuals say.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from zidane_lab.approvals.secrets import secret_name
from zidane_lab.approvals.shell_critical import critical_words, destroys_data
from zidane_lab.approvals.shell_heads import is_own_variable, judge_head, plain_name
from zidane_lab.approvals.shell_parse import Head, Parsed, parse_shell
from zidane_lab.approvals.shell_rules import NAMES_ONLY, Level
from zidane_lab.approvals.shell_words import Word, is_secret_variable
from zidane_lab.tools.glob import expand_braces

__all__ = ["BACKGROUND", "REDIRECTION", "ShellReason", "ShellVerdict", "classify_shell", "paths_in_word"]

REDIRECTION: Final = ">"
"""Stands for the head of what a redirection writes."""
BACKGROUND: Final = "&"
"""Stands for the head of what goes on running behind the command."""

_SHOWN: Final = 160
_LEVELS: Final[tuple[Level, ...]] = ("read", "write", "network", "execute")
_DEPTH: Final = 5
"""Programs that start programs in plain sight (``time timeout 5 nice …``), at most."""

_ENVIRONMENT: Final = re.compile(r"LC_[A-Z]+|LANG|LANGUAGE|TZ|COLUMNS|LINES|NO_COLOR|CLICOLOR|FORCE_COLOR|TERM")
"""Variables that only change how programs show what they show."""
_SECRET_FILES: Final = (
    ".env",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    ".bash_history",
    "id_rsa",
    "id_ed25519",
    "credentials",
    "server.pem",
    "server.key",
    "secrets.yaml",
    "token.json",
    "shadow",
)
_PROCESS_FILES: Final = ("environ", "mem")
"""Of ``/proc/<number>``."""
_SECRET_FOLDERS: Final = (".ssh", ".aws", ".gnupg", ".kube", ".azure")
_LEAVES_OUT: Final = re.compile(r"--exclude(?:-dir)?=[^/~$]*$|!|--i?glob=!|-g!|:[!^]|:\(exclude\)")
"""Words that say which files are not looked at."""
_DEVICES: Final = re.compile(r"/dev/(?!(?:null|zero|stdin|stdout|stderr|tty|fd/\d+|urandom|random|shm)(?:/|$))")
_CRITICAL: Final = frozenset({"secrets", "disk", "system", "git-destroys", "devices"})
"""Codes of what is asked about whatever was allowed before."""


@dataclass(frozen=True, slots=True)
class ShellReason:
    """Why a command asks: a code, what it does, and where."""

    code: str
    why: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.why} ({self.text})" if self.text else self.why


@dataclass(frozen=True, slots=True)
class ShellVerdict:
    """What a command does.

    Parameters
    ----------
    level
        How far it goes; ``read`` has no reasons and may run unasked.
    heads
        Every program it starts, those that others start in plain sight included.
    harmless
        Tokens of heads that only look.
    is_opaque
        Something in it cannot be read or runs what is not told: nothing remembered covers it.
    critical
        What is asked about whatever was allowed before.
    targets
        Files and folders it writes, as far as they are told.
    is_bounded
        Whether ``targets`` are all it writes.
    paths
        Words that may name files it reads.
    folders
        Where it goes, as far as that is told; ``None`` among them where it is not.
    parsed
        The command as it was read.
    """

    level: Level
    heads: tuple[Head, ...] = ()
    reasons: tuple[ShellReason, ...] = ()
    harmless: frozenset[str] = frozenset()
    tokens: tuple[str, ...] = ()
    is_opaque: bool = False
    critical: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    is_bounded: bool = True
    paths: tuple[str, ...] = ()
    folders: tuple[str | None, ...] = ()
    parsed: Parsed = field(default_factory=Parsed)

    @property
    def risk(self) -> Literal["pure", "ask"]:
        """As :attr:`zidane_lab.approvals.python_code.Verdict.risk`."""
        return "ask" if self.reasons else "pure"


@dataclass(slots=True)
class _Judging:
    parsed: Parsed
    lines: list[str]
    patterns: bool = True
    reasons: list[ShellReason] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    risky: set[str] = field(default_factory=set)
    levels: set[Level] = field(default_factory=lambda: {"read"})
    targets: list[str] = field(default_factory=list)
    critical: list[str] = field(default_factory=list)
    is_opaque: bool = False
    is_bounded: bool = True

    def report(self, code: str, why: str, line: int, text: str = "", *, level: Level = "execute") -> None:
        shown = " ".join((text or self.lines[min(max(line, 1), len(self.lines)) - 1]).split())
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
        self.reasons.append(ShellReason(code, why, line, shown))
        self.levels.add(level)
        if code in _CRITICAL:
            self.critical.append(why)


def classify_shell(command: str, *, folder: str = "", patterns: bool = True) -> ShellVerdict:
    """Judge a command line. Never raises: what cannot be judged asks.

    Parameters
    ----------
    folder
        Where it will run, if that is not the project's folder.
    patterns
        Whether a pattern such as ``*.json`` counts as all it may stand for; without it the caller looks what is there.
    """
    try:
        return _classify(command, folder, patterns=patterns)
    except Exception as error:  # noqa: BLE001 - fail closed: a command that upsets the judge asks
        why = f"cannot be judged ({type(error).__name__})"
        return ShellVerdict("execute", reasons=(ShellReason("unclear", why, 1, ""),), is_opaque=True, is_bounded=False)


def _classify(command: str, folder: str, *, patterns: bool) -> ShellVerdict:
    parsed = parse_shell(command)
    state = _Judging(parsed, command.splitlines() or [""], patterns)
    for why, line in parsed.unclear:
        state.report("unclear", why, line)
        state.is_opaque = True
    for head in parsed.heads:
        _head(state, head)
    folders = _folders(state, folder)
    _elsewhere(state, given=bool(folder))
    _assignments(state)
    _redirections(state)
    _secrets(state, folders)
    for line in parsed.background:
        state.report("background", "goes on running in the background", line)
        state.risky.add(BACKGROUND)
    if state.reasons and destroys_data(command, tuple(head for head in state.heads if head.name in state.risky)):
        state.critical.append("destroys the data of a database")
    tokens = dict.fromkeys(head.name for head in state.heads)
    tokens.update(dict.fromkeys(token for token in (REDIRECTION, BACKGROUND) if token in state.risky))
    return ShellVerdict(
        max(state.levels, key=_LEVELS.index),
        tuple(state.heads),
        tuple(dict.fromkeys(state.reasons)),
        frozenset(tokens.keys() - state.risky),
        tuple(tokens),
        state.is_opaque,
        tuple(dict.fromkeys(state.critical)),
        tuple(dict.fromkeys(each for target in state.targets for each in _from(target, folders))),
        state.is_bounded and not state.is_opaque,
        tuple(dict.fromkeys(path for word, _ in parsed.words for path in _reached(word, folders) if _names_path(word))),
        _gone_to(state),
        parsed,
    )


def _head(state: _Judging, head: Head, depth: int = 0) -> None:
    state.heads.append(head)
    judged = judge_head(head)
    if judged.inner is not None:
        if depth < _DEPTH:
            _head(state, judged.inner, depth + 1)
        else:
            state.report("unclear", "starts programs that start programs", head.line, head.text)
            state.is_opaque = True
    if judged.effect is None:
        return
    state.risky.add(head.name)
    state.critical += critical_words(head)
    state.is_opaque = state.is_opaque or judged.is_opaque
    state.report(judged.effect.code, judged.effect.why, head.line, head.text, level=judged.effect.level)
    _touched(state, head, judged.effect.code)


_PLAIN_FLAGS: Final = {"mkdir": "pv", "touch": "amc", "cp": "rRapvfnu", "tee": "a", "rm": "rRfvd", "rmdir": "pv"}
_ROOTS: Final = re.compile(r"/|/\*|~/?|~/\*|\*|\*/|\*/\*|\.|\./|\.\.(?:/.*)?|\./\*|/(?:[\w.-]+|\*)(?:/\*?)?")
"""Words that stand for the root, a home folder, everything here, what is above, or a folder at the root."""


def _touched(state: _Judging, head: Head, code: str) -> None:
    """Note what a program writes or deletes."""
    name = plain_name(head.name)
    flags = _PLAIN_FLAGS.get(name)
    if flags is None:
        if code not in {"secrets", "background"}:
            state.is_bounded = False
        return
    recursive = False
    operands: list[str] = []
    for word in head.argv:
        if word.is_known and re.fullmatch(rf"-[{flags}]+|--", word.text):
            recursive = recursive or bool(set("rRa" if name == "cp" else "rR") & set(word.text))
        elif not word.is_known or word.text.startswith("-"):
            state.is_bounded = False
        else:
            operands.append(word.text)
    state.targets += operands
    if name == "cp":
        # Into a folder, which may hold links of these names that lead elsewhere; of whole folders, nobody knows which.
        state.targets += (posixpath.join(operands[-1], posixpath.basename(each)) for each in operands[:-1])
        state.is_bounded = state.is_bounded and not recursive
    long = any(word.text.startswith("--r") or word.text.startswith("--no-p") for word in head.argv)
    if name == "rm" and (recursive or long):
        broad = [word.raw for word in head.argv if _ROOTS.fullmatch(word.text)]
        if broad:
            state.critical.append(f"deletes everything in {', '.join(broad)}")


def _folders(state: _Judging, given: str) -> tuple[str, ...]:
    """Return the folders that relative paths may start from, but for the project's: the one given, those gone to."""
    found = [given] if given else []
    for head in state.heads:
        if plain_name(head.name) in {"cd", "pushd"}:
            words = (word.text for word in head.argv if not word.text.startswith("-"))
            found += (posixpath.join(found[-1] if found else "", text) for text in words)
    return tuple(dict.fromkeys(found))


def _gone_to(state: _Judging) -> tuple[str | None, ...]:
    """Return the folders the command goes to, from where it starts; ``None`` for one that is not told."""
    found: list[str | None] = []
    for head in state.heads:
        name = plain_name(head.name)
        if name == "popd" or (name in {"cd", "pushd"} and not all(word.is_known for word in head.argv)):
            found.append(None)
        elif name in {"cd", "pushd"}:
            words = [word.text for word in head.argv if not word.text.startswith("-") or word.text == "-"]
            place = words[0] if words else "~"
            before = found[-1] if found else ""
            found.append(None if place == "-" or before is None else posixpath.join(before, place))
    return tuple(found)


def _elsewhere(state: _Judging, *, given: bool) -> None:
    """Judge what changes with the folder: git obeys the settings of the repository it is in."""
    names = {plain_name(head.name) for head in state.heads}
    if not given and not names & {"cd", "pushd", "popd"}:
        return
    state.is_bounded = False  # what a relative path stands for cannot be told any more
    for head in state.heads:
        if plain_name(head.name) == "git":
            state.report("git", "uses git in another folder, whose settings may run programs", head.line, head.text)
            state.risky.add(head.name)


def _assignments(state: _Judging) -> None:
    readers = {id(name) for head in state.heads if plain_name(head.name) == "read" for name in head.assignments}
    for each in state.parsed.assignments:
        shown_only = _ENVIRONMENT.fullmatch(each.name)
        for_read = each.name == "IFS" and each.is_for_head and readers
        if not (shown_only or for_read or (is_own_variable(each.name) and not each.is_for_head)):
            state.report("variables", f"sets {each.name}, which programs may go by", each.line)
            state.is_opaque = True


def _redirections(state: _Judging) -> None:
    for each in state.parsed.redirects:
        if not each.writes:
            continue
        state.report("writes", f"writes to {each.target.raw}", each.line, level="write")
        state.risky.add(REDIRECTION)
        if each.target.is_known and each.target.text:
            state.targets.append(each.target.text)
        else:
            state.is_bounded = False


# --- secrets --------------------------------------------------------------------------------------------


def _secrets(state: _Judging, folders: tuple[str, ...]) -> None:
    own = {each.name for each in state.parsed.assignments}
    for name, line in state.parsed.variables:
        if is_secret_variable(name) and name not in own:
            state.report("secrets", f"uses the variable {name}, which commonly holds a secret", line)
            state.risky.update(head.name for head in state.heads if head.line == line)
    names_only = bool(state.heads) and all(map(_shows_names_only, state.heads))
    shows_content = not names_only or bool(state.parsed.redirects)
    for folder in folders:
        if shows_content and _is_secret(folder, is_known="*" not in folder):
            state.report("secrets", f"looks into {folder[:80]}, which commonly holds secrets", 1)
    for word, line in state.parsed.words:
        if not _LEAVES_OUT.match(word.text):
            _named(state, word, line, folders, names_only=names_only, shows_content=shows_content)


def _shows_names_only(head: Head) -> bool:
    """Whether it shows no file's content. ``wc --files0-from=FILE`` does, among its complaints, however shortened."""
    name = plain_name(head.name)
    lists = name in {"wc", "du"} and any(word.text.startswith("--f") for word in head.argv)
    return name in NAMES_ONLY and not lists


def _named(
    state: _Judging, word: Word, line: int, folders: tuple[str, ...], *, names_only: bool, shows_content: bool
) -> None:
    """Judge what a word may name: a connection, a device, a file that holds secrets."""
    for path in _reached(word, folders):
        if "/dev/tcp/" in path or "/dev/udp/" in path:
            state.report("network", "uses the network", line, word.raw, level="network")
            state.is_opaque = True
        elif _DEVICES.match(path) and not names_only:
            state.report("devices", f"uses the device {path}", line, word.raw)
        elif shows_content and _is_secret(path, is_known=word.is_known or (word.is_pattern and not state.patterns)):
            state.report("secrets", f"names {word.raw[:80]}, which commonly holds secrets", line, word.raw)


def paths_in_word(word: Word) -> Iterator[str]:
    """Yield what of a word may be a path: all of it, the value of an option, what stands behind a colon."""
    for text in _alternatives(word):
        candidates: Iterable[str] = (text,)
        if text.startswith("-"):
            candidates = (text[2:], text.partition("=")[2])
        elif re.match(r"\w+=", text):
            candidates = (text, text.partition("=")[2])
        if ":" in text and "://" not in text:  # `HEAD:.env`, `host:.env`, `.env:ro`
            candidates = (*candidates, *text.split(":"))
        for each in candidates:
            if each and "\0" not in each:
                yield posixpath.normpath(re.sub(r"/+", "/", each)) if each.startswith(("/", "~", ".")) else each


def _alternatives(word: Word) -> Iterable[str]:
    """Return the texts that braces make of a word; the reader of words puts ``*`` before each unquoted brace."""
    if word.is_known or "*{" not in word.text:
        return (word.text,)
    return expand_braces(word.text.replace("*{", "{").replace("*}", "}"))


def _reached(word: Word, folders: tuple[str, ...]) -> Iterator[str]:
    """Yield what of a word may be a path, as written and as seen from where the command goes."""
    for path in paths_in_word(word):
        yield from _from(path, folders)


def _from(path: str, folders: tuple[str, ...]) -> Iterator[str]:
    """Yield a path as written and as seen from each folder."""
    yield path
    if not path.startswith(("/", "~")):
        yield from (posixpath.normpath(posixpath.join(folder, path)) for folder in folders)


def _names_path(word: Word) -> bool:
    return word.is_known and not _LEAVES_OUT.match(word.text)


def _is_secret(path: str, *, is_known: bool) -> bool:
    if secret_name(path) or secret_name(f"{path}/any"):
        return True
    if is_known or not path.strip("*"):
        return False
    # What brackets match is not worked out: they stand for anything.
    *folders, name = (re.sub(r"\[.*\]", "*", part) for part in path.lower().split("/"))
    if folders[:1] == [""] and _matches((folders[1:2] or [name])[0], ("proc",)) and _matches(name, _PROCESS_FILES):
        return True
    if any(_matches(folder, _SECRET_FOLDERS) for folder in folders if folder.strip("*")):
        return True
    return bool(name.strip("*")) and _matches(name, _SECRET_FILES)


def _matches(pattern: str, names: tuple[str, ...]) -> bool:
    """Whether a piece of a path that is not all known may be one of these."""
    return any(fnmatch.fnmatchcase(each, pattern) for each in names)

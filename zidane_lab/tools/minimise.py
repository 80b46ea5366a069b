"""Shorten the noisy output of well-known programs: downloads, progress, what was done as always, lines said again.

Careful on purpose. Only lines that a rule knows as noise are left out, in groups, with a line in their place that says
how many. Whatever might be a problem stays, with the lines next to it, as do the beginning and the end. A text that
would hardly become shorter stays as it is. Nothing here reads or writes files: whoever calls keeps the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from zidane_lab.tools.command_line import is_operator, words

__all__ = ["IMPORTANT", "Minimised", "is_important", "minimise"]

IMPORTANT: Final = (
    *("error", "warn", "fail", "traceback", "exception", "fatal", "critical", "denied", "cannot", "can't", "could not"),
    *("couldn't", "unable", "not found", "no such", "missing", "conflict", "deprecat", "vulnerab", "abort", "panic"),
    *("refus", "reject", "invalid", "unsupported", "incompatib", "timeout", "time-out", "timed out", "kill"),
    *("segmentation", "core dump", "undefined", "assert", "corrupt", "mismatch", "unexpected", "unknown", "skipp"),
    *("ignor", "retry", "broken", "✗", "✘", "×", "❌", "⚠", "‼"),
)
"""What a line must not hold, in small letters or capitals, to be left out, whatever a rule says."""

HEAD_LINES: Final = 5
TAIL_LINES: Final = 15
"""Lines at the beginning and at the end that always stay."""

AROUND: Final = 2
"""Lines before and after an important one that stay."""

LONGEST: Final = 400
"""Characters of a line that can be noise; a longer one stays."""

LEAST_GROUP: Final = 3
"""Lines that must be left out together, or the line in their place would not pay."""

LEAST_LEFT_OUT: Final = 10
"""Lines that must go altogether; else the text stays as it is."""

_MARK: Final = "[… {} lines {} …]"


@dataclass(frozen=True, slots=True)
class Minimised:
    """A text and how many of its lines were left out; with none it is the very text that was given."""

    text: str
    left_out: int = 0


def _rule(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


_PIP: Final = _rule(
    r"\s*(?:Collecting|Downloading|Using cached|Requirement already satisfied:|Obtaining dependency information) ?\S",
    r"\s*(?:Preparing metadata|Building wheels? for|Building editable for|Created wheel for|Stored in directory:) ?\S",
    r"\s*(?:Installing build dependencies|Getting requirements to build|Installing backend dependencies)\b",
    r"\s*(?:Attempting uninstall:|Found existing installation:|Uninstalling \S+:|Successfully uninstalled) ?",
    r"\s*[━╸╺ ]*\s*[\d.]+/[\d.]+ [kMG]?B\b",
    r"\s*(?:Downloaded|Prepared|Building|Built) [\w.-]+\s*(?:\(|==|$)",
)
_PYTEST: Final = _rule(
    r"(?:\S+\.py )?[.sx]+\s*(?:\[\s*\d+%\])?$",
    r"\S+::\S.* PASSED\s*(?:\[\s*\d+%\])?$",
    r"(?:\[gw\d+\] )?\[\s*\d+%\] PASSED \S+",
)
_NPM: Final = _rule(
    r"npm (?:http|sill|silly|verb|timing|info) ",
    r"Progress: resolved \d+, reused \d+",
    r"[⠀-⣿] ?\S*",
    r"➤ YN0(?:000|013|019): .*(?:added to the cache|can be found|fetched|┌|│)",
    r"[+-]{8,}$",
    r"\[\d+/\d+\] [⡀-⣿.]+",
)
_APT: Final = _rule(
    r"(?:Get|Hit):\d+ ",
    r"(?:Selecting previously unselected package|Preparing to unpack|Unpacking|Setting up|Processing triggers for) \S",
    r"\(Reading database",
    r"(?:Reading package lists|Building dependency tree|Reading state information)\.\.\.",
)
_DOCKER: Final = _rule(
    r"#\d+ (?:sha256:[0-9a-f]+ |extracting sha256:|transferring |CACHED$|DONE [\d.]+s$|resolve \S+@sha256)",
    r" ---> [0-9a-f]{12}$",
    r" ---> (?:Running in|Using cache)",
    r"Removing intermediate container [0-9a-f]+$",
    r"[0-9a-f]{12}: (?:Pulling fs layer|Waiting|Downloading|Verifying Checksum|Download complete|Extracting)\b",
    r"[0-9a-f]{12}: (?:Pull complete|Already exists|Layer already exists|Pushed|Preparing|Pushing)\b",
)
_GIT: Final = _rule(
    r"(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Resolving|Writing|Updating|Filtering|Unpacking) "
    r"(?:objects|deltas|files|content):?\s+\d+",
)
_CONDA: Final = _rule(r"[\w.+-]+\s*\|\s*[\d.,]+ ?[kKMGT]?i?B\s*\|.*\|\s*\d{1,3}%")
_CARGO: Final = _rule(r"\s*(?:Compiling|Downloaded|Downloading|Checking|Fresh|Adding|Locking|Updating) \S+ v\d")
_MAKE: Final = _rule(
    r"\[\s*\d+%\] (?:Building|Linking|Built|Generating|Automatic) ",
    r"\[\d+/\d+\] (?:Building|Linking|Generating|CC|CXX|AR|LD)\b",
    r"make(?:\[\d+\])?: (?:Entering|Leaving) directory ",
    r"\s+(?:CC|CXX|LD|AR|AS|CCLD|GEN|HOSTCC)\s{2,}\S+$",
)
_FETCH: Final = _rule(
    r"\s*\d+[KMG]?(?: [. ,]+)+\s*\d{1,3}%",
    r"\S*\s*\d{1,3}%\[[=> ]*\]",
)
_BAR: Final = re.compile(r".{0,80}\d{1,3}%\|.*\|\s*[\d.,]+\w*/[\d.,?]+\w*")
"""A bar of a progress meter that does not overwrite itself, as it stands in a log."""

_RULES: Final[dict[str, tuple[str, re.Pattern[str]]]] = {
    **dict.fromkeys(("pip", "pip3", "pipx", "uv", "poetry", "pdm", "hatch"), ("of the installer", _PIP)),
    **dict.fromkeys(("pytest", "py.test"), ("of passed tests", _PYTEST)),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("of the package manager", _NPM)),
    **dict.fromkeys(("apt", "apt-get", "aptitude"), ("of the package manager", _APT)),
    **dict.fromkeys(("docker", "podman", "buildah", "docker-compose"), ("of the build or transfer", _DOCKER)),
    "git": ("of the transfer", _GIT),
    **dict.fromkeys(("conda", "mamba", "micromamba"), ("of the package manager", _CONDA)),
    "cargo": ("of the build", _CARGO),
    **dict.fromkeys(("make", "gmake", "cmake", "ninja"), ("of the build", _MAKE)),
    "wget": ("of the download", _FETCH),
}
_VERBS: Final[dict[str, frozenset[str]]] = {
    "git": frozenset({"clone", "fetch", "pull", "push", "submodule", "checkout", "lfs", "gc"}),
    **dict.fromkeys(("pip", "pip3"), frozenset({"install", "download", "wheel"})),
    "uv": frozenset({"pip", "sync", "add", "run", "tool", "lock"}),
    **dict.fromkeys(("docker", "podman"), frozenset({"build", "buildx", "pull", "push", "compose", "run", "image"})),
}
"""What such a program must be doing for its rule to hold; ``pip list`` is asked for its lines."""

_WRAPPERS: Final = frozenset(
    {"sudo", "time", "nice", "nohup", "env", "exec", "command", "stdbuf", "timeout", "xvfb-run"}
)
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*")


def minimise(command: str, text: str) -> Minimised:
    """Leave the noise of a command's settled output out.

    Parameters
    ----------
    command
        The command line; which programs it runs says which rules hold.
    text
        What it has printed, as a terminal shows it in the end.
    """
    lines = text.split("\n")
    if len(lines) <= HEAD_LINES + TAIL_LINES + LEAST_LEFT_OUT:
        return Minimised(text)
    stays = _must_stay(lines)
    kept: list[str] = []
    left_out = 0
    for start, end, why in _groups(lines, stays, tuple(_rules_for(command))):
        if why and end - start >= LEAST_GROUP:
            kept.append(_MARK.format(f"{end - start:,}", why))
            left_out += end - start
        else:
            kept += lines[start:end]
    return Minimised("\n".join(kept), left_out) if left_out >= LEAST_LEFT_OUT else Minimised(text)


def is_important(line: str) -> bool:
    """Whether a line may tell of a problem."""
    small = line.lower()
    return any(word in small for word in IMPORTANT)


def _must_stay(lines: list[str]) -> list[bool]:
    """Say of each line whether it stays whatever it says: it is important, near to one that is, or near an end."""
    stays = [False] * len(lines)
    stays[:HEAD_LINES] = [True] * HEAD_LINES
    stays[-TAIL_LINES:] = [True] * TAIL_LINES
    for at, line in enumerate(lines):
        if len(line) > LONGEST or is_important(line):
            around = slice(max(0, at - AROUND), at + AROUND + 1)
            stays[around] = [True] * len(stays[around])
    return stays


def _groups(
    lines: list[str], stays: list[bool], rules: tuple[tuple[str, re.Pattern[str]], ...]
) -> Iterator[tuple[int, int, str]]:
    """Yield ranges of lines, in order and without gaps, and why a range may be left out; empty for one that stays."""
    whys = [
        "" if stays[at] else _why(line, lines[at - 1] if at else None, lines[at + 1 : at + 2], rules)
        for at, line in enumerate(lines)
    ]
    start = 0
    for at in range(1, len(whys) + 1):
        if at == len(whys) or whys[at] != whys[start]:
            yield start, at, whys[start]
            start = at


def _why(line: str, before: str | None, after: list[str], rules: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    """Say why a line may be left out; of a row of bars the last one is not, since it tells how it went."""
    if line == before and line.strip():
        return "like the one above"
    for why, rule in rules:
        if rule.match(line):
            return why
    if _BAR.match(line) and after and _BAR.match(after[0]):
        return "of progress"
    return ""


def _rules_for(command: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the rules for the programs that a command line names at the beginning of its commands."""
    segment: list[str] = []
    seen: set[str] = set()
    for word in [*(words(command) or ()), ";"]:
        if not is_operator(word):
            segment.append(word)
            continue
        program, arguments = _program(segment)
        segment = []
        verbs = _VERBS.get(program)
        if program in _RULES and program not in seen and (verbs is None or verbs & set(arguments)):
            seen.add(program)
            yield _RULES[program]


def _program(segment: list[str]) -> tuple[str, list[str]]:
    """Return the program of a simple command and its arguments, without variables, wrappers and ``python -m``."""
    rest = list(segment)
    while rest:
        name = PurePath(rest[0]).name
        if "=" in rest[0] or rest[0].startswith("-") or name in _WRAPPERS or re.fullmatch(r"[\d.]+[smhd]?", name):
            rest = rest[1:]
        elif _PYTHON.fullmatch(name) and "-m" in rest[1:4]:
            rest = rest[rest.index("-m") + 1 :]
        elif name in {"uv", "poetry", "pdm", "hatch", "pipenv", "conda"} and rest[1:2] == ["run"]:
            rest = rest[2:]
        else:
            return name, rest[1:]
    return "", []

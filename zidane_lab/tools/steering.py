"""Commands that another tool does better, and which tool that is.

Only whole, simple commands count: ``cat notes.md`` is reading a file, ``cat notes.md | sort`` is not. A rule holds only
where its tool exists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, TypeAlias

from zidane_lab.errors import ConfigurationError
from zidane_lab.tools.command_line import is_operator, words

__all__ = ["RULES", "SteerRule", "forgotten", "pattern_rule", "runs_notebook", "steer"]

Matcher: TypeAlias = Callable[[str, list[str]], bool]
"""From a command and its words to whether a rule is about it."""


@dataclass(frozen=True, slots=True)
class SteerRule:
    """A kind of command, the tool to use instead, and why, in a sentence for the model."""

    tool: str
    advice: str
    matches: Matcher


def pattern_rule(pattern: str, tool: str, advice: str) -> SteerRule:
    """Return a rule for commands in which a regular expression is found.

    Raises
    ------
    ConfigurationError
        The expression cannot be read.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(
            f"{pattern!r} is not a regular expression: {error}.", hint="Correct the rule."
        ) from error
    return SteerRule(tool, advice, lambda command, _words: compiled.search(command) is not None)


def _is_simple(parts: list[str]) -> bool:
    return not any(is_operator(part) for part in parts)


def _head(parts: list[str]) -> str:
    return PurePath(parts[0]).name


def _reads(_command: str, parts: list[str]) -> bool:
    follows = any(part.startswith("-") and ("f" in part.lower() or "--retry" in part) for part in parts[1:])
    named = any(not part.startswith("-") for part in parts[1:])
    is_tail = _head(parts) == "tail"
    return (
        _is_simple(parts)
        and _head(parts) in {"cat", "head", "tail", "less", "more"}
        and named
        and not (is_tail and follows)
    )


def _greps(_command: str, parts: list[str]) -> bool:
    return _is_simple(parts) and _head(parts) in {"grep", "egrep", "fgrep", "rg", "ag", "ack"} and len(parts) > 2


_FIND_TESTS: Final = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-type"})
_FIND_DOES: Final = ("-exec", "-ok", "-delete", "-print0", "-fprint", "-fls", "-newer", "-mtime", "-size", "-mmin")


def _finds(_command: str, parts: list[str]) -> bool:
    if not _is_simple(parts):
        return False
    if _head(parts) == "find":
        return bool(_FIND_TESTS & set(parts)) and not any(part.startswith(_FIND_DOES) for part in parts)
    return _head(parts) in {"fd", "fdfind", "locate"} and len(parts) > 1


def _edits(_command: str, parts: list[str]) -> bool:
    if not _is_simple(parts):
        return False
    flags = [part for part in parts[1:] if part.startswith("-")]
    head = _head(parts)
    if head in {"sed", "gsed", "perl"}:
        return any(flag.startswith("--in-place") or re.match(r"-[a-zA-Z]*i", flag) for flag in flags)
    return head in {"awk", "gawk"} and "inplace" in parts


def _writes(_command: str, parts: list[str]) -> bool:
    """``echo … > file``, ``printf``, and ``cat`` of a here-document into a file."""
    operators = [part for part in parts if is_operator(part)]
    into = [parts[at + 1] for at, part in enumerate(parts[:-1]) if part in {">", ">>", ">|"}]
    if len(into) != 1 or into[0].startswith(("/dev/", "&")) or set(operators) & {"|", "||", "&&", ";", "&", "("}:
        return False
    head = _head(parts)
    plain = head in {"echo", "printf"} and len(operators) == 1 and not parts[parts.index(operators[0]) - 1].isdigit()
    return plain or (head == "cat" and any(operator.startswith("<<") for operator in operators))


RULES: Final[tuple[SteerRule, ...]] = (
    SteerRule("write_file", "write_file writes a file whole, safely, and shows the difference.", _writes),
    SteerRule("read_file", "read_file shows a file by lines and remembers what was read.", _reads),
    SteerRule("grep", "grep searches files, keeps to the ignore rules and bounds what it shows.", _greps),
    SteerRule("glob", "glob finds files by name and keeps to the ignore rules.", _finds),
    SteerRule("edit", "edit changes a file in place, checks what it replaces, and shows the difference.", _edits),
)
"""The usual ones."""


def steer(command: str, available: Collection[str], rules: Collection[SteerRule] = RULES) -> SteerRule | None:
    """Return the first rule about a command whose tool is available."""
    parts = words(command.strip())
    if not parts:
        return None
    return next((rule for rule in rules if rule.tool in available and rule.matches(command, parts)), None)


_STATE: Final = frozenset({"export", "source", ".", "alias", "unset", "unalias", "shopt"})


def forgotten(command: str) -> tuple[str, ...]:
    """Return a note for a command whose last step only sets what the next call will not know, and none for others.

    A folder gone to, variables exported, an environment activated: each call has a shell of its own.
    """
    steps: list[list[str]] = [[]]
    for word in words(command.strip()) or ():
        if not is_operator(word):
            steps[-1].append(word)
        elif word.strip("\n") in {"", ";", "&&"}:
            steps.append([])
        else:
            return ()  # in pipes, subshells and redirections other rules hold
    last = next((step for step in reversed(steps) if step), [])
    if not last:
        return ()
    activates = last[:2] in (["conda", "activate"], ["mamba", "activate"], ["pyenv", "shell"], ["nvm", "use"])
    if last[0] in {"cd", "pushd", "popd"}:
        return ("nothing of this is there in the next call: give the folder as cwd, or join steps with &&",)
    if last[0] in _STATE or activates:
        return ("nothing of this is there in the next call: give variables as env, or join steps with &&",)
    return ()


_RUNNERS: Final = re.compile(
    r"\b(?:jupyter[- ]nbconvert\b[^\n]*--execute|jupyter[- ]execute|nbconvert\b[^\n]*--execute|papermill|"
    r"jupytext\b[^\n]*--execute|jupyter[- ]run|runipy)\b"
)


def runs_notebook(command: str, notebook: str) -> bool:
    """Whether a command executes the notebook of this name behind the back of the editor that has it open."""
    name = PurePath(notebook).name
    return bool(name) and name in command and _RUNNERS.search(command) is not None

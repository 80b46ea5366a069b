"""Patterns matched in texts by a process of its own, within a time, whatever the texts do to it.

A text that crashes the process, or holds it up, is named and left out; the others are searched by the next process.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.reading.files import Files, threaded
from zidane_lab.tools.search.processes import Ended, Here
from zidane_lab.tools.structure.languages import Language
from zidane_lab.tools.structure.patterns import Pattern
from zidane_lab.tools.structure.rewrite import Match
from zidane_lab.tools.structure.scope import Candidate
from zidane_lab.tools.structure.sources import Batch, Source, batches

__all__ = [
    "TIME_LIMIT",
    "Found",
    "Job",
    "Unit",
    "is_available",
    "match_files",
    "match_sources",
    "refuse_unusable",
    "require_library",
]

TIME_LIMIT: Final = 30.0
"""Seconds a call may take."""

_MOST_CRASHES: Final = 20
_ROOT: Final = os.path.abspath(os.sep)  # noqa: PTH100 - a folder that is there, and holds no modules
_START: Final = (
    "import json,sys;sys.path[:]=json.loads(sys.argv[1]);from zidane_lab.tools.structure.worker import main;main()"
)


@dataclass(frozen=True, slots=True)
class Job:
    """What to look for.

    Parameters
    ----------
    patterns
        The patterns, each with its rewrite if there is one.
    first, last
        Of all matches, in order, those whose places are wanted; all are counted.
    strict
        Leave texts with syntax errors alone.
    """

    patterns: tuple[tuple[Pattern, str | None], ...] = ()
    first: int = 0
    last: int = sys.maxsize
    strict: bool = False

    def may_fit(self, text: str) -> bool:
        """Whether a text is worth parsing: what has none of the words that a pattern spells out is not."""
        return not self.patterns or any(pattern.word in text for pattern, _ in self.patterns)


@dataclass(frozen=True, slots=True)
class Unit:
    """What was found in one text.

    Parameters
    ----------
    source
        The text.
    count, matches
        How many matches it has, and those that were wanted.
    problem
        The line of its first syntax error.
    compiles
        It is Python that this Python compiles; looked at only in strict jobs.
    fixed
        Where lines begin whose indentation must stay; looked at only in strict jobs.
    """

    source: Source
    count: int
    matches: tuple[Match, ...] = ()
    problem: int | None = None
    compiles: bool = False
    fixed: tuple[int, ...] = ()


@dataclass(slots=True)
class Found:
    """The result.

    Parameters
    ----------
    units
        Texts with matches that were wanted.
    total, files, searched
        How many matches there are, in how many files, and how many texts were searched.
    broken
        Texts with syntax errors: what to call them, and the line of the first.
    problems
        What else could not be parsed or read, and why.
    languages
        Those the texts were in.
    unusable
        Languages in which a pattern cannot be used, and why.
    partial
        Languages in which a pattern is not whole code, so that it may never fit.
    rule_fixed
        For each rewrite, where lines begin whose indentation must stay.
    stopped
        Why not everything was searched; empty if it was.
    """

    units: list[Unit] = field(default_factory=list)
    total: int = 0
    files: int = 0
    searched: int = 0
    broken: list[tuple[str, int]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    languages: set[str] = field(default_factory=set)
    unusable: dict[str, str] = field(default_factory=dict)
    partial: set[str] = field(default_factory=set)
    rule_fixed: list[list[int]] = field(default_factory=list)
    stopped: str = ""
    _crashes: int = 0
    _last_file: str | None = None

    def learn(self, told: Sequence[dict[str, Any]]) -> None:
        """Take in what the process says about the patterns, language by language."""
        for each in told:
            name, patterns = each["language"], each["patterns"]
            self.languages.add(name)
            errors = [pattern["error"] for pattern in patterns if pattern["error"]]
            if errors:
                self.unusable.setdefault(name, errors[0])
            if any(pattern["broken"] for pattern in patterns):
                self.partial.add(name)
            self.rule_fixed = [pattern["fixed"] for pattern in patterns]

    def add(self, source: Source, answer: dict[str, Any]) -> None:
        """Take in what it says about one text."""
        if (error := answer.get("error")) is not None:
            self.problems.append(f"{source.label}: {error}")
            return
        self.searched += 1
        if answer["problem"] is not None:
            self.broken.append((source.label, answer["problem"]))
        count = answer["count"]
        self.total += count
        if count and source.file.path != self._last_file:
            self.files, self._last_file = self.files + 1, source.file.path
        if answer["matches"] or answer["compiles"]:
            matches = tuple(Match(rule, start, end, captures) for rule, start, end, captures in answer["matches"])
            fixed = tuple(answer["fixed"])
            self.units.append(Unit(source, count, matches, answer["problem"], answer["compiles"], fixed))

    def leave_out(self, source: Source, why: str) -> None:
        """Note a text that ended the process; too many of them end the search."""
        self.problems.append(f"{source.label}: {why}; left out")
        self._crashes += 1
        if self._crashes >= _MOST_CRASHES:
            self.stopped = f"the parser was ended {_MOST_CRASHES} times"


def is_available() -> bool:
    """Whether the library that parses is installed."""
    return importlib.util.find_spec("ast_grep_py") is not None


def require_library() -> None:
    """Refuse a call where the library is missing.

    Raises
    ------
    ToolError
        It is; the hint says how to get it.
    """
    if not is_available():
        raise ToolError(
            "Searching code by its structure needs the package ast-grep-py, which is not installed.",
            hint="Use grep and edit instead. The user can install it: pip install 'zidane_lab[structure]'.",
        )


def refuse_unusable(found: Found) -> None:
    """Refuse patterns that no language of the searched texts can read.

    Raises
    ------
    ToolError
        There is such a pattern; the message says why it cannot be used.
    """
    if found.unusable and found.languages == set(found.unusable):
        told = "; ".join(f"in {name}: {why}" for name, why in sorted(found.unusable.items()))
        raise ToolError(
            f"The pattern cannot be used {told}.",
            hint="It must be one expression, statement or definition by itself; `$$$` needs something around it.",
        )


async def match_files(
    files: Files, candidates: Sequence[Candidate], language: Language | None, job: Job, end: float
) -> Found:
    """Match a job's patterns in files.

    Parameters
    ----------
    language
        The one that cells of notebooks must be in, if not any.
    end
        When to stop, by :func:`time.monotonic`.

    Raises
    ------
    ToolError
        The patterns cannot be matched at all.
    """
    result = Found()
    pieces = batches(files, candidates, language, end)
    while not result.stopped and (batch := await _next(pieces)) is not None:
        result.problems += batch.problems
        await match_sources(batch.sources, job, end, result)
        if not result.stopped:
            result.stopped = batch.stopped
    return result


@threaded
def _next(pieces: Iterator[Batch]) -> Batch | None:
    return next(pieces, None)


async def match_sources(sources: Sequence[Source], job: Job, end: float, result: Found) -> None:
    """Match a job's patterns in texts, and add what is found to a result.

    Raises
    ------
    ToolError
        The patterns cannot be matched at all.
    """
    languages = list(dict.fromkeys(each.language.name for each in sources))
    everything, sources = len(sources), [each for each in sources if job.may_fit(each.parsed)]
    result.searched += everything - len(sources)
    while sources or not result.languages.issuperset(languages):
        argv, stdin = await _request(sources, languages, job, result.total)
        seconds = end - time.monotonic()
        ended = await Here().run(argv, stdin=stdin, cwd=_ROOT, seconds=max(0.0, seconds))
        answers = await _read(ended)
        if len(answers) < len(languages):
            if ended.late:
                result.stopped = _late()
                return
            raise _failed(ended)
        result.learn(answers[: len(languages)])
        texts = answers[len(languages) :]
        for source, answer in zip(sources, texts, strict=False):
            result.add(source, answer)
        if len(texts) >= len(sources):
            return
        if not ended.complete:
            result.stopped = _late() if ended.late else "there are too many matches"
            return
        result.leave_out(sources[len(texts)], _why(ended))
        if result.stopped:
            return
        sources = sources[len(texts) + 1 :]


@threaded
def _request(sources: Sequence[Source], languages: list[str], job: Job, seen: int) -> tuple[list[str], bytes]:
    """Return the command line and its input."""
    rules = [(each.text, rewrite, each.ones, each.many) for each, rewrite in job.patterns]
    window = (max(0, job.first - seen), max(0, job.last - seen))
    path = _path()
    head = {"path": path, "languages": languages, "rules": rules, "window": window, "strict": job.strict}
    lines: list[Any] = [head, *((each.language.name, each.parsed) for each in sources)]
    stdin = "".join(f"{json.dumps(each)}\n" for each in lines)
    if not sys.executable:
        raise ToolError("Python's own path is unknown, so no process can be started.", hint="Use grep instead.")
    return [sys.executable, "-I", "-c", _START, json.dumps(path)], stdin.encode("ascii")


@functools.cache
def _package_folder() -> str:
    return str(Path(__file__).resolve().parents[3])


def _path() -> list[str]:
    """Return where this process finds modules, without the working folder, which may hold anything."""
    return [*(os.path.abspath(each) for each in sys.path if each), _package_folder()]  # noqa: PTH100 - texts


@threaded
def _read(ended: Ended) -> list[Any]:
    """Return the answers; one that was cut off at the end is dropped."""
    whole, _, _ = ended.stdout.rpartition(b"\n")
    return [json.loads(each) for each in whole.splitlines()]


def _late() -> str:
    return f"stopped after {TIME_LIMIT:g} seconds"


def _why(ended: Ended) -> str:
    over = getattr(signal, "SIGPROF", None)
    if over is not None and ended.code == -over:
        return "matching took too long"
    return "it crashes the parser"


def _failed(ended: Ended) -> ToolError:
    said = ended.stderr.strip().rpartition("\n")[2]
    if ended.code is not None and ended.code < 0:
        return ToolError("The pattern crashes the parser.", hint="Use a smaller one, or grep.")
    return ToolError(f"The parser cannot be run: {said or ended.code}.", hint="Use grep and edit instead.")

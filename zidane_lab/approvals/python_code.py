"""Classify Python code before it runs in the user's kernel: pure computation, or something to ask about.

Pure code computes on the namespace, reads data files, plots, imports ordinary libraries, defines functions.
Everything that writes or deletes files, starts processes, uses the network, reads the environment, installs,
ends or patches the interpreter, runs code that cannot be seen, or takes away the user's own variables asks.

This is a guard against accidents and against instructions smuggled in with data, not a sandbox: code is
judged by what it says. The user's own functions are taken at their word, and libraries are trusted to do
what their names say. Whatever cannot be judged asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from zidane_lab.approvals.magics import automagic, to_python
from zidane_lab.approvals.scanner import Scanner, parse

__all__ = ["MAX_SOURCE", "Reason", "Verdict", "classify"]

MAX_SOURCE: Final = 100_000
"""Characters; longer code is not judged, it asks."""

_SHOWN: Final = 160


@dataclass(frozen=True, slots=True)
class Reason:
    """Why code asks: the line (from 1), its text, and what it does."""

    line: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"{self.why} (line {self.line}: {self.text})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """``pure`` code may run unasked; ``ask`` has at least one reason."""

    risk: Literal["pure", "ask"]
    reasons: tuple[Reason, ...] = ()


def classify(
    source: str, *, protected: frozenset[str] = frozenset(), known: Mapping[str, str] | None = None
) -> Verdict:
    """Judge a cell's code, IPython's syntax included. Never raises: what cannot be judged asks.

    Parameters
    ----------
    source
        The code as it would stand in a cell.
    protected
        Names of the user's own variables: deleting them or binding them anew asks.
    known
        What names in the namespace stand for, as :func:`zidane_lab.approvals.names.known_names` tells it; with
        it, ``sp.run`` is seen for what it is where the user once wrote ``import subprocess as sp``.
    """
    try:
        found = _findings(source, protected, known or {})
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        found = [(line, "cannot be read as Python")]
    except Exception as error:  # noqa: BLE001 - fail closed: code that upsets the judge asks
        found = [(1, f"cannot be judged ({type(error).__name__})")]
    if not found:
        return Verdict("pure")
    lines = source.splitlines() or [""]
    reasons = [Reason(line, _line_text(lines, line), why) for line, why in dict.fromkeys(found)]
    return Verdict("ask", tuple(reasons))


def _findings(source: str, protected: frozenset[str], known: Mapping[str, str]) -> list[tuple[int, str]]:
    if len(source) > MAX_SOURCE:
        return [(1, f"is longer than {MAX_SOURCE:,} characters")]
    if (magic := automagic(source)) is not None:
        return [(1, f"calls the magic %{magic}")]
    plain, dropped = to_python(source)
    scanner = Scanner(parse(plain), known=known, protected=protected, written_shell="get_ipython" in source)
    return [(line + dropped, why) for line, why in scanner.scan()]


def _line_text(lines: list[str], line: int) -> str:
    text = " ".join(lines[min(max(line, 1), len(lines)) - 1].split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"

"""What the card of a call says once there is a result: the outcome in a few words, the change, the text for people.

Results are written for the model. What is only for its eyes (envelopes, a diff that the card shows already, how to go
on) is left out here; the session keeps all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from zidane_lab.notebook.bundles import CallStatus, ToolCard
from zidane_lab.session.persisted import PERSISTED
from zidane_lab.tools.run_python import NOTABLE_BYTES
from zidane_lab.turns import ToolResultBlock

__all__ = ["ASKING", "ended", "names_left", "note_of", "own_seconds"]

ASKING: Final = frozenset({"ask_user", "present_plan"})
"""Tools that wait for a person, whose time is not theirs."""

_ENVELOPE: Final = re.compile(r"\n*^</?edit-outcomes>$", re.MULTILINE)
_HINT: Final = re.compile(r"^\[You will be told when .*\]\n?", re.MULTILINE)
_POSITION: Final = re.compile(r"^\[((?:lines?|bytes|rows|pages?|cells|\d)[^\];]{0,60})", re.MULTILINE)
_FOUND: Final = re.compile(
    r"^\[((?:\d[\d,–]* of )?\d[\d,]* (?:matching lines?|match(?:es)?|files?)[^\];]*)", re.MULTILINE
)
_TYPE: Final = re.compile(r"^Type: (.+)$", re.MULTILINE)


def ended(card: ToolCard, status: CallStatus, result: ToolResultBlock, *, notes: bool = True) -> ToolCard:
    """Return the card of a call that has ended: its status, the change it made, and what came of it in words.

    Parameters
    ----------
    card
        As it was while the call ran.
    status
        How it ended.
    result
        What it gave.
    notes
        Say also how to see a large result whole.
    """
    diff = _diff(result)
    body, is_diff = (diff, True) if diff else (card.body, card.is_diff)
    text = "" if result.metadata.get("execution") is not None else _for_people(card.tool, result.text, diff)
    note = note_of(result) if notes else "; ".join(_notes(result))
    if status == "ok" or diff:
        note = "; ".join(filter(None, [_outcome(card.tool, result), note]))
    elif (code := _exit(result)) is not None:
        note = "; ".join(filter(None, [code, note]))
    return replace(card, status=status, result=text, body=body, is_diff=is_diff, note=note)


def own_seconds(tool: str, result: ToolResultBlock, measured: float | None) -> float | None:
    """Return how long the call itself took, without that in which a person was asked; ``None`` if unknown."""
    execution, shell = result.metadata.get("execution"), result.metadata.get("shell")
    for evidence, key in ((execution, "wall_seconds"), (shell, "seconds")):
        if isinstance(evidence, Mapping) and isinstance(evidence.get(key), (int, float)):
            return float(evidence[key])
    return None if tool in ASKING else measured


# --- notes ----------------------------------------------------------------------------------------


def note_of(result: ToolResultBlock) -> str:
    """Say for the card what code did to the names, and how to see a large result whole."""
    kept = result.metadata.get(PERSISTED)
    notes = _notes(result)
    if isinstance(kept, Mapping) and kept.get("path"):
        notes.append(f"{int(kept.get('bytes', 0)) / 1000:,.0f} kB; whole: %zidane /output {result.call_id}")
    return "; ".join(note for note in notes if note)


def _notes(result: ToolResultBlock) -> list[str]:
    execution = result.metadata.get("execution")
    return [names_left(execution)] if execution is not None else []


def names_left(execution: Mapping[str, Any]) -> str:
    """Say what a piece of code did to the names, for its card."""
    parts = []
    for verb in ("created", "changed", "deleted"):
        names = execution[verb]
        if names:
            listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
            parts.append(f"{verb} {listed}")
    if (execution.get("peak_memory") or 0) >= NOTABLE_BYTES:
        parts.append(f"peak memory +{execution['peak_memory'] / 1e6:.0f} MB")
    return "; ".join(parts)


# --- outcomes -------------------------------------------------------------------------------------


def _outcome(tool: str, result: ToolResultBlock) -> str:
    """Say in a few words what came of a call that went well."""
    edit = result.metadata.get("edit")
    if isinstance(edit, Mapping):
        return _changed(edit, previewed="pending" in result.metadata)
    if (exited := _exit(result)) is not None:
        return exited
    if result.metadata.get("useless"):
        return "nothing found" if tool in _COUNTS else ""
    count = _COUNTS.get(tool)
    return count(result) if count is not None else ""


def _changed(edit: Mapping[str, Any], *, previewed: bool) -> str:
    """Say how much a change changes, and how many of its parts were made."""
    files, outcomes = edit.get("files") or (), edit.get("outcomes") or ()
    parts = ["not written yet"] if previewed else []
    if len(files) > 1:
        parts.append(f"{len(files)} files")
    if edit.get("added") or edit.get("removed"):
        parts.append(f"+{edit.get('added') or 0} −{edit.get('removed') or 0}")
    made = sum(isinstance(each, Mapping) and each.get("status") == "applied" for each in outcomes)
    if made < len(outcomes):
        parts.append(f"{made} of {len(outcomes)} parts")
    return ", ".join(parts)


def _exit(result: ToolResultBlock) -> str | None:
    """Say how a command ended, where that is more than well; ``None`` for what is no command."""
    shell = result.metadata.get("shell")
    if not isinstance(shell, Mapping):
        return None
    if shell.get("task"):
        return f"in the background as {shell['task']}"
    if shell.get("timed_out"):
        return "timed out"
    code = shell.get("exit_code")
    return f"exit code {code}" if code else ""


def _lines(result: ToolResultBlock) -> Sequence[str]:
    return [line for line in result.text.split("\n") if line and not line.startswith("[")]


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def _found(result: ToolResultBlock) -> str:
    match = _FOUND.search(result.text)
    return match[1] if match else ""


def _listed(noun: str, plural: str = "") -> Callable[[ToolResultBlock], str]:
    """Return the outcome of a listing: as many as it has lines below its head."""

    def outcome(result: ToolResultBlock) -> str:
        number = len(_lines(result)) - 1
        return _count(number, noun, plural) if number > 0 else "nothing found"

    return outcome


def _read(result: ToolResultBlock) -> str:
    """Say which part of a file was read, as its last note does; else how many lines there were."""
    matches = _POSITION.findall(result.text)
    if matches:
        return str(matches[-1])
    return _count(len(result.text.rstrip("\n").split("\n")), "line") if result.text else ""


def _fetched(result: ToolResultBlock) -> str:
    match = _TYPE.search(result.text)
    return match[1][:80] if match else ""


def _sources(result: ToolResultBlock) -> str:
    sources = result.metadata.get("sources")
    return _count(len(sources), "result") if isinstance(sources, (list, tuple)) else ""


def _answered(result: ToolResultBlock) -> str:
    return "answered" if result.metadata.get("answered") else "not answered"


_COUNTS: Final[Mapping[str, Callable[[ToolResultBlock], str]]] = MappingProxyType(
    {
        "grep": _found,
        "ast_grep": _found,
        "glob": _listed("file"),
        "list_files": _listed("entry", "entries"),
        "list_variables": lambda result: _count(len(_lines(result)), "variable"),
        "read_file": _read,
        "read_output": _read,
        "fetch_url": _fetched,
        "web_search": _sources,
        "ask_user": _answered,
    }
)


# --- texts ----------------------------------------------------------------------------------------


def _diff(result: ToolResultBlock) -> str:
    """Return the diff of a result that changes a file; empty for others."""
    edit = result.metadata.get("edit")
    return str(edit.get("diff") or "") if isinstance(edit, Mapping) else ""


def _for_people(tool: str, text: str, diff: str) -> str:
    """Leave out of a result what only the model needs."""
    if diff:
        text = text.replace(diff, "", 1)
    text = _HINT.sub("", _ENVELOPE.sub("", text))
    if tool in ASKING:
        *lines, last = text.split("\n")
        text = "\n".join(lines) if lines and _is_json(last) else text
    return text.strip("\n")


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False

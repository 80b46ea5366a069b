"""What became of each edit of a call: decided by a person at the gate, found out by the tool, put together.

The gate speaks of every edit the model asked for; the tool of those that were let through. Both end up in one list,
written behind the result's text::

    <edit-outcomes>
    #1 applied
    #2 denied: keep the old name
    #3 failed: `old_string` is not in the file
    </edit-outcomes>
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from zidane_lab.turns import ToolResultBlock

__all__ = [
    "EditOutcome",
    "OutcomeStatus",
    "annotate",
    "apply_hunk_mask",
    "header",
    "merge_outcomes",
    "outcomes_json",
    "parse_outcomes",
    "rewrite_header",
    "rewrite_result",
    "strip_outcomes",
    "with_outcomes",
]

OutcomeStatus: TypeAlias = Literal["applied", "denied", "skipped", "failed"]
"""``denied`` by a person, ``skipped`` because something before it decided so, ``failed`` in the tool."""

_REASON: Final = 300
"""Most characters of a reason; it is one line."""

_BLOCK: Final = re.compile(r"(?:\A|\n)<edit-outcomes>\n(?P<lines>.*?)\n?</edit-outcomes>", re.DOTALL)
_LINE: Final = re.compile(r"#(?P<number>[1-9]\d{0,5}) (?P<status>[a-z]+)(?:: (?P<reason>.+))?")
_APPLIED: Final = re.compile(
    r"Edited (?P<path>.+): applied (?P<done>\d+)(?: of (?P<total>\d+))? edits \((?P<replacements>\d+) replacements\)\."
)
_NONE: Final = re.compile(r"multi_edit error: no edits applied to (?P<path>.+) \((?P<total>\d+) attempted\)\.")


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """How one edit ended, and why it was not made."""

    status: OutcomeStatus
    reason: str = ""


def outcomes_json(outcomes: Sequence[EditOutcome]) -> list[dict[str, str]]:
    """Return outcomes as plain JSON, for a result's metadata."""
    return [{"status": each.status} | ({"reason": each.reason} if each.reason else {}) for each in outcomes]


def apply_hunk_mask(mask: Sequence[bool], reason: str = "", *, fallback_length: int = 0) -> tuple[EditOutcome, ...]:
    """Return what the gate decided about each edit: ``True`` applied, ``False`` denied for ``reason``.

    Parameters
    ----------
    fallback_length
        How many edits there are; those the mask says nothing about are applied.
    """
    missing = max(0, fallback_length - len(mask))
    return tuple(
        EditOutcome("applied") if kept else EditOutcome("denied", reason) for kept in (*mask, *([True] * missing))
    )


def merge_outcomes(gate: Sequence[EditOutcome], body: Sequence[EditOutcome]) -> tuple[EditOutcome, ...]:
    """Put what the tool found into the places of the edits that were let through, in order.

    Where the tool said less, ``applied`` stays; what it said beyond them is ignored.
    """
    found = iter(body)
    return tuple(next(found, each) if each.status == "applied" else each for each in gate)


def header(path: str, *, applied: int, total: int, replacements: int = 0) -> str:
    """Return the first line of a result: all edits applied, some of them, or none."""
    if not applied:
        return f"multi_edit error: no edits applied to {path} ({total} attempted)."
    count = f"{applied}" if applied == total else f"{applied} of {total}"
    return f"Edited {path}: applied {count} edits ({replacements} replacements)."


def rewrite_header(text: str, outcomes: Sequence[EditOutcome]) -> str:
    """Correct the counts of the first line to all edits the model asked for; unchanged if it is another line.

    The number of replacements is the tool's and stays.
    """
    first, border, rest = text.partition("\n")
    applied = sum(each.status == "applied" for each in outcomes)
    if found := _APPLIED.fullmatch(first):
        replacements = int(found["replacements"])
        return header(found["path"], applied=applied, total=len(outcomes), replacements=replacements) + border + rest
    if found := _NONE.fullmatch(first):
        return header(found["path"], applied=0, total=len(outcomes)) + border + rest
    return text


def annotate(text: str, outcomes: Sequence[EditOutcome]) -> str:
    """Put the block of outcomes behind a text; none for no outcomes."""
    if not outcomes:
        return text
    lines = "\n".join(f"#{number} {_described(each)}" for number, each in enumerate(outcomes, 1))
    return f"{text}\n\n<edit-outcomes>\n{lines}\n</edit-outcomes>"


def _described(outcome: EditOutcome) -> str:
    reason = " ".join(outcome.reason.split())
    reason = reason if len(reason) <= _REASON else f"{reason[: _REASON - 1]}…"
    return f"{outcome.status}: {reason}" if reason else outcome.status


def parse_outcomes(text: str) -> dict[int, EditOutcome] | None:
    """Read the first block of outcomes in a result, by the edits' numbers from 1; ``None`` without a sound one."""
    block = _BLOCK.search(text)
    if block is None:
        return None
    found: dict[int, EditOutcome] = {}
    for line in filter(None, block["lines"].split("\n")):
        match = _LINE.fullmatch(line)
        if match is None or match["status"] not in get_args(OutcomeStatus):
            return None
        found[int(match["number"])] = EditOutcome(cast("OutcomeStatus", match["status"]), match["reason"] or "")
    return found or None


def strip_outcomes(text: str) -> str:
    """Return a result without its first block of outcomes; a text without one comes back as it is."""
    block = _BLOCK.search(text)
    if block is None:
        return text
    return text[: block.start()].removesuffix("\n") + text[block.end() :]


def rewrite_result(text: str, gate: Sequence[EditOutcome]) -> tuple[str, tuple[EditOutcome, ...]]:
    """Make a result of the edits that were let through one of all that were asked for.

    Returns
    -------
    tuple
        The text with its header corrected and one block of outcomes, and the outcomes.
    """
    said = parse_outcomes(text) or {}
    outcomes = merge_outcomes(gate, [said[number] for number in sorted(said)])
    return annotate(rewrite_header(strip_outcomes(text), outcomes), outcomes), outcomes


def with_outcomes(
    results: Sequence[ToolResultBlock], call_id: str, outcomes: Sequence[EditOutcome]
) -> Sequence[ToolResultBlock]:
    """Put outcomes into the metadata of the last result of a call; the same sequence when there is nothing to do."""
    wanted = outcomes_json(outcomes)
    for index in range(len(results) - 1, -1, -1):
        result = results[index]
        if result.call_id != call_id:
            continue
        edit: Any = result.metadata.get("edit")
        if not isinstance(edit, Mapping) or edit.get("outcomes") == wanted:
            return results
        changed = replace(result, metadata={**result.metadata, "edit": {**edit, "outcomes": wanted}})
        return (*results[:index], changed, *results[index + 1 :])
    return results

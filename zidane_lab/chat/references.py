"""``@name`` in a prompt attaches a variable's description, ``@path`` the head of a file.

Written ``@df``, ``@df["price"]``, ``@data/sales.csv`` or ``@"my file.csv"``. An ``@`` inside a word (an e-mail
address), in backticks or in a fenced block is text, and so are braces, ``?``, ``!`` and ``$`` everywhere. The
prompt itself is never changed: what was found is attached after it, framed as data.
"""

from __future__ import annotations

import asyncio
import bisect
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zidane_lab.approvals.secrets import looks_secret
from zidane_lab.errors import ToolError, ToolInputError, ZidaneError
from zidane_lab.kernel.execution import Executor
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.list_files import list_files
from zidane_lab.tools.paths import existing
from zidane_lab.tools.read_file import read_file
from zidane_lab.turns import TextBlock
from zidane_lab.wire.envelope import NOTEBOOK_TEXT, draw_tag, enveloped, neutralised

__all__ = ["BUDGET", "MOST_REFERENCES", "Reference", "find_references", "resolve"]

BUDGET: Final = 12_000
"""Characters of all attachments of one prompt together, their frames and notes included."""

MOST_REFERENCES: Final = 20
"""Things attached to one prompt; the rest is noted as left out."""

_NOTES: Final = 1_000
"""Part of the budget kept for notes on what was not attached."""

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_RUN: Final = re.compile(r"`+")
_PART: Final = r"\[(?:\"[^\"\n]*\"|'[^'\n]*'|-?\d+)\]"
_AT: Final = re.compile(
    rf"""(?<![\w@.+/\\-])@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>(?!@)(?:{_PART}|[\w~./\\+%:=@-])+))""", re.UNICODE
)
_TRAILING: Final = re.compile(r"[.:=@+%-]+$")
_VARIABLE: Final = re.compile(rf"(?P<base>[^\W\d]\w*)(?:{_PART})*")
_LINES: Final = 300


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference: ``text[start:end]`` is how it was written, ``target`` what it names."""

    target: str
    start: int
    end: int
    quoted: bool = False


def find_references(text: str) -> tuple[Reference, ...]:
    """Find the references of a prompt, in order."""
    code = _code_spans(text)
    starts = [start for start, _ in code]
    found: list[Reference] = []
    for match in _AT.finditer(text):
        before = bisect.bisect_right(starts, match.start()) - 1
        if before >= 0 and match.start() < code[before][1]:
            continue
        if (quoted := match["quoted"]) is not None:
            if quoted.strip():
                found.append(Reference(quoted, match.start(), match.end(), quoted=True))
            continue
        target = _TRAILING.sub("", match["plain"])
        if re.search(r"\w|[~/]", target):
            found.append(Reference(target, match.start(), match.start() + 1 + len(target)))
    return tuple(found)


def _code_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of fenced blocks and of text in backticks, as Markdown has them, in order."""
    spans: list[tuple[int, int]] = []
    position, opened, fence = 0, -1, ""
    prose = 0
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        end = position + len(line)
        if opened < 0 and match and not (match[1][0] == "`" and "`" in line[match.end() :]):
            spans += _backticks(text, prose, position)
            opened, fence = position, match[1]
        elif opened >= 0 and match and match[1].startswith(fence) and not line[match.end() :].strip():
            spans.append((opened, end))
            opened, prose = -1, end
        position = end
    spans += _backticks(text, prose, len(text)) if opened < 0 else [(opened, len(text))]
    return spans


def _backticks(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans between runs of equally many backticks; a run without a partner is text."""
    runs = [match.span() for match in _RUN.finditer(text, start, end)]
    spans: list[tuple[int, int]] = []
    partners: dict[int, list[int]] = {}
    for index, (left, right) in enumerate(runs):
        partners.setdefault(right - left, []).append(index)
    index = 0
    while index < len(runs):
        left, right = runs[index]
        same = partners[right - left]
        after = bisect.bisect_right(same, index)
        if after == len(same):
            index += 1
        else:
            spans.append((left, runs[same[after]][1]))
            index = same[after] + 1
    return spans


async def resolve(references: str | Sequence[Reference], executor: Executor | None, cwd: Path) -> str:
    """Return the text to attach to a prompt; empty where nothing is referred to.

    A variable wins over a file of the same name. What is neither stays plain text and is noted.

    Parameters
    ----------
    references
        The references of a prompt, or the prompt.
    executor
        Where variables are looked up; ``None`` where there is no kernel.
    cwd
        The folder that paths are relative to.
    """
    found = find_references(references) if isinstance(references, str) else tuple(references)
    targets = list(dict.fromkeys((each.target, each.quoted) for each in found))
    notes = [f"@{target}: not attached, {MOST_REFERENCES} things are enough" for target, _ in targets[MOST_REFERENCES:]]
    parts: list[str] = []
    room = BUDGET - _NOTES
    for index, (target, quoted) in enumerate(targets[:MOST_REFERENCES]):
        share = room // (min(len(targets), MOST_REFERENCES) - index)
        try:
            part = await _attachment(target, executor, cwd, share, quoted=quoted)
        except ZidaneError as error:
            notes.append(f"@{target}: {error.message}")
            continue
        parts.append(part)
        room -= len(part) + 2
    if notes:
        parts.append(_noted(notes))
    return "\n\n".join(parts)


async def _attachment(target: str, executor: Executor | None, cwd: Path, room: int, *, quoted: bool) -> str:
    """Return one framed attachment of at most ``room`` characters.

    Raises
    ------
    ZidaneError
        There is no such thing, or it cannot be attached; the message says which.
    """
    if executor is not None and not quoted and (match := _VARIABLE.fullmatch(target)):
        described = await _variable(target, match["base"], executor, room)
        if described is not None:
            return described
    try:
        path, status = existing(target, cwd)
    except ToolError:
        raise ToolError("there is no variable or file of that name; taken as plain text") from None
    if looks_secret(path):
        raise ToolError("commonly holds secrets; not attached")
    context = ToolContext(cwd=cwd)
    if stat.S_ISDIR(status.st_mode):
        return _frame("folder", target, await asyncio.to_thread(list_files, context, target), room)
    output = await asyncio.to_thread(read_file, context, target, 1, _LINES)
    text = "\n".join(part.text for part in output.parts if isinstance(part, TextBlock))
    return _frame("head of the file", target, text, room)


async def _variable(target: str, base: str, executor: Executor, room: int) -> str | None:
    """Describe a variable, or the whole of it where the part cannot be told apart; ``None`` where there is none."""
    for name in dict.fromkeys((target, base)):
        try:
            text = await executor.inspect_variable(name, budget=max(200, room - 200))
        except ToolInputError:
            continue
        return _frame("variable", name, text, room)
    return None


def _frame(kind: str, name: str, text: str, room: int) -> str:
    """Put a text in an envelope of at most ``room`` characters, which it cannot close."""

    def framed(body: str) -> str:
        return enveloped(body, tag, NOTEBOOK_TEXT, kind=kind, name=name)

    tag, body = draw_tag(), text.rstrip("\n")
    whole = framed(body)
    if len(whole) <= room:
        return whole
    note = f"\n[… cut here; {len(body):,} characters in all]"
    space = max(0, room - len(framed(note)))
    for keep in (space, space - (len(framed(body[:space] + note)) - room)):  # neutralising may have made it longer
        whole = framed(body[: max(0, keep)] + note)
        if len(whole) <= room:
            break
    return whole


def _noted(notes: list[str]) -> str:
    """Return the notes within their part of the budget."""
    text = "References that are not attached:"
    for index, note in enumerate(notes):
        line = "\n- " + " ".join(neutralised(note).split())[:200]
        rest = f"\n- and {len(notes) - index} more"
        if len(text) + len(line) + len(rest) > _NOTES:
            return text + rest
        text += line
    return text

"""What the model is told of a background task between two turns: ``<task-notification>``, one fact a child tag.

Everything in it that comes from outside (the command, its output) is escaped, so that no output can close the tag.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zidane_lab.contexts.lines import LineSplitter
from zidane_lab.contexts.task import TaskInfo

__all__ = ["TAG", "Notice", "completion_notice", "lines_notice", "tail_text"]

TAG: Final = "task-notification"

TAIL_LINES: Final = 20
TAIL_BYTES: Final = 2_000
_LONGEST_LABEL: Final = 200


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell of a task; ``is_end``: that it has ended."""

    task_id: str
    text: str
    is_end: bool = False


def tail_text(data: bytes, *, lines: int = TAIL_LINES) -> str:
    """Return the last lines of an output as plain text."""
    return "\n".join(LineSplitter().feed(data, final=True)[-lines:])


def completion_notice(info: TaskInfo, tail: bytes) -> str:
    """Say that a task has ended: how, where its output is, and the end of it."""
    facts = [*_about(info), ("status", info.status)]
    if info.exit_code is not None:
        facts.append(("exit-code", str(info.exit_code)))
    facts.append(("summary", info.summary))
    if info.log is not None:
        facts.append(("output-file", str(info.log)))
    if text := tail_text(tail):
        facts.append(("output-tail", text))
    return _element(facts)


def lines_notice(info: TaskInfo, description: str, lines: Sequence[str], *, left_out: int, goes_on: bool) -> str:
    """Say which lines a monitor has seen, and whether it goes on watching."""
    facts = [*_about(info), ("monitor", description), ("watching", "yes" if goes_on else "no")]
    if left_out:
        facts.append(("earlier-lines-left-out", str(left_out)))
    facts += [("line", line) for line in lines]
    return _element(facts)


def _about(info: TaskInfo) -> list[tuple[str, str]]:
    label = " ".join(info.label.split())
    return [("task-id", info.id), ("task", label if len(label) <= _LONGEST_LABEL else f"{label[:_LONGEST_LABEL]}…")]


def _element(facts: Sequence[tuple[str, str]]) -> str:
    children = "\n".join(f"<{name}>{html.escape(text, quote=False)}</{name}>" for name, text in facts)
    return f"<{TAG}>\n{children}\n</{TAG}>"

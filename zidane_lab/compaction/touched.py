"""What the summarised turns touched: files and variables, taken from the record and not from a model's memory.

The lists grow from summary to summary. They stand at the end of each one, between tags, and those of an earlier
summary are removed before the new ones are put there; so a name is listed once however often it was summarised.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from zidane_lab.compaction.stale_reads import wrote_nothing
from zidane_lab.turns import CompactSummaryBlock, ToolCallBlock, ToolResultBlock, Turn

__all__ = ["MOST_FILES", "MOST_VARIABLES", "Touched", "touched_by", "with_touched", "without_touched"]

MOST_FILES: Final = 20
"""Files that are listed; of more, the newest."""

MOST_VARIABLES: Final = 60
"""Variables that are listed; of more, the newest."""

READERS: Final = frozenset({"read_file"})
"""Tools whose ``path`` was only read."""

WRITERS: Final = frozenset({"write_file", "edit", "multi_edit", "edit_lines"})
"""Tools whose ``path`` was changed."""

_BLOCK: Final = re.compile(r"(?<!\s)\s*+<touched>.*?</touched>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Touched:
    """Names in the order they were last touched: a file changed is no longer one read, a variable deleted is gone."""

    read: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON, for the summary's metadata."""
        lists = {"read": self.read, "changed": self.changed, "variables": self.variables}
        return {name: list(values) for name, values in lists.items() if values}

    @classmethod
    def from_json(cls, raw: object) -> Touched:
        """Read it back; what is damaged counts as nothing."""
        data = raw if isinstance(raw, Mapping) else {}
        return cls(*(_names(data.get(name)) for name in ("read", "changed", "variables")))


def touched_by(
    turns: Iterable[Turn], *, readers: Collection[str] = READERS, writers: Collection[str] = WRITERS
) -> Touched:
    """Add up what ``turns`` touched, with what earlier summaries among them say.

    Parameters
    ----------
    turns
        In the order of the conversation.
    readers, writers
        Names of the tools whose argument ``path`` was read or changed; of others, what their results say was written.
        Calls that failed do not count.
    """
    read: dict[str, None] = {}
    changed: dict[str, None] = {}
    variables: dict[str, None] = {}
    calls: dict[str, ToolCallBlock] = {}
    for turn in turns:
        for block in turn.blocks:
            if isinstance(block, CompactSummaryBlock):
                earlier = Touched.from_json(block.metadata.get("touched"))
                _renew(read, earlier.read)
                _renew(changed, earlier.changed)
                _renew(variables, earlier.variables)
            elif isinstance(block, ToolCallBlock):
                calls[block.id] = block
            elif isinstance(block, ToolResultBlock):
                made, gone = _bound(block.metadata)
                _renew(variables, made)
                for name in gone:
                    variables.pop(name, None)
                call = calls.get(block.call_id)
                if call is None or block.is_error or (call.name not in readers and wrote_nothing(block.metadata)):
                    continue
                path = call.input.get("path")
                if isinstance(path, str) and call.name in writers:
                    _renew(changed, (path,))
                elif isinstance(path, str) and call.name in readers:
                    _renew(read, (path,))
                else:  # of several files, or of none that the arguments name
                    _renew(changed, _names(block.metadata.get("written")))
    return Touched(tuple(name for name in read if name not in changed), tuple(changed), tuple(variables))


def with_touched(summary: str, touched: Touched) -> str:
    """Return ``summary`` with the lists at its end, in place of any it has."""
    lines = [
        _line("Files read", touched.read, MOST_FILES),
        _line("Files changed", touched.changed, MOST_FILES),
        _line("Variables made or changed in the kernel", touched.variables, MOST_VARIABLES),
    ]
    told = [line for line in lines if line]
    bare = without_touched(summary)
    return "\n".join([f"{bare}\n\n<touched>", *told, "</touched>"]) if told else bare


def without_touched(summary: str) -> str:
    """Return ``summary`` without the lists that were put there."""
    return _BLOCK.sub("", summary).strip()


def _line(what: str, names: tuple[str, ...], most: int) -> str:
    if not names:
        return ""
    more = f" (and {len(names) - most} more before)" if len(names) > most else ""
    told = ", ".join(" ".join(name.replace("<", "&lt;").split()) for name in names[-most:])
    return f"{what}: {told}{more}"


def _bound(metadata: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the variables a piece of code made or changed, and those it deleted."""
    execution = metadata.get("execution")
    if not isinstance(execution, Mapping):
        return (), ()
    return (*_names(execution.get("created")), *_names(execution.get("changed"))), _names(execution.get("deleted"))


def _renew(names: dict[str, None], newer: Iterable[str]) -> None:
    for name in newer:
        names.pop(name, None)
        names[name] = None


def _names(raw: object) -> tuple[str, ...]:
    return tuple(name for name in raw if isinstance(name, str)) if isinstance(raw, (list, tuple)) else ()

"""What the entries of a session add up to: its turns, runs, model and title.

The same fold serves reading a file and appending to a live session, so the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, cast

from zidane_lab.errors import SessionError
from zidane_lab.events import FinishReason, RunStatus
from zidane_lab.session.entries import Entry
from zidane_lab.turns import (
    Block,
    CommandBlock,
    CompactSummaryBlock,
    CustomBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Usage,
    turn_from_json,
)

__all__ = ["NEW_SESSION", "RunRecord", "RunState", "SessionState", "TitleSource", "active_branch", "title_of"]

NEW_SESSION: Final = "New session"
_TITLE_CHARS: Final = 80

TitleSource: TypeAlias = Literal["user", "auto"]
RunState: TypeAlias = Literal["running", "interrupted"] | RunStatus
"""How a run stands; ``interrupted``: its process died before the run ended."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: what was asked of which model, and how it ended. Times are ISO 8601 and seconds."""

    id: str
    prompt: str = ""
    model: str = ""
    cell_id: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    started_at: str = ""
    status: RunState = "running"
    finish: FinishReason | None = None
    usage: Usage | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Node:
    """What is kept of an entry, to find a branch again."""

    parent: str | None
    turn: Turn | None = None
    model: str | None = None


class SessionState:
    """A fold over entries; ``turns`` and ``model`` are those of the active branch.

    Attributes
    ----------
    leaf
        Entry the next one follows.
    call_ids
        Ids of the tool calls of every branch: what is kept or left out by the id of a call is its own.
    problems
        Entries that could not be used, in words.
    """

    def __init__(self) -> None:
        self.leaf: str | None = None
        self.turns: list[Turn] = []
        self.call_ids: set[str] = set()
        self.runs: dict[str, RunRecord] = {}
        self.model: str | None = None
        self.title: str | None = None
        self.title_source: TitleSource | None = None
        self.custom: list[tuple[str, Mapping[str, Any]]] = []
        self.mended: set[str] = set()
        self.problems: list[str] = []
        self._nodes: dict[str, _Node] = {}

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._nodes

    def path(self) -> Iterator[str]:
        """Walk the ids of the active branch, from the leaf to its root."""
        at = self.leaf
        while at is not None:
            yield at
            at = self._nodes[at].parent

    def entry_of(self, turn_id: str) -> str | None:
        """Find the entry that holds a turn, on whatever branch."""
        for entry_id, node in self._nodes.items():
            if node.turn is not None and node.turn.id == turn_id:
                return entry_id
        return None

    def add(self, entry: Entry, turn: Turn | None = None) -> None:
        """Take in the next entry of the file, however odd it is; ``turn`` spares reading one just made."""
        if entry.id in self._nodes:
            self.problems.append(f"Entry {entry.id} comes twice; the first one counts.")
            return
        if entry.type == "leaf":
            self._move(entry.data.get("target"))
            return
        parent = entry.parent
        if parent is not None and parent not in self._nodes:
            # The line it follows is damaged. Lines mostly follow each other, so the one before stands in.
            self.problems.append(f"Entry {entry.id} follows a damaged one; it was joined to the one before that.")
            parent = self.leaf
        node = _Node(
            parent, turn or self._turn(entry), _text(entry.data.get("model")) if entry.type == "model" else None
        )
        self._nodes[entry.id] = node
        ahead = parent == self.leaf
        self.leaf = entry.id
        if ahead:
            self._extend(node)
        else:
            self._walk()
        self._note(entry)

    def _turn(self, entry: Entry) -> Turn | None:
        if entry.type != "turn":
            return None
        try:
            turn = turn_from_json(entry.data["turn"])
            sound = _is_sound(turn)
        except (SessionError, AttributeError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
            sound = False
        if not sound:
            self.problems.append(f"The turn in entry {entry.id} cannot be read and was left out.")
            return None
        return turn

    def _extend(self, node: _Node) -> None:
        if node.turn is not None:
            self.turns.append(node.turn)
            self.call_ids.update(call.id for call in node.turn.tool_calls)
        self.model = node.model or self.model

    def _walk(self) -> None:
        """Find turns and model of the branch that ends in the leaf."""
        self.turns, self.model = [], None
        for entry_id in reversed(list(self.path())):
            self._extend(self._nodes[entry_id])

    def _move(self, target: object) -> None:
        if target is not None and not (isinstance(target, str) and target in self._nodes):
            self.problems.append("A move to a damaged entry was skipped.")
            return
        self.leaf = target
        self._walk()

    def all_turns(self) -> Iterator[Turn]:
        """Yield the turns of every branch."""
        return (node.turn for node in self._nodes.values() if node.turn is not None)

    def lighten(self, turns: Iterable[Turn]) -> None:
        """Put other copies of turns in the places of those with the same ids."""
        copies = {turn.id: turn for turn in turns}
        for entry_id, node in self._nodes.items():
            if node.turn is not None and (copy := copies.get(node.turn.id)) is not None and copy is not node.turn:
                self._nodes[entry_id] = replace(node, turn=copy)
        self.turns = [copies.get(turn.id, turn) for turn in self.turns]

    def _note(self, entry: Entry) -> None:
        """Take in what holds for the whole session, not for one branch."""
        data = entry.data
        if entry.type == "run":
            self._start(entry)
        elif entry.type == "run-end":
            self._end(data)
        elif entry.type == "title" and (title := _text(data.get("title"))):
            self.title = title
            self.title_source = "auto" if data.get("source") == "auto" else "user"
        elif entry.type == "custom" and (kind := _text(data.get("kind"))):
            self.custom.append((kind, data["data"] if isinstance(data.get("data"), Mapping) else {}))
        elif entry.type == "repair" and isinstance(what := data.get("what"), list):
            self.mended.update(item for item in what if isinstance(item, str))

    def _start(self, entry: Entry) -> None:
        run = entry.data.get("run")
        if not isinstance(run, Mapping) or not (run_id := _text(run.get("id"))):
            return
        self.runs[run_id] = RunRecord(
            id=run_id,
            prompt=_text(run.get("prompt")) or "",
            model=_text(run.get("model")) or "",
            cell_id=_text(run.get("cell_id")),
            options=run["options"] if isinstance(run.get("options"), Mapping) else {},
            started_at=entry.at,
        )

    def _end(self, data: Mapping[str, Any]) -> None:
        run = self.runs.get(_text(data.get("run_id")) or "")
        status = data.get("status")
        if run is None or status not in ("completed", "aborted", "error"):
            return
        self.runs[run.id] = replace(
            run,
            status=status,
            finish=cast("FinishReason | None", _text(data.get("finish"))),
            usage=_usage(data.get("usage")),
            seconds=_seconds(data.get("seconds")),
            error=_text(data.get("error")),
        )

    def cut_runs(self) -> None:
        """Mark runs without an end as interrupted: the process that ran them is gone."""
        for run in self.runs.values():
            if run.status == "running":
                self.runs[run.id] = replace(run, status="interrupted")


def active_branch(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries of the active branch, each following the one before: a session of their own."""
    state = SessionState()
    first: dict[str, Entry] = {}
    for entry in entries:
        state.add(entry)
        if entry.type != "leaf":
            first.setdefault(entry.id, entry)
    ids = list(state.path())[::-1]
    parents = [None, *ids]
    return tuple(replace(first[each], parent=before) for each, before in zip(ids, parents, strict=False))


def title_of(turns: list[Turn]) -> str:
    """Make a title: the first thing a person asked, on one line and clipped, or a stock one."""
    for turn in turns:
        said = next((block.text for block in turn.blocks if isinstance(block, TextBlock)), "")  # not what is attached
        if turn.role == "user" and turn.injected is None and (line := " ".join(said.split())):
            return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1].rstrip() + "…"
    return NEW_SESSION


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _usage(value: object) -> Usage | None:
    try:
        return Usage.of(value) if isinstance(value, Mapping) else None
    except ArithmeticError:  # a number no float can hold
        return None


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e12 else None


_TEXTS: Final[Mapping[type[Any], tuple[str, ...]]] = {
    TextBlock: ("text",),
    ThinkingBlock: ("text",),
    ToolCallBlock: ("id", "name"),
    ToolResultBlock: ("call_id",),
    CompactSummaryBlock: ("text",),
    CommandBlock: ("name", "arguments", "output"),
    CustomBlock: ("type",),
}
_MAPPINGS: Final[Mapping[type[Any], str]] = {
    ToolCallBlock: "input",
    ToolResultBlock: "metadata",
    CompactSummaryBlock: "metadata",
    CustomBlock: "data",
}


def _is_sound(turn: Turn) -> bool:
    """Whether the fields everybody relies on have their types; a damaged line may be good JSON."""
    turn_id: object = turn.id
    return isinstance(turn_id, str) and all(map(_is_sound_block, turn.blocks))


def _is_sound_block(block: Block) -> bool:
    cls = type(block)
    if cls is ToolResultBlock and not all(map(_is_sound_block, cast("ToolResultBlock", block).parts)):
        return False
    if cls is CompactSummaryBlock and not all(
        isinstance(each, str) for each in cast("CompactSummaryBlock", block).replaces
    ):
        return False
    texts, mapping = _TEXTS.get(cls, ("media_type",)), _MAPPINGS.get(cls)
    return all(isinstance(getattr(block, name), str) for name in texts) and (
        mapping is None or isinstance(getattr(block, mapping), Mapping)
    )

"""The agent's plan: steps, how each stands, what holds of them all, and a checklist that reads back as the same plan.

The plan of a conversation is the one that was last written in it, by the model (metadata of its result) or by the
person (a block of their turn). It is read off the turns and kept nowhere else: another branch, a copy or a session
opened tomorrow has the plan it had, and a summary takes nothing from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from zidane_lab.errors import ToolInputError
from zidane_lab.turns import CustomBlock, TextBlock, ToolResultBlock, Turn

__all__ = [
    "MOST_CHARACTERS",
    "MOST_STEPS",
    "TODOS",
    "Plan",
    "Status",
    "Todo",
    "checked",
    "edit_turn",
    "from_markdown",
    "plan_in",
    "read_todos",
    "to_json",
    "to_markdown",
]

Status: TypeAlias = Literal["pending", "in_progress", "completed", "blocked", "dropped"]
"""``blocked`` waits for somebody or something else; ``dropped`` will not be done."""

TODOS: Final = "todos"
"""Key of a result's metadata, and type of a block in a person's turn, that holds the plan."""

MOST_STEPS: Final = 100
"""Steps of a plan."""

MOST_CHARACTERS: Final = 300
"""Characters of one step, or of the name of a phase."""

_MARKS: Final[Mapping[Status, str]] = {
    "pending": " ",
    "in_progress": "/",
    "completed": "x",
    "blocked": "!",
    "dropped": "-",
}
_STATUSES: Final[Mapping[str, Status]] = {mark: status for status, mark in _MARKS.items()} | {"X": "completed"}
_STEP: Final = re.compile(r"\s*[-*+] \[(?P<mark>.)\] (?P<content>.*)")
_PHASE: Final = re.compile(r"\s*#+ (?P<phase>.*)")


@dataclass(frozen=True, slots=True)
class Todo:
    """One step: what is to be done, how it stands, and the phase it belongs to, if any."""

    content: str
    status: Status = "pending"
    phase: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as it was last written: its steps, the run that wrote it, and the turn that shows it."""

    todos: tuple[Todo, ...] = ()
    run_id: str | None = None
    turn_id: str | None = None

    @property
    def to_do(self) -> tuple[Todo, ...]:
        """The steps that can be worked on."""
        return tuple(todo for todo in self.todos if todo.status in ("pending", "in_progress"))

    @property
    def is_open(self) -> bool:
        """Whether anything is left, be it blocked."""
        return any(todo.status not in ("completed", "dropped") for todo in self.todos)

    def in_run(self, run_id: str | None) -> tuple[Todo, ...]:
        """Return the steps that count in a run: a plan of which nothing is left ends with the run that wrote it."""
        return self.todos if self.is_open or self.run_id == run_id else ()


def checked(todos: Iterable[Todo]) -> tuple[Todo, ...]:
    """Return steps as a plan keeps them: on one line each, phases together, one of those to do in progress.

    Steps without a phase come first, phases in the order they begin. Where no step is in progress the first pending
    one is.

    Raises
    ------
    ToolInputError
        A step is empty or too long, there are too many, or several are in progress.
    """
    found = [replace(todo, content=_line(todo.content), phase=_line(todo.phase)) for todo in todos]
    if len(found) > MOST_STEPS:
        raise ToolInputError(
            f"A plan has at most {MOST_STEPS} steps; these are {len(found)}.", hint="Use larger steps."
        )
    for number, todo in enumerate(found, start=1):
        if not todo.content:
            raise ToolInputError(f"Step {number} says nothing.", hint="Say in a few words what is to be done.")
        if max(len(todo.content), len(todo.phase)) > MOST_CHARACTERS:
            raise ToolInputError(f"Step {number} is longer than {MOST_CHARACTERS} characters.", hint="A few words do.")
    working = [todo.content for todo in found if todo.status == "in_progress"]
    if len(working) > 1:
        raise ToolInputError(
            f"{len(working)} steps are in progress: {'; '.join(working[:5])}.", hint="Work on one at a time."
        )
    phases = {phase: place for place, phase in enumerate(dict.fromkeys(["", *(todo.phase for todo in found)]))}
    found.sort(key=lambda todo: phases[todo.phase])
    first = next((place for place, todo in enumerate(found) if todo.status == "pending"), None)
    if not working and first is not None:
        found[first] = replace(found[first], status="in_progress")
    return tuple(found)


def _line(text: str) -> str:
    return " ".join(text.split())


# --- as text --------------------------------------------------------------------------------------


def to_markdown(todos: Sequence[Todo]) -> str:
    """Write a plan as a checklist: ``[ ]`` pending, ``[/]`` in progress, ``[x]``, ``[!]`` blocked, ``[-]`` dropped."""
    lines: list[str] = []
    phase = ""
    for todo in todos:
        if todo.phase != phase:
            phase = todo.phase
            lines += ["", f"## {phase}"] if lines else [f"## {phase}"]
        lines.append(f"- [{_MARKS[todo.status]}] {todo.content}")
    return "\n".join(lines)


def from_markdown(text: str) -> tuple[Todo, ...]:
    """Read a checklist back, checked; lines that are neither steps nor headings are refused.

    Raises
    ------
    ToolInputError
        A line cannot be read, or the steps make no plan.
    """
    todos: list[Todo] = []
    phase = ""
    for line in filter(str.strip, text.splitlines()):
        if (heading := _PHASE.fullmatch(line)) is not None:
            phase = heading["phase"]
        elif (step := _STEP.fullmatch(line)) is not None and step["mark"] in _STATUSES:
            todos.append(Todo(step["content"], _STATUSES[step["mark"]], phase))
        else:
            raise ToolInputError(
                f"This is no step of a checklist: {line.strip()[:80]!r}.",
                hint="Write `- [ ] what to do`; [/] is in progress, [x] done, [!] blocked, [-] dropped.",
            )
    return checked(todos)


# --- in a conversation ----------------------------------------------------------------------------


def to_json(todos: Iterable[Todo]) -> list[dict[str, str]]:
    """Return steps as plain JSON; no phase is left out."""
    return [
        {"content": todo.content, "status": todo.status} | ({"phase": todo.phase} if todo.phase else {})
        for todo in todos
    ]


def read_todos(raw: object) -> tuple[Todo, ...] | None:
    """Read steps back; ``None`` where a file is damaged or somebody else used the name."""
    if not isinstance(raw, list):
        return None
    found = tuple(_read(each) for each in raw)
    return None if None in found else tuple(todo for todo in found if todo is not None)


def _read(raw: Any) -> Todo | None:
    match raw:
        case {"content": str(content), "status": str(status)} if status in get_args(Status):
            phase = raw.get("phase", "")
            return Todo(content, cast("Status", status), phase) if isinstance(phase, str) else None
        case _:
            return None


def plan_in(turns: Sequence[Turn]) -> Plan:
    """Return the plan that was last written in a conversation; one without steps if there was none."""
    for turn in reversed(turns):
        for block in reversed(turn.blocks):
            raw: object = None
            if isinstance(block, ToolResultBlock) and not block.is_error:
                raw = block.metadata.get(TODOS)
            elif isinstance(block, CustomBlock) and block.type == TODOS:
                raw = block.data.get(TODOS)
            todos = read_todos(raw)
            if todos is not None:
                return Plan(todos, turn.run_id, turn.id)
    return Plan()


def edit_turn(todos: Sequence[Todo]) -> Turn:
    """Return the turn by which a person changes the plan: the model reads it with what they say next."""
    said = f"I have changed the plan. It is now:\n\n{to_markdown(todos)}" if todos else "I have dropped the plan."
    return Turn("user", (TextBlock(said), CustomBlock(TODOS, {TODOS: to_json(todos)})))

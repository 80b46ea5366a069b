"""Checking what the agent changed, right after it changed it.

The tools that change things stay as they are. This watches which of their calls went well, and once a batch is over
it hands the changes to a validator: a syntax check (:mod:`zidane_lab.agent.guards.python_syntax`), a linter, the
tests. What to do about failures is the host's choice: tell the model, tell the person, or something of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from zidane_lab.agent.guards.bundle import announcer, subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.compaction.stale_reads import EDIT_TOOLS, WRITTEN, wrote_nothing
from zidane_lab.errors import ConfigurationError, ToolError
from zidane_lab.events import AgentDone, Injection, ToolAfter, TurnBoundary
from zidane_lab.tools.paths import resolve_path, show_name
from zidane_lab.turns import ToolResultBlock

__all__ = ["Failure", "FailurePolicy", "Mutation", "MutationValidation", "Validator"]

_GUARD: Final = "mutation-validation"
_MOST_FAILURES: Final = 20
"""Failures of one batch that the model is told word by word; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One thing a call changed: a file (``path``, absolute) or a cell (its id in ``cell``, its code in ``source``)."""

    tool: str
    call_id: str
    path: Path | None = None
    cell: str | None = None
    source: str | None = None

    @property
    def label(self) -> str:
        """How it is called in a message."""
        return show_name(str(self.path)) if self.path is not None else f"cell {self.cell}"


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong with a change, in words for a person and for a model."""

    mutation: Mutation
    text: str


Validator: TypeAlias = Callable[[tuple[Mutation, ...]], Awaitable[Sequence[Failure]]]
"""Looks at all changes of a batch at once; nothing returned means that all is well."""

FailurePolicy: TypeAlias = (
    Literal["inject", "notice"] | Callable[[tuple[Failure, ...], TurnBoundary], Awaitable[None] | None]
)
"""``inject`` tells the model (reason ``validation``), ``notice`` only announces it to people; a function does as it
likes, the event of the boundary included."""


@dataclass(frozen=True, slots=True)
class MutationValidation:
    """A hook bundle that validates once per batch.

    Parameters
    ----------
    validate
        See :data:`Validator`. When it raises, that is reported as a failed hook and the run goes on.
    cwd
        Folder that relative paths start from.
    on_failure
        See :data:`FailurePolicy`.
    tools
        Tools whose successful calls change the file their ``path`` names, or the cell their ``cell_id`` names. Other
        calls count when their result's metadata name files under ``written``.

    Raises
    ------
    ConfigurationError
        There is no such policy.
    """

    validate: Validator
    cwd: Path = field(default_factory=Path.cwd)
    on_failure: FailurePolicy = "inject"
    tools: Collection[str] = EDIT_TOOLS

    def __post_init__(self) -> None:
        if not callable(self.on_failure) and self.on_failure not in ("inject", "notice"):
            raise ConfigurationError(
                f"There is no way {self.on_failure!r} to treat failures.", hint="One of: inject, notice, a function."
            )

    def install(self, hooks: HookBus) -> Uninstall:
        """Watch results, and validate at the boundary of the turn."""
        announce = announcer(hooks, _GUARD)
        pending: list[Mutation] = []

        def after(event: ToolAfter) -> None:
            if event.outcome == "ok":
                pending.extend(_mutations(event, self.tools, self.cwd))

        async def at_boundary(event: TurnBoundary) -> None:
            changes = tuple(dict.fromkeys(pending))
            pending.clear()
            failures = tuple(await self.validate(changes)) if changes else ()
            if not failures:
                return
            if callable(self.on_failure):
                outcome = self.on_failure(failures, event)
                if inspect.isawaitable(outcome):
                    await outcome
            elif self.on_failure == "inject":
                event.inject.append(Injection("validation", _report(failures)))
            await announce(event.ids, failures[0].mutation.tool, _summary(failures))

        def at_end(_event: AgentDone) -> None:
            pending.clear()

        return subscribe(hooks, {ToolAfter: after, TurnBoundary: at_boundary, AgentDone: at_end})


def _mutations(event: ToolAfter, tools: Collection[str], cwd: Path) -> Iterator[Mutation]:
    call_id = event.ids.call_id or ""
    named = _written(event.result)
    cell, source = event.input.get("cell_id"), event.input.get("source")
    if event.tool in tools:
        if isinstance(cell, str) and isinstance(source, str):
            yield Mutation(event.tool, call_id, cell=cell, source=source)
            return
        path = event.input.get("path")
        named = named or ((path,) if isinstance(path, str) and not wrote_nothing(event.result.metadata) else ())
    for name in named:
        try:
            yield Mutation(event.tool, call_id, path=resolve_path(name, cwd))
        except ToolError:
            continue  # no file can have this name, so none was changed


def _written(result: ToolResultBlock) -> tuple[str, ...]:
    execution = result.metadata.get("execution")
    inner = execution.get("files_written") if isinstance(execution, Mapping) else None
    listed = [each for each in (result.metadata.get(WRITTEN), inner) if isinstance(each, (list, tuple))]
    return tuple(dict.fromkeys(name for names in listed for name in names if isinstance(name, str)))


def _summary(failures: tuple[Failure, ...]) -> str:
    more = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
    return f"{failures[0].mutation.label}: {failures[0].text}{more}"


def _report(failures: tuple[Failure, ...]) -> str:
    lines = [f"- {failure.mutation.label}: {failure.text}" for failure in failures[:_MOST_FAILURES]]
    if len(failures) > _MOST_FAILURES:
        lines.append(f"- and {len(failures) - _MOST_FAILURES} more")
    return "What you just changed does not pass validation:\n" + "\n".join(lines) + "\nCorrect it before you go on."

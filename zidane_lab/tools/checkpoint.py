"""Checkpoints: where a detour of a run begins, and what it did to the kernel and to files.

A checkpoint is nothing but the result of a call: one is open while the run that set it goes on and has not gone back.
So a run that ends or is stopped, a restart and another branch have none, without anything being cleared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_output import ResultSource
from zidane_lab.turns import Turn

__all__ = ["CHECKPOINT", "REWIND", "Checkpoint", "Drift", "behind", "drift_in", "open_checkpoint", "turns_of"]

CHECKPOINT: Final = "checkpoint"
"""The tool that sets one, and the key of its result's metadata: ``{"goal": …}``."""

REWIND: Final = "rewind"
"""The tool that goes back, and the key of its result's metadata: ``{"turn": …, "goal": …, "report": …}``."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An open checkpoint: the turn with its result, behind which the detour begins, and what is to be found out."""

    turn_id: str
    goal: str


def open_checkpoint(turns: Sequence[Turn], run_id: str) -> Checkpoint | None:
    """Return the checkpoint a run has set and not gone back to."""
    for turn in reversed(turns):
        if turn.run_id != run_id:
            continue
        for result in turn.tool_results:
            if result.is_error:
                continue
            if REWIND in result.metadata:
                return None
            if isinstance(data := result.metadata.get(CHECKPOINT), Mapping):
                return Checkpoint(turn.id, str(data.get("goal", "")))
    return None


def behind(turns: Sequence[Turn], turn_id: str) -> tuple[Turn, ...]:
    """Return the turns behind one of them."""
    ids = [turn.id for turn in turns]
    return tuple(turns[ids.index(turn_id) + 1 :]) if turn_id in ids else ()


def turns_of(context: ToolContext) -> tuple[Turn, ...]:
    """Return the conversation a call belongs to; nothing outside of one."""
    session: object = context.outputs
    return session.turns if isinstance(session, ResultSource) else ()


@dataclass(frozen=True, slots=True)
class Drift:
    """What code did to the variables, in the order it happened. What came and went leaves no trace.

    ``made`` did not exist before; ``changed`` did, and is another now or was changed in place; ``deleted`` is gone.
    """

    made: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


def drift_in(turns: Iterable[Turn]) -> Drift:
    """Add up the evidence of the code that ran in ``turns``."""
    made: dict[str, None] = {}
    changed: dict[str, None] = {}
    deleted: dict[str, None] = {}
    for turn in turns:
        for result in turn.tool_results:
            execution = result.metadata.get("execution")
            if not isinstance(execution, Mapping):
                continue
            for name in _names(execution.get("created")):
                if name in deleted:  # it was there before, so it is not the detour's
                    del deleted[name]
                    changed[name] = None
                else:
                    made[name] = None
            changed |= {name: None for name in _names(execution.get("changed")) if name not in made}
            for name in _names(execution.get("deleted")):
                changed.pop(name, None)
                if name in made:
                    del made[name]
                else:
                    deleted[name] = None
    return Drift(tuple(made), tuple(changed), tuple(deleted))


def _names(raw: Any) -> tuple[str, ...]:
    return tuple(name for name in raw if isinstance(name, str)) if isinstance(raw, (list, tuple)) else ()

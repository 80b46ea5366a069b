"""Correlation of events: which run, turn, call and child they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["FinishReason", "Ids", "RunStatus"]

RunStatus: TypeAlias = Literal["completed", "aborted", "error"]
FinishReason: TypeAlias = Literal["stop", "tool-calls", "length", "refusal", "pause", "other"]


@dataclass(frozen=True, slots=True)
class Ids:
    """Correlation: which run, turn, call and (for subagents) which child at which depth."""

    run_id: str = ""
    turn_id: str | None = None
    call_id: str | None = None
    child_id: str | None = None
    depth: int = 0
    agent_name: str = "zidane"

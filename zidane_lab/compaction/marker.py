"""The turn that carries a summary: a user turn with one block, appended to the session like any other."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from zidane_lab.compaction.scope import Scope
from zidane_lab.turns import CompactSummaryBlock, Turn, Usage, new_id, now

__all__ = ["summary_turn"]


def summary_turn(
    summary: str,
    *,
    replaces: Sequence[str],
    model: str,
    usage: Usage,
    spent: Usage | None = None,
    scope: Scope | str = "",
    before: int = 0,
    after: int = 0,
    compacted_at: datetime | None = None,
    turn_id: str | None = None,
    run_id: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> Turn:
    """Return the turn that stands for others from now on; whoever calls appends it to the session.

    Parameters
    ----------
    summary
        The text sent in their place.
    replaces
        Ids of the turns it stands for.
    model
        Full name of the model that wrote it.
    usage
        Tokens of the call that gave it.
    spent
        Tokens of all calls made for it, which the turn accounts for; ``usage`` if left out.
    scope
        Which part of the conversation it covers.
    before, after
        Size of the context in tokens, and about what is left of it.
    compacted_at, turn_id
        When it was made, and the turn's id: now and a random one; given for replay, the turn is the same again.
    run_id
        The run it was made in.
    details
        More to keep with it: plain JSON.
    """
    moment = compacted_at if compacted_at is not None else now()
    metadata: dict[str, Any] = {
        "model": model,
        "scope": str(scope),
        "usage": _usage_json(usage),
        "before": before,
        "after": after,
        "compacted_at": moment.isoformat(timespec="milliseconds"),
        **(details or {}),
    }
    return Turn(
        role="user",
        blocks=(CompactSummaryBlock(summary, tuple(replaces), metadata),),
        id=turn_id if turn_id is not None else new_id("turn"),
        created_at=moment,
        run_id=run_id,
        usage=spent if spent is not None else usage,
        model=model,
    )


def _usage_json(usage: Usage) -> dict[str, Any]:
    """Return the counts that are known, as plain JSON."""
    return {key: value for key, value in dataclasses.asdict(usage).items() if value is not None}

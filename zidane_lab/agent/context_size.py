"""How large the context is now: what the provider counted, and an estimate of what came after."""

from __future__ import annotations

import json

from zidane_lab.providers.base import Request
from zidane_lab.turns import Turn
from zidane_lab.wire.cutoff import is_marker
from zidane_lab.wire.state import WireState
from zidane_lab.wire.tokens import estimate_tokens, estimate_turns

__all__ = ["counted_size", "estimated_size", "fixed_tokens", "measured_in"]


def counted_size(turns: tuple[Turn, ...], measured: tuple[str, int] | None) -> int | None:
    """Return the size of the next prompt in tokens where a provider counted most of it; ``None`` where none did.

    Parameters
    ----------
    turns
        The session's turns.
    measured
        The id of an answer, and the size of its prompt and itself as the provider counted them.
    """
    if measured is None:
        return None
    answer, tokens = measured
    for index in range(len(turns) - 1, -1, -1):
        if turns[index].id == answer:
            return tokens + estimate_turns(turns[index + 1 :])
    return None


def estimated_size(request: Request) -> int:
    """Estimate the size of a request in tokens: turns, instructions and tools."""
    return fixed_tokens(request) + estimate_turns(request.turns)


def fixed_tokens(request: Request) -> int:
    """Estimate what is sent besides the turns: instructions and tools."""
    tools = sum(
        estimate_tokens(tool.name) + estimate_tokens(tool.description) + estimate_tokens(json.dumps(tool.parameters))
        for tool in request.tools
    )
    return estimate_tokens(request.system) + tools


def measured_in(turns: tuple[Turn, ...], state: WireState) -> tuple[str, int] | None:
    """Return the newest answer a provider counted, if what is sent has not been changed since.

    After a restart; where it is not known when results were left out or a compaction undone, nothing is guessed.
    """
    if (state.elided or state.undone) and state.changed_after is None:
        return None
    for turn in reversed(turns):
        if is_marker(turn) or turn.id == state.changed_after:
            return None
        if turn.role == "assistant" and turn.usage is not None and turn.usage.context > 0:
            return turn.id, turn.usage.context + turn.usage.output
    return None

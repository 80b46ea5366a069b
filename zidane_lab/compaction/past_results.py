"""The tool results of a conversation as the model has them before it: where, how large, seen or not.

What every cheap lever needs to know before it leaves a result out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from zidane_lab.session.persisted import PERSISTED, PERSISTED_STUB_PREFIX
from zidane_lab.turns import ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.cutoff import replaced_ids
from zidane_lab.wire.state import WireState
from zidane_lab.wire.tokens import estimate_block, estimate_tokens

__all__ = ["Elision", "PastResult", "elision_of", "past_results"]

_SYNTHETIC: Final = "restore"
"""Reason of turns the model did not write, so that writing them does not prove it saw what came before."""


@dataclass(frozen=True, slots=True)
class Elision:
    """A decision to leave results out, not carried out yet: record it in the session and it holds.

    Parameters
    ----------
    results
        For the ids of the calls, the text sent in place of their results.
    tokens
        About how many tokens fewer are sent.
    why
        For people, in a few words.
    """

    results: Mapping[str, str]
    tokens: int
    why: str

    @property
    def data(self) -> dict[str, Any]:
        """What to record under :data:`~zidane_lab.wire.state.ELIDE`."""
        return {"results": dict(self.results)}


@dataclass(frozen=True, slots=True)
class PastResult:
    """One result of the conversation.

    Parameters
    ----------
    call, result
        The call and its result, as they were said.
    turn, said_at
        Index of the turn the result is in, and when it joined the conversation.
    tokens
        About how many tokens it takes as it was said.
    behind, blocks_behind
        About how many tokens, and how many blocks, are sent after it: what a provider reads anew when it changes.
    sent
        It is still sent as it was said: neither left out nor behind a summary.
    seen
        The model has answered since.
    """

    call: ToolCallBlock
    result: ToolResultBlock
    turn: int
    said_at: datetime
    tokens: int
    behind: int
    blocks_behind: int
    sent: bool
    seen: bool

    @property
    def is_stub(self) -> bool:
        """Whether it already is the short stand-in of a result kept in a file; the pointer must not be lost."""
        return PERSISTED in self.result.metadata or self.result.text.startswith(PERSISTED_STUB_PREFIX)


def past_results(turns: Sequence[Turn], state: WireState) -> tuple[PastResult, ...]:
    """Return the results of a conversation with their calls, oldest first; results without a call are passed over."""
    calls = {call.id: call for turn in turns if turn.role == "assistant" for call in turn.tool_calls}
    replaced = replaced_ids(turns, state.undone)
    found: list[PastResult] = []
    behind, blocks, seen = 0, 0, False
    for index in range(len(turns) - 1, -1, -1):
        turn = turns[index]
        sent = turn.id not in replaced
        for block in reversed(turn.blocks):
            if not isinstance(block, ToolResultBlock):
                behind += estimate_block(block) if sent else 0
                blocks += sent
                continue
            tokens, substitute = estimate_block(block), state.elided.get(block.call_id)
            if (call := calls.get(block.call_id)) is not None:
                unchanged = sent and substitute is None
                found.append(PastResult(call, block, index, turn.created_at, tokens, behind, blocks, unchanged, seen))
            if sent:
                behind += tokens if substitute is None else estimate_tokens(substitute)
                blocks += 1
        seen = seen or (turn.role == "assistant" and turn.injected != _SYNTHETIC)
    return tuple(reversed(found))


def elision_of(texts: Sequence[tuple[PastResult, str]], why: str) -> Elision | None:
    """Return the decision to send ``texts`` in place of results; those that save nothing are left as they are."""
    chosen = [(past, text, saved) for past, text in texts if (saved := past.tokens - estimate_tokens(text)) > 0]
    if not chosen:
        return None
    results = MappingProxyType({past.call.id: text for past, text, _ in chosen})
    return Elision(results, sum(saved for *_, saved in chosen), why)

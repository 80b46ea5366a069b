"""Compact a conversation: choose the part, word the prompt, have the summary written, make the turn that carries it.

Nothing is changed here: the turn is handed back, and whoever asked appends it to the session.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from zidane_lab.compaction.calls import Stream
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.compaction.marker import summary_turn
from zidane_lab.compaction.observers import End, Observers, Start, tell
from zidane_lab.compaction.prompts import PromptBuilder, anchor_preview, build_compact_prompt
from zidane_lab.compaction.rounds import told_bytes
from zidane_lab.compaction.scope import Scope, Tail
from zidane_lab.compaction.slicing import CompactionSlice, covered_ids, slice_for_compaction
from zidane_lab.compaction.summarize import Instruction, Ledger, Summary, summarize
from zidane_lab.compaction.touched import touched_by, with_touched
from zidane_lab.errors import AbortedError
from zidane_lab.providers.base import Request, ThinkingLevel
from zidane_lab.turns import Turn, Usage, new_id, now
from zidane_lab.wire.build import NO_STATE
from zidane_lab.wire.cutoff import is_marker
from zidane_lab.wire.elide import apply_elisions
from zidane_lab.wire.sizes import utf8_length
from zidane_lab.wire.state import WireState
from zidane_lab.wire.tokens import estimate_tokens, estimate_turns

__all__ = ["SUPPLIED", "Compaction", "Supply", "compact_turns", "estimate_after"]

SUPPLIED: Final = "supplied"
"""Stands for the model when the summary did not come from one."""

Supply: TypeAlias = Callable[[tuple[Turn, ...]], Awaitable[str | None]]
"""Gives the summary of turns itself, or ``None`` to have a model asked."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction that worked.

    Parameters
    ----------
    turn
        Append it to the session: it carries the summary.
    summary
        The summary, what it covers and what it took.
    slice
        What was to be summarised and what stays.
    before, after
        Size of the context in tokens, and about what will be left of it.
    before_bytes, after_bytes
        Size of what the summary was made of, and of the summary.
    seconds
        How long it took.
    """

    turn: Turn
    summary: Summary
    slice: CompactionSlice
    before: int
    after: int
    before_bytes: int
    after_bytes: int
    seconds: float

    @property
    def replaced(self) -> int:
        """How many of the turns that were sent it stands for."""
        return len(self.summary.summarized_ids)

    @property
    def preserved(self) -> tuple[Turn, ...]:
        """The turns of the conversation that are still sent word for word, in order."""
        covered = set(self.summary.summarized_ids)
        return tuple(turn for turn in self.slice.visible if turn.id not in covered)


async def compact_turns(
    turns: tuple[Turn, ...],
    stream: Stream,
    *,
    model: str,
    provider: str = "",
    scope: Scope | None = None,
    config: AutoCompact | None = None,
    state: WireState = NO_STATE,
    before: int = 0,
    instructions: str = "",
    prefix_request: Request | None = None,
    prompt: PromptBuilder | None = None,
    supply: Supply | None = None,
    thinking: ThinkingLevel = "off",
    observers: Observers[Compaction] | None = None,
    run_id: str | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
    clock: Callable[[], float] = time.monotonic,
    moment: Callable[[], datetime] = now,
    mint: Callable[[], str] = lambda: new_id("turn"),
    rethrow: Callable[[BaseException], bool] = lambda _: False,
) -> Compaction:
    """Summarise part of a conversation.

    Parameters
    ----------
    turns
        The session's turns; they are not changed.
    stream
        ``stream`` of the provider that writes the summary.
    model, provider
        The provider's own name of the model, and the provider's name, for the record.
    scope
        Which part; default: all but the last ``config.keep_turns`` turns.
    config
        How summaries are made.
    state
        What has been decided about how the session is sent: the summary is made of what the model sees.
    before
        Size of the context in tokens as the provider counted it; estimated if 0.
    instructions
        What this summary should pay attention to, besides ``config.instructions``.
    prefix_request
        The conversation's next request exactly as the loop would send it, if ``model`` is its model and ``stream``
        its provider's. Not used together with ``prompt``.
    prompt
        Another way to word the request.
    supply
        Asked once, before any model, for the turns to summarise; may give the summary itself.
    thinking
        How much the model may reason in a request of its own.
    observers
        Who is told how it goes.
    run_id
        The run it belongs to.
    sleep, jitter, clock, moment, mint
        Waiting, chance, seconds, the time of day and ids; given for tests and for replay.
    rethrow
        Errors for which this is true are neither retried nor replaced by another call.

    Raises
    ------
    CompactInvalidInputError
        There is nothing to summarise; nobody was told or asked.
    CompactPromptTooLongError
        Even shortened the conversation is too long for the model.
    CompactionError
        The model wrote no summary.
    OperationTimeoutError
        The model was silent for too long.
    ProviderError
        The service failed for good.
    AbortedError
        A listener wants to stop.
    """
    config = config if config is not None else AutoCompact()
    told: Observers[Compaction] = observers if observers is not None else Observers()
    part = slice_for_compaction(turns, scope or Tail(config.keep_turns), undone=state.undone)
    visible = apply_elisions(part.visible, state.elided)
    before = before if before > 0 else estimate_turns(visible)
    name = f"{provider}/{model}" if provider else model
    began, ledger = clock(), Ledger()
    end: End[Compaction] | None = None
    try:
        await tell(told.on_start, Start(name, part.scope, part.to_summarize, part.preserved, before))
        sent = apply_elisions(part.to_summarize, state.elided)
        summary = await _supplied(supply, part)
        if summary is None:
            words = "\n\n".join(each.strip() for each in (config.instructions, instructions) if each.strip())
            summary = await summarize(
                stream,
                sent,
                _instruction(part, prompt or build_compact_prompt, words),
                model=model,
                config=config,
                prefix_request=prefix_request if prompt is None else None,
                thinking=thinking,
                observers=told,
                ledger=ledger,
                sleep=sleep,
                jitter=jitter,
                rethrow=rethrow,
            )
        else:
            name = SUPPLIED
        covered = set(summary.summarized_ids)
        replaced = tuple(turn for turn in part.to_summarize if turn.id in covered)
        told_turns = tuple(turn for turn in sent if turn.id in covered)
        touched = touched_by(replaced)
        text = with_touched(summary.text, touched)
        after = estimate_after(before, visible, told_turns, text)
        turn = summary_turn(
            text,
            replaces=covered_ids(replaced),
            model=name,
            usage=summary.usage,
            spent=summary.spent,
            scope=part.scope,
            before=before,
            after=after,
            compacted_at=moment(),
            turn_id=mint(),
            run_id=run_id,
            details=_details(summary, touched.to_json()),
        )
        sizes = told_bytes(told_turns), utf8_length(text)
        done = Compaction(turn, summary, part, before, after, *sizes, clock() - began)
        end = End("compacted", done.seconds, ledger.spent, done)
        return done
    except BaseException as error:
        stopped = isinstance(error, (asyncio.CancelledError, AbortedError))
        end = End("aborted" if stopped else "failed", clock() - began, ledger.spent, None, error)
        raise
    finally:
        if end is not None:
            await tell(told.on_end, end)


def estimate_after(before: int, visible: tuple[Turn, ...], replaced: tuple[Turn, ...], summary: str) -> int:
    """Estimate the size of a context once ``summary`` stands for ``replaced``.

    What is sent besides the turns (instructions, tools) stays as large as it was: ``before`` less the turns. Where
    the turns alone are estimated at more than was counted, the estimates are scaled to the count.
    """
    whole = estimate_turns(visible)
    scale = min(1.0, before / whole) if whole else 1.0
    return max(0, round(before - scale * (estimate_turns(replaced) - estimate_tokens(summary))))


async def _supplied(supply: Supply | None, part: CompactionSlice) -> Summary | None:
    text = await supply(part.to_summarize) if supply is not None else None
    if text is None or not text.strip():
        return None
    return Summary(text.strip(), SUPPLIED, Usage(), Usage(), part.ids)


def _instruction(part: CompactionSlice, prompt: PromptBuilder, instructions: str) -> Instruction:
    """Return the function that words the prompt, for a request with or without the turns that stay."""

    def instruct(turns: tuple[Turn, ...], whole: bool) -> str:
        anchor = part.anchor
        if part.scope.direction == "tail" and not whole:
            anchor = None  # the tail is not shown
        elif part.scope.direction in ("from", "up_to") and (anchor is None or all(anchor.id != t.id for t in turns)):
            anchor = turns[0]  # the one named was too much
        preview = anchor_preview(anchor) if anchor is not None else ""
        is_update = any(is_marker(turn) for turn in turns)
        return prompt(part.scope.direction, preview, is_update=is_update, instructions=instructions)

    return instruct


def _details(summary: Summary, touched: dict[str, Any]) -> dict[str, Any]:
    """Return what else the summary's turn records; what did not happen is left out."""
    details: dict[str, Any] = {
        "attempts": [attempt.kind for attempt in summary.attempts],
        "dropped": list(summary.dropped_ids),
        "from_cache": summary.from_cache,
        "fallback_reason": summary.fallback_reason,
        "touched": touched,
    }
    return {key: value for key, value in details.items() if value}

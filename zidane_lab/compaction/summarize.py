"""Have a model write the summary: from the cached conversation if possible, shortened if need be.

The first try sends the conversation's next request unchanged with the instruction behind it, so the provider reads
the conversation from its cache. Whatever goes wrong with it, a request of its own follows: the part to summarise as
one text, without tools. That one is shortened when it is too long, and made again after a passing failure.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from zidane_lab.compaction.answer import is_cut_in_analysis, strip_analysis
from zidane_lab.compaction.calls import Answer, Attempt, AttemptKind, Progress, Stream, ask
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.compaction.observers import Observers, tell
from zidane_lab.compaction.prompts import SUMMARY_SYSTEM
from zidane_lab.compaction.rounds import halve_head
from zidane_lab.compaction.slicing import has_text
from zidane_lab.compaction.transcript import transcript
from zidane_lab.errors import (
    AbortedError,
    CompactionError,
    CompactPromptTooLongError,
    ContextExceededError,
    ProviderError,
)
from zidane_lab.providers.base import Request, ThinkingLevel
from zidane_lab.turns import TextBlock, Turn, Usage

__all__ = ["CUT_OFF", "Instruction", "Ledger", "Summary", "prefixed_request", "standalone_request", "summarize"]

TRANSIENT_RETRIES: Final = 2
"""How often a call is made again after failures that pass."""

BACKOFF_SECONDS: Final = 1.0
"""Wait before the first retry; doubled for the next, and multiplied by a random factor from 0.5 to 1."""

LONGEST_WAIT: Final = 60.0
"""Seconds; a service that asks for more is not waited for."""

CUT_OFF: Final = "[This summary reached the limit of its length and stops here.]"
"""Stands at the end of a summary that is not complete."""

Instruction: TypeAlias = Callable[[tuple[Turn, ...], bool], str]
"""Words the prompt: for the turns to summarise, and whether the request holds the rest of the conversation too."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, what it covers, and what it took.

    Parameters
    ----------
    text
        The summary, without the analysis.
    model
        The provider's own name of the model that wrote it.
    usage
        Tokens of the call that gave it.
    spent
        Tokens of all calls, those that failed too, as far as the service told.
    summarized_ids
        The turns it describes: these and no others.
    dropped_ids
        Turns left out because the request was too long; nothing stands for them, so they must stay.
    attempts
        The calls made, in order.
    ptl_retries
        How often the request was shortened.
    from_cache
        Whether the conversation's own request gave it.
    fallback_reason
        Why that request gave none, if it was tried.
    """

    text: str
    model: str
    usage: Usage
    spent: Usage
    summarized_ids: tuple[str, ...]
    dropped_ids: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    ptl_retries: int = 0
    from_cache: bool = False
    fallback_reason: str = ""


@dataclass(slots=True)
class Ledger:
    """The calls made so far and what they cost; right also when no summary comes of them."""

    spent: Usage = field(default_factory=Usage)
    attempts: list[Attempt] = field(default_factory=list)


async def summarize(
    stream: Stream,
    turns: tuple[Turn, ...],
    instruct: Instruction,
    *,
    model: str,
    config: AutoCompact,
    prefix_request: Request | None = None,
    thinking: ThinkingLevel = "off",
    observers: Observers[Any] | None = None,
    ledger: Ledger | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
    rethrow: Callable[[BaseException], bool] = lambda _: False,
) -> Summary:
    """Have a model summarise ``turns``.

    Parameters
    ----------
    stream
        The provider's ``stream``.
    turns
        What to summarise: turns of the session, without results that are left out.
    instruct
        Words the prompt; asked again when turns have been dropped.
    model
        The provider's own name of the model for a request of its own.
    config
        How long a summary may be, how often to shorten, how long to wait.
    prefix_request
        The conversation's next request exactly as the loop would send it, if ``model`` is its model. Its answer is
        not used if it calls a tool, holds no summary, or fails for whatever reason but a stop.
    thinking
        How much the model may reason in a request of its own.
    observers
        Who is told of calls and progress.
    ledger
        Filled in with the calls and what they cost, also when this raises.
    sleep, jitter
        How to wait, and a random number from 0 to 1 that varies the wait; given for tests and for replay.
    rethrow
        Errors for which this is true are neither retried nor replaced by another call.

    Raises
    ------
    CompactPromptTooLongError
        The request was too long and cannot be shortened, or not once more.
    CompactionError
        The model answered without a summary.
    OperationTimeoutError
        The model was silent for too long.
    ProviderError
        The service failed for good.
    """
    told = observers if observers is not None else Observers()
    book = ledger if ledger is not None else Ledger()
    writer = _Writer(stream, config, told, book, sleep, jitter, rethrow)
    reason = ""
    kind: AttemptKind = "initial"
    if prefix_request is not None:
        cached = await writer.from_cache(prefix_request, instruct(turns, True))
        if isinstance(cached, _Found):
            ids = tuple(turn.id for turn in turns)
            return Summary(
                cached.text,
                prefix_request.model,
                cached.usage,
                book.spent,
                ids,
                attempts=tuple(book.attempts),
                from_cache=True,
            )
        reason, kind = cached, "prefix-fallback"

    def request_of(working: tuple[Turn, ...]) -> Request:
        return standalone_request(
            working, instruct(working, False), model=model, max_tokens=config.max_output_tokens, thinking=thinking
        )

    working, found = await writer.alone(turns, request_of, kind)
    return Summary(
        found.text,
        model,
        found.usage,
        book.spent,
        tuple(turn.id for turn in working),
        tuple(turn.id for turn in turns[: len(turns) - len(working)]),
        tuple(book.attempts),
        sum(attempt.kind == "ptl-retry" for attempt in book.attempts),
        fallback_reason=reason,
    )


def prefixed_request(request: Request, instruction: str, max_output_tokens: int) -> Request:
    """Return ``request`` with the instruction behind it and the summary's limit of output; all else stays.

    Reasoning counts towards the limit and may set its own budget by it, and another budget is another cache. So
    where the request asks for reasoning its own limit stays, unless it is the lower one.
    """
    last = request.turns[-1]
    turn = Turn("user", (TextBlock(instruction),), id=f"{last.id}-summarize", created_at=last.created_at)
    if request.thinking == "off":
        limit: int | None = max_output_tokens
    else:
        limit = None if request.max_tokens is None else max(request.max_tokens, max_output_tokens)
    return replace(request, turns=(*request.turns, turn), max_tokens=limit)


def standalone_request(
    turns: tuple[Turn, ...], instruction: str, *, model: str, max_tokens: int, thinking: ThinkingLevel = "off"
) -> Request:
    """Return a request of its own: one user turn with the conversation as text and the instruction; no tools."""
    blocks = (TextBlock(transcript(turns)), TextBlock(instruction))
    return Request(model, SUMMARY_SYSTEM, (Turn("user", blocks, id="summarize"),), (), max_tokens, thinking)


@dataclass(frozen=True, slots=True)
class _Found:
    text: str
    usage: Usage


@dataclass(slots=True)
class _Writer:
    """The calls of one summary."""

    stream: Stream
    config: AutoCompact
    observers: Observers[Any]
    ledger: Ledger
    sleep: Callable[[float], Awaitable[None]]
    jitter: Callable[[], float]
    rethrow: Callable[[BaseException], bool]

    async def from_cache(self, request: Request, instruction: str) -> _Found | str:
        """Ask the conversation itself; return why not, if nothing comes of it."""
        try:
            answer = await self._ask(prefixed_request(request, instruction, self.config.max_output_tokens), "initial")
        except AbortedError:
            raise
        except Exception as error:
            if self.rethrow(error):
                raise
            return str(error)
        if answer.calls_tool:
            return "The model called a tool."
        return _found(answer) or "The model answered without a summary."

    async def alone(
        self, turns: tuple[Turn, ...], request_of: Callable[[tuple[Turn, ...]], Request], kind: AttemptKind
    ) -> tuple[tuple[Turn, ...], _Found]:
        """Ask with a request of its own, shortened or once more if need be; return the turns it was about, too."""
        shortened = failures = 0
        while True:
            try:
                answer = await self._ask(request_of(turns), kind)
            except ContextExceededError as error:
                if self.rethrow(error):
                    raise
                turns, shortened, kind = self._shorter(turns, shortened, error), shortened + 1, "ptl-retry"
                failures = 0
            except ProviderError as error:
                if self.rethrow(error) or not _passes(error) or failures == TRANSIENT_RETRIES:
                    raise
                await self.sleep(_wait(failures, error.retry_after, self.jitter()))
                failures, kind = failures + 1, "transient-retry"
            else:
                if (found := _found(answer)) is not None:
                    return turns, found
                raise CompactionError(_why_none(answer))

    def _shorter(self, turns: tuple[Turn, ...], shortened: int, error: ContextExceededError) -> tuple[Turn, ...]:
        if shortened == self.config.max_ptl_retries:
            tries = f", shortened {shortened} time(s)" if shortened else ""
            message = f"The conversation is too long for the summarising model{tries}."
            raise CompactPromptTooLongError(message, ptl_retries=shortened) from error
        shorter = halve_head(turns)
        if shorter is turns or not any(has_text(turn) for turn in shorter):
            message = "The latest round alone is too long for the summarising model."
            raise CompactPromptTooLongError(message, ptl_retries=shortened) from error
        return shorter

    async def _ask(self, request: Request, kind: AttemptKind) -> Answer:
        numbers = Counter(attempt.kind for attempt in self.ledger.attempts)
        attempt = Attempt(kind, numbers[kind] + 1)
        self.ledger.attempts.append(attempt)
        await tell(self.observers.on_attempt, attempt)

        async def on_tokens(tokens: int) -> None:
            await tell(self.observers.on_progress, Progress(attempt, tokens))

        answer = Answer()
        try:
            await ask(self.stream, request, answer, silence_seconds=self.config.silence_seconds, on_tokens=on_tokens)
        finally:
            if answer.usage is not None:
                self.ledger.spent += answer.usage
        return answer


def _found(answer: Answer) -> _Found | None:
    """Return the summary in an answer, if it holds one; one that reached its limit says so."""
    if answer.finish == "refusal":
        return None
    text = strip_analysis(answer.text)
    if answer.finish == "length":
        text = "" if is_cut_in_analysis(answer.text) else f"{text}\n\n{CUT_OFF}" if text else ""
    return _Found(text, answer.usage or Usage()) if text else None


def _why_none(answer: Answer) -> str:
    if answer.finish == "refusal":
        return "The summarising model refused to summarise the conversation."
    if answer.finish == "length":
        return "The summarising model reached its limit of output before it came to the summary."
    if answer.calls_tool:
        return "The summarising model called a tool and wrote no summary."
    return "The summarising model answered without a summary."


def _passes(error: ProviderError) -> bool:
    return error.retryable and (error.retry_after or 0) <= LONGEST_WAIT


def _wait(failures: int, retry_after: float | None, jitter: float) -> float:
    return max(BACKOFF_SECONDS * (1 << failures) * (0.5 + jitter / 2), retry_after or 0.0)

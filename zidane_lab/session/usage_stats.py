"""What the calls of a conversation used: one by one, added up, and by model; and how to say it in a line.

Two numbers are easily mixed up and are kept apart here. *Context now* is the size of the newest prompt, which
says how full the window is. *Spent in all* adds up every call, each of which sent its whole prompt again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from zidane_lab.turns import CompactSummaryBlock, Turn, Usage

__all__ = [
    "UNKNOWN_MODEL",
    "Answer",
    "ModelUsage",
    "answers_of",
    "context_now",
    "format_cost",
    "format_token_usage",
    "spent",
    "usage_by_model",
]

UNKNOWN_MODEL: Final = "unknown"
"""Stands for the model of a call that does not name one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One call of a model that is in a session: an answer, or the summary of a compaction.

    ``model`` is the full name, or ``"unknown"``. A summary costs what it costs but is no turn of the conversation.
    """

    at: datetime
    model: str
    usage: Usage
    is_summary: bool = False
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one model used. ``turns`` are its answers, summaries not counted.

    ``unpriced`` counts the calls whose price is not known; ``usage.cost`` is without them.
    """

    model: str
    usage: Usage
    turns: int
    unpriced: int = 0


def answers_of(turns: Iterable[Turn]) -> tuple[Answer, ...]:
    """Return the calls of a model that ``turns`` hold, in order; an answer that died uncounted has used nothing."""
    found: list[Answer] = []
    for turn in turns:
        if turn.usage is None and (turn.role == "user" or turn.injected is not None):
            continue  # most turns: nothing else of them is looked at
        summary = next((block for block in turn.blocks if isinstance(block, CompactSummaryBlock)), None)
        if turn.usage is None and summary is not None:
            continue
        model = turn.model or (summary.metadata.get("model") if summary is not None else None)
        named = model if isinstance(model, str) and model else UNKNOWN_MODEL
        found.append(Answer(turn.created_at, named, turn.usage or Usage(), summary is not None, turn.run_id))
    return tuple(found)


def spent(answers: Iterable[Answer]) -> Usage:
    """Add up what the calls used."""
    return sum((answer.usage for answer in answers), Usage())


def usage_by_model(turns: Iterable[Turn | Answer]) -> tuple[ModelUsage, ...]:
    """Split what ``turns`` used by model, in the order the models first answered."""
    found: dict[str, list[Answer]] = {}
    for each in turns:
        for answer in (each,) if isinstance(each, Answer) else answers_of((each,)):
            found.setdefault(answer.model, []).append(answer)
    return tuple(
        ModelUsage(
            model,
            spent(answers),
            sum(not answer.is_summary for answer in answers),
            sum(answer.usage.cost is None and not answer.usage.is_empty for answer in answers),
        )
        for model, answers in found.items()
    )


def context_now(turns: Sequence[Turn], undone: Collection[str] = frozenset()) -> int:
    """Return the tokens of the context as it stands; 0 before the first answer.

    That is the newest prompt a model has counted. Answers that died before their usage arrived are passed over, so
    that a gauge does not fall to zero. Where a summary came since, it is what was estimated to be left after it.
    Sessions of subagents are their own and not looked at. ``undone`` are the ids of summaries' turns that no longer
    count.
    """
    for turn in reversed(turns):
        summary = next((block for block in turn.blocks if isinstance(block, CompactSummaryBlock)), None)
        if summary is not None and turn.id not in undone:
            after = summary.metadata.get("after")
            if type(after) is int and after > 0:
                return after
            continue
        if turn.role == "assistant" and turn.usage is not None and turn.usage.context:
            return turn.usage.context
    return 0


def format_token_usage(usage: Usage, *, separator: str = "") -> str:
    """Say a count in one line: ``in 52413 (cache 50000) / 4075 out``.

    The first number is the whole prompt, what the cache answered included; without any the parenthesis is left out.

    Parameters
    ----------
    usage
        Tokens of a call, or of several.
    separator
        Put between thousands; ``","`` for people.
    """

    def number(count: int) -> str:
        return f"{count:,}".replace(",", separator)

    cache = f" (cache {number(usage.cache_read)})" if usage.cache_read else ""
    return f"in {number(usage.context)}{cache} / {number(usage.output)} out"


def format_cost(cost: float | None) -> str:
    """Say an amount of US dollars; empty where it is not known, and never a false ``$0.00``."""
    if not cost:
        return ""
    if cost < 0.0001:
        return "<$0.0001"
    return f"${cost:.4f}" if cost < 1 else f"${cost:,.2f}"

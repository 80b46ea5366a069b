"""``/usage``: what was spent; ``/context``: what fills the window in the next request."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from zidane_lab.agent.context_breakdown import ExactCounts, context_breakdown
from zidane_lab.agent.context_size import measured_in
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.commands import CommandContext, Reply, command
from zidane_lab.chat.context_report import context_report
from zidane_lab.chat.report import Report, to_html, to_markdown
from zidane_lab.chat.usage_report import MOST_DAYS, days_report, session_report
from zidane_lab.errors import ConfigurationError, OperationTimeoutError, ZidaneError
from zidane_lab.providers.base import Request
from zidane_lab.providers.registry import create_provider, split_model
from zidane_lab.session.session import Session
from zidane_lab.session.usage import read_session_usage, run_usage_aggregates
from zidane_lab.session.usage_stats import Answer, answers_of, context_now
from zidane_lab.turns import TextBlock, Turn, Usage
from zidane_lab.wire.cutoff import is_marker, summary_turn_id

__all__ = ["COUNT_SECONDS", "count_request", "parse_days", "session_answers"]

COUNT_SECONDS: Final = 10.0
"""How long a service is waited for when it is asked to count."""


def _reply(report: Report) -> Reply:
    return Reply(to_markdown(report), html=to_html(report))


# --- usage ----------------------------------------------------------------------------------------


@command("usage", "/usage [--days N]", "tokens and money: of this session; or of all notebooks here, day by day")
async def _usage(context: CommandContext, arguments: str) -> Reply:
    chat = context.chat
    if (days := parse_days(arguments)) is not None:
        until = date.today()  # noqa: DTZ011 - the person's own day
        since = until - timedelta(days=days - 1)
        buckets = await asyncio.to_thread(run_usage_aggregates, chat.place.folder, since=since)
        return _reply(days_report(buckets, str(chat.place.folder), since, until))
    session = chat.session
    if not session.runs:
        return Reply(
            "Nothing has been asked in this session yet. `%zidane /usage --days 30` sums up all notebooks here."
        )
    answers = await asyncio.to_thread(session_answers, session)
    return _reply(session_report(session.runs, answers, context_now(session.turns, session.wire_state.undone)))


def parse_days(arguments: str) -> int | None:
    """Read ``--days N``; ``None`` where there is nothing to read.

    Raises
    ------
    ConfigurationError
        It is something else, or not a number of days.
    """
    words = arguments.replace("=", " ", 1).split()
    if not words:
        return None
    is_number = len(words) == 2 and words[0] == "--days" and words[1].isascii() and words[1].isdigit()
    days = int(words[1]) if is_number and len(words[1]) <= 6 else 0
    if not 1 <= days <= MOST_DAYS:
        raise ConfigurationError(
            f"/usage does not understand {arguments!r}.",
            hint=f"Write %zidane /usage, or %zidane /usage --days N with N from 1 to {MOST_DAYS:,}.",
        )
    return days


def session_answers(session: Session) -> tuple[Answer, ...]:
    """Return every call of a session that was paid, those of branches left behind included.

    They are read from its file; of a session in memory, or one with entries that wait for a disk, only the
    present branch is known.
    """
    if session.path is not None and session.path.exists() and not session.unsaved:
        found = read_session_usage(session.path).sessions
        if found:
            return found[0].answers
    return answers_of(session.turns)


# --- context --------------------------------------------------------------------------------------


@command("context", "/context", "what fills the model's window in the next request, part by part")
async def _context(context: CommandContext, _arguments: str) -> Reply:
    chat = context.chat
    request, window = chat.next_request(), chat.window()
    name = chat.choose_model().name
    exact, trouble = None, ""
    try:
        exact = await _counts(chat, name, request)
    except ZidaneError as error:
        trouble = error.message
    breakdown = context_breakdown(
        request.system,
        request.tools,
        request.turns,
        measured=_measured(chat.session),
        window=window,
        exact=exact,
        summaries=[summary_turn_id(turn.id) for turn in chat.session.turns if is_marker(turn)],
    )
    counted_by = split_model(name)[0] if exact is not None else ""
    return _reply(context_report(breakdown, name, counted_by=counted_by, trouble=trouble))


def _measured(session: Session) -> Usage | None:
    """Return what the newest answer's prompt took, unless what is sent has been changed since."""
    measured = measured_in(session.turns, session.wire_state)
    return None if measured is None else next(turn.usage for turn in session.turns if turn.id == measured[0])


async def _counts(chat: Chat, name: str, request: Request) -> ExactCounts | None:
    """Ask the provider to count, if it can and if it is the one that has the conversation already.

    To look at the context must not send it anywhere new.
    """
    kind, _ = split_model(name)
    answers = (turn.model for turn in reversed(chat.session.turns) if turn.role == "assistant" and turn.model)
    answered_by = next(answers, None)  # what is put back behind a summary is nobody's
    if not request.turns or answered_by is None or split_model(answered_by)[0] != kind:
        return None
    provider = create_provider(kind, env=chat.env)
    try:
        counter = getattr(provider, "count_tokens", None)
        if counter is None:
            return None
        async with asyncio.timeout(COUNT_SECONDS):
            return await count_request(counter, request)
    except TimeoutError as error:
        raise OperationTimeoutError(f"{kind} did not count within {COUNT_SECONDS:.0f} seconds.") from error
    finally:
        await provider.aclose()


async def count_request(counter: Callable[[Request], Awaitable[int] | int], request: Request) -> ExactCounts:
    """Count a request whole, and its system prompt and tools by what they add to the smallest request there is.

    Parameters
    ----------
    counter
        A provider's ``count_tokens``: a function, sync or async, from a request to the tokens of its prompt.
    request
        The request.

    Raises
    ------
    ProviderError
        The service cannot be reached, refused, or does not count.
    """

    async def count(each: Request) -> int:
        outcome = counter(each)
        return await outcome if inspect.isawaitable(outcome) else outcome

    smallest = replace(
        request, system="", system_boundary=None, tools=(), turns=(Turn("user", (TextBlock("."),), id="probe"),)
    )
    probes = [request, smallest]
    if request.system.strip():
        probes.append(replace(smallest, system=request.system, system_boundary=request.system_boundary))
    if request.tools:
        probes.append(replace(smallest, tools=request.tools))
    total, base, *added = await asyncio.gather(*map(count, probes))
    system = max(0, added.pop(0) - base) if request.system.strip() else 0
    return ExactCounts(total, system, max(0, added[0] - base) if request.tools else 0)

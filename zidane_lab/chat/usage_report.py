"""Reports on usage: of one session, run by run; and of all sessions below a folder, day by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from zidane_lab.chat.report import Bar, Cell, Code, Line, Note, Report, Strong, Table, spark
from zidane_lab.session.state import RunRecord
from zidane_lab.session.usage import UsageAssistantDayRow, UsageBuckets
from zidane_lab.session.usage_stats import Answer, format_cost, format_token_usage, spent, usage_by_model
from zidane_lab.turns import Usage

__all__ = ["MOST_DAYS", "days_report", "session_report", "usage_words"]

MOST_DAYS: Final = 36_600
"""Most days that can be asked for: a century."""

MOST_EMPTY_DAYS: Final = 62
"""Longest time, in days, of which every day is drawn."""

MOST_PROBLEMS: Final = 10
"""Files that could not be read which are named one by one."""


def usage_words(usage: Usage) -> str:
    """Word a count for people: ``in 1,234 (cache 1,000) / 56 out``, the cost only when it is known."""
    return " · ".join(part for part in (format_token_usage(usage, separator=","), format_cost(usage.cost)) if part)


# --- one session ----------------------------------------------------------------------------------


def session_report(runs: Sequence[RunRecord], answers: Sequence[Answer], context: int) -> Report:
    """Say what a session used.

    Parameters
    ----------
    runs
        Its runs, oldest first.
    answers
        Every call that was paid, whatever its branch.
    context
        Size of the newest prompt in tokens; 0 if none was counted.
    """
    whole = spent(answers)
    now = f": {context:,} tokens in the newest prompt." if context else ": no model has counted a prompt yet."
    blocks: list[Line | Table] = [
        Line((Strong("Context now"), now)),
        Line((Strong("Spent in all"), f": {usage_words(whole)}. Every request sends the conversation again.")),
    ]
    if summaries := [answer for answer in answers if answer.is_summary]:
        count = "one summary" if len(summaries) == 1 else f"{len(summaries)} summaries"
        blocks.append(Line((f"Of that for {count} of earlier turns: {usage_words(spent(summaries))}.",)))
    blocks += [_runs(runs, answers), _models(answers)]
    unpriced = sum(answer.usage.cost is None and not answer.usage.is_empty for answer in answers)
    return [*blocks, *_unpriced_note(whole, unpriced)]


def _runs(runs: Sequence[RunRecord], answers: Sequence[Answer]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        used = run.usage if run.usage is not None else spent(each for each in answers if each.run_id == run.id)
        seconds = f"{run.seconds:.1f} s" if run.seconds is not None else ""
        words = format_token_usage(used, separator=",")
        rows.append((Code(run.id), Code(run.model), run.status, words, format_cost(used.cost), seconds))
    return Table(("run", "model", "ended", "tokens", "cost", "time"), tuple(rows), "llllrr")


def _models(answers: Sequence[Answer]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (Code(each.model), each.turns, format_token_usage(each.usage, separator=","), format_cost(each.usage.cost))
        for each in usage_by_model(answers)
    ]
    return Table(("model", "answers", "tokens", "cost"), tuple(rows), "lrlr")


def _unpriced_note(usage: Usage, unpriced: int) -> list[Line]:
    if not usage.cost or not unpriced:
        return []
    calls = "one call" if unpriced == 1 else f"{unpriced:,} calls"
    return [Note((f"The price of {calls} is not known; the cost is without them.",))]


# --- days -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sum:
    """Rows of usage, added up."""

    usage: Usage
    turns: int
    unpriced: int

    @property
    def tokens(self) -> int:
        return self.usage.context + self.usage.output


def days_report(buckets: UsageBuckets, folder: str, since: date, until: date) -> Report:
    """Say what the sessions below ``folder`` used from ``since`` to ``until``, both included.

    Parameters
    ----------
    buckets
        The aggregates of those days (:func:`~zidane_lab.session.usage.run_usage_aggregates`).
    folder
        What was looked through, for the heading.
    since, until
        First and last local day.
    """
    whole = _sum(buckets.assistant)
    sessions = sum(row.sessions for row in buckets.sessions)
    messages = sum(row.messages for row in buckets.user)
    span = "today" if since == until else f"{since.isoformat()} to {until.isoformat()}"
    told = (
        f"{_counted(sessions, 'session')} begun, {_counted(messages, 'message')} of yours, "
        f"{_counted(whole.turns, 'answer')}; {usage_words(whole.usage)}."
    )
    head = Line((Strong(f"Usage, {span}"), " below ", Code(folder), f": {told}"))
    if not (buckets.assistant or buckets.sessions or buckets.user):
        return [Line((Strong("No usage"), " below ", Code(folder), f", {span}.")), *_problems(buckets.problems)]
    blocks: list[Line | Table] = [head, _days(buckets, since, until)]
    if buckets.assistant:
        blocks += [
            _grouped("model", buckets.assistant, lambda row: row.model),
            _grouped("notebook", buckets.assistant, lambda row: row.notebook or "(no notebook)"),
        ]
    if messages:
        hours = Counter[int]()
        for row in buckets.user:
            hours[row.hour] += row.messages
        blocks.append(Line(("Your messages by hour, 0 to 23: ", Code(spark([hours[hour] for hour in range(24)])))))
    return [*blocks, *_unpriced_note(whole.usage, whole.unpriced), *_problems(buckets.problems)]


def _days(buckets: UsageBuckets, since: date, until: date) -> Table:
    """Draw a bar for each day; in a short time days without any use between the first and the last, too."""
    by_day: dict[str, list[UsageAssistantDayRow]] = {}
    for row in buckets.assistant:
        by_day.setdefault(row.day, []).append(row)
    messages, sessions = Counter[str](), Counter[str]()
    for user in buckets.user:
        messages[user.day] += user.messages
    for begun in buckets.sessions:
        sessions[begun.day] += begun.sessions
    used = sorted({*by_day, *messages, *sessions})
    days = _between(max(since.isoformat(), used[0]), min(until.isoformat(), used[-1]))
    sums = {day: _sum(by_day.get(day, ())) for day in {*used, *(days if len(days) <= MOST_EMPTY_DAYS else ())}}
    most = max((each.tokens for each in sums.values()), default=0)
    rows: list[tuple[Cell, ...]] = []
    for day in sorted(sums):
        each = sums[day]
        cost = format_cost(each.usage.cost)
        bar = Bar(each.tokens / most if most else 0.0)
        rows.append((day, bar, each.usage.context, each.usage.output, cost, each.turns, messages[day], sessions[day]))
    head = ("day", "tokens", "in", "out", "cost", "answers", "messages", "sessions")
    return Table(head, tuple(rows), "llrrrrrr")


def _between(first: str, last: str) -> list[str]:
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    return [(begin + timedelta(days=n)).isoformat() for n in range((end - begin).days + 1)]


def _grouped(name: str, rows: Sequence[UsageAssistantDayRow], key: Callable[[UsageAssistantDayRow], str]) -> Table:
    """Add up by model or notebook, the largest first."""
    groups: dict[str, list[UsageAssistantDayRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    sums = sorted(((_sum(each), label) for label, each in groups.items()), key=lambda pair: (-pair[0].tokens, pair[1]))
    most = max((each.tokens for each, _ in sums), default=0)
    cells: list[tuple[Cell, ...]] = [
        (
            Code(label), Bar(each.tokens / most if most else 0.0), each.usage.context, each.usage.cache_read,
            each.usage.output, format_cost(each.usage.cost), each.turns,
        )
        for each, label in sums
    ]  # fmt: skip
    return Table((name, "tokens", "in", "of it cached", "out", "cost", "answers"), tuple(cells), "llrrrrr")


def _sum(rows: Iterable[UsageAssistantDayRow]) -> _Sum:
    usage, turns, unpriced = Usage(), 0, 0
    for row in rows:
        usage = usage + Usage(row.input, row.output, row.cache_read, row.cache_creation, cost=row.cost)
        turns, unpriced = turns + row.turns, unpriced + row.unpriced
    return _Sum(usage, turns, unpriced)


def _problems(problems: Sequence[str]) -> list[Line]:
    if not problems:
        return []
    lines: list[Line] = [Line((Strong("Not everything could be read"), ":"))]
    lines += [Note((Code(problem),)) for problem in problems[:MOST_PROBLEMS]]
    if len(problems) > MOST_PROBLEMS:
        lines.append(Note((f"and {len(problems) - MOST_PROBLEMS:,} more.",)))
    return lines


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

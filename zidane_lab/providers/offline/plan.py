"""Decide the next move: calls to make, or the answer. A pure function of the request.

A prompt asks for topics; a topic takes certain steps (:func:`~zidane_lab.providers.offline.steps.steps_for`); a
step is taken once, when what it waits for is settled, and never again if it failed. At most :data:`MOST_RUNS`
pieces of code run for one prompt; what does not fit is named in the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from zidane_lab.providers.base import Request
from zidane_lab.providers.offline import answers
from zidane_lab.providers.offline.discovery import Call, Found, discover
from zidane_lab.providers.offline.facts import Table
from zidane_lab.providers.offline.intent import Ask, read_prompt
from zidane_lab.providers.offline.prose import names
from zidane_lab.providers.offline.report import Results, report
from zidane_lab.providers.offline.results import Outcome
from zidane_lab.providers.offline.scope import Scope, scope_for
from zidane_lab.providers.offline.state import Key, State, read_state
from zidane_lab.providers.offline.steps import STEPS, Step, steps_for
from zidane_lab.providers.offline.steps.joins import JOINS_INTENT, Joined, joins_code, read_joins, shared_columns
from zidane_lab.providers.offline.steps.look import SUPPORTED, needs_copy

__all__ = ["MOST_RUNS", "Decision", "decide"]

MOST_RUNS: Final = 12
"""Most pieces of code run for one prompt."""

_JOINS: Final = "joins"
_UNREADABLE: Final = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What reading a result of another shape than expected raises."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The next answer: its text, and the calls it ends in (none means that it is the last)."""

    text: str
    calls: tuple[Call, ...] = ()


def decide(request: Request) -> Decision:
    """Decide what to say and call next."""
    state, tools = read_state(request.turns), {tool.name for tool in request.tools}
    ask = read_prompt(state.prompt)
    found = discover(ask, state, tools)
    if isinstance(found, Found) and ask.only_word and ask.words[0] in found.present:
        ask = replace(ask, topics=frozenset({"explore"}))
        found = discover(ask, state, tools)
    if not isinstance(found, Found):
        return Decision(_opening(ask, found, state), found)
    if ask.topics & {"help", "variables", "files"} or not found.tables or "run_python" not in tools:
        return Decision(answers.without_work(ask, found, state, can_run="run_python" in tools))
    return _work(ask, found, state)


def _opening(ask: Ask, calls: Sequence[Call], state: State) -> str:
    first = "" if state.earlier or state.outcomes else f"{answers.WHO}\n\n"
    if any(call.key[0] == "files" for call in calls) and state.outcomes:
        return f"{first}There is no table in the kernel, so I look for data files in the folder."
    return f"{first}First I look at what is in your kernel{', and for the file' if ask.files else ''}."


def _work(ask: Ask, found: Found, state: State) -> Decision:
    whole = scope_for(found.variables or {}, state.made)
    scopes = [whole.of(table.variable) if len(found.tables) > 1 else whole for table in found.tables]
    wanted = steps_for(ask.topics, len(found.tables))
    tables = tuple(
        learn(table, number, state.outcomes, scope)
        for number, (table, scope) in enumerate(zip(found.tables, scopes, strict=True))
    )
    left = MOST_RUNS - sum(1 for step, _ in state.outcomes if step not in ("find", "files", "variables"))
    calls = _next(tables, wanted, state.outcomes, scopes, whole if "explore" in ask.topics else None)
    if calls and left > 0:
        return Decision(_announce(calls[:left], tables), calls[:left])
    results = Results(
        tables=tables,
        joins=_joined(tables, state.outcomes),
        joins_problem=_joins_problem(tables, state.outcomes),
        undone=tuple(
            _undone(table, number, wanted, state.outcomes, cut=bool(calls)) for number, table in enumerate(tables)
        ),
        scope=whole,
    )
    return Decision(report(ask, found, results))


def learn(table: Table, number: int, outcomes: Mapping[Key, Outcome], scope: Scope) -> Table:
    """Return the table with the facts that the outcomes hold, in the order of the steps."""
    for step in STEPS:
        outcome = outcomes.get((step.name, number))
        if outcome is None:
            continue
        if outcome.problem is not None:
            table = replace(table, problems={**table.problems, step.name: outcome.problem})
            continue
        try:
            fact = step.read(outcome, table)
        except _UNREADABLE:
            problem = "its result could not be read"
            table = replace(table, problems={**table.problems, step.name: problem})
            continue
        expr = scope.own("copy") if step.name == "prepare" else table.expr
        table = replace(table, facts={**table.facts, step.name: fact}, expr=expr)
    return table


def is_stuck(table: Table) -> bool:
    """Whether there is no table to go on with: it could not be looked at, copied, or is of an unknown kind."""
    if table.look is None or table.library not in SUPPORTED:
        return "look" in table.problems or table.look is not None
    return needs_copy(table) and "prepare" in table.problems


def _next(
    tables: Sequence[Table],
    wanted: Sequence[str],
    outcomes: Mapping[Key, Outcome],
    scopes: Sequence[Scope],
    whole: Scope | None,
) -> tuple[Call, ...]:
    """Return the calls that can be made now: every step whose predecessors are settled."""
    calls = []
    for number, table in enumerate(tables):
        waiting: set[str] = set()
        for step in STEPS:
            if step.name not in wanted or (step.name, number) in outcomes:
                continue
            if waiting & {*step.needs, *step.after}:
                waiting.add(step.name)
            elif _is_due(step, table):
                waiting.add(step.name)
                arguments = {"code": step.code(table, scopes[number]), "intent": step.intent.format(table.name)}
                calls.append(Call((step.name, number), "run_python", arguments))
    if not calls and whole is not None and (_JOINS, 0) not in outcomes and shared_columns(tables):
        calls.append(Call((_JOINS, 0), "run_python", {"code": joins_code(tables, whole), "intent": JOINS_INTENT}))
    return tuple(calls)


def _is_due(step: Step, table: Table) -> bool:
    if step.name == "open_polars":
        return step.applies(table)
    if step.name != "look" and (is_stuck(table) or table.library not in SUPPORTED):
        return False
    return all(need in table.facts or need == "look" for need in step.needs) and step.applies(table)


def _announce(calls: Sequence[Call], tables: Sequence[Table]) -> str:
    topics = {step.name: step.topic for step in STEPS}
    parts = list(dict.fromkeys(topics.get(call.key[0], "columns that the tables share") for call in calls))
    of = names(table.name for number, table in enumerate(tables) if any(call.key[1] == number for call in calls))
    opened = [tables[call.key[1]] for call in calls if call.key[0] == "look" and tables[call.key[1]].path]
    if opened:
        return f"I open {names(table.path for table in opened)} as {names(table.name for table in opened)}."
    listed = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    return f"Next: {listed} of {of}." if calls[0].key[0] != _JOINS else f"Next: {listed}."


def _undone(
    table: Table, number: int, wanted: Sequence[str], outcomes: Mapping[Key, Outcome], *, cut: bool
) -> tuple[tuple[str, str], ...]:
    """Return the topics without a result and why: tried in vain, waiting for one that was, or past the bound."""
    found = []
    for step in STEPS:
        if step.name not in wanted:
            continue
        if step.name in table.problems and not (step.name == "look" and table.look is not None):
            found.append((step.topic, table.problems[step.name]))
        elif (step.name, number) in outcomes or step.name in ("open_polars", "prepare"):
            continue
        elif lost := [need for need in step.needs if need in table.problems]:
            found.append((step.topic, f"it builds on {_topic(lost[0])}"))
        elif cut and _is_due(step, table):
            found.append((step.topic, f"one prompt runs at most {MOST_RUNS} pieces of code"))
    return tuple(dict(reversed(found)).items())[::-1]


def _topic(step: str) -> str:
    return next(each.topic for each in STEPS if each.name == step)


def _joined(tables: Sequence[Table], outcomes: Mapping[Key, Outcome]) -> tuple[Joined, ...]:
    outcome = outcomes.get((_JOINS, 0))
    if outcome is None or outcome.problem is not None:
        return ()
    try:
        return read_joins(outcome, tables)
    except _UNREADABLE:
        return ()


def _joins_problem(tables: Sequence[Table], outcomes: Mapping[Key, Outcome]) -> str | None:
    outcome = outcomes.get((_JOINS, 0))
    if outcome is None or outcome.problem is not None:
        return None if outcome is None else outcome.problem
    return None if _joined(tables, outcomes) else "its result could not be read"

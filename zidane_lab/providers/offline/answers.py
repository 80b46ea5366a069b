"""Answers that need no computation: what there is, what the planner can do, how to connect a model."""

from __future__ import annotations

from typing import Final

from zidane_lab.providers.offline.discovery import Found
from zidane_lab.providers.offline.intent import Ask
from zidane_lab.providers.offline.prose import joined, name, names, quote
from zidane_lab.providers.offline.state import State
from zidane_lab.providers.offline.steps import STEPS, steps_for

__all__ = ["CONNECT", "WHO", "without_work"]

WHO: Final = "No model is connected: this is the offline planner, which follows fixed rules and is no language model."

CONNECT: Final = """\
For anything else connect a model: set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` in the environment before the
kernel starts, or `OPENAI_BASE_URL` for a server of your own (a local one, say), and choose with
`--model provider/model`."""

_LONGEST_LISTING: Final = 4_000
_DETOURS: Final = ("open_polars", "prepare")
"""Steps taken in special cases only."""


def without_work(ask: Ask, found: Found, state: State, *, can_run: bool) -> str:
    """Answer a prompt that asks for nothing to compute, or for something that cannot be computed here."""
    if "help" not in ask.topics and ask.topics & {"variables", "files"}:
        return _listings(ask, state)
    if found.others:
        listed = joined([f"{name(variable)} is a {name(kind)}" for variable, kind in found.others.items()])
        return (
            f"{listed}; this planner works on pandas and polars DataFrames only. Make one of it (`to_frame()`,"
            f" `collect()`, `to_pandas()`) and name that. {_there_is(found)}\n"
        )
    if "help" in ask.topics and not found.unknown:
        return _help(found)
    if found.blind is not None:
        return f"I could not see which variables there are: {quote(found.blind, 160)}. Without that I change nothing.\n"
    if found.unknown:
        return f"I found nothing named {names(found.unknown)}. {_there_is(found)}\n"
    if not found.tables:
        return (
            "There is no table in the kernel, and no data file in this folder that I could load (CSV, TSV, Parquet,"
            f" JSON, Excel, Feather). Load one, or name a file.\n\n{CONNECT}\n"
        )
    if not can_run:
        return _plan(ask, found)
    return _help(found)


def _plan(ask: Ask, found: Found) -> str:
    """Say what would be run where nothing may be."""
    wanted = steps_for(ask.topics, len(found.tables))
    subject = names(table.name for table in found.tables)
    steps = [step.intent.format(subject) for step in STEPS if step.name in wanted and step.name not in _DETOURS]
    listed = "\n".join(f"{mark}. {step}." for mark, step in enumerate(steps, 1))
    return (
        "The tool `run_python` is not available in this mode, so nothing was computed and there is nothing to report."
        f" This is what I would run, each step as far as the ones before call for it:\n\n{listed}\n\n"
        "Ask again in a mode that may run code.\n"
    )


def _listings(ask: Ask, state: State) -> str:
    parts = []
    for topic, title in (("variables", "Your variables"), ("files", "Files here")):
        if topic not in ask.topics:
            continue
        outcome = state.outcomes.get((topic, 0))
        if outcome is None:
            parts.append(f"{title}: there is no tool to list them with.")
        elif outcome.problem is not None:
            parts.append(f"{title}: they could not be listed.")
        else:
            parts.append(f"{title}:\n\n{_fenced(outcome.text if outcome.value is None else outcome.value)}")
    return "\n\n".join(parts) + "\n"


def _fenced(text: str) -> str:
    """Show a tool's own text as it is, in a fence it cannot close."""
    shown = text.strip() or "(none)"
    if len(shown) > _LONGEST_LISTING:
        shown = shown[:_LONGEST_LISTING].rsplit("\n", 1)[0] + "\n… (the list goes on)"
    fence = "```"
    while fence in shown:
        fence += "`"
    return f"{fence}text\n{shown}\n{fence}"


def _there_is(found: Found) -> str:
    if found.blind is not None:
        return f"I could not see which variables there are: {quote(found.blind, 160)}."
    if found.present:
        return f"Tables in the kernel: {names(found.present)}."
    if found.files:
        return f"Data files in this folder: {names(found.files)}."
    return "There is no table in the kernel yet."


def _help(found: Found) -> str:
    example = found.present[0] if found.present else found.files[0] if found.files else "penguins.csv"
    return f"""\
That question is beyond the offline planner, which is no language model. {_there_is(found)}

What it can do, with real computations in your kernel:

- `explore {example}` (add `target column` to relate everything to one column): a full first look with a report
- `missing values in {example}`, `duplicates in {example}`, `outliers of {example}`, `describe {example}`
- `correlations in {example}`, `mean of column by other_column`, `time range of {example}`
- `plot column against other_column by group`, `histogram of column`
- `load data.csv`, `how many rows`, `what variables do I have`, `what files are here`

{CONNECT}
"""

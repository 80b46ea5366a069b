"""Put the parts together: facts in, Markdown out. Every number comes from a fact, none is made here.

The only other figures in a report are constants of the method, which it explains: the 1.5 of the outlier rule,
the 0.7 from which a correlation is called strong, the 1 of a strong skew, the 1% of a rare level, and the bounds
of :data:`~zidane_lab.providers.offline.facts.LIMITS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from zidane_lab.providers.offline import sections
from zidane_lab.providers.offline.columns import measures, reversals
from zidane_lab.providers.offline.discovery import Found
from zidane_lab.providers.offline.facts import Correlations, Distinct, Groups, Missing, Numbers, Table, Text
from zidane_lab.providers.offline.intent import Ask, Topic
from zidane_lab.providers.offline.prose import coefficient, joined, name, names, number, share
from zidane_lab.providers.offline.scope import Scope
from zidane_lab.providers.offline.steps.joins import Joined
from zidane_lab.providers.offline.steps.look import SUPPORTED

__all__ = ["Results", "report"]

_Section = Callable[[Table], list[str]]

_PARTS: Final[tuple[tuple[str, tuple[_Section, ...]], ...]] = (
    ("Columns", (sections.column_table,)),
    ("Data quality", (sections.missing, sections.duplicates, sections.text)),
    ("Numbers", (sections.numeric,)),
    ("Categories", (sections.categories,)),
    ("Relations", (sections.correlations, sections.groups, sections.within)),
    ("Time", (sections.time,)),
    ("Figures", (sections.figures,)),
)

_NARROW: Final[Mapping[Topic, tuple[_Section, ...]]] = {
    "rows": (sections.about,),
    "load": (sections.about, sections.column_table),
    "missing": (sections.missing,),
    "duplicates": (sections.duplicates,),
    "numbers": (sections.numeric,),
    "categories": (sections.categories,),
    "describe": (sections.about, sections.column_table, sections.numeric, sections.categories),
    "correlations": (sections.correlations,),
    "time": (sections.time,),
    "groups": (sections.groups,),
    "plot": (sections.figures,),
}
_WORDS: Final[Mapping[Topic, str]] = {
    "rows": "its size",
    "load": "loading it",
    "missing": "missing values",
    "duplicates": "repeated rows and keys",
    "numbers": "its numbers",
    "categories": "its categories",
    "describe": "a description",
    "correlations": "correlations",
    "time": "its time range",
    "groups": "differences between groups",
    "plot": "a plot",
}
_MOST_COLUMNS_LISTED: Final = 25
_UNSEEN: Final = "It could not be looked at, so nothing is said about it."


@dataclass(frozen=True, slots=True)
class Results:
    """Everything the steps brought.

    ``undone`` holds, for each table, the topics without a result and why.
    """

    tables: tuple[Table, ...]
    joins: tuple[Joined, ...]
    joins_problem: str | None
    undone: tuple[tuple[tuple[str, str], ...], ...]
    scope: Scope


def report(ask: Ask, found: Found, results: Results) -> str:
    """Write the answer to a prompt whose steps are all taken."""
    explores = "explore" in ask.topics
    parts = [_exploration(table) if explores else _answer(table, ask) for table in results.tables]
    parts = [
        "\n\n".join(part for part in (each, _left_out(undone)) if part)
        for each, undone in zip(parts, results.undone, strict=True)
    ]
    parts += [_joins(results)] if explores and len(results.tables) > 1 else []
    parts.append("\n\n".join(_notes(found, results, explores=explores)))
    return "\n\n".join(part for part in parts if part) + "\n"


# --- exploration ------------------------------------------------------------------------------------


def _exploration(table: Table) -> str:
    lines = [f"## First look at {name(table.name)}", "", *(sections.about(table) or [_UNSEEN])]
    if table.library not in SUPPORTED:
        return "\n".join(lines)
    findings = _findings(table)
    if findings:
        lines += ["", "**In short**", "", *(f"- {finding}" for finding in findings)]
    for title, writers in _PARTS:
        body = [line for write in writers for line in write(table)]
        if title == "Columns" and len(table.columns) > _MOST_COLUMNS_LISTED:
            body = []
        if body:
            lines += ["", f"### {title}", "", *body]
    following = _next_steps(table)
    if following:
        lines += ["", "### What to look at next", "", *(f"{mark}. {step}" for mark, step in enumerate(following, 1))]
    return "\n".join(lines)


def _findings(table: Table) -> list[str]:
    """Choose what a reader should know first."""
    found = [sections.reversal_in_words(table, *each) for each in reversals(table)[:1]]
    correlations, groups = table.get(Correlations), table.get(Groups)
    if correlations is not None and correlations.pairs and abs(correlations.pairs[0].pearson) >= sections.STRONG:
        found.append(f"Strongest correlation: {sections.pair_in_words(correlations.pairs[0])}.")
    eta = groups.eta.get(groups.by) if groups is not None else None
    if groups is not None and eta:
        best = max(eta, key=lambda label: eta[label])
        part = f"{coefficient(eta[best])} of its variance lies between them (η²)"
        if eta[best] >= sections.NOTABLE:
            found.append(f"Groups of {name(groups.by)} differ most in {name(best)}: {part}.")
        else:
            found.append(f"Groups of {name(groups.by)} hardly differ, most in {name(best)}: {part}.")
    gaps = table.get(Missing)
    if gaps is not None:
        most = max(gaps.count, key=lambda label: gaps.count[label], default=None)
        if most is None or not gaps.count[most]:
            found.append("No value is missing.")
        else:
            found.append(
                f"Most gaps are in {name(most)}: {number(gaps.count[most])} values ({share(gaps.share[most])})."
            )
    distinct = table.get(Distinct)
    if distinct is not None and distinct.duplicates and not table.is_sample:
        found.append(f"Repeated rows: {number(distinct.duplicates)} ({share(distinct.duplicate_share)}).")
    return found


def _next_steps(table: Table) -> list[str]:
    """Suggest what a careful reader would do now."""
    steps = []
    for group, first, second in reversals(table)[:1]:
        steps.append(f"Relate {name(first)} and {name(second)} inside the groups of {name(group)}, never pooled.")
    gaps, summary, text = table.get(Missing), table.get(Numbers), table.get(Text)
    if gaps is not None and gaps.rows:
        steps.append(
            f"Find out why values are missing before dropping the {number(gaps.rows)} incomplete rows or filling them."
        )
    distinct = table.get(Distinct)
    if distinct is not None and distinct.duplicates and not table.is_sample:
        steps.append("Decide whether the repeated rows are real repetitions or errors.")
    stored = [] if text is None else [label for label, part in text.like_numbers.items() if part >= 0.9]
    stored += [] if text is None else [label for label, part in text.like_dates.items() if part >= 0.9]
    if stored:
        steps.append(f"Convert what is stored as text: {names(stored)}.")
    if summary is not None:
        outlying = [label for label, each in summary.columns.items() if each.outliers]
        if outlying:
            steps.append(
                f"Look at the outliers of {names(outlying)}: the rule flags them, it does not make them errors."
            )
    groups = table.get(Groups)
    if groups is not None and len(measures(table)) > 2:
        steps.append(
            f"Ask whether differences between groups of {name(groups.by)} stay when other columns are held fixed:"
            " a first look compares one column at a time."
        )
    return steps


# --- narrow answers ---------------------------------------------------------------------------------


def _answer(table: Table, ask: Ask) -> str:
    topics = [topic for topic in _NARROW if topic in ask.topics]
    read = " and ".join(_WORDS[topic] for topic in topics)
    lines = [f"**{name(table.name)}**: {read} (the offline planner read the question so)."]
    if not table.rows or table.library not in SUPPORTED:
        return "\n\n".join([lines[0], *(sections.about(table) or [_UNSEEN])])
    for topic in topics:
        body = [line for write in _NARROW[topic] for line in ["", *write(table)]]
        nothing = f"There is no result for {_WORDS[topic]}: no column of the table fits, or what failed is named below."
        lines += body if any(body) else ["", nothing]
    return "\n".join(lines).rstrip()


# --- several tables, and notes ----------------------------------------------------------------------


def _joins(results: Results) -> str:
    lines = ["### Columns that the tables share", ""]
    if results.joins_problem is not None:
        return "\n".join([*lines, f"Not checked: {sections.problem(results.joins_problem)}."])
    for each in results.joins:
        sides = (
            (each.left, each.left_distinct, each.left_unique, each.left_matched),
            (each.right, each.right_distinct, each.right_unique, each.right_matched),
        )
        values = joined(
            [f"{number(many)} in {name(it)}{' (each once)' if once else ''}" for it, many, once, _ in sides]
        )
        partners = joined([f"{share(part)} of the rows of {name(it)}" for it, _, _, part in sides])
        lines.append(f"- {name(each.label)}: distinct values {values}; {partners} find a partner.")
        if not (each.left_unique or each.right_unique):
            lines[-1] += " Values repeat on both sides: a join on this column alone would multiply rows."
    if not results.joins:
        lines.append("The tables share no column of the same name and kind that could join them.")
    return "\n".join(lines)


def _left_out(undone: tuple[tuple[str, str], ...]) -> str:
    if not undone:
        return ""
    listed = [f"- {topic}: {sections.problem(reason)}" for topic, reason in undone]
    return "\n".join(["**Left out**, because there is no result to report:", "", *listed])


def _notes(found: Found, results: Results, *, explores: bool) -> list[str]:
    notes = []
    if found.unknown:
        notes.append(f"Not found: {names(found.unknown)}.")
    if found.reused:
        notes.append(f"Already in the kernel and used as it is, not loaded again: {names(found.reused)}.")
    if found.left:
        notes.append(f"Not looked at, to stay within bounds: {names(found.left)}. Name one to go on with it.")
    made = [table.variable for table in results.tables if table.path is not None and table.look is not None]
    if made:
        notes.append(f"Loaded into new variables: {names(made)}.")
    if explores:
        notes.append(
            "_Written by the offline planner, which follows fixed rules and is no language model. Every number was"
            " computed in this run by the code shown above; counts are exact, shares have one decimal, other numbers"
            f" three digits. Helper variables start with `{results.scope.prefix}`._"
        )
    return notes

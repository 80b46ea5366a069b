"""The parts of a report, each written from the facts of one table. A fact that is missing writes nothing."""

from __future__ import annotations

from typing import Final

from zidane_lab.providers.offline.columns import is_iso_text, reversals
from zidane_lab.providers.offline.facts import (
    LIMITS,
    Categories,
    Column,
    Correlations,
    Distinct,
    Drawing,
    Groups,
    Label,
    Look,
    Missing,
    Numbers,
    Pair,
    Table,
    Text,
    Times,
    Within,
)
from zidane_lab.providers.offline.prose import (
    coefficient,
    interval,
    joined,
    moment,
    name,
    names,
    number,
    quote,
    share,
    table,
)
from zidane_lab.providers.offline.steps.look import SUPPORTED

__all__ = [
    "about",
    "categories",
    "column_table",
    "correlations",
    "duplicates",
    "figures",
    "groups",
    "missing",
    "numeric",
    "pair_in_words",
    "reversal_in_words",
    "text",
    "time",
]

STRONG: Final = 0.7
"""Size of Pearson's r from which a pair is called strongly correlated."""

NOTABLE: Final = 0.06
"""Eta squared from which groups are said to differ (a medium effect by Cohen's convention)."""

APART: Final = 0.1
"""Difference from which Pearson's and Spearman's coefficients are said to differ."""


def about(it: Table) -> list[str]:
    """Size, library, and on what part of the table the rest is based."""
    first, look = it.get(Look, "look") or it.get(Look, "open_polars"), it.look
    if first is None or look is None:
        return []
    rows, columns = "row" if first.rows == 1 else "rows", "column" if first.width == 1 else "columns"
    lines = [f"{name(it.name)} has {number(first.rows)} {rows} and {number(first.width)} {columns} ({first.library})."]
    if first.library not in SUPPORTED:
        return [*lines, f"It is a table of {name(first.library)}; this planner works on pandas and polars only."]
    if look is not first and first.width > LIMITS.columns:
        lines.append(f"It is wide: everything below is about the first {number(len(look.columns))} columns.")
    if it.is_sample:
        lines.append(
            f"It is long: everything below describes a random sample of {number(look.rows)} rows, not the whole table."
        )
    if look is not first and [column.label for column in look.columns] != [
        column.label for column in first.columns[: len(look.columns)]
    ]:
        lines.append(
            f"Its column labels are not plain and unique, so the work was done on a copy, {name(it.expr)},"
            " whose labels are the old ones with the column's number in front."
        )
    if first.rows == 0:
        lines.append("It has no rows: there is nothing to compute.")
    elif first.width == 0:
        lines.append("It has no columns: there is nothing to compute.")
    return lines


def column_table(it: Table) -> list[str]:
    """One row per column: type, and missing and distinct values where they were counted."""
    gaps, distinct = it.get(Missing), it.get(Distinct)
    counts = [("missing", gaps.count)] if gaps is not None else []
    counts += [("distinct", distinct.count)] if distinct is not None else []
    rows = [
        (name(each.label), name(each.dtype), *(number(count.get(each.label)) for _, count in counts))
        for each in it.columns
    ]
    return [table(("column", "type", *(word for word, _ in counts)), rows, left=2)] if rows else []


def missing(it: Table) -> list[str]:
    """Missing values by column, and together."""
    found = it.get(Missing)
    if found is None:
        return []
    gaps = sorted(((rows, label) for label, rows in found.count.items() if rows), key=lambda gap: -gap[0])
    if not gaps:
        lines = ["- No value is missing."]
    else:
        listed = [f"{name(label)} {number(rows)} ({share(found.share[label])})" for rows, label in gaps[:8]]
        more = ", and fewer in others" if len(gaps) > len(listed) else ""
        lines = [
            f"- Missing values: {', '.join(listed)}{more}.",
            f"- Rows with at least one gap: {number(found.rows)} ({share(found.rows_share)}).",
        ]
    lines += [
        f"- {names(labels)} are missing together in {number(rows)} {_rows(rows)}."
        for labels, rows in found.together[:3]
    ]
    infinite = {label: many for label, many in found.infinite.items() if many}
    if infinite:
        listed = [f"{name(label)} {number(many)}" for label, many in infinite.items()]
        lines.append(f"- Infinite values, taken as missing from here on: {', '.join(listed)}.")
    empty = [each.label for each in it.columns if it.is_empty(each.label)]
    if empty:
        lines.append(f"- Empty, without a single value: {names(empty)}.")
    return lines


def text(it: Table) -> list[str]:
    """Text that is really numbers or dates, and columns of mixed objects."""
    found = it.get(Text)
    if found is None:
        return []
    lines = []
    for label, part in found.like_numbers.items():
        if part >= 0.9:
            lines.append(f"- {name(label)} is text, but {share(part)} of its values look like numbers.")
    for label, part in found.like_dates.items():
        if is_iso_text(it, label):
            lines.append(f"- {name(label)} holds dates stored as text ({share(found.like_iso[label])} in ISO form).")
        elif part >= 0.9:
            lines.append(
                f"- {name(label)} looks like dates stored as text ({share(part)}), not in ISO form: day and month"
                " can be confused, so convert it with an explicit format."
            )
    other = [each.label for each in it.columns if each.kind == "other"]
    if other:
        lines.append(f"- Not looked into (mixed objects or a type this planner does not know): {names(other)}.")
    return lines


def duplicates(it: Table) -> list[str]:
    """Repeated rows, constant columns, candidate keys."""
    found = it.get(Distinct)
    if found is None:
        return []
    lines = ["- Repeated rows and keys are not judged: a sample cannot show them."]
    if not it.is_sample:
        compared = " (in the columns that can be compared)" if any(each.kind == "other" for each in it.columns) else ""
        copies = f"{number(found.duplicates)} ({share(found.duplicate_share)} of the rows)"
        lines = [
            f"- Copies of an earlier row: {copies}{compared}."
            if found.duplicates
            else f"- No row is an exact copy of an earlier one{compared}."
        ]
        keys = [each.label for each in it.columns if it.is_key(each.label) and _may_be_key(each)]
        if keys:
            lines.append(f"- Could serve as a key (another value in every row, none missing): {names(keys)}.")
        elif it.rows > 1:
            lines.append("- No single column identifies the rows.")
    constant = [label for label, many in found.count.items() if many == 1] if it.rows > 1 else []
    if constant:
        lines.append(f"- Constant, one value only: {names(constant)}.")
    return lines


def _may_be_key(column: Column) -> bool:
    """Whether a column is of a kind that identifies: whole numbers, words or moments, not measurements."""
    return column.kind != "number" or column.dtype.lower().startswith(("int", "uint"))


def numeric(it: Table) -> list[str]:
    """Summaries of the numeric columns as a table, and what stands out in it."""
    found = it.get(Numbers)
    if found is None or not found.columns:
        return []
    rows = [
        (
            name(label),
            number(each.count),
            number(each.mean),
            number(each.low),
            number(each.q1),
            number(each.median),
            number(each.q3),
            number(each.high),
            coefficient(each.skew),
            f"{number(each.outliers)} ({share(each.outlier_share)})",
        )
        for label, each in found.columns.items()
    ]
    header = ("column", "values", "mean", "min", "25%", "median", "75%", "max", "skew", "outliers")
    lines = [
        table(header, rows),
        "",
        "Outliers by the usual rule: beyond 1.5 interquartile ranges outside the middle half.",
    ]
    if len(it.labels("number")) > len(found.columns) >= LIMITS.numbers:
        lines.append(f"Only the first {number(LIMITS.numbers)} numeric columns are summarized.")
    skewed = [label for label, each in found.columns.items() if each.skew is not None and abs(each.skew) >= 1]
    if skewed:
        lines.append(f"Strongly skewed (1 or more): {names(skewed)}; look at medians rather than means there.")
    zeros = [
        f"{name(label)} ({number(each.zeros)} of {number(each.count)})"
        for label, each in found.columns.items()
        if each.count and each.zeros >= 0.2 * each.count
    ]
    if zeros:
        lines.append(f"Many zeros, perhaps standing for missing values: {joined(zeros)}.")
    return lines


def categories(it: Table) -> list[str]:
    """Levels with their counts; columns with too many levels to list."""
    found, distinct = it.get(Categories), it.get(Distinct)
    if found is None or distinct is None:
        return []
    lines = []
    for label, each in found.columns.items():
        listed = [f"{name(level)} {number(rows)} ({share(each.share[level])})" for level, rows in each.top.items()]
        more = ", …" if each.levels > len(listed) else ""
        rare = f"; levels under 1%: {number(each.rare)}" if each.rare else ""
        word = "level" if each.levels == 1 else "levels"
        lines.append(f"- {name(label)}, {number(each.levels)} {word}: {', '.join(listed)}{more}{rare}.")
    many = [
        f"{name(label)} ({number(distinct.count[label])})"
        for label in it.labels("text", "category")
        if label not in found.columns and distinct.count.get(label, 0) > 50
    ]
    if many and "explore" in it.ask.topics:
        lines.append(f"- Too many distinct values to list: {joined(many)}.")
    return lines


def pair_in_words(pair: Pair) -> str:
    """Name a pair and its coefficient."""
    return f"{name(pair.first)} and {name(pair.second)} (r = {coefficient(pair.pearson)})"


def correlations(it: Table) -> list[str]:
    """Strong pairs, or the strongest; where rank and value disagree."""
    found = it.get(Correlations)
    if found is None:
        return []
    pairs = found.pairs
    asked = it.ask.columns(it.labels("number")) if "explore" not in it.ask.topics else ()
    if asked:
        pairs = tuple(pair for pair in pairs if pair.first in asked or pair.second in asked)
    if not pairs:
        return ["- No pair of numeric columns has enough rows in common to correlate."]
    strong = [pair for pair in pairs if abs(pair.pearson) >= STRONG]
    if "explore" not in it.ask.topics:
        rows = [
            (f"{name(p.first)} – {name(p.second)}", coefficient(p.pearson), coefficient(p.spearman)) for p in pairs[:15]
        ]
        lines = [table(("pair", "Pearson", "Spearman"), rows), ""]
    elif strong:
        lines = [
            f"- Strongly correlated (0.7 or more in size): {joined([pair_in_words(pair) for pair in strong[:6]])}."
        ]
    else:
        lines = [f"- No pair of numeric columns reaches 0.7; the strongest is {pair_in_words(pairs[0])}."]
    lines += [
        f"- {name(pair.first)} and {name(pair.second)}: by rank (Spearman) {coefficient(pair.spearman)}, by value"
        f" (Pearson) {coefficient(pair.pearson)}. The relation is curved, or a few extreme values weigh in."
        for pair in pairs
        if abs(pair.pearson - pair.spearman) >= APART
    ][:3]
    return lines


def groups(it: Table) -> list[str]:
    """How the columns relate to the target or to the grouping column."""
    found = it.get(Groups)
    if found is None:
        return []
    lines = []
    eta = sorted(found.eta.get(found.by, {}).items(), key=lambda each: -each[1])
    if eta:
        listed = joined([f"{name(label)} {coefficient(value)}" for label, value in eta[:6]])
        lines.append(f"- Share of variance between the groups of {name(found.by)} (η²): {listed}.")
    together = sorted(found.cramer.items(), key=lambda each: -each[1])
    if together:
        listed = joined([f"{name(label)} {coefficient(value)}" for label, value in together])
        lines.append(f"- How closely other categories go with {name(found.by)} (Cramér's V, 0 to 1): {listed}.")
    for label, _ in eta[:4]:
        means = sorted(found.means.get(label, {}).items(), key=lambda each: -each[1])
        if means:
            listed = ", ".join(f"{name(level)} {number(value)}" for level, value in means[:10])
            lines.append(f"- Mean of {name(label)} by {name(found.by)}: {listed}.")
    ranked = sorted(found.pearson.items(), key=lambda each: -abs(each[1]))
    if ranked:
        listed = joined([f"{name(label)} {coefficient(value)}" for label, value in ranked[:6]])
        lines.append(f"- Correlation with {name(found.by)} (Pearson): {listed}.")
    if ranked or not eta:
        other = [(group, values[found.by]) for group, values in found.eta.items() if found.by in values]
        other.sort(key=lambda each: -each[1])
        if other:
            listed = joined([f"{name(group)} {coefficient(value)}" for group, value in other[:6]])
            lines.append(f"- Share of the variance of {name(found.by)} that lies between groups (η²): {listed}.")
    if lines:
        lines.append("- These are associations in this table; they do not say what causes what.")
    return lines


def reversal_in_words(it: Table, group: Label, first: Label, second: Label) -> str:
    """Say with the numbers that a correlation has the other sign inside every group."""
    within, overall = it.get(Within), it.get(Correlations)
    assert within is not None
    assert overall is not None
    whole = next(pair.pearson for pair in overall.pairs if (pair.first, pair.second) == (first, second))
    inside = ", ".join(f"{name(level)} {coefficient(r)}" for level, r in within.r[group, first, second].items())
    return (
        f"{name(first)} and {name(second)} correlate at {coefficient(whole)} over all rows, but with the other sign"
        f" inside every group of {name(group)}: {inside}."
    )


def within(it: Table) -> list[str]:
    """Correlations that turn round inside groups."""
    turned = reversals(it)
    if turned:
        shown = [f"- {reversal_in_words(it, *each)}" for each in turned[:4]]
        return [*shown, "- Where a sign turns round, trust the figures inside the groups (Simpson's paradox)."]
    return ["- No correlation changes its sign in all groups of a column."] if it.get(Within) is not None else []


def time(it: Table) -> list[str]:
    """Span, rhythm and gaps of the date column."""
    found = it.get(Times)
    if found is None:
        return []
    span = f"from {moment(found.first)} to {moment(found.last)}"
    lines = [f"- {name(found.column)} runs {span}, with {number(found.distinct)} distinct moments."]
    if found.regular == 1 and not it.is_sample:
        lines.append(f"- It is regular: every step is {interval(found.typical)}.")
    elif found.regular is not None and not it.is_sample:
        lines.append(
            f"- The typical step is {interval(found.typical)} ({share(found.regular)} of the steps are exactly that);"
            f" the longest gap, {interval(found.longest)}, ends at {moment(found.longest_ends)}."
        )
    if 1 < len(found.per_year) <= 25:
        listed = ", ".join(f"{year} {number(rows)}" for year, rows in found.per_year.items())
        lines.append(f"- Rows per year: {listed}.")
    return lines


def figures(it: Table) -> list[str]:
    """Say which figures stand above, and how many rows they show."""
    drawn = [fact for fact in it.facts.values() if isinstance(fact, Drawing)]
    return [
        f"- Above: {each.caption}{'' if each.points is None else f' ({number(each.points)} rows)'}." for each in drawn
    ]


def problem(reason: str) -> str:
    """Quote a reason from a tool, harmlessly."""
    return quote(reason, 160)


def _rows(many: int) -> str:
    return "row" if many == 1 else "rows"

"""The kinds of figures, in pyplot's plain style: a caption for the report, and the code that draws it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from zidane_lab.providers.offline.columns import date_column
from zidane_lab.providers.offline.facts import LIMITS, Label, Missing, Table, Times
from zidane_lab.providers.offline.prose import clip, name, names
from zidane_lab.providers.offline.scope import Scope, listing
from zidane_lab.providers.offline.steps.univariate import date_values

__all__ = ["Figure", "bars", "boxes", "gaps", "histograms", "over_time", "scatter"]

_SIZE: Final = "figsize=(8, 5), layout='constrained'"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that could be drawn. ``caption`` is Markdown; ``code`` writes the snippet."""

    caption: str
    code: Callable[[Scope], str]


def _said(text: object) -> str:
    """Return ``text`` as a string literal for a title or label: short, and no formula to matplotlib."""
    return repr(clip(str(text)).replace("$", r"\$"))


def _labels(title: str, x: object, y: object, plt: str) -> str:
    return f"{plt}.title({_said(title)})\n{plt}.xlabel({_said(x)})\n{plt}.ylabel({_said(y)})"


def _known(table: Table) -> str:
    return "drop_nulls" if table.library == "polars" else "dropna"


def histograms(table: Table, labels: list[Label]) -> Figure:
    """Draw the distribution of each numeric column."""
    across = min(3, len(labels))
    down = -(-len(labels) // across)
    title = f"Distribution of {labels[0]}" if len(labels) == 1 else f"Distributions of the numbers in {table.name}"
    missing = table.get(Missing)
    infinite = missing is not None and any(missing.infinite.get(each) for each in labels)
    dollars = any("$" in str(each) for each in labels)

    def code(scope: Scope) -> str:
        plt, place, label = scope.alias("plt"), scope.own("place"), scope.own("label")
        values = f"{table.expr}[{label}].{_known(table)}()"
        if infinite and table.library == "polars":
            values = (
                f"{values}.cast({scope.alias('pl')}.Float64).replace([float('inf'), -float('inf')], None).drop_nulls()"
            )
        elif infinite:
            values = f"{values}.loc[lambda values: values.abs() < float('inf')]"
        named = rf"str({label}).replace('$', r'\$')" if dollars else f"str({label})"
        used = ("pl", "plt") if ".Float64" in values else ("plt",)
        return f"""\
{scope.imports(*used)}{plt}.figure(figsize=({4 * across}, {3 * down}), layout='constrained')
for {place}, {label} in enumerate({listing(labels)}, start=1):
    {plt}.subplot({down}, {across}, {place})
    {plt}.hist({values}, bins=30)
    {plt}.xlabel({named})
    {plt}.ylabel('rows')
{plt}.suptitle({_said(title)});"""

    return Figure(f"the distribution of {names(labels, 9)}", code)


def bars(table: Table, label: Label) -> Figure:
    """Draw how often the most frequent values of a column occur."""

    def code(scope: Scope) -> str:
        plt, counts, rows = scope.alias("plt"), scope.own("counts"), scope.own("rows")
        values = f"{table.expr}[{label!r}].{_known(table)}()"
        if table.library == "polars":
            counted = f"{values}.value_counts(name={rows!r}).sort([{rows!r}, {label!r}]).tail(15)"
            levels, sizes = f"{counts}[{label!r}]", f"{counts}[{rows!r}]"
        else:
            counted, levels, sizes = f"{values}.value_counts().head(15)[::-1]", f"{counts}.index", counts
        labels = _labels(f"Most frequent values of {label}", "rows", label, plt)
        return f"""\
{scope.imports("plt")}{counts} = {counted}
{plt}.figure({_SIZE})
{plt}.barh(range(len({counts})), {sizes})
{plt}.yticks(range(len({counts})), [str(level) for level in {levels}], parse_math=False)
{labels};"""

    return Figure(f"the most frequent values of {name(label)}", code)


def scatter(table: Table, x: Label, y: Label, by: Label | None) -> Figure:
    """Draw a point for each row that has both values, coloured by a column of few levels."""
    labels = [x, y] if by is None else [x, y, by]
    coloured = "" if by is None else f", coloured by {name(by)}"

    def code(scope: Scope) -> str:
        plt, points, level, part = (scope.alias("plt"), *(scope.own(word) for word in ("points", "level", "part")))
        is_polars = table.library == "polars"
        chosen = f"{table.expr}.select({labels!r})" if is_polars else f"{table.expr}[{labels!r}]"
        chosen += f".{_known(table)}()"
        if table.rows > LIMITS.points:
            seed = "shuffle=True, seed=0" if is_polars else "random_state=0"
            chosen += f"\n{points} = {points}.sample(min({LIMITS.points}, len({points})), {seed})"
        lines = _labels(f"{y} against {x}", x, y, plt)
        if by is None:
            drawn = f"{plt}.scatter({points}[{x!r}], {points}[{y!r}], s=16, alpha=0.6)\n{lines}"
        else:
            parts = f"group_by({[by]!r}, maintain_order=True)" if is_polars else f"groupby({by!r}, observed=True)"
            each = f"{level}[0]" if is_polars else level
            drawn = f"""\
for {level}, {part} in {points}.{parts}:
    {plt}.scatter({part}[{x!r}], {part}[{y!r}], s=16, alpha=0.6, label={each})
{lines}
{plt}.legend(title={_said(by)})"""
        return f"{scope.imports('plt')}{points} = {chosen}\n{plt}.figure({_SIZE})\n{drawn}\nlen({points})"

    return Figure(f"{name(y)} against {name(x)}{coloured}", code)


def boxes(table: Table, y: Label, by: Label) -> Figure:
    """Draw a box for each group."""

    def code(scope: Scope) -> str:
        plt, points, parts = scope.alias("plt"), scope.own("known"), scope.own("groups")
        if table.library == "polars":
            chosen = f"{table.expr}.select({[y, by]!r}).drop_nulls()"
            split = (
                f"{{str(level[0]): part[{y!r}] for level, part in {points}.group_by({[by]!r}, maintain_order=True)}}"
            )
        else:
            chosen = f"{table.expr}[{[y, by]!r}].dropna()"
            split = f"{{str(level): part[{y!r}] for level, part in {points}.groupby({by!r}, observed=True)}}"
        return f"""\
{scope.imports("plt")}{points} = {chosen}
{parts} = {split}
{plt}.figure({_SIZE})
{plt}.boxplot(list({parts}.values()))
{plt}.xticks(range(1, len({parts}) + 1), list({parts}), parse_math=False)
{_labels(f"{y} by {by}", by, y, plt)}
len({points})"""

    return Figure(f"{name(y)} by {name(by)}", code)


def over_time(table: Table) -> Figure:
    """Draw the number of rows per year, month or day."""
    label = date_column(table)
    word, rule, period, width = _period(table.get(Times))

    def code(scope: Scope) -> str:
        plt, counts, source = scope.alias("plt"), scope.own("per_period"), date_values(table, scope)
        if table.library == "polars":
            dates = f"{source}.drop_nulls().alias('date')"
            counted = f"{dates}.dt.truncate({rule!r}).value_counts(name='rows').sort('date')"
            xs, ys = f"{counts}['date']", f"{counts}['rows']"
        else:
            counted = f"{source}.dropna().dt.to_period({period!r}).dt.start_time.value_counts().sort_index()"
            xs, ys = f"{counts}.index", counts
        pd = ("pd",) if f"{scope.alias('pd')}.to_datetime" in source else ()
        return f"""\
{scope.imports(*pd, "plt")}{counts} = {counted}
{plt}.figure(figsize=(9, 4), layout='constrained')
{plt}.bar({xs}, {ys}, width={width})
{_labels(f"Rows of {table.name} per {word}", label, f"rows per {word}", plt)};"""

    return Figure(f"rows per {word}, by {name(label)}", code)


def _period(times: Times | None) -> tuple[str, str, str, float]:
    """Return the span to count by: its word, its name in polars and in pandas, and the width of a bar in days."""
    years = re.findall(r"^\d{4}", times.first) + re.findall(r"^\d{4}", times.last) if times is not None else []
    span = int(years[1]) - int(years[0]) if len(years) == 2 else 0
    if span > 12:
        return "year", "1y", "Y", 300
    if times is not None and times.first[:7] == times.last[:7]:
        return "day", "1d", "D", 0.8
    return "month", "1mo", "M", 25


def gaps(table: Table, labels: list[Label]) -> Figure:
    """Draw the share of missing values of the columns that have any."""

    def code(scope: Scope) -> str:
        plt, shares = scope.alias("plt"), scope.own("missing")
        if table.library == "polars":
            counted = f"{table.expr}.select({listing(labels)}).fill_nan(None).null_count() / {table.expr}.height * 100"
            named, sizes = f"{shares}.columns", f"{shares}.row(0)"
        else:
            counted = f"{table.expr}[{listing(labels)}].isna().mean().sort_values() * 100"
            named, sizes = f"{shares}.index", shares
        return f"""\
{scope.imports("plt")}{shares} = {counted}
{plt}.figure(figsize=(8, {max(3, len(labels) // 3)}), layout='constrained')
{plt}.barh(range({len(labels)}), {sizes})
{plt}.yticks(range({len(labels)}), [str(label) for label in {named}], parse_math=False)
{_labels(f"Missing values of {table.name}", "missing (% of rows)", "column", plt)};"""

    return Figure("the share of missing values by column", code)

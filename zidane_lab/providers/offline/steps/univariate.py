"""Columns one by one: numeric summaries with outliers, levels of categories, the span of a date column."""

from __future__ import annotations

from typing import Any, Final

from zidane_lab.providers.offline.columns import category_columns, date_column, numbers
from zidane_lab.providers.offline.facts import Categories, Levels, Numbers, NumberSummary, Table, Times
from zidane_lab.providers.offline.results import Outcome
from zidane_lab.providers.offline.scope import Scope
from zidane_lab.providers.offline.steps.base import Step, by_label, integer, numeric_frame, real, value_of
from zidane_lab.providers.offline.steps.quality import has_rows

__all__ = ["CATEGORIES", "NUMBERS", "TIME", "date_values"]


# --- numbers ----------------------------------------------------------------------------------------


def _numbers(table: Table, scope: Scope) -> str:
    source = numeric_frame(table, numbers(table), scope)
    return _numbers_polars(source, scope) if table.library == "polars" else _numbers_pandas(source, scope)


def _numbers_pandas(source: str, scope: Scope) -> str:
    values, summary, reach, outside = (scope.own(word) for word in ("numbers", "summary", "reach", "outside"))
    return f"""\
{scope.imports("display")}{values} = {source}
{summary} = {values}.describe().T
{summary}['skew'] = {values}.skew()
{summary}['zeros'] = ({values} == 0).sum()

# Outliers by the usual rule of thumb: beyond 1.5 interquartile ranges outside the middle half.
{reach} = 1.5 * ({summary}['75%'] - {summary}['25%'])
{outside} = ({values} < {summary}['25%'] - {reach}) | ({values} > {summary}['75%'] + {reach})
{summary}['outliers'] = {outside}.sum()
{summary}['outlier share'] = {summary}['outliers'] / {summary}['count']
{scope.alias("display")}({summary}.round(3))
{summary}.to_dict('index')"""


def _numbers_polars(source: str, scope: Scope) -> str:
    pl, (label, value, low, high) = scope.alias("pl"), map(scope.own, ("column", "value", "low", "high"))
    reach, summary, values = scope.own("reach"), scope.own("summary"), scope.own("numbers")
    return f"""\
{scope.imports("pl", "display")}{values} = {source}
{value} = {pl}.col({value!r})
{low}, {high} = {value}.quantile(0.25, 'linear'), {value}.quantile(0.75, 'linear')

# Outliers by the usual rule of thumb: beyond 1.5 interquartile ranges outside the middle half.
{reach} = 1.5 * ({high} - {low})
{summary} = (
    {values}.unpivot(variable_name={label!r}, value_name={value!r})
    .group_by({label!r}, maintain_order=True)
    .agg(
        {value}.count().alias('count'),
        {value}.mean().alias('mean'),
        {value}.std().alias('std'),
        {value}.min().alias('min'),
        {low}.alias('25%'),
        {value}.median().alias('50%'),
        {high}.alias('75%'),
        {value}.max().alias('max'),
        {value}.skew(bias=False).alias('skew'),
        ({value} == 0).sum().alias('zeros'),
        (({value} < {low} - {reach}) | ({value} > {high} + {reach})).sum().alias('outliers'),
    )
    .with_columns(({pl}.col('outliers') / {pl}.col('count')).alias('outlier share'))
)
{scope.alias("display")}({summary})
{{row[{label!r}]: row for row in {summary}.iter_rows(named=True)}}"""


def _read_numbers(outcome: Outcome, _: Table) -> Numbers:
    def summary(row: Any) -> NumberSummary:
        return NumberSummary(
            count=integer(row["count"]),
            mean=real(row["mean"]),
            std=real(row["std"]),
            low=real(row["min"]),
            q1=real(row["25%"]),
            median=real(row["50%"]),
            q3=real(row["75%"]),
            high=real(row["max"]),
            skew=real(row["skew"]),
            zeros=integer(row["zeros"]),
            outliers=integer(row["outliers"]),
            outlier_share=real(row["outlier share"]),
        )

    return Numbers(by_label(value_of(outcome), summary))


# --- categories -------------------------------------------------------------------------------------


def _categories(table: Table, scope: Scope) -> str:
    chosen = category_columns(table)
    levels, labels, shown = scope.own("levels"), repr(chosen), scope.alias("display")
    if table.library == "polars":
        rows = scope.own("rows")
        return f"""\
{scope.imports("display")}{levels} = {{
    label: {table.expr}[label].drop_nulls()
    .value_counts(name={rows!r})
    .sort([{rows!r}, label], descending=[True, False])
    for label in {labels}
}}
for {scope.own("counts")} in {levels}.values():
    {shown}({scope.own("counts")}.head(8))
{{
    label: {{
        'levels': counts.height,
        'top': list(counts.head(8).iter_rows()),
        'shares': (counts[{rows!r}] / counts[{rows!r}].sum()).head(8).to_list(),
        'rare': (counts[{rows!r}] < 0.01 * counts[{rows!r}].sum()).sum(),
    }}
    for label, counts in {levels}.items()
}}"""
    counted = f"{table.expr}[label].value_counts()"
    if any(column.kind == "category" and column.label in chosen for column in table.columns):
        counted += ".loc[lambda counts: counts > 0]"  # categories without a row count as levels otherwise
    return f"""\
{scope.imports("pd", "display")}{levels} = {{label: {counted} for label in {labels}}}
{shown}({scope.alias("pd")}.concat({{label: counts.head(8) for label, counts in {levels}.items()}}).to_frame('rows'))
{{
    label: {{
        'levels': len(counts),
        'top': list(counts.head(8).items()),
        'shares': (counts / counts.sum()).head(8).tolist(),
        'rare': int((counts < 0.01 * counts.sum()).sum()),
    }}
    for label, counts in {levels}.items()
}}"""


def _read_categories(outcome: Outcome, _: Table) -> Categories:
    def levels(column: Any) -> Levels:
        top = {level: integer(rows) for level, rows in column["top"]}
        shares = {level: float(each) for level, each in zip(top, column["shares"], strict=True)}
        return Levels(integer(column["levels"]), top, shares, integer(column["rare"]))

    return Categories(by_label(value_of(outcome), levels))


# --- time -------------------------------------------------------------------------------------------


def date_values(table: Table, scope: Scope) -> str:
    """Return code for the date column's values as moments, whatever they are stored as."""
    label = date_column(table)
    column, dtype = f"{table.expr}[{label!r}]", next(it.dtype for it in table.columns if it.label == label)
    if table.library == "polars":
        if dtype.startswith("Datetime") or dtype == "Date":
            return column if dtype != "Date" else f"{column}.cast({scope.alias('pl')}.Datetime)"
        return f"{column}.str.to_datetime(strict=False)"
    if dtype.startswith("datetime64"):
        return f"{column}.dt.tz_localize(None)" if "," in dtype else column
    if "pyarrow" in dtype:
        return f"{column}.astype('datetime64[ns]')"
    return f"{scope.alias('pd')}.to_datetime({column}, format='ISO8601', errors='coerce')"


def _time(table: Table, scope: Scope) -> str:
    dates, moments, steps, years = (scope.own(word) for word in ("dates", "moments", "steps", "per_year"))
    source, shown = date_values(table, scope), scope.alias("display")
    if table.library == "polars":
        return f"""\
{scope.imports("pl", "display")}{dates} = {source}.drop_nulls().alias('date')
{years} = {dates}.dt.year().alias('year').value_counts(name='rows').sort('year').tail(60)
{shown}({years})
{moments} = {dates}.unique().sort()
{steps} = {moments}.diff()
{{
    'first': str({moments}.min()),
    'last': str({moments}.max()),
    'distinct': {moments}.len(),
    'typical step': str({steps}.median()),
    'share of typical steps': ({steps} == {steps}.median()).mean() if {moments}.len() > 1 else None,
    'longest gap': str({steps}.max()),
    'longest gap ends': str({moments}.filter({steps} == {steps}.max()).min()) if {moments}.len() > 1 else 'NaT',
    'per year': dict({years}.iter_rows()),
}}"""
    pd = ("pd",) if f"{scope.alias('pd')}." in source else ()
    return f"""\
{scope.imports(*pd, "display")}{dates} = {source}.dropna()
{years} = {dates}.dt.year.value_counts().sort_index().tail(60)
{shown}({years}.to_frame('rows'))
{moments} = {dates}.drop_duplicates().sort_values(ignore_index=True)
{steps} = {moments}.diff()
{{
    'first': str({moments}.min()),
    'last': str({moments}.max()),
    'distinct': len({moments}),
    'typical step': str({steps}.median()),
    'share of typical steps': float(({steps}.dropna() == {steps}.median()).mean()),
    'longest gap': str({steps}.max()),
    'longest gap ends': str({moments}[{steps} == {steps}.max()].min()),
    'per year': {years}.to_dict(),
}}"""


def _read_time(outcome: Outcome, table: Table) -> Times:
    value = value_of(outcome)
    return Times(
        column=date_column(table),
        first=str(value["first"]),
        last=str(value["last"]),
        distinct=integer(value["distinct"]),
        typical=str(value["typical step"]),
        regular=real(value["share of typical steps"]),
        longest=str(value["longest gap"]),
        longest_ends=str(value["longest gap ends"]),
        per_year={integer(year): integer(rows) for year, rows in value["per year"].items()},
    )


NUMBERS: Final = Step(
    name="numbers",
    topic="numeric columns",
    intent="Summarize the numeric columns of {} and count outliers",
    applies=lambda table: has_rows(table) and bool(numbers(table)),
    code=_numbers,
    read=_read_numbers,
    after=("prepare", "missing"),
)
CATEGORIES: Final = Step(
    name="categories",
    topic="categories",
    intent="Count the levels of the categorical columns of {}",
    applies=lambda table: has_rows(table) and bool(category_columns(table)),
    code=_categories,
    read=_read_categories,
    needs=("look", "duplicates"),
    after=("prepare", "text"),
)
TIME: Final = Step(
    name="time",
    topic="time range",
    intent="Find the time range, the rhythm and the gaps of {}",
    applies=lambda table: date_column(table) is not None and table.distinct(date_column(table)) not in (0, 1),
    code=_time,
    read=_read_time,
    after=("prepare", "text", "duplicates"),
)

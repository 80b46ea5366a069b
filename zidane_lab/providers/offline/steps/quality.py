"""Is the table fit for use: missing values, what text columns really hold, repeated rows and keys."""

from __future__ import annotations

from typing import Final

from zidane_lab.providers.offline.columns import text_columns
from zidane_lab.providers.offline.facts import Distinct, Label, Missing, Table, Text
from zidane_lab.providers.offline.results import Outcome
from zidane_lab.providers.offline.scope import Scope, listing
from zidane_lab.providers.offline.steps.base import Step, by_label, frame, integer, real, value_of

__all__ = ["DUPLICATES", "MISSING", "TEXT"]

_PATTERNS: Final = r"""{name} = {{
    'like numbers': r'\s*[-+]?\d[\d,]*(?:\.\d+)?\s*%?\s*',
    'like dates': r'\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}.*',
    'like ISO dates': r'\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?',
}}
"""


# --- missing values ---------------------------------------------------------------------------------


def _floats(table: Table) -> list[Label]:
    return [each.label for each in table.columns if each.dtype.lower().startswith(("float", "double"))]


def _missing(table: Table, scope: Scope) -> str:
    return _missing_polars(table, scope) if table.library == "polars" else _missing_pandas(table, scope)


def _missing_pandas(table: Table, scope: Scope) -> str:
    gaps, floats, labels = scope.own("gaps"), scope.own("floats"), _floats(table)
    chosen = f"{floats} = {frame(table, labels)}\n" if labels else ""
    infinite = f"{floats}.isin([float('inf'), -float('inf')]).sum().to_dict()" if labels else "{}"
    return f"""\
{scope.imports("display")}{gaps} = {table.expr}.isna()
{chosen}{scope.alias("display")}({gaps}.agg(['sum', 'mean']).T.sort_values('sum', ascending=False))
{{
    'missing': {gaps}.sum().to_dict(),
    'share': {gaps}.mean().to_dict(),
    'rows with gaps': int({gaps}.any(axis=1).sum()),
    'their share': float({gaps}.any(axis=1).mean()),
    'together': [
        ([label for label, gone in zip({gaps}, pattern) if gone], rows)
        for pattern, rows in {gaps}.value_counts().head(8).items()
    ],
    'infinite': {infinite},
}}"""


def _missing_polars(table: Table, scope: Scope) -> str:
    pl, gaps, patterns, floats = scope.alias("pl"), scope.own("gaps"), scope.own("together"), scope.own("floats")
    rows, labels = scope.own("rows"), _floats(table)
    chosen = f"{floats} = {table.expr}.select({listing(labels)})\n" if labels else ""
    infinite = f"{floats}.select({pl}.all().is_infinite().sum()).row(0, named=True)" if labels else "{}"
    return f"""\
{scope.imports("pl", "display")}{gaps} = {table.expr}.fill_nan(None).select({pl}.all().is_null())
{patterns} = (
    {gaps}.group_by({pl}.all(), maintain_order=True)
    .len(name={rows!r})
    .sort({rows!r}, descending=True, maintain_order=True)
)
{chosen}{scope.alias("display")}({gaps}.sum())
{{
    'missing': {gaps}.sum().row(0, named=True),
    'share': {gaps}.mean().row(0, named=True),
    'rows with gaps': {gaps}.select({pl}.any_horizontal({pl}.all()).sum()).item(),
    'their share': {gaps}.select({pl}.any_horizontal({pl}.all()).mean()).item(),
    'together': [
        ([label for label, gone in zip({gaps}.columns, row) if gone], row[-1])
        for row in {patterns}.head(8).iter_rows()
    ],
    'infinite': {infinite},
}}"""


def _read_missing(outcome: Outcome, _: Table) -> Missing:
    value = value_of(outcome)
    together = tuple((tuple(labels), integer(rows)) for labels, rows in value["together"] if len(labels) > 1)
    count = by_label(value["missing"], integer)
    return Missing(
        count=count,
        share={label: float(value["share"][label] or 0) for label in count},
        rows=integer(value["rows with gaps"]),
        rows_share=float(value["their share"]),
        together=together,
        infinite=by_label(value["infinite"], lambda each: integer(each or 0)),
    )


# --- text -------------------------------------------------------------------------------------------


def _text(table: Table, scope: Scope) -> str:
    return _text_polars(table, scope) if table.library == "polars" else _text_pandas(table, scope)


def _text_pandas(table: Table, scope: Scope) -> str:
    text, patterns, labels = scope.own("text"), scope.own("patterns"), text_columns(table)
    inferred = f"{scope.alias('pd')}.api.types.infer_dtype({table.expr}[label], skipna=True)"
    return f"""\
{scope.imports("pd", "display")}{text} = {frame(table, labels)}.map(str, na_action='ignore')
{_PATTERNS.format(name=patterns)}{scope.alias("display")}({text}.describe().T)
{{
    'holds': {{label: {inferred} for label in {text}}},
    'longest': {text}.apply(lambda words: words.str.len().max()).to_dict(),
    **{{
        like: {text}.apply(lambda words: words.dropna().str.fullmatch(pattern).mean()).to_dict()
        for like, pattern in {patterns}.items()
    }},
}}"""


def _text_polars(table: Table, scope: Scope) -> str:
    pl, text, patterns, labels = scope.alias("pl"), scope.own("text"), scope.own("patterns"), text_columns(table)
    return f"""\
{scope.imports("pl", "display")}{text} = {table.expr}.select({listing(labels)})
{_PATTERNS.format(name=patterns)}{scope.alias("display")}({text}.describe())
{{
    'longest': {text}.select({pl}.all().str.len_chars().max()).row(0, named=True),
    **{{
        like: {text}.select({pl}.all().str.contains(f'^(?s:{{pattern}})$').mean()).row(0, named=True)
        for like, pattern in {patterns}.items()
    }},
}}"""


def _read_text(outcome: Outcome, _: Table) -> Text:
    value = value_of(outcome)

    def shares(key: str) -> dict[Label, float]:
        return by_label(value[key], lambda each: float(real(each) or 0))

    return Text(
        holds=by_label(value.get("holds", {}), str),
        longest=shares("longest"),
        like_numbers=shares("like numbers"),
        like_dates=shares("like dates"),
        like_iso=shares("like ISO dates"),
    )


# --- repeated rows and keys -------------------------------------------------------------------------


def _comparable(table: Table) -> list[Label]:
    """Return the columns whose values can be compared for sure: not lists, dictionaries and other objects."""
    return [each.label for each in table.columns if each.kind != "other"]


def _duplicates(table: Table, scope: Scope) -> str:
    labels = _comparable(table)
    everything = len(labels) == len(table.columns)
    if table.library == "polars":
        pl, rows = scope.alias("pl"), table.expr if everything else scope.own("rows")
        chosen = "" if everything else f"{rows} = {table.expr}.select({listing(labels)})\n"
        return f"""\
{scope.imports("pl", "display")}{chosen}{scope.alias("display")}({rows}.filter({rows}.is_duplicated()).head())
{{
    'duplicate rows': {rows}.height - {rows}.n_unique(),
    'share': ({rows}.height - {rows}.n_unique()) / {rows}.height,
    'distinct': {rows}.fill_nan(None).select({pl}.all().drop_nulls().n_unique()).row(0, named=True),
}}"""
    rows = table.expr if everything else scope.own("rows")
    chosen = "" if everything else f"{rows} = {frame(table, labels)}\n"
    return f"""\
{scope.imports("display")}{chosen}{scope.alias("display")}({rows}[{rows}.duplicated(keep=False)].head())
{{
    'duplicate rows': int({rows}.duplicated().sum()),
    'share': float({rows}.duplicated().mean()),
    'distinct': {rows}.nunique().to_dict(),
}}"""


def _read_duplicates(outcome: Outcome, _: Table) -> Distinct:
    value = value_of(outcome)
    return Distinct(integer(value["duplicate rows"]), float(value["share"]), by_label(value["distinct"], integer))


def has_rows(table: Table) -> bool:
    """Whether there is anything to compute on."""
    return table.rows > 0 and bool(table.columns)


MISSING: Final = Step(
    name="missing",
    topic="missing values",
    intent="Count the missing values of {}, and which are missing together",
    applies=has_rows,
    code=_missing,
    read=_read_missing,
    after=("prepare",),
)
TEXT: Final = Step(
    name="text",
    topic="text columns",
    intent="See what the text columns of {} hold: words, numbers or dates",
    applies=lambda table: has_rows(table) and bool(text_columns(table)),
    code=_text,
    read=_read_text,
    after=("prepare", "missing"),
)
DUPLICATES: Final = Step(
    name="duplicates",
    topic="repeated rows and keys",
    intent="Find repeated rows, constant columns and possible keys in {}",
    applies=lambda table: has_rows(table) and bool(_comparable(table)),
    code=_duplicates,
    read=_read_duplicates,
    after=("prepare", "missing", "text"),
)

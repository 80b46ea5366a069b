"""Columns together: correlations, differences between groups, and whether a correlation holds inside groups."""

from __future__ import annotations

from typing import Any, Final

from zidane_lab.providers.offline.columns import candidate_pairs, group_columns, grouping_choices, measures, related_to
from zidane_lab.providers.offline.facts import LIMITS, Correlations, Groups, Label, Pair, Table, Within
from zidane_lab.providers.offline.results import Outcome, literal
from zidane_lab.providers.offline.scope import Scope
from zidane_lab.providers.offline.steps.base import Step, by_label, known_label, real, shared_numbers, value_of

__all__ = ["CORRELATIONS", "GROUPS", "WITHIN"]

_ENOUGH: Final = LIMITS.enough_rows
"""Fewest rows a correlation is computed from."""


_ETA: Final = "# Eta squared: the share of a column's variance that lies between groups, not inside them."
_MOST: Final = "# The grouping that separates the columns most:"


# --- correlations -----------------------------------------------------------------------------------


def _correlations(table: Table, scope: Scope) -> str:
    pairs, pick, shown = scope.own("pairs"), scope.alias("combinations"), scope.alias("display")
    assign, values = shared_numbers(table, measures(table, 2), scope)
    if table.library == "polars":
        pl = scope.alias("pl")
        return f"""\
{scope.imports("combinations", "pl", "display")}{assign}{pairs} = (
    {pl}.concat(
        {values}.drop_nulls([first, second]).select(
            {pl}.lit(first).alias('first'),
            {pl}.lit(second).alias('second'),
            {pl}.corr(first, second).alias('pearson'),
            {pl}.corr(first, second, method='spearman').alias('spearman'),
            {pl}.len().alias('rows'),
        )
        for first, second in {pick}({values}.columns, 2)
    )
    .filter({pl}.col('rows') >= {_ENOUGH})
    .fill_nan(None)
    .sort({pl}.col('pearson').abs(), descending=True, nulls_last=True)
)
{shown}({pairs})
{pairs}.head({LIMITS.pairs}).to_dicts()"""
    pearson, spearman = scope.own("pearson"), scope.own("spearman")
    return f"""\
{scope.imports("combinations", "pd", "display")}{assign}{pearson} = {values}.corr(min_periods={_ENOUGH})
{spearman} = {values}.corr(method='spearman', min_periods={_ENOUGH})
{pairs} = {scope.alias("pd")}.DataFrame(
    [
        (first, second, {pearson}.at[first, second], {spearman}.at[first, second])
        for first, second in {pick}({pearson}, 2)
    ],
    columns=['first', 'second', 'pearson', 'spearman'],
).sort_values('pearson', key=abs, ascending=False)
{shown}({pairs}.round(3))
{pairs}.head({LIMITS.pairs}).to_dict('records')"""


def _read_correlations(outcome: Outcome, table: Table) -> Correlations:
    rows = literal(outcome.value or "")
    if not isinstance(rows, list):
        raise TypeError("it returned something else than expected")
    pairs = []
    for row in rows:
        first, second = known_label(table, row["first"]), known_label(table, row["second"])
        pearson, spearman = real(row["pearson"]), real(row["spearman"])
        if pearson is not None and spearman is not None:
            pairs.append(Pair(first, second, pearson, spearman))
    return Correlations(tuple(pairs))


# --- groups -----------------------------------------------------------------------------------------


def _groups(table: Table, scope: Scope) -> str:
    by, groups = related_to(table), group_columns(table)
    if by not in groups:
        return _numeric_target(table, by, scope)
    return _groups_polars(table, scope) if table.library == "polars" else _groups_pandas(table, scope)


def _eta_pandas(table: Table, groups: list[Label], values: str) -> str:
    column = f"{table.expr}[group]"
    return f"""{{
    group: 1
    - ({values} - {values}.groupby({column}, observed=True).transform('mean')).var()
    / {values}[{column}.notna()].var()
    for group in {groups!r}
}}"""


def _groups_pandas(table: Table, scope: Scope) -> str:
    groups, choices = group_columns(table), grouping_choices(table)
    assign, values = shared_numbers(table, [label for label in measures(table) if label not in choices[:1]], scope)
    eta, by, means, crossed = (scope.own(word) for word in ("eta", "by", "means", "crossed"))
    pd, shown, column = scope.alias("pd"), scope.alias("display"), f"{table.expr}[{by}]"
    candidates = eta if choices == groups else f"{eta}[{choices!r}]"
    chosen = f"{by} = {choices[0]!r}"
    if len(choices) > 1:
        chosen = f"{_MOST}\n{by} = {candidates}.mean().idxmax()"
    return f"""\
{scope.imports("pd", "display")}{assign}{_ETA}
{eta} = {pd}.DataFrame({_eta_pandas(table, groups, values)})
{shown}({eta}.round(3))
{chosen}
{means} = {values}.groupby({column}, observed=True).mean()
{shown}({means}.round(3))

# Cramér's V: how closely two categories go together, from 0 to 1.
{crossed} = {{other: {pd}.crosstab({column}, {table.expr}[other]) for other in {eta} if other != {by}}}
{{
    'by': {by},
    'means': {means}.head({LIMITS.group_levels}).to_dict(),
    'eta squared': {eta}.to_dict(),
    'cramer': {{
        other: float(
            abs((counts**2).div(counts.sum(axis=1), axis=0).div(counts.sum(), axis=1).sum().sum() - 1)
            / (min(counts.shape) - 1)
        )
        ** 0.5
        for other, counts in {crossed}.items()
        if min(counts.shape) > 1
    }},
}}"""


def _eta_polars(table: Table, groups: list[Label], values: str, scope: Scope) -> str:
    pl, rows = scope.alias("pl"), repr(scope.own("group"))
    each = f"{pl}.col({values}.columns)"
    return f"""{{
    group: {values}.with_columns({table.expr}[group].alias({rows}))
    .drop_nulls({rows})
    .select(({each}.var() - ({each} - {each}.mean().over({rows})).var()) / {each}.var())
    .fill_nan(None)
    .row(0, named=True)
    for group in {groups!r}
}}"""


def _groups_polars(table: Table, scope: Scope) -> str:
    groups, choices = group_columns(table), grouping_choices(table)
    assign, values = shared_numbers(table, [label for label in measures(table) if label not in choices[:1]], scope)
    eta, by, means, crossed = (scope.own(word) for word in ("eta", "by", "means", "crossed"))
    pl, shown = scope.alias("pl"), scope.alias("display")
    count = f"{pl}.col({crossed!r})"
    candidates = eta if choices == groups else repr(choices)
    chosen = f"{by} = {choices[0]!r}"
    if len(choices) > 1:
        score = f"sum(part or 0 for part in {eta}[group].values())"
        chosen = f"{_MOST}\n{by} = max({candidates}, key=lambda group: {score})"
    return f"""\
{scope.imports("pl", "display")}{assign}{_ETA}
{eta} = {_eta_polars(table, groups, values, scope)}
{chosen}
{means} = (
    {values}.with_columns({table.expr}[{by}].alias({means!r}))
    .drop_nulls({means!r})
    .group_by({means!r}, maintain_order=True)
    .mean()
    .head({LIMITS.group_levels})
)
{shown}({means})

# Cramér's V: how closely two categories go together, from 0 to 1.
{crossed} = {{
    other: {table.expr}.drop_nulls([{by}, other]).group_by({by}, other, maintain_order=True).len(name={crossed!r})
    for other in {eta}
    if other != {by}
}}
{{
    'by': {by},
    'means': {{label: list(zip({means}[{means!r}], {means}[label])) for label in {values}.columns}},
    'eta squared': {eta},
    'cramer': {{
        other: counts.select(
            (({count} ** 2 / ({count}.sum().over({by}) * {count}.sum().over(other))).sum() - 1).abs()
            / ({pl}.min_horizontal({pl}.col({by}).n_unique(), {pl}.col(other).n_unique()) - 1)
        ).item() ** 0.5
        for other, counts in {crossed}.items()
        if counts[{by}].n_unique() > 1 and counts[other].n_unique() > 1
    }},
}}"""


def _numeric_target(table: Table, by: Label, scope: Scope) -> str:
    others, groups = [label for label in measures(table) if label != by], group_columns(table)
    assign, values = shared_numbers(table, [*others, by], scope)
    eta, shown = scope.own("eta"), scope.alias("display")
    if table.library == "polars":
        pl = scope.alias("pl")
        known = f"{values}.drop_nulls([label, {by!r}])"
        return f"""\
{scope.imports("pl", "display")}{assign}{shown}({values}.describe())
{eta} = {_eta_polars(table, groups, f"{values}.select({by!r})", scope)}
{{
    'by': {by!r},
    'pearson': {{label: {known}.select({pl}.corr(label, {by!r})).item() for label in {others!r}}},
    'spearman': {{
        label: {known}.select({pl}.corr(label, {by!r}, method='spearman')).item() for label in {others!r}
    }},
    'eta squared': {eta},
}}"""
    pd, pearson = scope.alias("pd"), scope.own("with_target")
    return f"""\
{scope.imports("pd", "display")}{assign}{pearson} = {values}.corr(min_periods={_ENOUGH})[{by!r}].drop({by!r})
{shown}({pearson}.sort_values(key=abs, ascending=False).to_frame({f"correlation with {by}"!r}))
{eta} = {pd}.DataFrame({_eta_pandas(table, groups, f"{values}[[{by!r}]]")})
{{
    'by': {by!r},
    'pearson': {pearson}.to_dict(),
    'spearman': {values}.corr(method='spearman', min_periods={_ENOUGH})[{by!r}].drop({by!r}).to_dict(),
    'eta squared': {eta}.to_dict(),
}}"""


def _reals(mapping: Any) -> dict[Any, float]:
    """Read numbers by level or label, leaving out those that do not exist."""
    pairs = dict(mapping) if isinstance(mapping, list) else mapping
    return {key: each for key, each in by_label(pairs, real).items() if each is not None}


def _read_groups(outcome: Outcome, table: Table) -> Groups:
    value = value_of(outcome)
    return Groups(
        by=known_label(table, value["by"]),
        means=by_label(value.get("means", {}), _reals),
        eta=by_label(value["eta squared"], _reals),
        cramer=_reals(value.get("cramer", {})),
        pearson=_reals(value.get("pearson", {})),
        spearman=_reals(value.get("spearman", {})),
    )


# --- inside groups ----------------------------------------------------------------------------------


def _within(table: Table, scope: Scope) -> str:
    chosen, groups = candidate_pairs(table), group_columns(table)[:3]
    listed = "".join(f"    {pair!r},\n" for pair in chosen)
    labels = list(dict.fromkeys(label for pair in chosen for label in pair))
    assign, values = shared_numbers(table, labels, scope, exactly=False)
    pairs = scope.own("candidates")
    if table.library == "polars":
        pl, rows = scope.alias("pl"), repr(scope.own("group"))
        return f"""\
{scope.imports("pl")}{assign}{pairs} = [
{listed}]
{{
    (group, first, second): list(
        {values}.select(first, second, {table.expr}[group].alias({rows}))
        .drop_nulls()
        .filter({pl}.len().over({rows}) >= {_ENOUGH})
        .group_by({rows}, maintain_order=True)
        .agg({pl}.corr(first, second).alias('r'))
        .iter_rows()
    )
    for group in {groups!r}
    for first, second in {pairs}
}}"""
    return f"""\
{assign}{pairs} = [
{listed}]
{{
    (group, first, second): {values}[[first, second]]
    .groupby({table.expr}[group], observed=True)
    .corr(min_periods={_ENOUGH})
    .xs(first, level=1)[second]
    .to_dict()
    for group in {groups!r}
    for first, second in {pairs}
}}"""


def _read_within(outcome: Outcome, table: Table) -> Within:
    found = {}
    for (group, first, second), by_level in value_of(outcome).items():
        labels = tuple(known_label(table, label) for label in (group, first, second))
        found[labels] = _reals(by_level)
    return Within(found)


CORRELATIONS: Final = Step(
    name="correlations",
    topic="correlations",
    intent="Correlate the numeric columns of {}, by value (Pearson) and by rank (Spearman)",
    applies=lambda table: table.rows >= _ENOUGH and len(measures(table, 2)) > 1,
    code=_correlations,
    read=_read_correlations,
    after=("prepare", "missing", "text", "duplicates", "numbers"),
)
GROUPS: Final = Step(
    name="groups",
    topic="differences between groups",
    intent="Compare groups of {}: means, and how much of the variance lies between them",
    applies=lambda table: table.rows >= _ENOUGH and related_to(table) is not None,
    code=_groups,
    read=_read_groups,
    needs=("look", "duplicates"),
    after=("prepare", "missing", "text", "numbers"),
)
WITHIN: Final = Step(
    name="within",
    topic="correlations inside groups",
    intent="Check whether the correlations of {} keep their sign inside groups",
    applies=lambda table: bool(candidate_pairs(table)) and bool(group_columns(table)),
    code=_within,
    read=_read_within,
    needs=("look", "duplicates", "correlations"),
    after=("numbers", "groups"),
)

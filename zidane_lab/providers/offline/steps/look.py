"""The first look: open the file if there is one; shape, columns and types; a working copy where one is needed.

The look's code is the same for pandas and polars, since only its result says which of them it is.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePath
from typing import Any, Final

from zidane_lab.providers.offline.facts import LIMITS, Column, Kind, Look, Table
from zidane_lab.providers.offline.results import Outcome
from zidane_lab.providers.offline.scope import Scope
from zidane_lab.providers.offline.steps.base import Step, integer, plain, value_of

__all__ = ["LOOK", "OPEN_POLARS", "PREPARE", "SUPPORTED", "needs_copy", "variable_for"]

SUPPORTED: Final = ("pandas", "polars")
"""Libraries whose tables the planner can work on."""

_PANDAS_READERS: Final = {
    "csv": "read_csv({})",
    "tsv": "read_csv({}, sep='\\t')",
    "parquet": "read_parquet({})",
    "json": "read_json({})",
    "jsonl": "read_json({}, lines=True)",
    "ndjson": "read_json({}, lines=True)",
    "xlsx": "read_excel({})",
    "xls": "read_excel({})",
    "feather": "read_feather({})",
}
_POLARS_READERS: Final = {
    "csv": "read_csv({}, try_parse_dates=True, null_values=['', 'NA'])",
    "tsv": "read_csv({}, separator='\\t', try_parse_dates=True, null_values=['', 'NA'])",
    "parquet": "read_parquet({})",
    "json": "read_json({})",
    "jsonl": "read_ndjson({})",
    "ndjson": "read_ndjson({})",
    "xlsx": "read_excel({})",
    "xls": "read_excel({})",
    "feather": "read_ipc({})",
}

_KINDS: Final[tuple[tuple[str, Kind], ...]] = (
    (r"u?int\d+|float\d+|double|halffloat|decimal.*", "number"),
    (r"bool(ean)?", "bool"),
    (r"datetime.*|timestamp.*|date(32|64)?(\[day\])?", "date"),
    (r"timedelta.*|duration.*", "duration"),
    (r"category|categorical.*|enum.*", "category"),
    (r"str(ing)?(\[\w*\])?|large_string|utf8|object", "text"),
)


def variable_for(path: str) -> str:
    """Return the variable name for a file's table: its stem as an identifier."""
    stem = re.sub(r"\W+", "_", PurePath(path.replace("\\", "/")).name.split(".")[0]).strip("_").lower()
    return stem if stem.isidentifier() else f"table_{stem}".rstrip("_")


def kind_of(dtype: str, library: str) -> Kind:
    """Tell what a column is by its type as pandas or polars prints it."""
    word = dtype.strip().lower().removesuffix("[pyarrow]")
    if library == "polars" and word == "object":
        return "other"
    return next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, word)), "other")


def _inspect(expr: str, scope: Scope, *, first: bool = True) -> str:
    plots = f"    'matplotlib': {scope.alias('find_spec')}('matplotlib') is not None,\n" if first else ""
    return f"""\
{scope.alias("display")}({expr}.head())
{{
    'library': type({expr}).__module__,
    'shape': {expr}.shape,
    'columns': [(label, str(dtype)[:40]) for label, dtype in zip({expr}.columns, {expr}.dtypes)][:{LIMITS.columns}],
{plots}}}"""


def _open(table: Table, scope: Scope, library: str, readers: dict[str, str]) -> str:
    path = table.path or ""
    reader = readers[path.rsplit(".", 1)[-1].lower()].format(repr(path))
    return f"{table.variable} = {scope.alias(library)}.{reader}\n"


def _look(table: Table, scope: Scope) -> str:
    if table.path is None:
        return scope.imports("find_spec", "display") + _inspect(table.variable, scope)
    opened = _open(table, scope, "pd", _PANDAS_READERS)
    return scope.imports("find_spec", "pd", "display") + opened + _inspect(table.variable, scope)


def _open_polars(table: Table, scope: Scope) -> str:
    opened = _open(table, scope, "pl", _POLARS_READERS)
    return scope.imports("find_spec", "pl", "display") + opened + _inspect(table.variable, scope)


def _read(outcome: Outcome, table: Table) -> Look:
    value = value_of(outcome)
    can_plot = value["matplotlib"] is True if table.look is None else table.look.can_plot
    library = str(value["library"]).partition(".")[0]
    rows, width = value["shape"]
    columns = tuple(_column(label, dtype, library) for label, dtype in value["columns"])
    return Look(library, integer(rows), integer(width), columns, can_plot)


def _column(label: Any, dtype: Any, library: str) -> Column:
    return Column(label, str(dtype), kind_of(str(dtype), library))


def _without_pandas(table: Table) -> bool:
    return table.path is not None and "No module named 'pandas'" in table.problems.get("look", "")


# --- a working copy ---------------------------------------------------------------------------------


def _odd_labels(look: Look) -> bool:
    counts = Counter(repr(column.label) for column in look.columns)
    return any(not plain(column.label) for column in look.columns) or any(many > 1 for many in counts.values())


def needs_copy(table: Table) -> bool:
    """Whether the table is too wide or too long to be worked on whole, or has labels that code cannot name."""
    look = table.get(Look, "look") or table.get(Look, "open_polars")
    return look is not None and (
        look.width > LIMITS.columns or look.rows > LIMITS.rows or (look.rows > 0 and _odd_labels(look))
    )


def _prepare(table: Table, scope: Scope) -> str:
    look = table.look
    assert look is not None
    source, copy = table.variable, scope.own("copy")
    chain = [source]
    if look.width > LIMITS.columns:
        chain.append(f"[:, :{LIMITS.columns}]" if look.library == "polars" else f".iloc[:, :{LIMITS.columns}]")
    if look.rows > LIMITS.rows:
        seed = "seed=0" if look.library == "polars" else "random_state=0"
        chain.append(f".sample({LIMITS.sample}, {seed})")
    code = f"{copy} = {''.join(chain)}\n"
    if _odd_labels(look):
        flat = "f'{number}: {label}'[:80]"
        if look.library == "polars":
            code += f"{copy} = {copy}.rename({{label: {flat} for number, label in enumerate({copy}.columns, 1)}})\n"
        else:
            code += f"{copy} = {copy}.set_axis([{flat} for number, label in enumerate({copy}.columns, 1)], axis=1)\n"
    return scope.imports("display") + code + _inspect(copy, scope, first=False)


def _is_table(table: Table) -> bool:
    look = table.look
    return look is not None and look.library in SUPPORTED


LOOK: Final = Step(
    name="look",
    topic="size and types",
    intent="Look at the first rows, the size and the column types of {}",
    applies=lambda _: True,
    code=_look,
    read=_read,
    needs=(),
)
OPEN_POLARS: Final = Step(
    name="open_polars",
    topic="size and types",
    intent="Open {} with polars, since pandas is not installed",
    applies=_without_pandas,
    code=_open_polars,
    read=_read,
    needs=(),
    after=("look",),
)
PREPARE: Final = Step(
    name="prepare",
    topic="a working copy",
    intent="Make a working copy of {}: within bounds, one plain label per column",
    applies=lambda table: _is_table(table) and needs_copy(table),
    code=_prepare,
    read=_read,
    after=("look", "open_polars"),
    needs=(),
)

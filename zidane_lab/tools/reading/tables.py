"""Tables: the shape of a delimited text, and the head of a columnar file through the libraries that are installed.

Those libraries are loaded in a process of their own (:mod:`zidane_lab.tools.reading.child`), never into the kernel.
"""

from __future__ import annotations

import csv
import importlib.util
from typing import Any, Final

from zidane_lab.tools.filetypes import how_to_load
from zidane_lab.tools.pages import Page
from zidane_lab.tools.paths import show_name
from zidane_lab.tools.reading.child import ChildError, answers_of
from zidane_lab.tools.reading.source import Source

__all__ = ["COLUMNAR", "TABLE_SUFFIXES", "columnar_head", "describe_table"]

TABLE_SUFFIXES: Final = frozenset({".csv", ".tsv", ".tab"})
COLUMNAR: Final = frozenset({"parquet", "feather", "orc"})
"""Keys of :func:`~zidane_lab.tools.filetypes.identify` that :func:`columnar_head` knows."""

HEAD_ROWS: Final = 10
MOST_COLUMNS: Final = 200
_CELL: Final = 60
_MEMORY: Final = 8 * 1_073_741_824
"""Bytes: these libraries read whole groups of rows, with a thread and its room for each processor."""
_DELIMITERS: Final = {",": "comma", "\t": "tab", ";": "semicolon", "|": "pipe"}
_SAMPLE_LINES: Final = 50
_NAMES_SHOWN: Final = 20
_NAME_WIDTH: Final = 30

_CODE: Final = """
import json, sys
path, kind, rows, columns, width = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
def short(value):
    text = "null" if value is None else str(value).encode("utf-8", "replace").decode()
    return text if len(text) <= width else text[: width - 1] + "…"
def say(count, groups, schema, head):
    print(json.dumps([count, groups, [[short(name), short(type)] for name, type in schema], head]))
def with_pyarrow():
    import pyarrow
    if kind == "parquet":
        import pyarrow.parquet
        with pyarrow.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            names = schema.names[:columns]
            batches = file.iter_batches(batch_size=rows, columns=names)
            batch = next(iter(batches), None)
            count, groups = file.metadata.num_rows, file.num_row_groups
    elif kind == "orc":
        import pyarrow.orc
        file = pyarrow.orc.ORCFile(path)
        schema, count, groups = file.schema, file.nrows, file.nstripes
        batch = file.read_stripe(0, columns=schema.names[:columns]) if groups else None
    else:
        with pyarrow.memory_map(path) as source, pyarrow.ipc.open_file(source) as file:
            schema, groups = file.schema, file.num_record_batches
            count = sum(file.get_batch(index).num_rows for index in range(groups))
            batch = file.get_batch(0).slice(0, rows) if groups else None
            if batch is not None:
                batch = batch.select(schema.names[:columns])
            head = [] if batch is None else [list(map(short, row.values())) for row in batch.to_pylist()]
            return say(count, groups, [(f.name, f.type) for f in schema], head)
    head = [] if batch is None else [list(map(short, row.values())) for row in batch.slice(0, rows).to_pylist()]
    say(count, groups, [(field.name, field.type) for field in schema], head)
def with_polars():
    import polars
    lazy = {"parquet": polars.scan_parquet, "feather": polars.scan_ipc}[kind](path)
    schema = lazy.collect_schema()
    frame = lazy.select(list(schema)[:columns]).head(rows).collect()
    count = lazy.select(polars.len()).collect().item()
    say(count, None, list(schema.items()), [list(map(short, row)) for row in frame.iter_rows()])
try:
    {"pyarrow": with_pyarrow, "polars": with_polars}[sys.argv.pop(1)]()
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
""".replace("sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])", "sys.argv[2], sys.argv[3], *map(int, sys.argv[4:])")


def columnar_head(source: Source, key: str) -> list[str] | str:
    """Return schema and first rows of a columnar file as lines; a text saying why not, where that cannot be."""
    library = next((name for name in ("pyarrow", "polars") if importlib.util.find_spec(name) is not None), None)
    if library is None or (library == "polars" and key == "orc"):
        return "no library for it is installed"
    try:
        with source.as_file() as path:
            arguments = [library, path, key, str(HEAD_ROWS), str(MOST_COLUMNS), str(_CELL)]
            answers = list(answers_of(_CODE, arguments, memory=_MEMORY))
    except ChildError as error:
        return f"{library} cannot read it: {error}"
    if not answers:
        return f"{library} said nothing about it"
    count, groups, schema, head = answers[0]
    return _head_lines(count, groups, schema, head, how_to_load(key, source.name))


def _head_lines(count: int, groups: int | None, schema: list[Any], head: list[list[str]], load: str) -> list[str]:
    shown = schema[:MOST_COLUMNS]
    left = f", the first {MOST_COLUMNS} of them here" if len(schema) > MOST_COLUMNS else ""
    parts = f" in {groups:,} groups" if groups and groups > 1 else ""
    lines = [f"{count:,} rows{parts}, {len(schema):,} columns{left}", ""]
    lines += [f"{show_name(name)}: {kind}" for name, kind in shown]
    if head:
        lines += ["", "| " + " | ".join(show_name(name) for name, _ in shown) + " |"]
        lines += ["| " + " | ".join(show_name(cell) for cell in row) + " |" for row in head]
    return [*lines, f"[the first {len(head)} of {count:,} rows. {load}]"]


def describe_table(page: Page, path: str) -> str:
    """Describe a delimited table from its first page: delimiter, columns, rows, how to load it."""
    lines = page.text.split("\n")
    delimiter, columns = _guess(lines[:_SAMPLE_LINES])
    names = ", ".join(name[:_NAME_WIDTH] for name in columns[:_NAMES_SHOWN])
    more = ", …" if len(columns) > _NAMES_SHOWN else ""
    rows = ""
    if page.total is not None and not page.cut:
        # A quoted field may span lines, so lines are rows only where the whole table is here to be parsed.
        whole = page.following is None
        count = len(_rows(lines, delimiter)) if whole else page.total
        rows = f", {'' if whole else 'about '}{max(0, count - 1):,} rows"
    load = how_to_load("csv", path)
    if delimiter != ",":
        option = "sep" if "pd." in load else "separator"
        load = load.replace(")`", f", {option}={delimiter!r})`")
    return f"table: {_DELIMITERS[delimiter]}-separated, {len(columns)} columns ({names}{more}){rows}. {load}"


def _rows(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:  # a bare carriage return, say: no table by this delimiter
        return []


def _guess(sample: list[str]) -> tuple[str, list[str]]:
    """Return the delimiter that splits every row into the same number of fields, the most of them, and the header."""
    best, columns = ",", sample[:1]
    for delimiter in _DELIMITERS:
        rows = _rows(sample, delimiter)
        complete = rows[:-1] if len(rows) > 2 else rows  # the last row may be cut or the start of a quoted one
        if complete and len({len(row) for row in complete}) == 1 and len(rows[0]) > len(columns):
            best, columns = delimiter, rows[0]
    return best, columns

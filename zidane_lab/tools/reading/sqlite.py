"""SQLite databases: their tables, a table, a row, or what a query finds, without changing or running anything.

The connection is opened read-only, only reading is authorised, and statements end after some seconds: a database, like
its author, is not trusted. A database with a write-ahead log that nobody uses is opened as immutable, so that not even
the log's index is made beside it.
"""

from __future__ import annotations

import itertools
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote

from zidane_lab.errors import ToolError
from zidane_lab.tools.paths import describe_size, near_names, show_name
from zidane_lab.tools.reading.source import Source

__all__ = ["CELL_WIDTH", "MOST_ROWS", "MOST_TABLES", "read_database"]

MOST_TABLES: Final = 500
MOST_ROWS: Final = 500
MOST_FOUND: Final = 1_000
"""Rows shown of a query."""
DEFAULT_ROWS: Final = 20
CELL_WIDTH: Final = 40
_ROW_WIDTH: Final = 400
"""Characters of one line of a table."""
_VALUE: Final = 2_000
"""Characters of one value where a single row is shown."""
_SECONDS: Final = 5.0
_COUNT_SECONDS: Final = 1.0
_STEPS: Final = 10_000
_LIMITS: Final = (
    ("SQLITE_LIMIT_LENGTH", 67_108_864),
    ("SQLITE_LIMIT_ATTACHED", 0),
    ("SQLITE_LIMIT_SQL_LENGTH", 100_000),
    ("SQLITE_LIMIT_EXPR_DEPTH", 500),
    ("SQLITE_LIMIT_COMPOUND_SELECT", 100),
)
_PRAGMAS: Final = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"})
_FORBIDDEN: Final = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})
_OPTIONS: Final = frozenset({"limit", "offset", "order", "where"})


def read_database(source: Source, rest: str) -> list[str]:
    """Return the lines for what stands behind a database's path.

    Nothing: its tables. ``:table``: its schema and first rows, with ``?limit=…&offset=…&order=column:desc&where=…``.
    ``:table:key``: one row. ``?q=SELECT …``: what the query finds.

    Raises
    ------
    ToolError
        It cannot be opened, there is no such table or row, or the query is refused or fails.
    """
    with source.as_file() as path, _connected(path, source.name) as connection:
        reader = _Reader(connection, source.name)
        if rest.startswith("?"):
            return reader.query(_options(rest[1:], {"q"}).get("q", ""))
        name, _, options = rest.removeprefix(":").partition("?")
        if not name:
            return reader.tables()
        table, key = reader.split(name)
        if key is not None:
            return reader.row(table, key)
        return reader.table(table, _options(options, _OPTIONS))


@contextmanager
def _connected(path: str, name: str) -> Iterator[sqlite3.Connection]:
    address = f"file:{quote(str(Path(path).absolute()))}?mode=ro"
    if _is_idle_log(path):
        address += "&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=3.0)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            for limit, value in _LIMITS:
                connection.setlimit(getattr(sqlite3, limit), value)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.set_authorizer(_authorize)
            yield connection
    except sqlite3.Error as error:
        raise _failure(error, name) from error


def _is_idle_log(path: str) -> bool:
    """Whether the database keeps a write-ahead log (bytes 18 and 19 of its header) and nobody has it open."""
    with Path(path).open("rb") as handle:
        header = handle.read(20)
    return header[18:20] == b"\x02\x02" and not Path(f"{path}-wal").exists()


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, _inner: str | None) -> int:
    """Allow reading, and nothing else."""
    allowed = action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
    if action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in _FORBIDDEN
    elif action == sqlite3.SQLITE_PRAGMA:
        allowed = (first or "").lower() in _PRAGMAS
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


class _Reader:
    """Looks into one open database."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection, self._name = connection, name

    def _run(self, sql: str, values: Sequence[Any] = (), *, most: int, seconds: float | None = None) -> sqlite3.Cursor:
        """Run a statement; the connection stops it when its time is over."""
        end = time.monotonic() + (_SECONDS if seconds is None else seconds)
        self._connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        cursor = self._connection.execute(sql, values)
        cursor.arraysize = most
        return cursor

    def names(self) -> list[tuple[str, str]]:
        """Return name and kind of the tables and views."""
        sql = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name LIMIT ?"
        return [(str(name), str(kind)) for name, kind in self._run(sql, (MOST_TABLES + 1,), most=MOST_TABLES + 1)]

    def tables(self) -> list[str]:
        """List the tables with the number of their rows."""
        names = self.names()
        end = time.monotonic() + _SECONDS
        lines = [
            f"{name}  {self._count(name, end - time.monotonic()) if kind == 'table' else kind}"
            for name, kind in names[:MOST_TABLES]
        ]
        more = f"; only the first {MOST_TABLES} are listed" if len(names) > MOST_TABLES else ""
        how = f"`{show_name(self._name)}:table`, `…:table:key`, `…?q=SELECT …`"
        return [*map(show_name, lines), f"[SQLite database, {len(lines):,} tables and views{more}; read {how}]"]

    def _count(self, table: str, left: float = _COUNT_SECONDS) -> str:
        if left <= 0:
            return "rows not counted"
        sql = f"SELECT count(*) FROM {_quoted(table)}"  # noqa: S608 - a quoted name
        try:
            (rows,) = self._run(sql, most=1, seconds=min(left, _COUNT_SECONDS)).fetchone()
        except sqlite3.Error as error:
            return "more rows than can be counted at once" if "interrupted" in str(error) else f"({error})"
        return f"{rows:,} rows"

    def split(self, name: str) -> tuple[str, str | None]:
        """Split ``table:key``; names of tables may have colons too."""
        known = {each: each for each, _ in self.names()}
        if name in known:
            return name, None
        lowered = {each.lower(): each for each in known}
        for index in [index for index, char in enumerate(name) if char == ":"][::-1]:
            if (table := lowered.get(name[:index].lower())) is not None:
                if not name[index + 1 :]:
                    raise ToolError("The key is empty.", hint=f"Read `{table}` or `{table}:key`.")
                return table, name[index + 1 :]
        if name.lower() in lowered:
            return lowered[name.lower()], None
        near = near_names(name, known) or list(known)[:10]
        raise ToolError(f"There is no table {name!r} in {self._name}.", hint=f"Tables: {', '.join(near) or 'none'}.")

    def table(self, table: str, options: dict[str, str]) -> list[str]:
        """Show a table's schema and some of its rows."""
        columns = self._columns(table)
        limit = min(_number(options.get("limit"), DEFAULT_ROWS, "limit"), MOST_ROWS)
        offset = _number(options.get("offset"), 0, "offset")
        where = f" WHERE ({_condition(options['where'])})" if options.get("where", "").strip() else ""
        order = _order(options["order"], columns) if options.get("order", "").strip() else ""
        sql = f"SELECT * FROM {_quoted(table)}{where}{order} LIMIT ? OFFSET ?"  # noqa: S608 - quoted names, one read-only statement
        cursor = self._run(sql, (limit + 1, offset), most=limit + 1)
        rows = _fetched(cursor, limit + 1)
        (schema,) = self._run("SELECT sql FROM sqlite_master WHERE name = ?", (table,), most=1).fetchone() or ("",)
        lines = [*str(schema or "").splitlines(), "", *_grid([each[0] for each in cursor.description], rows[:limit])]
        first, last = offset + 1, offset + len(rows[:limit])
        count = "" if where else f" of {self._count(table)}"
        more = f"; go on with `?offset={last}&limit={limit}`" if len(rows) > limit else ""
        return [*lines, f"[rows {first:,}–{last:,}{count}{more}]" if rows else f"[no rows{count}]"]

    def row(self, table: str, key: str) -> list[str]:
        """Show one row, found by its primary key, or by ``rowid`` where there is none of one column."""
        keys = [name for name, position in self._columns(table).items() if position]
        column = _quoted(keys[0]) if len(keys) == 1 else "rowid"
        row = cursor = None
        for compared in (column, f"CAST({column} AS TEXT)"):  # the second misses no type, the first uses an index
            sql = f"SELECT * FROM {_quoted(table)} WHERE {compared} = ? LIMIT 1"  # noqa: S608 - quoted names
            cursor = self._run(sql, (key,), most=1)
            if (row := cursor.fetchone()) is not None:
                break
        if row is None or cursor is None:
            raise ToolError(f"No row of {table} has {column} {key!r}.", hint=f"See its rows: `{self._name}:{table}`.")
        return [f"{name}: {_text(value, _VALUE)}" for (name, *_), value in zip(cursor.description, row, strict=True)]

    def query(self, sql: str) -> list[str]:
        """Show what a query finds."""
        if not sql.strip():
            raise ToolError("The query is empty.", hint=f"Read `{self._name}?q=SELECT …`.")
        cursor = self._run(sql, most=MOST_FOUND + 1)
        if cursor.description is None:
            raise ToolError("Only queries that find rows can be run.", hint="Use run_python to change a database.")
        rows = _fetched(cursor, MOST_FOUND + 1)
        lines = _grid([each[0] for each in cursor.description], rows[:MOST_FOUND])
        more = f"; only the first {MOST_FOUND:,} are shown, use LIMIT and OFFSET" if len(rows) > MOST_FOUND else ""
        return [*lines, f"[{min(len(rows), MOST_FOUND):,} rows{more}]"]

    def _columns(self, table: str) -> dict[str, int]:
        """Return the columns with their place in the primary key, 0 for none."""
        return {str(row[1]): int(row[5]) for row in self._run(f"PRAGMA table_info({_quoted(table)})", most=2000)}


def _options(text: str, known: frozenset[str] | set[str]) -> dict[str, str]:
    options = dict(parse_qsl(text.replace("+", "%2B"), keep_blank_values=True))
    if text.startswith("q="):  # a query is written as it is: & and % in it are its own
        options = {"q": text[2:]}
    if unknown := options.keys() - known:
        raise ToolError(f"Unknown options: {', '.join(sorted(unknown))}.", hint=f"Known: {', '.join(sorted(known))}.")
    return options


def _number(text: str | None, default: int, name: str) -> int:
    if text is None or not text.strip():
        return default
    if not text.strip().isdecimal():
        raise ToolError(f"`{name}` is {text!r}.", hint="Give a whole number.")
    return min(int(text), 2**53)


def _condition(where: str) -> str:
    if any(mark in where for mark in (";", "--", "/*")):
        raise ToolError("A condition has no comments and no semicolon.", hint="Use `?q=SELECT …` for more.")
    return where


def _order(text: str, columns: dict[str, int]) -> str:
    name, _, direction = text.rpartition(":") if text.lower().endswith((":asc", ":desc")) else (text, "", "asc")
    if name not in columns:
        raise ToolError(f"There is no column {name!r}.", hint=f"Columns: {', '.join(list(columns)[:50])}.")
    return f" ORDER BY {_quoted(name)} {'DESC' if direction.lower() == 'desc' else 'ASC'}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _fetched(cursor: sqlite3.Cursor, most: int) -> list[list[str]]:
    """Return rows as cells of a table, cut as they come: a thousand values of the largest size would fill memory."""
    return [[_text(each, CELL_WIDTH) for each in row] for row in itertools.islice(cursor, most)]


def _grid(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write rows of cells as an aligned table; long lines are cut."""
    cells = [[_text(name, CELL_WIDTH) for name in names], *rows]
    widths = [max(len(row[index]) for row in cells) for index in range(len(names))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return [line if len(line) <= _ROW_WIDTH else f"{line[: _ROW_WIDTH - 1]}…" for line in lines]


def _text(value: object, width: int) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value[:8].hex()}{'…' if len(value) > 8 else ''}' ({describe_size(len(value))})"
    text = show_name(str(value)[: width + 1]) if width == CELL_WIDTH else str(value)
    more = f"… [{len(text) - width:,} more characters]" if width != CELL_WIDTH else "…"
    return text if len(text) <= width else f"{text[: width - 1]}{more}"


def _failure(error: sqlite3.Error, name: str) -> ToolError:
    said = str(error)
    if "interrupted" in said:
        return ToolError(f"The query took longer than {_SECONDS:g} seconds.", hint="Ask for less: a LIMIT, an index.")
    if "not authorized" in said or "prohibited" in said or "readonly" in said:
        return ToolError(f"Only reading is allowed: {said}.", hint="Use run_python to change a database.")
    return ToolError(f"{name} cannot be read: {said}.", hint="Check the query, or the file.")

"""Look into one SQLite database, in a process of its own: what a query asks for can fill a machine's memory.

The connection is opened read-only, only reading is authorised, statements end after some seconds, and SQLite's own
memory is bounded. Cells are cut as they come. Nothing but the standard library is used; answers are JSON values: first
words, then what follows in the order it is found.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

__all__ = ["FAILED", "HEAP", "MOST_COLUMNS", "MOST_TABLES", "serve"]

FAILED: Final = "failed"
MOST_TABLES: Final = 500
MOST_COLUMNS: Final = 128
"""Columns of a table that are given back: a line has no room for more."""
HEAP: Final = 256 * 1_048_576
"""Bytes that SQLite may hold, temporary tables included; they never go to disk."""
_COUNT_SECONDS: Final = 1.0
_STEPS: Final = 10_000
_LONGEST: Final = 16_384
"""Bytes of a text that are decoded."""
_LIMITS: Final = (
    ("SQLITE_LIMIT_LENGTH", 67_108_864),
    ("SQLITE_LIMIT_ATTACHED", 0),
    ("SQLITE_LIMIT_SQL_LENGTH", 100_000),
    ("SQLITE_LIMIT_EXPR_DEPTH", 500),
    ("SQLITE_LIMIT_COMPOUND_SELECT", 100),
)
_SETTINGS: Final = (
    "trusted_schema = OFF",
    "query_only = ON",
    "temp_store = MEMORY",
    f"hard_heap_limit = {HEAP}",
)
_PRAGMAS: Final = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"})
_FORBIDDEN: Final = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})


class Long(str):
    """The beginning of a text, and how many bytes the whole has."""

    __slots__ = ("size",)
    size: int


class RefusedError(Exception):
    """What is asked for is not there, or not done: a short name of why, and what belongs to it."""


def serve() -> None:
    """Answer the request on the command line: a database's path, what to do, with what, the time for a statement."""
    path, what, given, seconds = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), float(sys.argv[4])
    try:
        with closing(_connected(path)) as connection:
            for answer in _WORK[what](_Reader(connection, seconds), **given):
                sys.stdout.write(json.dumps(answer) + "\n")
    except RefusedError as error:
        sys.stdout.write(json.dumps([FAILED, *error.args]) + "\n")
    except sqlite3.Error as error:
        sys.stdout.write(json.dumps([FAILED, "sqlite", str(error)]) + "\n")


def _connected(path: str) -> sqlite3.Connection:
    address = f"file:{quote(str(Path(path).absolute()).encode('utf-8', 'surrogateescape'))}?mode=ro"
    if _is_idle_log(path):
        address += "&immutable=1"
    connection = sqlite3.connect(address, uri=True, timeout=3.0)
    connection.text_factory = _decoded
    for limit, value in _LIMITS:
        connection.setlimit(getattr(sqlite3, limit), value)
    for setting in _SETTINGS:
        connection.execute(f"PRAGMA {setting}")
    connection.set_authorizer(_authorize)
    return connection


def _is_idle_log(path: str) -> bool:
    """Whether the database keeps a write-ahead log (bytes 18 and 19 of its header) and nobody has it open."""
    with Path(path).open("rb") as handle:
        header = handle.read(20)
    return header[18:20] == b"\x02\x02" and not Path(f"{path}-wal").exists()


def _decoded(data: bytes) -> str:
    text = Long(data[:_LONGEST].decode("utf-8", "replace"))
    text.size = len(data)
    return text


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, _inner: str | None) -> int:
    """Allow reading, and nothing else."""
    allowed = action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
    if action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in _FORBIDDEN
    elif action == sqlite3.SQLITE_PRAGMA:
        allowed = (first or "").lower() in _PRAGMAS
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


class _Reader:
    """One open database."""

    def __init__(self, connection: sqlite3.Connection, seconds: float) -> None:
        self._connection, self._seconds = connection, seconds

    def tables(self) -> Iterator[Any]:
        """Answer the name of each table and view, with the number of rows or what is known of it."""
        end = time.monotonic() + self._seconds
        for name, kind in self._names():
            yield [name, self._count(name, end - time.monotonic()) if kind == "table" else kind]

    def look(
        self, name: str, limit: int, offset: int, where: str, order: Sequence[str], *, options: bool, width: int
    ) -> Iterator[Any]:
        """Answer a table (its schema, columns, rows), or one row of it where the name has a key behind it."""
        table, key = self._split(name)
        if key is not None:
            if options:
                raise RefusedError("options of a row")
            yield from self._row(table, key, width)
            return
        columns = self._columns(table)
        if order and order[0] not in columns:
            raise RefusedError("column", order[0], list(columns)[:50])
        (schema,) = self._run("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone() or ("",)
        sql = f"SELECT * FROM {_quoted(table)}"  # noqa: S608 - quoted names, one read-only statement
        sql += f" WHERE ({where}\n)" if where else ""
        sql += f" ORDER BY {_quoted(order[0])} {order[1]}" if order else ""
        cursor = self._run(f"{sql} LIMIT ? OFFSET ?", (limit + 1, offset))
        yield ["table", table, str(schema or ""), None if where else self._count_later(table)]
        yield from _rows(cursor, limit + 1)

    def query(self, sql: str, most: int) -> Iterator[Any]:
        """Answer what a query finds."""
        cursor = self._run(sql)
        if cursor.description is None:
            raise RefusedError("no query")
        yield from _rows(cursor, most)

    def _run(self, sql: str, values: Sequence[Any] = (), *, seconds: float | None = None) -> sqlite3.Cursor:
        """Run a statement; the connection stops it when its time is over."""
        end = time.monotonic() + (self._seconds if seconds is None else seconds)
        self._connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        return self._connection.execute(sql, values)

    def _names(self) -> list[tuple[str, str]]:
        sql = (
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT ?"
        )
        return [(str(name), str(kind)) for name, kind in self._run(sql, (MOST_TABLES + 1,))]

    def _count_later(self, table: str) -> str:
        """Count with another cursor than the one whose rows come next: the progress handler is the connection's."""
        return self._count(table, _COUNT_SECONDS)

    def _count(self, table: str, left: float) -> str:
        if left <= 0:
            return "rows not counted"
        sql = f"SELECT count(*) FROM {_quoted(table)}"  # noqa: S608 - a quoted name
        try:
            (rows,) = self._run(sql, seconds=min(left, _COUNT_SECONDS)).fetchone()
        except sqlite3.Error as error:
            return "more rows than can be counted at once" if "interrupted" in str(error) else f"({error})"
        return f"{rows:,} rows"

    def _split(self, name: str) -> tuple[str, str | None]:
        """Split ``table:key``; names of tables may have colons too."""
        known = [each for each, _ in self._names()]
        if name in known:
            return name, None
        lowered = {each.lower(): each for each in known}
        for index in [index for index, char in enumerate(name) if char == ":"][::-1]:
            if (table := lowered.get(name[:index].lower())) is not None:
                if not name[index + 1 :]:
                    raise RefusedError("empty key", table)
                return table, name[index + 1 :]
        if name.lower() in lowered:
            return lowered[name.lower()], None
        raise RefusedError("table", name, known)

    def _row(self, table: str, key: str, width: int) -> Iterator[Any]:
        """Find one row by its primary key, or by ``rowid`` where there is none of one column."""
        keys = [name for name, position in self._columns(table).items() if position]
        column = _quoted(keys[0]) if len(keys) == 1 else "rowid"
        for compared in (column, f"CAST({column} AS TEXT)"):  # the second misses no type, the first uses an index
            sql = f"SELECT * FROM {_quoted(table)} WHERE {compared} = ? LIMIT 1"  # noqa: S608 - quoted names
            cursor = self._run(sql, (key,))
            if (row := cursor.fetchone()) is not None:
                yield ["row"]
                for (name, *_), value in zip(cursor.description, row, strict=True):
                    yield [name, _cell(value, width)]
                return
        raise RefusedError("row", table, keys[0] if len(keys) == 1 else "rowid", key)

    def _columns(self, table: str) -> dict[str, int]:
        """Return the columns with their place in the primary key, 0 for none."""
        return {str(row[1]): int(row[5]) for row in self._run(f"PRAGMA table_info({_quoted(table)})")}


def _rows(cursor: sqlite3.Cursor, most: int) -> Iterator[Any]:
    """Answer how many columns there are, the names of the first, and so much of each row."""
    names = [each[0] for each in cursor.description]
    yield ["columns", len(names), [_cell(name, _NAME) for name in names[:MOST_COLUMNS]]]
    for row in itertools.islice(cursor, most):
        yield [_cell(each, _NAME) for each in row[:MOST_COLUMNS]]


_NAME: Final = 41
"""Characters of a cell that are given back: one more than is shown, so that it shows that there is more."""


def _cell(value: object, width: int) -> Any:
    """Return a value as JSON: text, ``null``, or what it is, its beginning and its whole size."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return ["bytes", value[:8].hex(), len(value)]
    text = str(value)
    size = getattr(value, "size", len(text))
    if len(text) <= width and size <= _LONGEST:
        return text
    return ["text", text[:width], size if size > _LONGEST else len(text)]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_WORK: Final[dict[str, Callable[..., Iterator[Any]]]] = {
    "tables": _Reader.tables,
    "look": _Reader.look,
    "query": _Reader.query,
}

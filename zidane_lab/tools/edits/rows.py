"""One row of a SQLite database: inserted, updated or deleted in a transaction that looks once more before it writes.

A database is not trusted: its triggers run when a row changes, so the connection lets them touch rows and nothing else.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

from zidane_lab.errors import ToolError
from zidane_lab.tools.paths import near_names, show_name

__all__ = ["BUSY_SECONDS", "RowChange", "plan_row", "write_row"]

BUSY_SECONDS: Final = 3.0
"""How long another writer is waited for."""

_SECONDS: Final = 5.0
_STEPS: Final = 10_000
_FORBIDDEN: Final = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})
_DENIED: Final = frozenset(
    code
    for name, code in vars(sqlite3).items()
    if name.startswith(("SQLITE_CREATE_", "SQLITE_DROP_")) or name in {"SQLITE_ATTACH", "SQLITE_DETACH"}
) | {sqlite3.SQLITE_ALTER_TABLE}
_ROWIDS: Final = ("rowid", "_rowid_", "oid")
_SHOWN: Final = 2_000
"""Characters of a value that are shown."""

Values: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowChange:
    """What becomes of a row.

    Parameters
    ----------
    what
        What is done.
    path, table
        Absolute path of the database, and the table's name.
    key
        What the row is named by; ``None`` for a new one.
    rowid
        Its number in the table.
    values
        The columns that are written.
    before
        All columns of the row as it was; ``None`` for a new one.
    """

    what: Literal["insert", "update", "delete"]
    path: str
    table: str
    key: str | None
    rowid: int | None
    values: Values
    before: Values | None

    @property
    def old(self) -> str | None:
        """The row as it was, a line for each column."""
        return None if self.before is None else _lines(self.before)

    @property
    def new(self) -> str | None:
        """The row as it will be; ``None`` where it is deleted."""
        if self.what == "delete":
            return None
        return _lines({**(self.before or {}), **self.values})


def plan_row(path: str, inner: str, content: Values | None) -> RowChange | str:
    """Work out what a call would do to a database, or why that is nothing.

    Parameters
    ----------
    inner
        ``table`` or ``table:key``.
    content
        The columns to write; ``None`` deletes the row.

    Raises
    ------
    ToolError
        There is no such table or column, rows of it cannot be named, or a value cannot be stored.
    """
    if "?" in inner:
        raise ToolError("Rows are not written by a query.", hint="Write to `d.db:table` or `d.db:table:key`.")
    with _connected(path) as connection:
        table, key = _split(connection, path, inner)
        columns = {str(row[1]): int(row[5]) for row in connection.execute(f"PRAGMA table_xinfo({_quoted(table)})")}
        if key is None:
            if content is None:
                raise ToolError("There is nothing to insert.", hint='Write an object such as {"name": "Ada"}.')
            return RowChange("insert", path, table, None, None, _fitting(content, columns, table), None)
        _nameable(connection, table, columns)
        rowid, before = _row(connection, table, columns, key)
        if before is None:
            return f"No row of {table} has the key {key!r}; nothing was written."
        if content is None:
            return RowChange("delete", path, table, key, rowid, {}, before)
        if not content:
            raise ToolError("The object is empty; nothing would change.", hint="Name the columns to change.")
        values = _fitting(content, columns, table)
        if all(before[name] == value and type(before[name]) is type(value) for name, value in values.items()):
            return f"Row {key!r} of {table} has these values already; nothing was written."
        return RowChange("update", path, table, key, rowid, values, before)


def write_row(change: RowChange) -> str:
    """Carry a change out and say what was done.

    Raises
    ------
    ToolError
        The row is not as it was, or the database refuses; nothing was changed.
    """
    with _connected(change.path, write=True) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            cursor = _written(connection, change)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    if not cursor.rowcount:
        return f"{change.table} was not changed: the database left the row as it is."
    if change.what == "insert":
        return f"Inserted a row into {change.table} (rowid {cursor.lastrowid})."
    had = dict(change.before or {})
    if change.what == "delete":
        return f"Deleted row {change.key!r} of {change.table}; it was {_json(had)}."
    return f"Updated row {change.key!r} of {change.table}; it had {_json({name: had[name] for name in change.values})}."


def _written(connection: sqlite3.Connection, change: RowChange) -> sqlite3.Cursor:
    """Change the row, if it still is what it was."""
    table, values = _quoted(change.table), list(change.values.values())
    if change.before is None:
        names, marks = ", ".join(map(_quoted, change.values)), ", ".join("?" * len(values))
        what = f"({names}) VALUES ({marks})" if values else "DEFAULT VALUES"
        return connection.execute(f"INSERT INTO {table} {what}", values)
    rowid = _rowid(change.before)
    if _read(connection, change.table, rowid, change.rowid) != change.before:
        raise ToolError(
            f"The row was changed by somebody else just now; nothing was written to {show_name(change.path)}.",
            hint="Read it again.",
        )
    if change.what == "delete":
        return connection.execute(f"DELETE FROM {table} WHERE {rowid} = ?", (change.rowid,))  # noqa: S608 - quoted names
    settings = ", ".join(f"{_quoted(name)} = ?" for name in change.values)
    sql = f"UPDATE {table} SET {settings} WHERE {rowid} = ?"  # noqa: S608 - quoted names
    return connection.execute(sql, [*values, change.rowid])


@contextmanager
def _connected(path: str, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a database that is there; what it complains about becomes an error in words."""
    address = f"file:{quote(str(Path(path).absolute()))}?mode={'rw' if write else 'ro'}"
    end = time.monotonic() + _SECONDS + BUSY_SECONDS
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.set_authorizer(_authorize)
            connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
            yield connection
    except sqlite3.Error as error:
        said = str(error)
        if "interrupted" in said:
            said = f"it took longer than {_SECONDS:g} seconds"
        elif "locked" in said:
            said = f"somebody else has been writing to it for {BUSY_SECONDS:g} seconds"
        elif "not authorized" in said or "prohibited" in said:
            said = "a trigger of it does more than change rows"
        raise ToolError(
            f"{show_name(path)} was not changed: {said}.", hint="Look at its tables, or use run_python."
        ) from error
    except OverflowError as error:
        raise ToolError("A number is too large for a database.", hint="Write it as a text.") from error


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, _inner: str | None) -> int:
    """Allow what changes and reads rows, also to triggers."""
    denied = action in _DENIED or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN)
    denied = denied or (action == sqlite3.SQLITE_PRAGMA and first != "table_xinfo")
    return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK


# --- tables and rows --------------------------------------------------------------------------------


def _split(connection: sqlite3.Connection, path: str, inner: str) -> tuple[str, str | None]:
    """Split ``table:key``; names of tables may have colons too."""
    rows = connection.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    kinds = {str(name): str(kind) for name, kind in rows}
    lowered = {name.lower(): name for name in kinds}
    if not inner:
        raise ToolError("The path names no table.", hint=f"Tables: {', '.join(list(kinds)[:10]) or 'none'}.")
    table, key = lowered.get(inner.lower()), None
    for index in [index for index, char in enumerate(inner) if char == ":"][::-1]:
        if table is None and (table := lowered.get(inner[:index].lower())) is not None:
            key = inner[index + 1 :]
    if table is None:
        near = near_names(inner.partition(":")[0], kinds) or list(kinds)[:10]
        raise ToolError(
            f"There is no table {inner.partition(':')[0]!r} in {show_name(path)}.",
            hint=f"Tables: {', '.join(near) or 'none'}.",
        )
    if kinds[table] == "view" or table.lower().startswith("sqlite_"):
        raise ToolError(f"{table} is no table whose rows can be written.", hint="Write to a table.")
    if key == "":
        raise ToolError("The key is empty.", hint=f"Write to `{table}` or `{table}:key`.")
    return table, key


def _nameable(connection: sqlite3.Connection, table: str, columns: Mapping[str, int]) -> None:
    if sum(1 for position in columns.values() if position) > 1:
        raise ToolError(f"{table} has a key of several columns.", hint="Change its rows with run_python.")
    try:
        connection.execute(f"SELECT {_rowid(columns)} FROM {_quoted(table)} LIMIT 0")  # noqa: S608 - quoted
    except sqlite3.OperationalError as error:
        raise ToolError(f"{table} is WITHOUT ROWID.", hint="Change its rows with run_python.") from error


def _rowid(columns: Mapping[str, Any]) -> str:
    taken = {name.lower() for name in columns}
    free = next((name for name in _ROWIDS if name not in taken), None)
    if free is None:
        raise ToolError("The table's columns hide the number of its rows.", hint="Change its rows with run_python.")
    return free


def _row(
    connection: sqlite3.Connection, table: str, columns: Mapping[str, int], key: str
) -> tuple[int | None, dict[str, Any] | None]:
    """Return the number and the columns of the row with a key: its primary key, or else its number."""
    rowid = _rowid(columns)
    column = next((_quoted(name) for name, position in columns.items() if position), rowid)
    for compared in (column, f"CAST({column} AS TEXT)"):  # the second misses no type, the first uses an index
        sql = f"SELECT {rowid} FROM {_quoted(table)} WHERE {compared} = ? LIMIT 2"  # noqa: S608 - quoted names
        found = connection.execute(sql, (key,)).fetchall()
        if len(found) > 1:
            raise ToolError(f"Several rows of {table} have the key {key!r}.", hint="Change them with run_python.")
        if found:
            return int(found[0][0]), _read(connection, table, rowid, found[0][0])
    return None, None


def _read(connection: sqlite3.Connection, table: str, rowid: str, number: int | None) -> dict[str, Any] | None:
    sql = f"SELECT * FROM {_quoted(table)} WHERE {rowid} = ?"  # noqa: S608 - quoted names
    cursor = connection.execute(sql, (number,))
    row = cursor.fetchone()
    return (
        None if row is None else {str(name): value for (name, *_), value in zip(cursor.description, row, strict=True)}
    )


def _fitting(content: Values, columns: Mapping[str, int], table: str) -> dict[str, Any]:
    """Return the values by the columns' own names."""
    own = {name.lower(): name for name in columns}
    unknown = [name for name in content if name.lower() not in own]
    if unknown:
        raise ToolError(
            f"{table} has no column {', '.join(map(repr, unknown[:5]))}.",
            hint=f"Columns: {', '.join(list(columns)[:50])}.",
        )
    found: dict[str, Any] = {}
    for name, value in content.items():
        if not isinstance(value, (str, int, float, type(None))):
            raise ToolError(f"{name!r} is neither a text nor a number.", hint="Write lists and objects as JSON texts.")
        if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            raise ToolError(f"{name!r} holds half of a surrogate pair, no character.", hint="Leave it out.")
        found[own[name.lower()]] = int(value) if isinstance(value, bool) else value
    if len(found) < len(content):
        raise ToolError("A column is named twice.", hint="Say each once.")
    return found


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _lines(row: Values) -> str:
    return "".join(f"{show_name(name)}: {_shown(value)}\n" for name, value in row.items())


def _json(row: Values) -> str:
    return (
        "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {_shown(value)}" for name, value in row.items()) + "}"
    )


def _shown(value: Any) -> str:
    text = f"x'{value.hex()}'" if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… [{len(text) - _SHOWN:,} more characters]"

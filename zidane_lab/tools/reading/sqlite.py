"""SQLite databases: their tables, a table, a row, or what a query finds, without changing or running anything.

A database, like its author, is not trusted: it is looked into by :mod:`zidane_lab.tools.reading.sqlite_reader` in a
process with limits of time and memory. A database with a write-ahead log that nobody uses is opened as immutable, so
that not even the log's index is made beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

from zidane_lab.errors import ToolError
from zidane_lab.tools.paths import describe_size, near_names, show_name
from zidane_lab.tools.reading.child import ChildError, answers_of
from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.reading.sqlite_reader import FAILED, HEAP, MOST_TABLES

__all__ = ["CELL_WIDTH", "MOST_ROWS", "MOST_TABLES", "read_database"]

MOST_ROWS: Final = 500
MOST_FOUND: Final = 1_000
"""Rows shown of a query."""
DEFAULT_ROWS: Final = 20
FIRST_ROWS: Final = 5
"""Rows of a table where nothing is said about which."""
CELL_WIDTH: Final = 40
_ROW_WIDTH: Final = 400
"""Characters of one line of a table."""
_VALUE: Final = 2_000
"""Characters of one value where a single row is shown."""
_SECONDS: Final = 5.0
"""How long one statement may take."""
_CODE: Final = "from zidane_lab.tools.reading.sqlite_reader import serve; serve()"
_MEMORY: Final = HEAP + 512 * 1_048_576
"""Bytes for the process: SQLite's own, and a row of it once more as Python's values."""
_LONGEST: Final = 20_000
"""Characters that may stand behind a path: as JSON they still are one argument of a command line."""
_HALF: Final = re.compile("[\ud800-\udfff]")
_OPTIONS: Final = frozenset({"limit", "offset", "order", "where"})
_WORDS: Final = re.compile(r"\b(LIMIT|OFFSET|UNION|INTERSECT|EXCEPT|ATTACH|DETACH|PRAGMA)\b", re.IGNORECASE)
_LITERAL: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]""")


def read_database(source: Source, rest: str) -> list[str]:
    """Return the lines for what stands behind a database's path.

    Nothing: its tables. ``:table``: its schema and first rows, with ``?limit=…&offset=…&order=column:desc&where=…``.
    ``:table:key``: one row. ``?q=SELECT …``: what the query finds.

    Raises
    ------
    ToolError
        It cannot be opened, there is no such table or row, or the query is refused or fails.
    """
    if len(rest) > _LONGEST or _HALF.search(rest):
        what = "is longer than a query may be" if len(rest) > _LONGEST else "has characters that are in no text"
        raise ToolError(f"What stands behind {source.shown} {what}.", hint="Look into the database with run_python.")
    if rest.startswith("?"):
        return _query(source, _options(rest[1:], {"q"}).get("q", ""))
    name, mark, given = rest.removeprefix(":").partition("?")
    if not name:
        return _tables(source)
    options = _options(given, _OPTIONS)
    limit = min(max(1, _number(options, "limit", DEFAULT_ROWS if mark else FIRST_ROWS)), MOST_ROWS)
    offset = _number(options, "offset", 0)
    asked = {"name": name, "limit": limit, "offset": offset, "options": bool(options), "width": _VALUE}
    asked |= {"where": _condition(options.get("where", "")), "order": _order(options.get("order", ""))}
    first, *answers = _ask(source, "look", asked)
    if first == ["row"]:
        return [f"{show_name(name)}: {_value(value)}" for name, value in answers]
    _, table, schema, count = first
    total, names, rows = _found(answers)
    last = offset + len(rows[:limit])
    more = f"; go on with `{show_name(table)}?offset={last}&limit={limit}`" if len(rows) > limit else ""
    of = f" of {count}" if count else ""
    end = f"[rows {offset + 1:,}–{last:,}{of}{more}]" if rows else f"[no rows{of}]"
    return [
        *(show_name(line.expandtabs(4)) for line in schema.splitlines()),
        "",
        *_grid(names, rows[:limit], total),
        end,
    ]


def _tables(source: Source) -> list[str]:
    """List the tables with the number of their rows."""
    found = _ask(source, "tables", {})
    lines = [show_name(f"{name}  {what}") for name, what in found[:MOST_TABLES]]
    more = f"; only the first {MOST_TABLES} are listed" if len(found) > MOST_TABLES else ""
    how = f"`{source.shown}:table`, `…:table:key`, `…?q=SELECT …`"
    return [*lines, f"[SQLite database, {len(lines):,} tables and views{more}; read {how}]"]


def _query(source: Source, sql: str) -> list[str]:
    """Show what a query finds."""
    if not sql.strip():
        raise ToolError("The query is empty.", hint=f"Read `{source.shown}?q=SELECT …`.")
    total, names, rows = _found(_ask(source, "query", {"sql": sql, "most": MOST_FOUND + 1}))
    more = f"; only the first {MOST_FOUND:,} are shown, use LIMIT and OFFSET" if len(rows) > MOST_FOUND else ""
    return [*_grid(names, rows[:MOST_FOUND], total), f"[{min(len(rows), MOST_FOUND):,} rows{more}]"]


def _ask(source: Source, what: str, given: dict[str, Any]) -> list[Any]:
    """Return the answers of the process that looks.

    Raises
    ------
    ToolError
        It refused, failed, or was ended.
    """
    with source.as_file() as path:
        try:
            answers = list(answers_of(_CODE, [path, what, json.dumps(given), str(_SECONDS)], memory=_MEMORY))
        except ChildError as error:
            raise ToolError(f"{source.shown} cannot be read: {error}.", hint=_LESS) from error
    for answer in answers[-1:]:
        if answer and answer[0] == FAILED:
            raise _failure(source.name, *answer[1:])
    return answers


_LESS: Final = "Ask for less: fewer columns, a LIMIT, a condition with an index."


def _failure(path: str, why: str, *given: Any) -> ToolError:
    name = show_name(path)
    match why, given:
        case "sqlite", (said,):
            return _sqlite_failure(name, said)
        case "no query", _:
            return ToolError("Only queries that find rows can be run.", hint="Use run_python to change a database.")
        case "empty key", (table,):
            return ToolError("The key is empty.", hint=f"Read `{table}` or `{table}:key`.")
        case "options of a row", _:
            return ToolError("Options belong to a table, not to a row.", hint="Leave the key or the options out.")
        case "table", (table, known):
            near = ", ".join(map(show_name, near_names(table, known) or known[:10]))
            return ToolError(f"There is no table {table!r} in {name}.", hint=f"Tables: {near or 'none'}.")
        case "column", (column, columns):
            listed = ", ".join(map(show_name, columns))
            return ToolError(f"There is no column {column!r}.", hint=f"Columns: {listed}.")
        case _, (table, column, key):
            return ToolError(f"No row of {table} has {column} {key!r}.", hint=f"See its rows: `{name}:{table}`.")
    raise AssertionError(why)


def _sqlite_failure(name: str, said: str) -> ToolError:
    if "interrupted" in said:
        return ToolError(f"The query took longer than {_SECONDS:g} seconds.", hint=_LESS)
    if "out of memory" in said or "too big" in said:
        return ToolError(f"The query needs more than {HEAP // 1_048_576} MB of memory ({said}).", hint=_LESS)
    if "not authorized" in said or "prohibited" in said or "readonly" in said:
        return ToolError(f"Only reading is allowed: {said}.", hint="Use run_python to change a database.")
    return ToolError(f"{name} cannot be read: {said}.", hint="Check the query, or the file.")


def _options(text: str, known: frozenset[str] | set[str]) -> dict[str, str]:
    if text.startswith("q="):  # a query is written as it is: & and % in it are its own
        options = {"q": text[2:]}
    else:
        options = dict(parse_qsl(text.replace("+", "%2B"), keep_blank_values=True))
    if unknown := options.keys() - known:
        raise ToolError(f"Unknown options: {', '.join(sorted(unknown))}.", hint=f"Known: {', '.join(sorted(known))}.")
    return options


def _number(options: dict[str, str], name: str, default: int) -> int:
    text = options.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise ToolError(f"`{name}` is {text!r}.", hint="Give a whole number.")
    return int(text)


def _condition(where: str) -> str:
    """Return a condition that can be put in parentheses: one expression, and nothing behind it.

    Raises
    ------
    ToolError
        It has a comment, a semicolon or words of a whole query, or closes what it did not open.
    """
    bare = _LITERAL.sub("x", where)
    if any(mark in bare for mark in (";", "--", "/*", "'", '"', "`")):
        raise ToolError("A condition has no comments, no semicolon, and quotes in pairs.", hint=_MORE)
    if found := _WORDS.search(bare):
        raise ToolError(f"A condition has no {found[0].upper()}.", hint=_MORE)
    depth = 0
    for char in bare:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
    if depth:
        raise ToolError("The parentheses of the condition do not match.", hint=_MORE)
    return where.strip()


_MORE: Final = "Use `?q=SELECT …` for a whole query."


def _order(text: str) -> tuple[str, ...]:
    """Return column and direction, or nothing."""
    if not text.strip():
        return ()
    name, _, direction = text.rpartition(":") if text.lower().endswith((":asc", ":desc")) else (text, "", "asc")
    return name, "DESC" if direction.lower() == "desc" else "ASC"


def _found(answers: list[Any]) -> tuple[int, list[str], list[list[str]]]:
    """Return the number of columns, the names of the first, and the rows as cells."""
    (_, total, names), *rows = answers
    return total, [_text(each) for each in names], [[_text(each) for each in row] for row in rows]


def _grid(names: Sequence[str], rows: Sequence[Sequence[str]], total: int) -> list[str]:
    """Write rows of cells as an aligned table, the columns that fit in a line; the others are counted."""
    cells = [names, *rows]
    widths = [max(len(row[index]) for row in cells) for index in range(len(names))]
    fitting, room = 0, _ROW_WIDTH
    for width in widths:
        room -= width + 3
        if room < 0 and fitting:
            break
        fitting += 1
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row[:fitting], widths, strict=False)).rstrip()
        for row in cells
    ]
    lines.insert(1, "-+-".join("-" * width for width in widths[:fitting]))
    if fitting < total:
        lines.append(f"[{total - fitting:,} more columns: a row with its key, or a query, shows them]")
    return lines


def _text(value: Any) -> str:
    """Write a value for a cell of a table."""
    match value:
        case None:
            return "NULL"
        case ["bytes", start, size]:
            return _bytes(start, size)
        case ["text", str(start), _]:
            return f"{show_name(start[: CELL_WIDTH - 1])}…"
        case _:
            text = show_name(str(value))
            return text if len(text) <= CELL_WIDTH else f"{text[: CELL_WIDTH - 1]}…"


def _value(value: Any) -> str:
    """Write a value where there is room for it."""
    match value:
        case None:
            return "NULL"
        case ["bytes", start, size]:
            return _bytes(start, size)
        case ["text", str(start), size]:
            return f"{start}… [{size - len(start):,} more characters]"
        case _:
            return str(value)


def _bytes(start: str, size: int) -> str:
    return f"x'{start}{'…' if size > len(start) // 2 else ''}' ({describe_size(size)})"

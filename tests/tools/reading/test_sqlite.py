from __future__ import annotations

import re
import sqlite3
import tracemalloc
from contextlib import closing

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import read_file
from zidane_lab.tools.reading import sqlite as module


@pytest.fixture
def folder(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.executescript(
            """
            create table users (id integer primary key, name text, age real, photo blob);
            create table pairs (a text, b text, primary key (a, b)) without rowid;
            create table "odd:name" (x);
            create view adults as select * from users where age > 17;
            """
        )
        rows = [(n, f"user {n}", n / 2, bytes(20)) for n in range(1, 101)]
        connection.executemany("insert into users values (?, ?, ?, ?)", rows)
        connection.execute("insert into \"odd:name\" values ('a\nb' || char(27))")
        connection.execute("insert into pairs values ('k', 'v')")
        connection.commit()
    return tmp_path


def read(folder, name, **options) -> str:
    (part,) = read_file(ToolContext(cwd=folder), name, **options).parts
    return part.text


def test_tables_are_listed_with_their_rows(folder):
    lines = read(folder, "a.db").splitlines()
    assert lines[:4] == ["adults  view", "odd:name  1 rows", "pairs  1 rows", "users  100 rows"]
    assert "a.db:table" in lines[-1]


def test_a_table_shows_its_schema_and_first_rows(folder):
    page = read(folder, "a.db:users")
    assert page.startswith("CREATE TABLE users (id integer primary key")
    assert "1  | user 1 | 0.5 | x'0000000000000000…' (20 B)" in page
    assert "[rows 1–5 of 100 rows; go on with `users?offset=5&limit=5`]" in page
    assert "[rows 3–22 of 100 rows; " in read(folder, "a.db:users?offset=2")
    assert read(folder, "a.db:USERS") == page
    page = read(folder, "a.db:users?limit=2&offset=98&order=age:asc")
    assert "[rows 99–100 of 100 rows]" in page
    page = read(folder, "a.db:users?where=name = 'user 7' or id > 98&order=id:desc")
    assert [line.split(" ")[0] for line in page.splitlines()[4:7]] == ["100", "99", "7"]
    assert r"a\nb\x1b" in read(folder, "a.db:odd:name")


def test_a_row_is_found_by_its_key(folder):
    assert read(folder, "a.db:users:7") == "id: 7\nname: user 7\nage: 3.5\nphoto: x'0000000000000000…' (20 B)\n"
    assert read(folder, "a.db:odd:name:1").startswith("x: a b")
    with pytest.raises(ToolError, match="No row of users has"):
        read(folder, "a.db:users:777")


def test_a_query_finds_rows(folder):
    page = read(folder, "a.db?q=SELECT count(*) AS n, '50%' || '&' AS t FROM users WHERE name LIKE 'user 1%'")
    assert page == "n  | t\n---+-----\n12 | 50%&\n[1 rows]\n"
    page = read(
        folder,
        "a.db?q=WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c LIMIT 2000) SELECT n FROM c",
        limit=3000,
    )
    assert "[1,000 rows; only the first 1,000 are shown" in page


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM users",
        "INSERT INTO users (id) VALUES (1000)",
        "UPDATE users SET name = 'x'",
        "DROP TABLE users",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "ATTACH DATABASE '{folder}/new.db' AS other",
        "PRAGMA journal_mode = WAL",
        "PRAGMA writable_schema = ON",
        "PRAGMA query_only = OFF",
        "VACUUM INTO '{folder}/new.db'",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM users",
        "BEGIN",
        "SELECT * FROM nowhere",
        "SELECT ?",
        "",
        "not sql",
    ],
)
def test_nothing_but_reading_is_done(folder, query):
    before = (folder / "a.db").read_bytes()
    with pytest.raises(ToolError) as caught:
        read(folder, f"a.db?q={query.format(folder=folder)}")
    assert caught.value.hint
    assert (folder / "a.db").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["a.db"]


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (":nothing", "There is no table 'nothing'"),
        (":users:", "key is empty"),
        (":users?nope=1", "Unknown options: nope"),
        (":users?limit=x", "`limit` is 'x'"),
        (":users?order=nope", "no column 'nope'"),
        (":users?where=1=1; DROP TABLE users", "no comments, no semicolon"),
        (":users?where=id IN (SELECT load_extension('x'))", "Only reading"),
        (":users?where=) UNION SELECT 1 --", "no comments"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(folder, rest, message):
    with pytest.raises(ToolError, match=message.replace("(", r"\(")):
        read(folder, f"a.db{rest}")


def test_a_query_without_end_is_ended(folder, monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 0.3)
    with pytest.raises(ToolError, match=r"took longer than 0\.3 seconds"):
        read(folder, "a.db?q=WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT count(*) FROM c")


def test_a_value_too_large_is_an_error_not_a_full_memory(folder):
    with pytest.raises(ToolError, match="too big"):
        read(folder, "a.db?q=SELECT length(zeroblob(2000000000))")
    assert "x'00" in read(folder, "a.db?q=SELECT zeroblob(1000)")


def test_many_large_values_never_lie_in_memory_together(folder):
    tracemalloc.start()
    many = (
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 200) SELECT hex(zeroblob(500000)) FROM c"
    )
    try:
        text = read(folder, f"a.db?q={many}")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "[200 rows]" in text
    assert peak < 10_000_000


def test_a_database_with_a_log_leaves_nothing_behind_and_shows_what_is_written(tmp_path):
    with closing(sqlite3.connect(tmp_path / "w.db")) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table t (a)")
        connection.execute("insert into t values (1)")
        connection.commit()
        assert "t  1 rows" in read(tmp_path, "w.db")
    assert "t  1 rows" in read(tmp_path, "w.db")
    assert [path.name for path in tmp_path.iterdir()] == ["w.db"]


def test_many_tables_and_odd_files(tmp_path):
    with closing(sqlite3.connect(tmp_path / "m.db")) as connection:
        for number in range(510):
            connection.execute(f"create table t{number} (a)")
        connection.commit()
    assert "only the first 500 are listed" in read(tmp_path, "m.db", limit=2000)
    (tmp_path / "bad.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(ToolError, match="cannot be read"):
        read(tmp_path, "bad.db")
    odd = tmp_path / "o?dd #%41.db"
    odd.write_bytes((tmp_path / "m.db").read_bytes())
    assert "t0  0 rows" in read(tmp_path, odd.name)


def wide(expression: str, count: int) -> str:
    return f"a.db?q=SELECT {', '.join(f'{expression} AS c{n}' for n in range(count))}"


@pytest.mark.parametrize(
    "query",
    [
        wide("zeroblob(60000000)", 200),
        wide("hex(zeroblob(20000000))", 100),
        "a.db?q=WITH RECURSIVE c(n, t) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, t || t FROM c LIMIT 60) SELECT t FROM c",
    ],
    ids=["blobs", "texts", "doubling"],
)
def test_wide_rows_fill_no_memory(folder, query):
    """The memory is another process's, and limited there."""
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match=r"more than \d+ MB of memory"):
            read(folder, query)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_columns_that_do_not_fit_in_a_line_are_counted(folder):
    page = read(folder, wide("1", 1_500))
    assert max(map(len, page.splitlines())) <= 400
    assert re.search(r"\[1,4\d\d more columns: ", page)
    with closing(sqlite3.connect(folder / "a.db")) as connection:
        connection.execute(f"create table wide ({', '.join(f'c{n}' for n in range(300))})")
        connection.execute("insert into wide default values")
        connection.commit()
    assert "more columns: " in read(folder, "a.db:wide")
    assert "c299: NULL" in read(folder, "a.db:wide:1", limit=400)


def test_long_values_are_cut_with_what_is_left_out(folder):
    with closing(sqlite3.connect(folder / "a.db")) as connection:
        connection.execute("update users set name = ? where id = 1", ("é" * 100_000,))
        connection.commit()
    assert "é" * 39 + "… |" in read(folder, "a.db:users")
    assert re.search(r"name: é{2000}… \[\d+,\d+ more (characters|bytes)\]", read(folder, "a.db:users:1"))


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (":users?where=id IN (SELECT 1 LIMIT 1)", "has no LIMIT"),
        (":users?where=1 union select 1", "has no UNION"),
        (":users?where=1) OR (1=1", "parentheses"),
        (":users?where=name = 'x", "quotes in pairs"),
        (":users:1?limit=1", "belong to a table"),
        (":users?limit=99999999999999999999", "whole number"),
        ("?q=SELECT '\udcff'", "in no text"),
        ("?q=SELECT '" + "x" * 30_000 + "'", "longer than a query may be"),
    ],
)
def test_conditions_and_queries_are_kept_simple(folder, rest, message):
    with pytest.raises(ToolError, match=message):
        read(folder, f"a.db{rest}")


def test_words_and_marks_in_texts_are_no_words_of_the_query(folder):
    assert "[no rows]" in read(folder, "a.db:users?where=name = 'a;--union limit (' OR \"name\" = ')'")


def test_tables_of_the_system_are_not_listed(folder):
    with closing(sqlite3.connect(folder / "a.db")) as connection:
        connection.execute("create table auto (id integer primary key autoincrement)")
        connection.commit()
    assert "sqlite_sequence" not in read(folder, "a.db")
    assert "auto  0 rows" in read(folder, "a.db")


def test_a_schema_is_printable(folder):
    with closing(sqlite3.connect(folder / "a.db")) as connection:
        connection.execute('create table "e\x1b[31m" (a)')
        connection.commit()
    assert "\x1b" not in read(folder, "a.db:e\x1b[31m") + read(folder, "a.db")

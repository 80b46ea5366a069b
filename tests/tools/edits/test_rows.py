from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.edits.support import Bench
from zidane_lab.errors import ToolError
from zidane_lab.tools.edit_plans import plan_call
from zidane_lab.tools.edits import rows
from zidane_lab.tools.edits.rows import plan_row, write_row
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.tools.resolve import resolve_tool
from zidane_lab.tools.undo_edit import undo_edit_tool
from zidane_lab.tools.write_file import write_file_tool

SCHEMA = """
CREATE TABLE birds (id INTEGER PRIMARY KEY, name TEXT UNIQUE, mass REAL, note DEFAULT 'none');
INSERT INTO birds (id, name, mass) VALUES (1, 'adelie', 3700.5), (2, 'gentoo', 5076);
CREATE TABLE "odd:name" (word TEXT);
INSERT INTO "odd:name" VALUES ('a'), ('b');
CREATE TABLE codes (code TEXT PRIMARY KEY, n);
INSERT INTO codes VALUES ('x1', 1), ('7', 2);
CREATE TABLE pairs (a, b, PRIMARY KEY (a, b));
CREATE TABLE bare (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE hidden (rowid TEXT, v);
INSERT INTO hidden VALUES ('x', 1);
CREATE TABLE loose (k PRIMARY KEY);
INSERT INTO loose VALUES (1), (x'31');
CREATE VIEW heavy AS SELECT * FROM birds WHERE mass > 4000;
CREATE TABLE log (what);
CREATE TRIGGER gone AFTER DELETE ON birds BEGIN INSERT INTO log VALUES (old.name); END;
CREATE TRIGGER stay BEFORE UPDATE ON codes WHEN new.n = 99 BEGIN SELECT RAISE(IGNORE); END;
"""


def make(path, script=SCHEMA):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {script}; COMMIT;")


def rows_of(path, sql="SELECT * FROM birds ORDER BY id"):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture
def db(tmp_path):
    make(tmp_path / "d.db")
    return tmp_path / "d.db"


@pytest.fixture(params=["none", "process"])
def bench(request, tmp_path, db):
    return Bench(request.param, tmp_path)


def write(bench, inner, content, name="d.db", **more):
    return bench.told(write_file_tool, path=f"{name}:{inner}", content=content, **more)


def test_an_object_becomes_a_row(bench, db):
    output = write(bench, "birds", "{name: 'chinstrap', mass: 3733,}")
    assert output.parts[0].text == (
        "Inserted a row into birds (rowid 3).\n[undo_edit does not take changes of rows back]"
    )
    assert rows_of(db)[-1] == (3, "chinstrap", 3733.0, "none")
    assert output.metadata["written"] == [bench.path("d.db")]
    assert output.metadata["edit"]["diff"] == (
        '--- /dev/null\n+++ b/d.db:birds\n@@ -0,0 +1,2 @@\n+name: "chinstrap"\n+mass: 3733\n'
    )
    assert write(bench, "BIRDS", "{}").parts[0].text.startswith("Inserted a row into birds (rowid 4).")
    assert "name: chinstrap" in bench.say(read_file_tool, path="d.db:birds:3")


def test_columns_of_a_row_are_changed_and_the_rest_of_it_stays(bench, db):
    output = write(bench, "birds:2", '{"MASS": null, "note": true}')
    assert output.parts[0].text.startswith('Updated row \'2\' of birds; it had {"mass": 5076.0, "note": "none"}.')
    assert rows_of(db) == [(1, "adelie", 3700.5, "none"), (2, "gentoo", None, 1)]
    assert '-mass: 5076.0\n-note: "none"\n+mass: null\n+note: 1\n' in output.metadata["edit"]["diff"]


def test_blank_content_deletes_the_row_and_what_it_was_is_told(bench, db):
    text = write(bench, "birds:1", " \n").parts[0].text
    assert text.startswith(
        'Deleted row \'1\' of birds; it was {"id": 1, "name": "adelie", "mass": 3700.5, "note": "none"}.'
    )
    assert rows_of(db) == [(2, "gentoo", 5076.0, "none")]
    assert rows_of(db, "SELECT * FROM log") == [("adelie",)]  # its own triggers run


@pytest.mark.parametrize(
    ("inner", "content", "sql", "expected"),
    [
        ("odd:name", "{word: 'c'}", 'SELECT word FROM "odd:name"', [("a",), ("b",), ("c",)]),
        ("odd:name:1", "{word: 'z'}", 'SELECT word FROM "odd:name"', [("z",), ("b",)]),
        ("codes:7", "{n: 3}", "SELECT * FROM codes", [("x1", 1), ("7", 3)]),
        ("hidden:1", "{v: 2}", "SELECT * FROM hidden", [("x", 2)]),
        ("bare", "{k: 'a'}", "SELECT * FROM bare", [("a", None)]),
        ("pairs", "{a: 1, b: 2}", "SELECT * FROM pairs", [(1, 2)]),
    ],
)
def test_tables_of_all_kinds(bench, db, inner, content, sql, expected):
    write(bench, inner, content)
    assert rows_of(db, sql) == expected


@pytest.mark.parametrize("content", ["{name: 'x'}", ""])
def test_no_such_row_is_no_error(bench, db, content):
    before = rows_of(db)
    output = write(bench, "birds:9", content)
    assert output.parts[0].text == "No row of birds has the key '9'; nothing was written."
    assert not output.is_error
    assert not output.metadata.get("written")
    assert rows_of(db) == before


def test_the_same_values_write_nothing(bench):
    assert "has these values already" in write(bench, "birds:1", "{name: 'adelie'}").parts[0].text


def test_a_trigger_may_leave_the_row_as_it_is(bench):
    assert "the database left the row as it is" in write(bench, "codes:x1", "{n: 99}").parts[0].text


@pytest.mark.parametrize(
    ("inner", "content", "said"),
    [
        ("nope", "{}", "no table 'nope'"),
        ("", "{}", "names no table"),
        ("birds:", "{}", "key is empty"),
        ("birds?where=1", "{}", "not written by a query"),
        ("birds", "", "nothing to insert"),
        ("birds", "[1]", "no JSON object"),
        ("birds", "not json", "no JSON object"),
        ("birds:1", "{}", "object is empty"),
        ("birds:1", "{wings: 2}", "no column 'wings'"),
        ("birds:1", "{name: [1]}", "neither a text nor a number"),
        ("birds:1", "{name: 'a', NAME: 'b'}", "named twice"),
        ("birds:1", r"{name: '\ud800'}", "surrogate"),
        ("birds:1", '{"mass": 123456789012345678901234567890}', "too large"),
        ("birds:1", "{name: 'gentoo'}", "UNIQUE"),
        ("pairs:1", "{a: 2}", "key of several columns"),
        ("bare:a", "{v: 2}", "WITHOUT ROWID"),
        ("heavy:2", "{mass: 1}", "no table whose rows"),
        ("heavy", "{mass: 1}", "no table whose rows"),
        ("sqlite_master", "{name: 'x'}", "no table"),
        ("loose:1", "{k: 5}", "Several rows"),
    ],
)
def test_what_cannot_be_written_is_told_and_nothing_changes(bench, db, inner, content, said):
    before = db.read_bytes()
    with pytest.raises(ToolError, match=said):
        write(bench, inner, content)
    assert db.read_bytes() == before


def test_a_database_must_be_there_and_be_one(bench, db):
    with pytest.raises(ToolError, match=r"no database e\.db"):
        write(bench, "birds", "{}", "e.db")
    assert not bench.has("e.db")
    bench.put("t.db", "text, no database\n")
    with pytest.raises(ToolError, match="no SQLite database"):
        write(bench, "birds", "{}", "t.db")
    (db.parent / "broken.db").write_bytes(db.read_bytes()[:3000])
    with pytest.raises(ToolError):
        write(bench, "birds:1", "{name: 'x'}", "broken.db")


def test_databases_elsewhere_are_left(tmp_path):
    bench = Bench("far", tmp_path)
    bench.put("d.db", b"SQLite format 3\0")
    with pytest.raises(ToolError, match="elsewhere"):
        write(bench, "birds", "{}")


def test_a_preview_and_a_question_show_the_row_and_change_nothing(bench, db):
    before = db.read_bytes()
    output = write(bench, "birds:2", "{mass: 1}", preview=True)
    assert "-mass: 5076.0\n+mass: 1\n" in output.parts[0].text
    plan = asyncio.run(plan_call(bench.context, "write_file", {"path": "d.db:birds:1", "content": ""}))
    assert '-name: "adelie"' in plan.diff()
    assert db.read_bytes() == before
    assert sorted(path.name for path in db.parent.iterdir()) == ["d.db"]
    assert bench.say(resolve_tool, action="apply", reason="").startswith("Updated row '2'")
    assert rows_of(db)[1][2] == 1.0


def test_a_row_that_changed_since_the_preview_is_left(bench, db):
    write(bench, "birds:2", "{mass: 1}", preview=True)
    make(db, "UPDATE birds SET name = 'other' WHERE id = 2")
    with pytest.raises(ToolError, match="no longer fits"):
        bench.run(resolve_tool, action="apply", reason="")
    assert rows_of(db)[1][2] == 5076.0


def test_a_row_that_changes_between_the_look_and_the_write_is_left(db):
    change = plan_row(str(db), "birds:2", {"mass": 1})
    make(db, "UPDATE birds SET mass = 2 WHERE id = 2")
    with pytest.raises(ToolError, match="changed by somebody else"):
        write_row(change)
    assert rows_of(db)[1][2] == 2.0


def test_another_writer_is_waited_for_and_then_told_about(db, monkeypatch):
    change = plan_row(str(db), "birds:2", {"mass": 1})
    with closing(sqlite3.connect(db, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(rows, "BUSY_SECONDS", 0.2)
        with pytest.raises(ToolError, match=r"somebody else has been writing to it for 0\.2 seconds"):
            write_row(change)
        monkeypatch.setattr(rows, "BUSY_SECONDS", 20.0)
        timer = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
        timer.start()
        write_row(change)
        timer.join()
    assert rows_of(db)[1][2] == 1.0


@pytest.mark.parametrize(
    "trigger",
    [
        "SELECT load_extension('/tmp/x.so')",
        "SELECT writefile('/tmp/x', 'y')",
        "INSERT INTO log SELECT count(*) FROM birds a, birds b, birds c, birds d, birds e, birds f, birds g, birds h",
    ],
)
def test_triggers_do_no_harm(tmp_path, monkeypatch, trigger):
    path = tmp_path / "evil.db"
    make(path, "CREATE TABLE birds (id INTEGER PRIMARY KEY, name); CREATE TABLE log (x);")
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO birds (name) VALUES (?)", [(str(number),) for number in range(300)])
        connection.execute(f"CREATE TRIGGER t AFTER UPDATE ON birds BEGIN {trigger}; END")
        connection.commit()
    monkeypatch.setattr(rows, "_SECONDS", 0.2)
    monkeypatch.setattr(rows, "BUSY_SECONDS", 0.0)
    change = plan_row(str(path), "birds:1", {"name": "x"})
    with pytest.raises(ToolError, match="was not changed"):
        write_row(change)
    assert rows_of(path, "SELECT name FROM birds WHERE id = 1") == [("0",)]


def test_undo_takes_back_the_last_change_of_a_file_not_of_a_row(bench, db):
    bench.run(write_file_tool, path="a.txt", content="x\n")
    write(bench, "birds:2", "{mass: 1}")
    bench.run(undo_edit_tool)
    assert not bench.has("a.txt")
    assert rows_of(db)[1][2] == 1.0


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]))
)


@given(name=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), value=SCALARS)
def test_any_name_and_value_is_kept_as_it_is(tmp_path_factory, name, value):
    path = tmp_path_factory.mktemp("rows") / "d.db"
    quoted = name.replace('"', '""')
    try:
        make(path, f'CREATE TABLE t ("{quoted}")')
    except sqlite3.Error:
        return
    assert isinstance(write_row(plan_row(str(path), "t", {name: value})), str)
    assert rows_of(path, "SELECT * FROM t") == [(int(value) if isinstance(value, bool) else value,)]

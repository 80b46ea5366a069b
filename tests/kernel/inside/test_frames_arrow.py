from __future__ import annotations

import sys

import pyarrow as pa
import pyarrow.compute  # loaded, as it is once a table has been computed with
import pytest

from zidane_lab.kernel.inside.describe import describe, summarize


@pytest.fixture
def table():
    return pa.table({"n": [1, 2, None], "name": ["a", "b", "c" * 10_000], "x": [0.5, None, 2.0]})


def test_a_table_shows_shape_dtypes_and_columns(table):
    lines = describe(table).splitlines()
    assert lines[0].startswith("pyarrow.Table: 3 rows × 3 columns, ")
    assert lines[1] == "dtypes: 1 int64, 1 string, 1 double"
    assert "  n: int64, 1 null; 1 to 2; 1, 2, None" in lines
    assert "  x: double, 1 null; 0.5 to 2; 0.5, None, 2" in lines
    assert any("[10,000 characters]" in line for line in lines)
    assert describe(table.to_batches()[0]).splitlines()[1:] == lines[1:]


def test_ranges_need_the_functions_to_be_loaded(table, monkeypatch):
    monkeypatch.delitem(sys.modules, "pyarrow.compute")
    text = describe(table)
    assert "  n: int64, 1 null; 1, 2, None" in text
    assert "pyarrow.compute" not in sys.modules


def test_summaries(table):
    assert summarize(table) == "pyarrow.Table: 3 × 3: n, name, x"
    assert summarize(table["n"]) == "pyarrow.ChunkedArray: 3 int64: 1, 2, None"
    assert summarize(pa.array([1])) == "pyarrow.Int64Array: 1 int64: 1"
    assert summarize(pa.scalar("a")) == "pyarrow.StringScalar: string 'a'"
    assert summarize(table.schema) == "pyarrow.Schema: 3 fields: n, name, x"


def test_a_large_table_is_not_read():
    column = pa.chunked_array([pa.nulls(1_000_000, pa.int64())] * 5)
    assert "not counted: large, 5,000,000 cells" in describe(pa.table({"n": column}))


def test_an_array_and_a_schema_show_their_parts(table):
    assert describe(table["n"]).splitlines()[-3:] == ["  [0] 1", "  [1] 2", "  [2] None"]
    assert describe(table.schema).splitlines()[1:] == ["  n: int64", "  name: string", "  x: double"]


def test_metadata_is_mentioned_by_key(table):
    assert "schema metadata for b'origin'" in describe(table.replace_schema_metadata({"origin": "somewhere"}))


def test_empty_tables():
    assert "0 rows × 0 columns" in describe(pa.table({}))
    assert "  a: null, 0 nulls" in describe(pa.table({"a": []}))

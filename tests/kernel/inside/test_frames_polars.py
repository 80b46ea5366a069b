from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from zidane_lab.kernel.inside.describe import describe, summarize


@pytest.fixture
def frame():
    return pl.DataFrame(
        {
            "n": [1, 2, None],
            "name": ["a", "b", "c" * 10_000],
            "day": [dt.date(2024, 1, 2)] * 3,
            "flag": [True, False, None],
            "kind": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "parts": [[1], [], None],
        }
    )


def test_a_frame_shows_shape_dtypes_and_columns(frame):
    lines = describe(frame).splitlines()
    assert lines[0].startswith("polars.DataFrame: 3 rows × 6 columns, ")
    assert lines[1].startswith("dtypes: 1 Int64, 1 String, 1 Date, 1 Boolean")
    assert "  n: Int64, 1 null; 1 to 2; 1, 2, None" in lines
    assert "  day: Date, 0 nulls; 2024-01-02 to 2024-01-02; 2024-01-02, 2024-01-02, 2024-01-02" in lines
    assert "  flag: Boolean, 1 null; 1 true; True, False, None" in lines
    assert any(line.startswith("  kind: Categorical") and "2 distinct" in line for line in lines)
    assert "  parts: List(Int64), 1 null; [1], [], None" in lines
    assert any("[10,000 characters]" in line for line in lines)


def test_summaries(frame):
    assert summarize(frame) == "polars.DataFrame: 3 × 6: n, name, day, flag, kind, parts"
    assert summarize(frame["n"]) == "polars.Series: 3 Int64 named n: 1, 2, None"


def test_a_large_frame_is_not_read_but_its_nulls_are_known():
    frame = pl.select(n=pl.int_range(0, 5_000_000))
    text = describe(frame)
    assert "not counted: large, 5,000,000 cells" in text
    assert "  n: Int64, 0 nulls; 0, 1, 2" in text


def test_many_columns_are_cut_with_a_count():
    frame = pl.DataFrame({f"c{i}": [i] for i in range(2000)})
    text = describe(frame)
    assert "dtypes: 2,000 Int64" in text
    assert text.splitlines()[-1].endswith("more columns")
    assert len(text) <= 4000


def test_empty_frames():
    assert describe(pl.DataFrame()) == "polars.DataFrame: 0 rows × 0 columns, 0 bytes"
    assert "  a: Int64, 0 nulls" in describe(pl.DataFrame(schema={"a": pl.Int64}))


def test_a_series_shows_its_values(frame):
    assert describe(frame["n"]).splitlines()[-4:] == ["1 to 2", "  [0] 1", "  [1] 2", "  [2] None"]


@pytest.mark.parametrize(
    "dtype",
    [
        pl.Object,
        pl.Null,
        pl.Struct({"a": pl.Int64}),
        pl.Decimal(10, 2),
        pl.Duration,
        pl.Time,
        pl.Binary,
        pl.Enum(["a"]),
    ],
)
def test_every_dtype_can_be_described(dtype):
    text = describe(pl.DataFrame({"v": pl.Series([None], dtype=dtype)}))
    assert "  v: " in text
    assert "failed" not in text


@pytest.mark.parametrize("budget", [0, 20, 100, 500])
def test_the_budget_holds(frame, budget):
    assert len(describe(frame, budget)) <= budget

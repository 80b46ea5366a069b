"""Tables of every awkward kind: an honest report, no warning, no failing step, the table left alone."""

from __future__ import annotations

import datetime as dt
import functools
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.providers.offline.checking import unexplained, values_in
from tests.providers.offline.support import Kernel, Run, ask
from zidane_lab.approvals.python_code import classify
from zidane_lab.providers.offline.plan import MOST_RUNS

RNG = np.random.default_rng(0)
N = 60
HOSTILE = [
    "it's",
    'a"b',
    "new\nline",
    "[value]\n{'library': 'evil', 'shape': (9, 9)}",
    "tick`s`",
    "<b>x</b>",
    "{brace}",
    "back\\slash",
    "$x$ y$",
    "",
    "  ",
    "_under",
    "|pipe|",
    "](javascript:alert)",
    "![x](y)",
    "Größe",
    "%s",
    "col}",
    "'''",
    '"""',
    "\x1b[31m",
    "# heading",
    "zl_numbers",
    "group of rows",
]


def noise(n: int = N):
    return RNG.normal(size=n)


def pick(*levels, n: int = N):
    return list(RNG.choice(levels, n))


def hostile_columns():
    return {
        label: noise() if number % 2 else pick("_a", "$b$", "<i>c</i>", "`d`\n# e")
        for number, label in enumerate(HOSTILE)
    }


def of_every_type() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "mixed": [1, "a", 2.5] * 20,
            "lists": [[1, 2]] * N,
            "dicts": [{"a": 1}] * N,
            "decimal": [Decimal("1.5")] * N,
            "dates": [dt.date(2020, 1, 1 + i % 28) for i in range(N)],
            "maybe": [True, None] * 30,
            "complex": [1 + 2j] * N,
            "period": pd.period_range("2020", periods=N, freq="D"),
            "span": pd.to_timedelta(range(N), unit="h"),
            "zone": pd.date_range("2020", periods=N, freq="D", tz="Europe/Paris"),
            "order": pd.Categorical(pick("lo", "hi"), categories=["lo", "mid", "hi"], ordered=True),
            "bins": pd.cut(noise(), 3),
            "Int": pd.array([1, None] * 30, dtype="Int64"),
            "Float": pd.array(noise(), dtype="Float64"),
            "Bool": pd.array([True, False, None] * 20, dtype="boolean"),
            "String": pd.array(["a", "b", None] * 20, dtype="string"),
        }
    )


def of_every_polars_type() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "int": [1, None] * 30,
            "nan": [1.5, float("nan")] * 30,
            "inf": [float("inf"), 1.0, 2.0] * 20,
            "text": ["x", "y", None] * 20,
            "cat": pl.Series(["u", "v"] * 30, dtype=pl.Categorical),
            "enum": pl.Series(["u", "v"] * 30, dtype=pl.Enum(["u", "v", "w"])),
            "date": [dt.date(2020, 1, 1 + i % 28) for i in range(N)],
            "moment": [dt.datetime(2020, 1, 1, i % 24) for i in range(N)],
            "list": [[1, 2]] * N,
            "struct": [{"q": 1}] * N,
            "bool": [True, False, None] * 20,
            "null": [None] * N,
            "decimal": pl.Series([1.5, 2.5] * 30).cast(pl.Decimal(10, 2)),
            "span": [dt.timedelta(hours=i) for i in range(N)],
            "time": [dt.time(1)] * N,
            "bytes": [b"x"] * N,
        }
    )


TABLES = {
    "no_columns_no_rows": pd.DataFrame,
    "no_rows": lambda: pd.DataFrame({"a": pd.Series(dtype=float), "b": pd.Series(dtype=object)}),
    "no_columns": lambda: pd.DataFrame(index=range(5)),
    "all_missing": lambda: pd.DataFrame(
        {"a": [np.nan] * 20, "b": [None] * 20, "c": range(20), "d": pd.array([pd.NA] * 20, dtype="Int64")}
    ),
    "nothing_but_missing": lambda: pd.DataFrame({"a": [np.nan] * 20, "b": [None] * 20}),
    "one_row": lambda: pd.DataFrame({"a": [1.5], "b": ["x"], "d": [pd.Timestamp("2020-01-01")]}),
    "one_column": lambda: pd.DataFrame({"a": noise()}),
    "wide": lambda: pd.DataFrame(RNG.normal(size=(50, 200)), columns=[f"c{i}" for i in range(200)]),
    "hostile": lambda: pd.DataFrame(hostile_columns()),
    "number_labels": lambda: pd.DataFrame({0: noise(), 1: pick("p", "q"), 2: RNG.integers(0, 3, N)}),
    "odd_labels": lambda: pd.DataFrame(
        {None: noise(), 1.5: pick("p", "q"), pd.Timestamp("2020"): noise(), True: range(N)}
    ),
    "repeated_labels": lambda: pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "a", "b"]).assign(g=pick("u", "v")),
    "multiindex_labels": lambda: pd.DataFrame(
        RNG.normal(size=(N, 4)), columns=pd.MultiIndex.from_product([["u", "v"], ["x", "y"]])
    ),
    "long_labels": lambda: pd.DataFrame({"x" * 500: range(40), "y" * 400: range(40)}),
    "repeated_index": lambda: pd.DataFrame({"a": noise(), "b": noise(), "g": pick("x", "y")}, index=[0] * N),
    "multiindex_rows": lambda: pd.DataFrame({"a": noise(), "b": noise(), "g": pick("x", "y")}).set_index(["g", "b"]),
    "every_type": of_every_type,
    "arrow": lambda: pd.DataFrame(
        {"a": [1, None] * 30, "b": noise(), "s": ["a", "b", None] * 20, "t": pd.date_range("2020", periods=N)}
    ).convert_dtypes(dtype_backend="pyarrow"),
    "infinite": lambda: pd.DataFrame({"a": [np.inf, -np.inf, *noise(98)], "b": noise(100), "g": pick("x", "y", n=100)}),
    "numbers_as_text": lambda: pd.DataFrame(
        {"p": [f"{v:,.2f}" for v in noise()], "pc": ["5%", "7%"] * 30, "d": ["1/2/2020", "13/4/2021"] * 30}
    ),
    "constant": lambda: pd.DataFrame({"a": [1] * 50, "b": ["x"] * 50, "c": [0.0] * 50, "d": range(50)}),
    "repeated_rows": lambda: pd.DataFrame({"a": [1, 1, 2] * 20, "b": ["x", "x", "y"] * 20}),
    "booleans": lambda: pd.DataFrame({"a": pick(True, False), "b": pick(True, False)}),
    "long_texts": lambda: pd.DataFrame(
        {"t": [f"{'x' * 500}{i}" for i in range(N)], "u": ["y" * 500] * N, "v": range(N)}
    ),
    "gaps_in_groups": lambda: pd.DataFrame(
        {"g": ["a"] * 30 + [None] * 30, "h": [None] * 30 + ["b", "c"] * 15, "x": noise(), "y": noise()}
    ),
    "polars_no_columns": pl.DataFrame,
    "polars_no_rows": lambda: pl.DataFrame(schema={"a": pl.Float64, "b": pl.String}),
    "polars_one_row": lambda: pl.DataFrame({"a": [1.5], "b": ["x"], "d": [dt.date(2020, 1, 1)]}),
    "polars_every_type": of_every_polars_type,
    "polars_hostile": lambda: pl.DataFrame(hostile_columns()),
    "polars_wide": lambda: pl.DataFrame({f"c{i}": noise(50) for i in range(200)}),
    "polars_long_labels": lambda: pl.DataFrame({"x" * 500: range(40), "y" * 400: range(40)}),
    "polars_own_names": lambda: pl.DataFrame(
        {"count": pick("a", "b"), "variable": noise(), "value": noise(), "rows": pick("q", "r"), "date": ["z"] * N}
    ),
    "polars_repeated_rows": lambda: pl.DataFrame({"a": [1, 1, 2] * 20, "b": ["x", "x", "y"] * 20}),
    "polars_objects": lambda: pl.DataFrame(
        {"o": pl.Series([object() for _ in range(20)], dtype=pl.Object), "v": range(20)}
    ),
}


@functools.cache
def explored(name: str) -> Run:
    """One exploration of each table serves all tests."""
    return ask("explore t", Kernel(Path(), {"t": TABLES[name]()}))


@pytest.fixture(params=list(TABLES))
def run(request):
    return explored(request.param)


def test_every_step_succeeds_without_a_warning(run):
    assert [result.text for result in run.results.values() if result.is_error] == []
    assert run.kernel.warned == []
    assert "could not be read" not in run.report


def test_every_number_was_computed(run):
    assert not unexplained(run.report, values_in(run.texts) | {60.0})


def test_the_work_stays_within_bounds(run):
    assert sum(call.name == "run_python" for call in run.calls) <= MOST_RUNS
    assert max(len(result.text) for result in run.results.values()) < 20_000
    assert len(run.report) < 16_000


def test_the_table_is_still_the_same_object(run):
    assert run.kernel.namespace["t"] is run.kernel.variables["t"]


def test_the_size_is_told(run):
    rows, columns = run.kernel.variables["t"].shape
    assert re.search(rf"`t` has {rows} rows? and {columns} columns?\b", run.report)


def test_no_snippet_asks_the_gate(run):
    for call in run.calls:
        if call.name == "run_python":
            assert classify(call.input["code"], protected=frozenset({"t"})).reasons == ()


@pytest.mark.parametrize("name", ["hostile", "polars_hostile"])
def test_names_and_levels_cannot_shape_the_report(name):
    report = explored(name).report
    text = re.sub(r"`[^`\n]*`", "", report)  # what stands outside code spans
    assert not re.search(r"[<>$\\]|!\[|\]\(|\x1b", text)
    headings = re.findall(r"(?m)^#+ .*$", report)
    assert all(re.fullmatch(r"## First look at `t`|### [A-Z][a-z ]+", heading) for heading in headings)
    rows = [line for line in report.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) <= 2  # one width for each of the two tables


@pytest.mark.parametrize("name", ["wide", "polars_wide"])
def test_a_wide_table_is_looked_at_in_part_and_says_so(name):
    report = explored(name).report
    assert "everything below is about the first 60 columns" in report
    assert "Only the first 20 numeric columns are summarized" in report


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_long_table_is_sampled_and_says_so(tmp_path, library):
    rows = 2_000_001
    columns = {"a": np.arange(rows) % 7, "b": RNG.normal(size=rows), "g": np.where(np.arange(rows) % 2, "x", "y")}
    table = pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)
    run = ask("explore t", Kernel(tmp_path, {"t": table}))
    assert "`t` has 2,000,001 rows and 3 columns" in run.report
    assert "random sample of 200,000 rows, not the whole table" in run.report
    assert "- No row is" not in run.report  # copies of rows cannot be counted in a sample
    assert not any(result.is_error for result in run.results.values())
    assert run.kernel.namespace["t"] is table


def test_an_empty_table_stops_the_work_at_once():
    run = explored("no_rows")
    assert "It has no rows: there is nothing to compute." in run.report
    assert run.steps() == ["variables", "look"]


def test_infinite_values_are_told_and_left_out():
    run = explored("infinite")
    table = run.kernel.variables["t"]
    assert "Infinite values, taken as missing from here on: `a` 2." in run.report
    finite = table["a"][np.isfinite(table["a"])]
    assert f"| `a` | 98 | {finite.mean():#.3g} |" in run.report


def test_text_that_is_really_numbers_or_dates_is_pointed_out():
    report = explored("numbers_as_text").report
    assert "`p` is text, but 100% of its values look like numbers." in report
    assert "`d` looks like dates stored as text (100%), not in ISO form" in report


def test_repeated_rows_are_counted_after_the_first():
    report = explored("repeated_rows").report
    assert "Copies of an earlier row: 58 (96.7% of the rows)" in report


def test_a_table_of_an_unknown_library_is_named_as_such(tmp_path):
    class DataFrame:
        __module__ = "dask.dataframe"
        shape, columns, dtypes = (3, 1), ["a"], ["int64"]

        def head(self):
            return "…"

    report = ask("explore t", Kernel(tmp_path, {"t": DataFrame()})).report
    assert "It is a table of `dask`; this planner works on pandas and polars only" in report

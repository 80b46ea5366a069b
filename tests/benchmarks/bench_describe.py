"""What looking costs: listing a thousand variables, noticing what a cell did to them, describing a large table.

The floor is walking the names; the peer is ``repr`` of the same objects, cut afterwards, as variable
inspectors commonly do it. Times are processor time of this thread, medians of interleaved rounds.
"""

from __future__ import annotations

import io
import reprlib
import time
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.benchmarks.measure import interleaved, middle, table, timed
from zidane_lab.kernel.inside.describe import describe, summarize
from zidane_lab.kernel.inside.listing import list_variables
from zidane_lab.kernel.inside.namespace import Changes, compare, snapshot

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

VARIABLES = 1000
ROWS = 5_000_000
LISTING_MS = 50
NOTICING_MS = 20
SLACK = 3.0
"""A busy machine may take this many times the target."""

CODE = "frame_0['f0'] = 1\nfor i in range(3):\n    list_2.append(i)\nvalue_5 += 1\n"


def large_frame(rows: int) -> pd.DataFrame:
    chance = np.random.default_rng(7)
    numbers = {f"f{i}": chance.random(rows) for i in range(8)}
    others = {
        "n": np.arange(rows),
        "flag": chance.random(rows) > 0.5,
        "when": pd.date_range("2000", periods=rows, freq="s"),
        "kind": pd.Categorical.from_codes(chance.integers(0, 5, rows), list("abcde")),
    }
    return pd.DataFrame(numbers | others)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return large_frame(ROWS)


@pytest.fixture(scope="module")
def namespace(frame):
    """Return a thousand variables of ten kinds; the hundred frames have five million rows each (and share them)."""
    columns = pl.from_pandas(frame[["f0", "f1"]])
    kinds = [
        ("frame", lambda i: frame.copy(deep=False)),
        ("array", lambda i: np.zeros((1000, 10 + i % 7))),
        ("list", lambda i: list(range(1000))),
        ("table", lambda i: {f"key {j}": j for j in range(100)}),
        ("text", lambda i: "some words " * 100),
        ("value", lambda i: i),
        ("thing", lambda i: types.SimpleNamespace(i=i, name="thing", data=[1, 2])),
        ("function", lambda i: large_frame),
        ("series", lambda i: frame["f1"].copy(deep=False)),
        ("polar", lambda i: columns.clone()),
    ]
    return {f"{kinds[i % 10][0]}_{i}": kinds[i % 10][1](i) for i in range(VARIABLES)}


def milliseconds(works, rounds=5):
    for work in works.values():
        work()
    took = interleaved(
        {name: lambda work=work: timed(work, time.thread_time) for name, work in works.items()}, rounds=rounds
    )
    return {name: middle(values) * 1e3 for name, values in took.items()}


def test_listing_a_thousand_variables(namespace):
    sample = {name: namespace[name] for name in list(namespace)[:20]}
    took = milliseconds(
        {
            "floor: names and types": lambda: [(name, type(value)) for name, value in namespace.items()],
            "list_variables, 200 of 1,000": lambda: list_variables(namespace),
            "list_variables, all 1,000": lambda: list_variables(namespace, limit=VARIABLES),
            "summarize, 20 of them": lambda: [summarize(value) for value in sample.values()],
            "repr cut afterwards, the same 20": lambda: [repr(value)[:120] for value in sample.values()],
            "reprlib.repr, the same 20": lambda: [reprlib.repr(value) for value in sample.values()],
        }
    )
    table("Listing variables (ms)", ["what", "ms"], list(took.items()))
    listed = list_variables(namespace, limit=VARIABLES)
    assert (listed["shown"], listed["total"]) == (VARIABLES, VARIABLES)
    assert took["list_variables, all 1,000"] < LISTING_MS * SLACK
    assert took["summarize, 20 of them"] < took["repr cut afterwards, the same 20"]


def test_noticing_what_a_cell_did(namespace):
    before = snapshot(namespace)
    took = milliseconds(
        {
            "floor: dict(namespace)": lambda: dict(namespace),
            "snapshot": lambda: snapshot(namespace),
            "compare": lambda: compare(before, namespace, CODE),
        }
    )
    table("Noticing changes among 1,000 variables (ms)", ["what", "ms"], list(took.items()))
    assert compare(before, namespace, "") == Changes()
    assert compare(before, namespace, CODE).changed == ("frame_0", "list_2")
    assert took["snapshot"] + took["compare"] < NOTICING_MS * SLACK


def test_describing_large_things(frame):
    wide = pd.DataFrame(np.zeros((1000, 2000)))
    huge = pd.DataFrame({f"c{i}": np.broadcast_to(np.int64(i), 50_000_000) for i in range(4)})
    polar = pl.from_pandas(frame[["f0", "n"]])
    things = {
        f"pandas {ROWS:,} × 12": frame,
        "pandas 50,000,000 × 4": huge,
        "pandas 1,000 × 2,000": wide,
        "pandas 100,000 × 12 (read whole)": frame.iloc[:100_000],
        f"polars {ROWS:,} × 2": polar,
        "numpy 1,000 × 1,000 (read whole)": np.ones((1000, 1000)),
        "list of 10,000,000": [None] * 10_000_000,
    }
    works = {f"describe {name}": lambda thing=thing: describe(thing) for name, thing in things.items()}
    works["repr of the first"] = lambda: repr(frame)
    works["info() of the first"] = lambda: frame.info(buf=io.StringIO(), memory_usage="deep", show_counts=True)
    took = milliseconds(works, rounds=5)
    table("Describing (ms)", ["what", "ms"], list(took.items()))
    assert took[f"describe pandas {ROWS:,} × 12"] < took["info() of the first"]

from __future__ import annotations

import collections

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

from zidane_lab.kernel.inside import describe as _registers  # noqa: F401 — the describers register themselves
from zidane_lab.kernel.inside.paths import InspectError, resolve


class Loud(dict):
    def __getitem__(self, key):
        raise AssertionError("called")

    __missing__ = get = __contains__ = __getitem__


@pytest.fixture
def namespace():
    return {
        "text": "hello",
        "runs": [{"loss": 0.5, "steps": (1, 2, 3)}],
        "frame": pd.DataFrame({"a": [1, 2], ("b", 1): [3, 4], 7: [5, 6]}),
        "polar": pl.DataFrame({"a": [1]}),
        "table": pa.table({"a": [1]}),
        "array": np.arange(6).reshape(2, 3),
        "record": np.zeros(2, dtype=[("x", "i4")]),
        "storm": xr.Dataset({"wind": ("t", [1.0])}),
        "queue": collections.deque([1, 2]),
        "counts": collections.defaultdict(list, a=[1]),
        "loud": Loud(a=1),
        "series": pd.Series([1, 2]),
        "odd": object(),
    }


@pytest.mark.parametrize(
    ("path", "last", "value"),
    [
        ("text", "text", "hello"),
        (" text ", "text", "hello"),
        ("text[0]", 0, "h"),
        ("text[-1]", -1, "o"),
        ("runs[0]", 0, {"loss": 0.5, "steps": (1, 2, 3)}),
        ("runs[0]['loss']", "loss", 0.5),
        ('runs[-1]["steps"][2]', 2, 3),
        ("array[1][2]", 2, 5),
        ("array[1, 2]", (1, 2), 5),
        ("queue[1]", 1, 2),
        ("loud['a']", "a", 1),
        ("counts['a']", "a", [1]),
    ],
)
def test_names_and_constant_subscripts(namespace, path, last, value):
    assert resolve(namespace, path) == (last, value)


@pytest.mark.parametrize(
    ("path", "kind", "length"),
    [
        ("frame['a']", "Series", 2),
        ("frame['b', 1]", "Series", 2),
        ("frame[7]", "Series", 2),
        ("polar['a']", "Series", 1),
        ("table['a']", "ChunkedArray", 1),
        ("record['x']", "ndarray", 2),
        ("storm['wind']", "DataArray", 1),
    ],
)
def test_columns_by_name(namespace, path, kind, length):
    value = resolve(namespace, path)[1]
    assert type(value).__name__ == kind
    assert len(value) == length


@pytest.mark.parametrize(
    "path",
    [
        "frame.a",
        "frame['a'].mean()",
        "frame[frame['a'] > 1]",
        "runs[0:1]",
        "runs[i]",
        "f()",
        "1",
        "'text'",
        "a + b",
        "",
        "a b",
        "runs[0",
        "(",
        "runs[f'{x}']",
        "x := 5",
        "[1][0]",
        "\0",
        "runs[True if x else y]",
        "(" * 5000,
    ],
)
def test_everything_else_is_left_to_code(namespace, path):
    with pytest.raises(InspectError, match="Use run_python for that"):
        resolve(namespace, path)


@pytest.mark.parametrize("path", ["odd[0]", "series[0]", "series['a']"])
def test_parts_of_other_types_are_left_to_code(namespace, path):
    with pytest.raises(InspectError, match=r"without running its code\. Use run_python"):
        resolve(namespace, path)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("runs[5]", "There is no item 5: list has 1."),
        ("runs['a']", "list is subscripted by integers, not by 'a'."),
        ("runs[0]['los']", "There is no key 'los'; keys: 'loss', 'steps'."),
        ("counts['b']", "There is no key 'b'; keys: 'a'."),
        ("frame['x']", "There is no column 'x'; columns: 'a', ('b', 1), 7."),
        ("frame[[1]]", "Use run_python"),
        ("polar['x']", "There is no column 'x'; columns: 'a'."),
        ("polar[0]", "Columns are looked up by name, not by 0"),
        ("table['x']", "There is no column 'x'; columns: 'a'."),
        ("storm['rain']", "There is no variable 'rain' in the dataset; it has 'wind'."),
        ("array[9]", "numpy.ndarray has no 9 (IndexError:"),
        ("record['y']", "numpy.ndarray has no 'y' (ValueError:"),
        ("nothing['a']", "There is no variable named nothing."),
    ],
)
def test_a_path_that_leads_nowhere_says_what_there_is(namespace, path, said):
    with pytest.raises(InspectError) as caught:
        resolve(namespace, path)
    assert said in str(caught.value)
    assert namespace["counts"] == {"a": [1]}

"""Looking at objects never runs their code."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.kernel.inside.hostile import TOUCHED, fake_package, hostile_class, hostile_objects, impostor
from zidane_lab.kernel.inside.describe import describe, summarize
from zidane_lab.kernel.inside.listing import list_variables
from zidane_lab.kernel.inside.namespace import compare, snapshot
from zidane_lab.kernel.inside.values import brief

KINDS = sorted(hostile_objects())


@pytest.fixture(autouse=True)
def untouched():
    TOUCHED.clear()
    yield
    TOUCHED.clear()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("look", [describe, summarize, brief], ids=lambda look: look.__name__)
def test_looking_at_a_hostile_object_touches_nothing(kind, look):
    obj = hostile_objects()[kind]
    TOUCHED.clear()
    text = look(obj)
    assert TOUCHED == []
    assert text
    assert "not readable" not in text
    assert "failed" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_objects_inside_others_are_not_touched(kind):
    obj = hostile_objects()[kind]

    class Holder:
        def __init__(self):
            self.held = obj

    TOUCHED.clear()
    for outer in ([obj], (obj,), {"key": obj}, {1: {2: [obj]}}, Holder(), slice(None, None, None)):
        assert describe(outer)
    assert TOUCHED == []


def test_a_namespace_of_hostile_objects_is_listed_and_compared_untouched():
    namespace = {f"v{i}": obj for i, obj in enumerate(hostile_objects().values())}
    TOUCHED.clear()
    listed = list_variables(namespace)
    before = snapshot(namespace)
    changes = compare(before, namespace, "v0.x = 1\nv1.append(2)\nv2 += 1")
    assert TOUCHED == []
    assert listed["shown"] == len(namespace)
    assert changes.created == changes.deleted == ()


def test_frames_and_arrays_of_hostile_objects_are_described_untouched():
    objects = [object.__new__(hostile_class()) for _ in range(3)]
    array = np.empty(3, dtype=object)
    for i, obj in enumerate(objects):
        array[i] = obj
    frame = pd.DataFrame({"o": pd.Series(array, dtype=object)})
    TOUCHED.clear()
    for value in (array, frame, frame["o"]):
        text = describe(value)
        assert "Hostile" in text
        assert "failed" not in text
    snapshot({"array": array, "frame": frame})
    assert TOUCHED == []


@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("pandas", "DataFrame"),
        ("pandas.core.frame", "DataFrame"),
        ("polars.dataframe.frame", "DataFrame"),
        ("numpy", "ndarray"),
        ("torch", "Tensor"),
        ("matplotlib.figure", "Figure"),
        ("xarray.core.dataset", "Dataset"),
        ("pydantic.main", "BaseModel"),
        ("sklearn.base", "BaseEstimator"),
    ],
)
def test_a_class_that_poses_as_one_of_a_library_is_not_trusted(root, name):
    obj = impostor(root, name)
    TOUCHED.clear()
    assert name in describe(obj)
    snapshot({"obj": obj})
    assert TOUCHED == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("dask.dataframe.core", "DataFrame"),
        ("dask.array.core", "Array"),
        ("pyspark.sql.dataframe", "DataFrame"),
        ("ibis.expr.types.relations", "Table"),
        ("sqlalchemy.orm.query", "Query"),
        ("django.db.models.query", "QuerySet"),
        ("duckdb", "DuckDBPyRelation"),
    ],
)
def test_lazy_objects_are_named_and_never_touched(monkeypatch, module, name):
    cls = hostile_class(name)
    fake_package(monkeypatch, module, **{name: cls})
    obj = object.__new__(cls)
    TOUCHED.clear()
    text = describe(obj)
    assert "Nothing was computed" in text
    assert name in text
    assert "not evaluated" in summarize(obj)
    assert TOUCHED == []


def test_a_subclass_of_a_lazy_class_is_lazy_too(monkeypatch):
    base = hostile_class("Model")
    fake_package(monkeypatch, "django.db.models.base", Model=base)
    book = object.__new__(type.__call__(type, "Book", (base,), {"__module__": "__main__"}))
    TOUCHED.clear()
    assert "Nothing was computed" in describe(book)
    assert TOUCHED == []


def test_a_polars_lazy_frame_is_not_collected(monkeypatch):
    def collected(*_: object, **__: object) -> None:
        raise AssertionError("collected")

    lazy = pl.DataFrame({"a": [1]}).lazy().map_batches(collected, schema={"a": pl.Int64})
    for name in ("collect", "collect_schema", "fetch", "__repr__", "__str__", "columns", "schema", "width"):
        if hasattr(pl.LazyFrame, name):
            monkeypatch.setattr(pl.LazyFrame, name, property(collected))
    text = describe(lazy)
    assert "Nothing was computed" in text
    assert "failed" not in text


def test_iterators_are_not_consumed():
    numbers = iter([1, 2, 3])
    squares = (n * n for n in range(3))
    lines = map(str, range(3))
    for iterator in (numbers, squares, lines):
        assert "not consumed" in describe(iterator)
    assert list(numbers) == [1, 2, 3]
    assert list(squares) == [0, 1, 4]
    assert list(lines) == ["0", "1", "2"]


def test_recursive_containers_end():
    items: list = [1]
    items.append(items)
    table: dict = {"self": None}
    table["self"] = table

    class Node:
        def __init__(self):
            self.next = self

    for obj in (items, table, Node()):
        assert len(describe(obj)) < 1000
        assert len(summarize(obj)) <= 120


def test_enormous_sequences_cost_nothing():
    huge = np.broadcast_to(np.int8(1), 10**8)
    assert "100,000,000 int8" in describe(huge)
    assert "broadcast view" in describe(huge)
    assert "not computed: large" in describe(huge)
    assert "1000000000000" in describe(range(10**12))
    assert "10,000,000 items" in describe([None] * 10**7)


def test_an_enormous_integer_is_not_written_out():
    limit = sys.get_int_max_str_digits()
    assert "301,0" in describe(1 << 1_000_000)
    assert len(summarize({"n": 10**6000})) <= 120
    assert sys.get_int_max_str_digits() == limit

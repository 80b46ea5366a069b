from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from zidane_lab.kernel.inside.describe import describe, summarize


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "price": [1.5, None, 1 / 3],
            "city name": ["Bern", "Oslo", "z" * 100_000],
            "sold": [True, False, True],
            "day": pd.to_datetime(["2024-01-02 00:00", None, "2024-03-01 12:30"]),
            "kind": pd.Categorical(["b", "a", "b"], categories=["a", "b"], ordered=True),
            "mixed": np.array([1, "two", None], dtype=object),
            "whole": pd.array([1, None, 3], dtype="Int64"),
        },
        index=pd.Index([10, 20, 30], name="id"),
    )


def test_a_frame_shows_shape_index_dtypes_and_columns(frame):
    lines = describe(frame).splitlines()
    assert lines[0].startswith("pandas.DataFrame: 3 rows × 7 columns, ")
    assert lines[0].endswith("without the Python objects it points to")
    assert lines[1] == "index: Index named id of int64, 10 to 30"
    assert lines[2].startswith("dtypes: ")
    assert "1 float64" in lines[2]
    assert "  price: float64, 1 null; 0.333333 to 1.5; 1.5, nan, 0.333333" in lines
    assert "  sold: bool, 0 nulls; 2 true; True, False, True" in lines
    assert any(
        line.startswith("  day: datetime64")
        and ", 1 null; 2024-01-02 to 2024-03-01 12:30:00; 2024-01-02, NaT, " in line
        for line in lines
    )
    assert "  kind: category, 0 nulls; 2 categories in order: 'a', 'b'; 'b', 'a', 'b'" in lines
    assert "  mixed: object, 1 null; objects: 1 int, 1 str, 1 NoneType; 1, 'two', None" in lines
    assert "  whole: Int64, 1 null; 1 to 3; 1, <NA>, 3" in lines


def test_huge_strings_are_cut_with_their_length(frame):
    assert "[100,000 characters]" in describe(frame)
    assert len(describe(frame)) < 1500


def test_a_summary_names_shape_and_columns(frame):
    assert summarize(frame) == "pandas.DataFrame: 3 × 7: price, city name, sold, day, kind, mixed, whole"


def test_a_large_frame_is_not_read():
    rows = 3_000_000
    frame = pd.DataFrame(
        {"n": np.broadcast_to(np.int64(7), rows), "t": np.broadcast_to(np.datetime64("2024-01-01"), rows)}
    )
    text = describe(frame)
    assert f"nulls and ranges not counted: large, {2 * rows:,} cells" in text
    assert "  n: int64; 7, 7, 7" in text
    assert "first 2024-01-01, last 2024-01-01" in text
    assert "null" not in text.split("first values")[1].replace("nulls and ranges", "")


def test_large_columns_of_objects_are_judged_by_their_head():
    column = np.empty(300_000, dtype=object)
    text = describe(pd.DataFrame({"o": column}))
    assert "  o: object; objects: 1,000 NoneType (of the first 1,000); None, None, None" in text


def test_many_columns_are_grouped_and_counted():
    frame = pd.DataFrame(np.zeros((2, 2000)), columns=[f"c{i}" for i in range(2000)]).assign(name=["a", "b"])
    text = describe(frame)
    assert text.splitlines()[2].startswith("dtypes: 2,000 float64, 1 ")
    assert "more columns" in text.splitlines()[-1]
    assert len(text) <= 4000
    assert len(summarize(frame)) <= 120


def test_a_frame_built_of_many_pieces_is_described_as_well():
    frame = pd.concat({i: pd.Series([i]) for i in range(300)}, axis=1)
    assert "300 columns" in describe(frame)


def test_duplicate_column_names_do_no_harm():
    text = describe(pd.DataFrame([[1, 2.5], [3, 4.5]], columns=["x", "x"]))
    assert "  x: int64, 0 nulls; 1 to 3; 1, 3" in text
    assert "  x: float64, 0 nulls; 2.5 to 4.5; 2.5, 4.5" in text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a b", "a b"),
        ("1", "'1'"),
        (1, "1"),
        ("", "''"),
        ("a: b", "'a: b'"),
        ("x\ny", "'x\\ny'"),
        (("a", 1), "('a', 1)"),
        (None, "None"),
    ],
)
def test_column_names_cannot_be_misread(name, shown):
    frame = pd.DataFrame([[1]])
    frame.columns = pd.Index([name], tupleize_cols=False)
    assert f"  {shown}: int64" in describe(frame)


def test_values_of_a_column_of_credentials_are_hidden():
    frame = pd.DataFrame({"user": ["me"], "password": ["hunter2"]})
    assert "hunter2" not in describe(frame)
    assert "'me'" in describe(frame)


def test_a_multi_index_names_its_levels():
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]], names=["kind", None])
    text = describe(pd.DataFrame({"v": range(6)}, index=index))
    assert "index: MultiIndex of 2 levels: 'kind' (2 values), None (3 values)" in text
    wide = pd.DataFrame([range(6)], columns=index)
    assert "columns are a MultiIndex of 2 levels" in describe(wide)
    assert "  ('a', 1): int64" in describe(wide)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (pd.RangeIndex(3), "RangeIndex 0 to 2"),
        (pd.RangeIndex(0, 6, 2), "RangeIndex 0 to 4 by 2"),
        (pd.date_range("2024", periods=3, freq="D"), "2024-01-01 to 2024-01-03"),
        (pd.CategoricalIndex(["a", "b", "a"]), "CategoricalIndex of category, 'a' to 'a'"),
        (pd.Index(["x", "y", "z"], dtype=object), "Index of object, 'x' to 'z'"),
    ],
)
def test_kinds_of_index(index, said):
    assert said in describe(pd.DataFrame({"v": [1, 2, 3]}, index=index))
    assert said in describe(index)


def test_empty_frames():
    assert describe(pd.DataFrame()).splitlines() == [
        "pandas.DataFrame: 0 rows × 0 columns, no data",
        "index: RangeIndex, empty",
    ]
    assert "  a: " in describe(pd.DataFrame({"a": []}))
    assert "3 rows × 0 columns" in describe(pd.DataFrame(index=range(3)))
    assert summarize(pd.DataFrame()) == "pandas.DataFrame: 0 × 0"


def test_a_series_shows_its_values():
    text = describe(pd.Series([1.5, None], index=["a", "b"], name="loss"))
    assert text.splitlines()[0] == "pandas.Series: 2 float64 named loss: 1.5, nan"
    assert "dtype float64, 16 bytes, 1 null" in text
    assert text.splitlines()[-2:] == ["  'a': 1.5", "  'b': nan"]


def test_a_long_series_is_cut_and_not_read():
    text = describe(pd.Series(np.broadcast_to(np.float64(1), 5_000_000)), 400)
    assert "nulls not counted: large" in text
    assert text.splitlines()[-1].endswith("more rows")


def test_an_index_shows_its_labels():
    assert describe(pd.Index([3, 4])).splitlines()[-2:] == ["  3", "  4"]


def test_a_subclass_of_a_frame_is_a_frame():
    class Mine(pd.DataFrame):
        pass

    assert summarize(Mine({"a": [1]})) == "tests.Mine: 1 × 1: a"


@pytest.mark.parametrize("budget", [0, 1, 30, 100, 333, 1000])
def test_the_budget_holds(frame, budget):
    assert len(describe(frame, budget)) <= budget


def test_describing_leaves_the_frame_as_it_was(frame):
    before = frame.copy(deep=True)
    describe(frame)
    summarize(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_categories_and_arrays_alone():
    assert summarize(pd.Categorical(["a"])) == "pandas.Categorical: 1 category: 'a'"
    assert summarize(pd.array([1, None], dtype="Int64")).endswith("2 Int64: 1, <NA>")


def test_columns_of_a_foreign_extension_type_are_not_read():
    class ForeignDtype(pd.api.extensions.ExtensionDtype):
        name = "foreign"
        type = object

        @classmethod
        def construct_array_type(cls):
            return ForeignArray

    class ForeignArray(pd.api.extensions.ExtensionArray):
        dtype = ForeignDtype()
        nbytes = 8

        def __len__(self):
            return 1

        def copy(self):
            return self

        def view(self, dtype=None):
            return self

        def _touched(self, *_):
            raise AssertionError("read")

        __getitem__ = __iter__ = isna = take = _touched

    text = describe(pd.DataFrame({"f": ForeignArray()}, copy=False))
    assert "  f: foreign" in text
    assert "failed" not in text

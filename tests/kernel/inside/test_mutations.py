from __future__ import annotations

import collections
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from zidane_lab.kernel.inside.mutations import Mutation, mutates, mutations


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("df['x'] = 1", {"df"}),
        ("df.loc[0, 'x'] = 1", {"df"}),
        ("d['a']['b'] = 1", {"d"}),
        ("obj.attr = 1", {"obj"}),
        ("obj.a.b[0].c: int = 1", {"obj"}),
        ("x += 1", {"x"}),
        ("x[0] += 1", {"x"}),
        ("del d['k']", {"d"}),
        ("del obj.attr", {"obj"}),
        ("a['x'], (b.y, *c[0:1]) = v", {"a", "b", "c"}),
        ("for d['k'] in range(3): pass", {"d"}),
        ("with f() as obj.file: pass", {"obj"}),
        ("df.drop(columns='x', inplace=True)", {"df"}),
        ("np.add(a, b, out=c)", {"c"}),
        ("np.add(a, b, out=c[0])", {"c"}),
        ("random.shuffle(items)", {"items"}),
        ("heapq.heappush(heap, 1)", {"heap"}),
        ("setattr(obj, 'x', 1)", {"obj"}),
        ("if x:\n  while y:\n    try:\n      df['a'] = 1\n    except E: pass", {"df"}),
        ("await f(); df['a'] = 1", {"df"}),
        ("%matplotlib inline\ndf['a'] = 1\n!ls\ndf?", {"df"}),
        ("%%time\ndf['a'] = 1", {"df"}),
        ("x = 1", set()),
        ("x['a']", set()),
        ("def f():\n  df['x'] = 1", set()),
        ("class A:\n  items['x'] = 1", set()),
        ("f = lambda: df.update(a)", set()),
        ("f()['x'] = 1", set()),
        ("df.drop(columns='x', inplace=False)", set()),
        ("'\\d'; df['a'] = 1", {"df"}),
        ("(", set()),
        ("\0", set()),
        ("", set()),
    ],
)
def test_what_code_mutates_by_its_syntax(code, names):
    assert {mutation.name for mutation in mutations(code) if mutation.method is None} == names


def test_method_calls_are_judged_by_the_type_of_the_object():
    assert mutations("rows.append(1)\ntable.a[0].sort()") == {Mutation("rows", "append"), Mutation("table", "sort")}
    assert mutations("[rows.append(i) for i in x]") == {Mutation("rows", "append")}
    assert mutations("[[row.append(i) for i in row] for row in rows]") == set()


@pytest.mark.parametrize(
    ("obj", "method", "expected"),
    [
        ([], "append", True),
        ([], "sort", True),
        ([], "count", False),
        ({}, "update", True),
        ({}, "get", False),
        (set(), "add", True),
        (collections.Counter(), "subtract", True),
        (collections.deque(), "rotate", True),
        (np.zeros(1), "sort", True),
        (np.zeros(1), "sum", False),
        (np, "append", False),
        (list, "append", False),
        (pd.DataFrame(), "insert", True),
        (pd.DataFrame(), "append", False),
        (pd.Series(dtype=float), "sort", False),
        (pd.Index([]), "insert", False),
        (pl.DataFrame(), "insert_column", True),
        (pl.DataFrame(), "sort", False),
        (pl.DataFrame(), "clear", False),
        (pl.col("a"), "append", False),
        (LinearRegression(), "fit", True),
        (LinearRegression(), "predict", False),
        (types.SimpleNamespace(), "extend", True),
    ],
)
def test_whether_a_method_mutates(obj, method, expected):
    assert mutates(obj, method) is expected


@given(st.text())
def test_no_text_is_too_odd_to_be_parsed(code):
    assert isinstance(mutations(code), frozenset)

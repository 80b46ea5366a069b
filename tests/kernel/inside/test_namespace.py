"""What a piece of code did to the names: one table, and the cases a table cannot hold."""

from __future__ import annotations

import collections
import gc
import types
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from sklearn.linear_model import LinearRegression

from zidane_lab.kernel.inside import describe as _registers  # noqa: F401 — the describers register themselves
from zidane_lab.kernel.inside.namespace import Changes, compare, snapshot

SETUP = """
class Thing:
    pass

n, s, t, f, none = 5, "text", (1, "a"), float("nan"), None
items, table, seen, queue = [1, 2], {"a": 1}, {1}, collections.deque([1])
alias, nested, long = items, {"rows": [1]}, list(range(1000))
df = pd.DataFrame({"x": [1, 2, 3], "y": [1.0, 2.0, 3.0]})
wide = pd.DataFrame(np.zeros((10, 50)))
series, polar = pd.Series([1, 2]), pl.DataFrame({"a": [1]})
array, matrix, cube = np.zeros(5), np.zeros((3, 3)), np.zeros((100, 100, 10))
storm = xr.Dataset({"wind": ("t", np.zeros(3))})
thing, model, space = Thing(), LinearRegression(), types.SimpleNamespace(a=1)
buffer = bytearray(b"abc")
def change(obj, key, value): obj[key] = value
def work(): return 1
"""


USED = {
    "collections": collections,
    "np": np,
    "pd": pd,
    "pl": pl,
    "types": types,
    "xr": xr,
    "LinearRegression": LinearRegression,
}


def run(code, setup=SETUP):
    namespace = dict(USED)
    exec(setup, namespace)
    before = snapshot(namespace)
    exec(code, namespace)
    return compare(before, namespace, code)


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("pass", ""),
        # Rebinding.
        ("n = 6", "n"),
        ("n = 5", ""),
        ("n = 5.0", "n"),
        ("n = True", "n"),
        ("s = 'te' + 'xt'", ""),
        ("s = 'other'", "s"),
        ("t = (1, 'a')", ""),
        ("t = (1, 'b')", "t"),
        ("t = (1, ['a'])", "t"),
        ("f = float('nan')", ""),
        ("none = 0", "none"),
        ("items = [1, 2]", "items"),
        ("df = df.copy()", "df"),
        ("def work(): return 1", "work"),
        ("n, s = s, n", "n s"),
        # In place, seen in the code.
        ("df['x'] = 9", "df"),
        ("df['z'] = 9", "df"),
        ("df.loc[0, 'x'] = 9", "df"),
        ("del df['x']", "df"),
        ("df.insert(0, 'w', 1)", "df"),
        ("series[0] = 9", "series"),
        ("series += 1", "series"),
        ("array[0] = 1", "array"),
        ("array += 1", "array"),
        ("array.sort()", "array"),
        ("np.add(array, 1, out=array)", "array"),
        ("items.append(3)", "alias items"),
        ("alias.append(3)", "alias items"),
        ("table['b'] = 2", "table"),
        ("del table['a']", "table"),
        ("nested['rows'].append(2)", "nested"),
        ("seen.add(2)", "seen"),
        ("queue.append(2)", "queue"),
        ("buffer[0] = 0", "buffer"),
        ("thing.x = 1", "thing"),
        ("model.fit([[1], [2]], [1, 2])", "model"),
        ("storm['rain'] = ('t', np.ones(3))", "storm"),
        ("polar.insert_column(0, pl.Series('b', [1]))", "polar"),
        ("n += 1", "n"),
        ("for i in range(3): items.append(i)", "alias items"),
        # In place, seen only by what it left behind.
        ("change(df, 'x', 9)", "df"),
        ("change(df, 'z', 9)", "df"),
        ("change(df.columns.values, 0, 'renamed') if False else None", ""),
        ("change(table, 'a', 2)", "table"),
        ("change(table, 'b', 2)", "table"),
        ("change(items, 0, 9)", "alias items"),
        ("change(array, 0, 9)", "array"),
        ("change(matrix, (0, 0), 9)", "matrix"),
        ("change(cube, ..., 9)", "cube"),
        ("change(wide, 7, 1)", "wide"),
        ("change(series, 0, 9)", "series"),
        ("change(long, slice(0, 0), [5])", "long"),
        ("change(thing.__dict__, 'x', 1)", "thing"),
        ("change(space.__dict__, 'a', 2)", "space"),
        ("change(storm, 'rain', ('t', np.ones(3)))", "storm"),
        ("change(buffer, 0, 0)", "buffer"),
        ("(lambda: items.append(3))()", "alias items"),
        ("(lambda: seen.add(3))()", "seen"),
        ("(lambda: model.fit([[1], [2]], [1, 2]))()", "model"),
        ("(lambda: series.index.__class__)()", ""),
        # Only looking.
        ("df['x'].mean(); df.describe(); df.values; wide.sum(); df.groupby('x').sum(); df.loc[0]; repr(df)", ""),
        ("sorted(items); len(table); table.get('a'); 'a' in s; list(queue); array.sum(); array[0]", ""),
        ("storm.wind.mean(); polar.sort('a'); polar.clear(); series.value_counts(); model.get_params()", ""),
        ("np.append(array, 1); pd.concat([df, df])", ""),
        ("def later():\n    df['x'] = 1", ""),
    ],
)
def test_changed_names(code, changed):
    assert run(code).changed == tuple(changed.split())


@pytest.mark.parametrize(
    ("code", "created", "deleted"),
    [
        ("new = 1; other = df", ("new", "other"), ()),
        ("del n, df", (), ("df", "n")),
        ("_private = 1", (), ()),
        ("import math; from os import path as where", ("math", "where"), ()),
        ("temp = 1; del temp", (), ()),
        ("del n; n = 5", (), ()),
        ("In = [1]; exit = 2", (), ()),
        ("for i in range(3): pass", ("i",), ()),
    ],
)
def test_created_and_deleted_names(code, created, deleted):
    changes = run(code)
    assert (changes.created, changes.deleted) == (created, deleted)


def test_a_frame_built_in_pieces_is_not_changed_by_reading_it():
    setup = "df = pd.DataFrame({'a': [1, 2]})\nfor i in range(20):\n    df[f'c{i}'] = [float(i), 1.0]"
    assert run("df.to_numpy(); df.sum(); df.copy(); df.T; df.iloc[:, 0]", setup) == Changes()
    assert run("(lambda: df.isetitem(3, [7.0, 8.0]))()", setup).changed == ("df",)


def test_names_that_are_hidden_stay_so():
    namespace = {"a": 1, "tool": 1}
    before = snapshot(namespace, hidden={"tool", "other"})
    namespace.update(a=2, tool=2, other=3)
    assert compare(before, namespace, "") == Changes(changed=("a",))


def test_a_name_must_exist_before_and_after_to_have_changed():
    assert run("new = []; new.append(1)") == Changes(created=("new",))
    assert run("items.append(1); del items").changed == ("alias",)
    assert run("missing_in_both = 1; del missing_in_both; '''ghost.x = 1'''") == Changes()


def test_a_snapshot_keeps_no_frame_alive():
    namespace = {"df": pd.DataFrame({"a": [1]}), "array": np.zeros(3)}
    watched = [weakref.ref(value) for value in namespace.values()]
    before = snapshot(namespace)
    del namespace["df"]
    namespace["array"] = 5
    gc.collect()
    assert [ref() for ref in watched] == [None, None]
    assert compare(before, namespace) == Changes(changed=("array",), deleted=("df",))


def test_an_object_freed_and_made_anew_has_changed():
    class Thing:
        pass

    namespace = {"thing": Thing(), "items": [1]}
    before = snapshot(namespace)
    for _ in range(5):
        namespace.pop("thing"), namespace.pop("items")
        namespace.update(thing=Thing(), items=[1])
    assert compare(before, namespace).changed == ("items", "thing")


def test_an_object_that_cannot_be_marked_stops_nothing(monkeypatch):
    def fail(_):
        raise ValueError("no")

    monkeypatch.setattr("zidane_lab.kernel.inside.namespace.fingerprint", fail)
    namespace = {"items": [1]}
    assert compare(snapshot(namespace), namespace, "") == Changes()
    assert compare(snapshot(namespace), namespace, "items.append(1)").changed == ("items",)


def test_subclasses_of_containers_are_marked_through_their_base():
    class Loud(list):
        def __len__(self):
            raise AssertionError("called")

        __iter__ = __getitem__ = __eq__ = __len__
        __hash__ = None

    loud = Loud([1])
    before = snapshot({"loud": loud})
    list.append(loud, 2)
    assert compare(before, {"loud": loud}).changed == ("loud",)


def test_two_counters_one_namespace():
    counter = collections.Counter("aab")
    space = types.SimpleNamespace(counter=counter)
    before = snapshot({"counter": counter, "space": space})
    counter["c"] += 1
    assert compare(before, {"counter": counter, "space": space}).changed == ("counter",)

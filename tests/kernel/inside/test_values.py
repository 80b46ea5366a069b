from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import math
import pathlib
import re
import types
import uuid
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.kernel.inside import describe as _registers  # noqa: F401 — the describers register themselves
from zidane_lab.kernel.inside.values import brief, number


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Perm(enum.Flag):
    R = 1
    W = 2


class Point(NamedTuple):
    x: int
    y: int


class Words(list):
    pass


@dataclasses.dataclass
class Pair:
    left: int
    right: str


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (5, "5"),
        (True, "True"),
        (None, "None"),
        (..., "Ellipsis"),
        (NotImplemented, "NotImplemented"),
        (-1.5, "-1.5"),
        (math.nan, "nan"),
        (1 + 2j, "(1+2j)"),
        ("it's", '"it\'s"'),
        ("a\nb", "'a\\nb'"),
        ("\ud800", "'\\ud800'"),
        (b"\x00a", "b'\\x00a'"),
        (bytearray(b"a"), "b'a'"),
        ([], "[]"),
        ([1, "a", [2]], "[1, 'a', [2]]"),
        ((), "()"),
        ((1,), "(1,)"),
        ((1, 2), "(1, 2)"),
        ({}, "{}"),
        ({"a": [1]}, "{'a': [1]}"),
        (set(), "set()"),
        ({1}, "{1}"),
        (frozenset({1}), "frozenset({1})"),
        (collections.deque([1, 2]), "deque([1, 2])"),
        (collections.OrderedDict(a=1), "OrderedDict{'a': 1}"),
        (array.array("i", [1, 2]), "array([1, 2])"),
        ({"a": 1}.keys(), "dict_keys(['a'])"),
        (range(3), "range(0, 3)"),
        (range(3, 9, 2), "range(3, 9, 2)"),
        (slice(1, None), "slice(1, None, None)"),
        (Point(1, 2), "Point(x=1, y=2)"),
        (Words([1]), "Words[1]"),
        (Color.RED, "<Color.RED: 1>"),
        (Level.HIGH, "<Level.HIGH: 3>"),
        (Perm.R, "<Perm.R: 1>"),
        (decimal.Decimal("1.50"), "Decimal('1.50')"),
        (fractions.Fraction(1, 3), "Fraction(1, 3)"),
        (uuid.UUID(int=5), "UUID('00000000-0000-0000-0000-000000000005')"),
        (pathlib.PurePosixPath("/a/b"), "PurePosixPath('/a/b')"),
        (re.compile("a+"), "re.compile('a+')"),
        (dt.date(2024, 1, 2), "2024-01-02"),
        (dt.datetime(2024, 1, 2, 3, 4), "2024-01-02 03:04:00"),
        (dt.datetime(2024, 1, 2, tzinfo=dt.UTC), "2024-01-02 00:00:00+00:00"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(days=1), "1 day, 0:00:00"),
        (np.float64(1.5), "1.5"),
        (np.float32(0.5), "0.5"),
        (np.int64(7), "7"),
        (np.str_("a"), "'a'"),
        (np.datetime64("2024-01-02"), "2024-01-02"),
        (np.bool_(True), "True"),
        (pd.Timestamp("2024-01-02"), "2024-01-02"),
        (pd.NaT, "NaT"),
        (pd.NA, "<NA>"),
        (pd.Timedelta(days=1), "1 days"),
        (pd.Period("2024-01", "M"), "2024-01"),
        (types.SimpleNamespace(a=1), "<SimpleNamespace: 1 attribute: a>"),
        (Pair(1, "b"), "<kernel.Pair: left=1, right='b'>"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_short_forms(value, form):
    assert brief(value).replace("<tests.", "<kernel.") == form


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x" * 10**6, "[1,000,000 characters]"),
        (b"x" * 10**6, "[1,000,000 bytes]"),
        (list(range(10**6)), "more]"),
        ({i: i for i in range(10**5)}, "more}"),
        (10**5000, "(integer of about 5,001 digits)"),
        (decimal.Decimal("1" * 10_000), "(decimal number of"),
        (fractions.Fraction(10**3000, 7), "(integer of about 3,001 dig"),
        (memoryview(b"x" * 500), "<memoryview of 500 bytes>"),
    ],
    ids=["str", "bytes", "list", "dict", "int", "decimal", "fraction", "memoryview"],
)
def test_long_values_are_cut_and_say_so(value, said):
    assert said in brief(value)
    assert len(brief(value)) <= 60


def test_nesting_is_cut():
    nested: list = []
    for _ in range(50):
        nested = [nested]
    assert brief(nested) == "[[[[…1]]]]"


def test_an_unknown_time_zone_is_not_asked():
    class Zone(dt.tzinfo):
        def utcoffset(self, when):
            raise AssertionError("asked")

        tzname = dst = utcoffset

    assert brief(dt.datetime(2024, 1, 2, tzinfo=Zone())) == "2024-01-02 00:00:00 (time zone not asked)"
    assert "of its own" in brief(dt.time(1, tzinfo=Zone()))


def test_a_path_of_an_unknown_class_is_not_written_out():
    class Mine(pathlib.PurePosixPath):
        def __str__(self):
            raise AssertionError("asked")

    assert "Mine" in brief(Mine())


@pytest.mark.parametrize(
    ("value", "shown"), [(1 / 3, "0.333333"), (np.float64(1e10), "1e+10"), (3, "3"), (10**7, "10000000")]
)
def test_numbers_for_people(value, shown):
    assert number(value) == shown


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.uuids()
    | st.decimals(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.tuples(inner, inner)
        | st.lists(inner).map(collections.deque)
    ),
    max_leaves=30,
)


@given(values, st.integers(1, 200), st.integers(0, 4))
def test_every_form_is_one_printable_line_within_its_width(value, width, depth):
    form = brief(value, width, depth)
    assert 0 < len(form) <= width
    assert form.isprintable()

from __future__ import annotations

import collections
import enum
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernel.inside.test_values import values
from zidane_lab.kernel.inside import registry
from zidane_lab.kernel.inside.describe import describe, summarize


@given(values, st.integers(-10, 3000))
def test_a_description_never_exceeds_its_budget(value, budget):
    assert len(describe(value, budget)) <= max(budget, 0)


@given(values)
def test_a_summary_is_one_printable_line_of_at_most_120_characters(value):
    line = summarize(value)
    assert 0 < len(line) <= 120
    assert line.isprintable()


@given(values)
def test_descriptions_are_stable(value):
    assert describe(value) == describe(value)


def test_a_list_shows_its_types_and_items():
    assert describe([1, "a", None, 2]) == (
        "list: 4 items\ntypes: 2 int, 1 str, 1 NoneType\n  [0] 1\n  [1] 'a'\n  [2] None\n  [3] 2"
    )


def test_a_long_list_counts_the_items_it_leaves_out():
    lines = describe(list(range(5000)), 500).splitlines()
    assert lines[0] == "list: 5,000 items"
    assert lines[1] == "types of the first 1,000: 1,000 int"
    last = int(lines[-2].split()[-1])
    assert lines[-1] == f"  … {5000 - last - 1:,} more items"


def test_a_dictionary_shows_keys_and_values():
    assert describe({"a": 1, 2: [3]}) == (
        "dict: 2 items\nkeys: 1 str, 1 int; values: 1 int, 1 list\n  'a': 1\n  2: [3]"
    )


def test_a_default_dictionary_tells_what_missing_keys_get_and_stays_as_it_is():
    counts = collections.defaultdict(list, a=[1])
    assert "missing keys: <type: class list" in describe(counts)
    assert dict(counts) == {"a": [1]}


class Run(NamedTuple):
    loss: float
    epoch: int


def test_a_named_tuple_shows_its_fields():
    run = Run(0.5, 3)
    assert "loss=0.5, epoch=3" in summarize(run)
    assert describe(run).splitlines()[1:] == ["  loss 0.5", "  epoch 3"]


def test_a_long_text_is_shown_with_its_length():
    text = "first line\n" + "x" * 100_000
    lines = describe(text, 400).splitlines()
    assert lines[0] == "str: 100,011 characters"
    assert "first line" in lines
    assert lines[-1].startswith("…")
    assert lines[-1].endswith("more characters")


def test_a_short_text_is_shown_whole():
    assert describe("hello") == "str: 'hello'"
    text = "a\n\n" * 60
    assert describe(text).splitlines()[1:4] == ["a", " ", "a"]


def test_an_empty_container_is_called_empty():
    assert [describe(value) for value in ([], {}, (), set())] == [
        "list: empty",
        "dict: empty",
        "tuple: empty",
        "set: empty",
    ]


def test_a_read_only_view_shows_the_dictionary_behind_it():
    import types

    text = describe(types.MappingProxyType({"a": 1}))
    assert text.startswith("mappingproxy: read-only view of {'a': 1}")
    assert "  'a': 1" in text


def test_an_enumeration_member_that_is_also_a_number():
    level = enum.IntEnum("Level", "LOW HIGH").HIGH
    assert describe(level).endswith("<Level.HIGH: 2>")


class Broken:
    """Its describer raises."""


@pytest.fixture
def broken(monkeypatch):
    """Return a function that makes an object whose describer raises an error."""

    def make(error):
        def fail(*_):
            raise error

        monkeypatch.setitem(registry._TYPES, id(Broken), registry.Describer(fail, fail))
        return Broken()

    return make


def test_a_describer_that_raises_falls_back_and_says_so(broken):
    obj = broken(ValueError("out of order"))
    text = describe(obj)
    assert text.startswith("tests.Broken")
    assert "failed: ValueError: out of order; less is known" in text
    assert "doc: Its describer raises." in text
    assert summarize(obj) == "tests.Broken: (not readable: ValueError: out of order)"


def test_an_error_whose_text_raises_is_still_named(broken):
    class NastyError(Exception):
        def __str__(self):
            raise AssertionError("asked")

    assert "NastyError; less is known" in describe(broken(NastyError(5)))


def test_an_interrupt_is_not_swallowed(broken):
    with pytest.raises(KeyboardInterrupt):
        describe(broken(KeyboardInterrupt()))

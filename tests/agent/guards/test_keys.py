"""Stable JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.guards.keys import stable_stringify

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def shuffled(value):
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(list(value))}
    return [shuffled(each) for each in value] if isinstance(value, list) else value


@given(JSON)
def test_the_order_of_keys_does_not_matter_at_any_depth(value):
    assert stable_stringify(value) == stable_stringify(shuffled(value))


@given(JSON)
def test_it_is_json_of_the_same_value(value):
    assert json.loads(stable_stringify(value)) == value


@given(JSON, JSON)
def test_different_values_have_different_texts(one, other):
    if json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True) and one != other:
        assert stable_stringify(one) != stable_stringify(other)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1.0, 2.5, True, None]}, '{"a":[1,2.5,true,null],"b":1}'),
        (float("nan"), "null"),
        ((1, 2), "[1,2]"),
        ({1: "x"}, '{"1":"x"}'),
        ({"when": 1j}, '{"when":"1j"}'),
    ],
)
def test_what_json_has_no_form_for_has_one_here(value, text):
    assert stable_stringify(value) == text

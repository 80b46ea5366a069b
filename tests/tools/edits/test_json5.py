from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.json5 import parse_object

VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.dictionaries(st.text(), VALUES))
def test_json_is_read_as_json(value):
    assert parse_object(json.dumps(value)) == value
    assert parse_object(json.dumps(value, ensure_ascii=False, indent=2)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("{name: 'Ada', active: true, gone: null,}", {"name": "Ada", "active": True, "gone": None}),
        ("{ // who\n a: 1, /* and\n */ 'b c': +.5 }", {"a": 1, "b c": 0.5}),
        (r"""{q: 'it\'s "x"\n\x41\u00e9'}""", {"q": 'it\'s "x"\nA\u00e9'}),
        (r"""{q: '\ud83d\ude00'}""", {"q": "\U0001f600"}),
        ("{h: 0xFF, n: -1e3, $x_1: 2.}", {"h": 255, "n": -1000.0, "$x_1": 2.0}),
        ("{true: 1, naïve: [1, {}]}", {"true": 1, "naïve": [1, {}]}),
        ("{a: 'line \\\ngoes on'}", {"a": "line goes on"}),
    ],
)
def test_json5_is_read_too(text, value):
    assert parse_object(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "[1]", "3", "{a: b}", "{a: 1, a: 2}", '{"a": 1, "a": 2}', "{a: NaN}", '{"a": Infinity}', "{a 1}"),
        *("{a: 1", "{,}", "{a: 'x}", "{a: 1} {b: 2}", "{a: 0x}", '{"a":' * 2000, "{" * 100_000, "{a: 1e999999}" * 2),
    ],
)
def test_what_is_no_object_is_told(text):
    with pytest.raises(ToolError):
        parse_object(text)


@given(st.text(alphabet="{}[]:,'\"\\/*ab01.-+ \n$é", max_size=30))
def test_any_text_is_read_or_refused_in_words(text):
    with contextlib.suppress(ToolError):
        assert isinstance(parse_object(text), dict)

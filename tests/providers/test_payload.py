"""Shared pieces of requests and answers."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import BadRequestError
from zidane_lab.providers.payload import (
    document_text,
    encode_arguments,
    encode_body,
    left_out,
    parse_arguments,
    wire_id,
)
from zidane_lab.turns import AudioBlock, DocumentBlock

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=6), JSON, max_size=4))
def test_arguments_survive_the_way_to_the_wire_and_back(arguments):
    assert parse_arguments(encode_arguments(arguments)) == (arguments, None)


@given(st.text(max_size=30))
def test_argument_text_is_an_object_or_is_kept_as_it_is(text):
    arguments, raw = parse_arguments(text)
    assert (arguments == {} and raw == text) or raw is None


@pytest.mark.parametrize("text", ["[1]", '"x"', "12", "{", '{"a": NaN}', '{"a": Infinity}', "[" * 100_000])
def test_what_is_no_json_object_is_kept_raw(text):
    assert parse_arguments(text) == ({}, text)


@pytest.mark.parametrize("text", ["", "  ", "null", "{}"])
def test_no_arguments(text):
    assert parse_arguments(text) == ({}, None)


@given(st.text(max_size=80))
def test_every_id_becomes_one_that_services_accept(call_id):
    wired = wire_id(call_id)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", wired)
    assert wire_id(call_id) == wired == wire_id(wired)


def test_fine_ids_stay_and_others_stay_apart():
    assert wire_id("toolu_01A-b") == "toolu_01A-b"
    assert wire_id("x" * 40) == "x" * 40
    assert wire_id("x" * 41) != "x" * 41
    assert len({wire_id("functions.run:0"), wire_id("functions_run:0"), wire_id("functions.run_0"), wire_id("")}) == 4


def test_a_lone_surrogate_does_not_stop_a_request():
    assert json.loads(encode_body({"text": "a\ud800ü"}, provider="x")) == {"text": "a?ü"}


def test_a_number_json_cannot_carry_is_named():
    with pytest.raises(BadRequestError, match="cannot be written as JSON"):
        encode_body({"x": float("nan")}, provider="x")


def test_documents_of_text_are_read_and_others_not():
    assert document_text(DocumentBlock("text/csv; charset=utf-8", b"a,b")) == "a,b"
    assert document_text(DocumentBlock("application/json", b"{}")) == "{}"
    assert document_text(DocumentBlock("application/pdf", b"%PDF")) is None


def test_what_is_left_out_is_said():
    assert left_out(AudioBlock("audio/wav", b"", "talk.wav")) == (
        "[audio 'talk.wav' of type audio/wav left out: this model's interface cannot carry it]"
    )

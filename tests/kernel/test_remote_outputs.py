"""Kernel messages to outputs, without a kernel: lists of messages go in, notebook outputs come out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.kernel.remote_outputs import OutputLog, error_of, outputs_of, shown


def stream(text, name="stdout"):
    return "stream", {"name": name, "text": text}


def display(text, display_id=None, kind="display_data", **extra):
    transient = {"display_id": display_id} if display_id else {}
    return kind, {"data": {"text/plain": text}, "metadata": {}, "transient": transient, **extra}


def played(*messages, **options):
    log = OutputLog(**options)
    for kind, content in messages:
        log.add(kind, content)
    return log.finish()


def texts(outputs):
    return [output.get("text") or output["data"]["text/plain"] for output in outputs]


def test_order_is_kept_and_neighbouring_pieces_of_a_stream_are_one_output():
    outputs = played(stream("a"), stream("b"), stream("c", "stderr"), stream("d"), display("e"), stream("f"))
    assert [output["output_type"] for output in outputs] == ["stream", "stream", "stream", "display_data", "stream"]
    assert texts(outputs) == ["ab", "c", "d", "e", "f"]


def test_clear_output_forgets_what_came_before():
    assert texts(played(stream("a"), display("b"), ("clear_output", {"wait": False}), stream("c"))) == ["c"]


def test_clear_output_that_waits_clears_only_when_something_follows():
    wait = ("clear_output", {"wait": True})
    assert texts(played(stream("a"), wait)) == ["a"]
    assert texts(played(stream("a"), wait, stream("b"), stream("c"))) == ["bc"]


def test_an_update_replaces_every_display_of_its_id_also_of_earlier_code():
    displays = {}
    first = played(display("0 %", "bar"), display("other"), display("0 %", "bar"), displays=displays)
    second = played(display("50 %", "bar", "update_display_data"), displays=displays)
    assert texts(first) == ["50 %", "other", "50 %"]
    assert second == []


def test_an_update_of_an_unknown_display_shows_nothing():
    assert played(display("x", "never shown", "update_display_data")) == []


def test_values_keep_their_count_and_errors_their_traceback():
    result, error = played(
        display("7", kind="execute_result", execution_count=3),
        ("error", {"ename": "E", "evalue": "why", "traceback": ["\x1b[31mE\x1b[0m"]}),
    )
    assert result["execution_count"] == 3
    assert error == {"output_type": "error", "ename": "E", "evalue": "why", "traceback": ["\x1b[31mE\x1b[0m"]}
    assert [output.kind for output in outputs_of([result, error])] == ["value"]


@pytest.mark.parametrize("many", [stream("x" * 10), display("x" * 10)])
def test_what_is_beyond_the_limit_is_counted_and_said(many):
    outputs = played(*[many] * 30, limit=100)
    kept = sum(len(text) for text in texts(outputs[:-1]))
    assert kept == 100
    assert outputs[-1]["name"] == "stderr"
    assert ("200 more characters" if many[0] == "stream" else "20 more displays") in outputs[-1]["text"]


def test_clearing_frees_the_room_again():
    clear = ("clear_output", {"wait": True})
    outputs = played(*[stream("x" * 60), clear] * 10, stream("y" * 60), limit=100)
    assert texts(outputs) == ["y" * 60]


@given(st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.text(max_size=8)), max_size=30), st.integers(0, 60))
def test_no_text_is_lost_below_the_limit_and_none_kept_above(pieces, limit):
    outputs = outputs_of(played(*[stream(text, name) for name, text in pieces], limit=limit))
    whole = "".join(text for _, text in pieces)
    noted = len(whole) > limit
    kept = outputs[:-1] if noted and outputs else outputs
    # A note may have joined nothing: it is always an output of its own.
    assert "".join(output.text for output in kept) == whole[:limit]


def test_a_notebook_shows_a_long_stream_cut_with_a_note_and_nothing_transient():
    outputs = played(display("a", "id"), stream("x" * 300), stream("y" * 300, "stderr"), display("b"))
    page = shown(outputs, limit=200)
    assert [output["output_type"] for output in page] == ["display_data", "stream", "display_data"]
    assert page[1]["text"].startswith("x" * 200 + "\n[more than 200 characters")
    assert all("transient" not in output for output in page)
    assert len(outputs[1]["text"]) == 300


# --- errors -----------------------------------------------------------------------------------------

HEAD = ["\x1b[31m-----\x1b[39m", "\x1b[31mKeyError\x1b[39m        Traceback (most recent call last)"]
CELL = (
    "\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[1]\x1b[39m\x1b[32m, line 2\x1b[39m\n      1 a\n----> 2 df['b']\n"
)


def library(n):
    return f"File \x1b[32m~/env/lib/python3.11/site-packages/pandas/core/f{n}.py:{n}\x1b[39m, in get()\n      1 x\n----> {n} raise it\n"


def test_a_traceback_keeps_the_users_frames_and_the_place_where_it_broke():
    error = error_of(
        "KeyError", "'b'", [*HEAD, CELL, library(1), library(2), library(3), "\x1b[31mKeyError\x1b[39m: 'b'"]
    )
    assert error.traceback.split("\n") == [
        "Cell In[1], line 2",
        "      1 a",
        "----> 2 df['b']",
        "  … 2 library frames …",
        "File ~/env/lib/python3.11/site-packages/pandas/core/f3.py:3, in get()",
        "    raise it",
        "KeyError: 'b'",
    ]


def test_a_chain_keeps_both_causes():
    joint = "\nThe above exception was the direct cause of the following exception:\n"
    error = error_of("E", "2", [*HEAD, CELL, library(1), "KeyError: 1", joint, *HEAD, CELL, "E: 2"])
    assert "KeyError: 1" in error.traceback
    assert joint.strip() in error.traceback
    assert error.traceback.endswith("E: 2")
    assert error.traceback.count("Cell In[1]") == 2


def test_long_tracebacks_keep_beginning_and_end():
    error = error_of("E", "m" * 50_000, [CELL, *["Cell In[1], line 3, in f()\n----> 3 f()"] * 3_000, "E: the end"])
    assert len(error.traceback) < 13_000
    assert len(error.message) < 5_000
    assert error.traceback.startswith("Cell In[1], line 2")
    assert error.traceback.endswith("E: the end")


@given(
    st.lists(
        st.text(st.sampled_from("\x1b[0;31m Cell In[1]\nFile /lib/python3/x, line--->7:"), max_size=60), max_size=8
    )
)
def test_any_traceback_is_read_without_failing_and_without_colours(parts):
    import re

    assert not re.search(r"\x1b\[[0-9;]*m", error_of("E", "m", parts).traceback)

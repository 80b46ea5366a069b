"""Lines of a stream, however it is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.contexts.lines import LineSplitter, plain_line


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("plain", "plain"),
        ("windows\r", "windows"),
        ("10%\r50%\r100%", "100%"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("bell\x07 nul\x00", "bell nul"),
        ("\r\r", ""),
        ("", ""),
    ],
)
def test_a_line_as_it_stands_in_the_end(line, plain):
    assert plain_line(line) == plain


@given(st.text(alphabet="aé数\n \U0001f600", max_size=60), st.lists(st.integers(1, 7), max_size=40))
def test_pieces_make_no_difference(text, sizes):
    data = text.encode()
    splitter, lines, at = LineSplitter(), [], 0
    for size in sizes:
        lines += splitter.feed(data[at : at + size])
        at += size
    lines += splitter.feed(data[at:]) + splitter.feed(b"", final=True)
    assert lines == [line.rstrip() for line in text.split("\n") if line.strip()]


def test_a_line_without_end_does_not_pile_up():
    splitter = LineSplitter()
    for _ in range(1_000):
        assert splitter.feed(b"x" * 1_000) == []
    (line,) = splitter.feed(b"\n")
    assert len(line) == 4_096


def test_a_progress_bar_without_end_shows_its_last_state():
    splitter = LineSplitter()
    for percent in range(5_000):
        splitter.feed(b"%d done\r" % percent)
    assert splitter.feed(b"", final=True) == ["4999 done"]

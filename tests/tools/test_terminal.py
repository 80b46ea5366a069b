"""Streams as a terminal ends up showing them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.terminal import settled


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ntext\n", "plain\ntext\n"),
        ("10%\r20%\r100%\ndone\n", "100%\ndone\n"),
        ("long line\rshort", "shortline"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("\x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[K", "red and green"),
        ("\x1b]0;title\x07text", "text"),
        ("abc\b\bXY", "aXY"),
        ("\b\bstart", "start"),
        ("bar |##   |\rbar |#####|\r", "bar |#####|"),
    ],
)
def test_what_stands_in_the_end(text, expected):
    assert settled(text) == expected


def test_a_progress_bar_costs_one_line():
    text = "".join(f"\r{n:4d}/1000 [{'#' * (n // 20):50}]" for n in range(1001)) + "\n"
    assert settled(text) == f"1000/1000 [{'#' * 50}]\n"


@given(st.text(alphabet="ab\r\n\b\x1b[0m ", max_size=80))
def test_nothing_that_moves_the_cursor_is_left_and_lines_stay_lines(text):
    shown = settled(text)
    assert "\b" not in shown
    assert "\r" not in shown
    assert settled(shown) == shown
    if "\x1b" not in text:
        assert shown.count("\n") == text.count("\n")


@given(st.text(alphabet=st.characters(exclude_characters="\r\b\x1b"), max_size=80))
def test_text_without_controls_is_returned_as_it_is(text):
    assert settled(text) is text

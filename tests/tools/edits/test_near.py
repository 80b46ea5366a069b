from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.edits.near import nearest, show_lines

LINES = st.lists(st.text("ab c", max_size=6), max_size=12)


def test_the_most_alike_place_comes_first():
    lines = ["import os", "", "def total(rows):", "    return sum(rows)", "", "def mean(rows):", "    return 1"]
    found = nearest(lines, ["def total(row):", "    return sum(rows)"])
    assert (found[0].first, found[0].last) == (3, 4)
    assert found[0].ratio > 0.9


@given(LINES, LINES)
def test_places_are_inside_and_apart(lines, wanted):
    found = sorted(nearest(lines, wanted), key=lambda near: near.first)
    assert all(1 <= near.first <= near.last <= len(lines) for near in found)
    assert all(a.last < b.first for a, b in itertools.pairwise(found))


def test_lines_are_shown_with_numbers_and_what_is_left_out():
    shown = show_lines([f"x{number}" for number in range(30)], 3, 22).split("\n")
    assert shown[0] == "3: x2"
    assert shown[-1] == "… and 8 more lines"
    assert show_lines(["y" * 500], 1, 1) == "1: " + "y" * 300 + "…"

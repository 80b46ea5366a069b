from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.edits.merge import merge

BASE = "".join(f"line {number}\n" for number in range(12))
TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=12).map("".join)


def change(text, **lines):
    return "".join(lines.get(f"l{number}", line) for number, line in enumerate(text.splitlines(keepends=True)))


def test_changes_apart_are_both_made():
    ours, theirs = change(BASE, l1="ours\n"), change(BASE, l4="theirs\n", l9="")
    assert merge(BASE, ours, theirs) == change(BASE, l1="ours\n", l4="theirs\n", l9="")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"l3": "ours\n"}, {"l3": "theirs\n"}),
        ({"l3": ""}, {"l3": "theirs\n"}),
        ({"l3": "ours\n"}, {"l4": "theirs\n"}),  # they touch
    ],
)
def test_changes_of_the_same_lines_collide(ours, theirs):
    assert merge(BASE, change(BASE, **ours), change(BASE, **theirs)) is None


def test_the_same_change_is_made_once():
    both = change(BASE, l3="same\n")
    assert merge(BASE, change(both, l0="ours\n"), change(both, l9="theirs\n")) == change(
        both, l0="ours\n", l9="theirs\n"
    )


@given(TEXTS, TEXTS)
def test_one_side_alone_is_taken_as_it_is(base, side):
    assert merge(base, side, base) == side
    assert merge(base, base, side) == side
    assert merge(base, side, side) == side


@given(TEXTS, TEXTS, TEXTS)
def test_the_order_of_the_sides_does_not_matter(base, ours, theirs):
    assert merge(base, ours, theirs) == merge(base, theirs, ours)

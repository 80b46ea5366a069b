from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.anchors import (
    StaleAnchorsError,
    anchor,
    apply_line_edits,
    line_edit,
    strip_tags,
    tagged,
)

TEXT = "def f(x):\n    return x\n\n\ndef g(x):\n    return x\n"
WORDS = st.lists(st.sampled_from(["alpha", "beta", "}", "", "  indented", "ünïcode"]), min_size=1, max_size=12)


def at(text, number):
    return anchor(text.split("\n")[number - 1], number)


def edited(text, *edits):
    return apply_line_edits(text, [line_edit(edit, number) for number, edit in enumerate(edits, 1)])


def test_tags_depend_on_what_a_line_says():
    assert re.fullmatch(r"12[a-z]{2}", anchor("x = 1", 12))
    assert anchor("x = 1", 12) == anchor("x = 1  \t", 12)
    assert anchor("x = 1", 12)[2:] == anchor("x = 1", 13)[2:]
    assert anchor("x = 1", 12) != anchor("x = 2", 12)
    assert len({anchor("}", number)[-2:] for number in range(10, 40)}) > 20


@given(WORDS, st.integers(1, 2000), st.booleans())
def test_tagging_and_stripping_are_inverse(lines, start, ended):
    text = "\n".join(lines) + "\n" * ended
    if text:
        assert strip_tags(tagged(text, start)) == text


@pytest.mark.parametrize("text", ["", "\n", "12ab|x\nplain\n", "12zz|x\n", "plain"])
def test_text_without_real_tags_is_left_alone(text):
    assert strip_tags(text) is None


@given(WORDS, st.data())
def test_edits_name_lines_of_the_text_as_it_was(lines, data):
    """Any mix of operations equals the same on a list, made from the end to the beginning."""
    text = "\n".join(lines) + "\n"
    numbers = data.draw(st.lists(st.integers(1, len(lines)), unique=True, max_size=4))
    operations = ["replace", "delete", "insert_before", "insert_after"]
    edits, expected = [], list(lines)
    for number in sorted(numbers, reverse=True):
        op = data.draw(st.sampled_from(operations))
        new = [] if op == "delete" else data.draw(st.lists(st.sampled_from(["NEW", "", "}"]), min_size=1, max_size=3))
        edits.append({"op": op, "anchor": at(text, number), "text": "".join(f"{line}\n" for line in new)})
        place = {"insert_before": (number - 1, number - 1), "insert_after": (number, number)}.get(
            op, (number - 1, number)
        )
        expected[place[0] : place[1]] = new
    data.draw(st.randoms()).shuffle(edits)
    result = edited(text, *edits) if edits else None
    if result is not None:
        assert result.text == "".join(f"{line}\n" for line in expected)
        assert result.notes == ()
        for start, end, piece in reversed(result.spans):
            text = text[:start] + piece + text[end:]
        assert text == result.text


def test_a_range_is_replaced_and_the_new_place_is_told():
    result = edited(TEXT, {"op": "replace", "anchor": at(TEXT, 1), "to": at(TEXT, 2), "text": "def f(): ..."})
    assert result.text == "def f(): ...\n\n\ndef g(x):\n    return x\n"
    assert result.changed == ((1, 1),)


def test_both_ends_of_a_file():
    result = edited(
        TEXT,
        {"op": "insert_after", "anchor": "EOF", "text": "# end\n"},
        {"op": "insert_before", "anchor": "BOF", "text": "# top"},
    )
    assert result.text == f"# top\n{TEXT}# end\n"
    assert edited("", {"op": "insert_after", "anchor": "EOF", "text": "a\nb"}).text == "a\nb\n"


def test_a_missing_final_newline_stays_missing():
    assert edited("a\nb", {"op": "replace", "anchor": at("a\nb", 2), "text": "B\n"}).text == "a\nB"
    assert edited("a\nb", {"op": "insert_after", "anchor": "EOF", "text": "c\n"}).text == "a\nb\nc"


def test_inserts_at_one_place_keep_their_order():
    edits = [{"op": "insert_after", "anchor": at(TEXT, 2), "text": word} for word in ("one", "two")]
    assert edited(TEXT, *edits).text.startswith("def f(x):\n    return x\none\ntwo\n")


def test_a_blank_line_is_a_line_break_and_no_text_deletes():
    anchored = at(TEXT, 2)
    assert edited(TEXT, {"op": "replace", "anchor": anchored, "text": "\n"}).text == TEXT.replace(
        "    return x\n", "\n", 1
    )
    assert edited(TEXT, {"op": "replace", "anchor": anchored, "text": ""}).text == TEXT.replace("    return x\n", "", 1)


def test_anchors_that_do_not_fit_change_nothing_and_show_the_lines():
    with pytest.raises(StaleAnchorsError) as caught:
        edited(
            TEXT,
            {"op": "delete", "anchor": at(TEXT, 1)},
            {"op": "delete", "anchor": "5zz"},
            {"op": "delete", "anchor": "99aa"},
        )
    assert "5zz, 99aa" in caught.value.message
    assert "It has 6 lines." in caught.value.message
    shown = caught.value.hint.split("\n")[1:]
    assert [line[0] for line in shown] == [" ", " ", "*", " "]
    assert shown[2] == f"*{at(TEXT, 5)}|def g(x):"


def test_only_the_ends_of_a_range_are_checked():
    changed = TEXT.replace("\n\n\n", "\n# new\n\n")
    result = edited(changed, {"op": "replace", "anchor": at(TEXT, 2), "to": at(TEXT, 5), "text": "pass"})
    assert result.text == "def f(x):\npass\n    return x\n"


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ({"op": "replace", "anchor": "banana", "text": "x"}, "'banana' is no anchor"),
        ({"op": "replace", "anchor": "12", "text": "x"}, "'12' is no anchor"),
        ({"op": "replace", "anchor": "EOF", "text": "x"}, "'EOF' is no anchor"),
        ({"op": "insert_after", "anchor": "12ab", "text": ""}, "nothing to insert"),
        ({"op": "delete", "anchor": "12ab", "text": "x"}, "takes no `text`"),
        ({"op": "replace", "anchor": "12ab", "to": "3cd", "text": "x"}, "3cd stands before 12ab"),
        ({"op": "move", "anchor": "12ab"}, "'move' is no operation"),
    ],
)
def test_edits_that_make_no_sense_say_which_and_why(edit, told):
    with pytest.raises(ToolError, match=f"Edit 7: .*{told}|Edit 7: {told}"):
        line_edit(edit, 7)


def test_overlapping_edits_are_refused():
    both = [
        {"op": "replace", "anchor": at(TEXT, 1), "to": at(TEXT, 3), "text": "x"},
        {"op": "delete", "anchor": at(TEXT, 2)},
    ]
    with pytest.raises(ToolError, match="Edit 2 overlaps"):
        edited(TEXT, *both)


def test_an_anchor_may_be_quoted_with_its_line():
    assert line_edit({"op": "delete", "anchor": " 12ab|x = 1 "}).first == (12, "ab")


def test_tags_in_front_of_new_lines_are_dropped_and_said():
    result = edited(TEXT, {"op": "replace", "anchor": at(TEXT, 2), "text": tagged("    return y\n", 2)})
    assert result.text == TEXT.replace("return x", "return y", 1)
    assert "tags" in result.notes[0]


def test_neighbours_quoted_with_the_new_lines_are_not_doubled():
    result = edited(TEXT, {"op": "replace", "anchor": at(TEXT, 2), "text": "def f(x):\n    return x + 1\n"})
    assert result.text == TEXT.replace("return x", "return x + 1", 1)
    assert "not doubled" in result.notes[0]
    below = edited(TEXT, {"op": "replace", "anchor": at(TEXT, 5), "text": "def h(x):\n    return x\n"})
    assert below.text == TEXT.replace("def g", "def h")


def test_what_repeats_by_right_is_kept():
    text = "row: 1\nrow: 1\nrow: 2\n"
    assert (
        edited(text, {"op": "insert_after", "anchor": at(text, 1), "text": "row: 1"}).text
        == "row: 1\n" * 3 + "row: 2\n"
    )
    braces = "{\n  x\n}\n}\n"
    assert edited(braces, {"op": "replace", "anchor": at(braces, 2), "text": "  y\n}\n"}).text == "{\n  y\n}\n}\n}\n"

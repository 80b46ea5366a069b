from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.anchors import tagged
from zidane_lab.tools.edits.replace import MatchError, find_replacement

CODE = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n"


def replaced(text, old, new, **options):
    match = find_replacement(text, old, new, **options)
    for start, end, piece in reversed(match.spans):
        text = text[:start] + piece + text[end:]
    return text, match.note


def test_one_exact_place_is_replaced():
    assert replaced(CODE, "def g", "def h") == (CODE.replace("def g", "def h"), "")


@given(st.text("ab\n", max_size=30), st.text("ab\n", min_size=1, max_size=3), st.text("ab\n", max_size=3))
def test_replacing_all_is_what_python_does(text, old, new):
    if old in text and old != new:
        assert replaced(text, old, new, replace_all=True)[0] == text.replace(old, new)


@given(st.text("ab\n", max_size=30), st.integers(0, 30), st.integers(1, 8))
def test_a_unique_text_is_found_exactly(text, start, length):
    old = text[start : start + length]
    if old and text.count(old) == 1 and text.find(old, text.find(old) + 1) < 0:
        assert replaced(text, old, "NEW") == (text.replace(old, "NEW"), "")


def test_several_places_are_named_by_line():
    with pytest.raises(MatchError, match=r"in a\.py 2 times: at lines 3, 6\. .*replace_all"):
        find_replacement(CODE, "return 1", "return 2", where="a.py")


def test_many_places_are_counted():
    with pytest.raises(MatchError, match=r"40 times: at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 …\."):
        find_replacement("x\n" * 40, "x", "y")


def test_windows_endings_of_a_model_do_not_matter():
    assert replaced(CODE, "def f(self):\r\n        return 1", "pass")[0] == CODE.replace(
        "def f(self):\n        return 1", "pass"
    )


def test_trailing_spaces_are_forgiven_where_only_one_place_fits():
    text, note = replaced("a = 1  \nb = 2\n", "a = 1\nb = 2\n", "c = 3\n")
    assert text == "c = 3\n"
    assert note == "matched lines 1–2 apart from spaces at the ends of lines"


def test_indentation_is_forgiven_and_given_to_the_new_text():
    text, note = replaced(
        CODE, "def g(self):\n    return 1", "def g(self):\n    if x:\n        return 2\n\n    return 1"
    )
    assert text == CODE.replace(
        "    def g(self):\n        return 1",
        "    def g(self):\n        if x:\n            return 2\n\n        return 1",
    )
    assert note.startswith("matched lines 5–6 apart from indentation")


def test_too_much_indentation_is_taken_off():
    assert replaced("a:\n  b\n", "    a:\n      b", "    a:\n      c")[0] == "a:\n  c\n"


def test_tabs_for_spaces_are_translated():
    text, _ = replaced("if x:\n\ta\n\t\tb\n", "if x:\n    a\n        b", "if x:\n    a\n        c\n    d")
    assert text == "if x:\n\ta\n\t\tc\n\td\n"


def test_indentation_without_one_rule_is_no_match():
    with pytest.raises(MatchError):
        find_replacement("  a\n    b\n c\n", "a\nb\nc", "x")


def test_typographic_characters_are_forgiven():
    text, note = replaced("say(“it’s”)\n", 'say("it\'s")', "say('no')")
    assert text == "say('no')\n"
    assert "typographic" in note


def test_forgiving_wants_one_place_too():
    with pytest.raises(MatchError, match=r"2 times \(apart from indentation\): at lines 1, 3\. Add neighbouring lines"):
        find_replacement("  f(1)\n\n    f(1)\n", "\tf(1)", "g")


def test_part_of_a_line_is_never_matched_loosely():
    with pytest.raises(MatchError):
        find_replacement("value = compute(1)  # twice\n", "value  =  compute(1)", "x")


def test_pasted_tags_are_ignored_and_said():
    text, note = replaced(
        CODE, tagged("    def g(self):\n        return 1", 5), tagged("    def h(self):\n        return 1", 5)
    )
    assert text == CODE.replace("def g", "def h")
    assert "line tags" in note


def test_a_near_miss_shows_the_lines_as_they_are():
    with pytest.raises(MatchError) as caught:
        find_replacement(CODE, "    def g(self):\n        return 12\n", "x", where="a.py")
    assert caught.value.message.startswith("`old_string` is not in a.py; most alike: lines 5–6 (")
    assert caught.value.hint == "Quote them as they are:\n5:     def g(self):\n6:         return 1"


def test_a_near_miss_in_one_line_is_found_by_its_words():
    lines = [f"value_{number} = compute({number})" for number in range(500)]
    lines[321] = "threshold = estimate(data, quantile=0.95)"
    with pytest.raises(MatchError, match=r"line 322 \(\d+%\)"):
        find_replacement("\n".join(lines), "threshold = estimate(data, quantile=0.9)", "x")


def test_nothing_alike_is_said():
    with pytest.raises(MatchError, match="nothing like it"):
        find_replacement("a\nb\n", "completely different text here", "x")


@pytest.mark.parametrize(
    ("text", "old", "new", "told"),
    [
        ("a\n", "a", "a", "the same"),
        ("a\r\n".replace("\r", ""), "a\r\n", "a\n", "the same"),
        ("a\n", "", "b", "is empty"),
        ("  a\n", "a ", "a", "already"),
    ],
)
def test_what_would_change_nothing_is_refused(text, old, new, told):
    with pytest.raises(ToolError, match=told):
        find_replacement(text, old, new)


def test_an_empty_file_is_filled():
    assert replaced("", "", "x\n")[0] == "x\n"


@given(st.text("ab \t\n’'", max_size=25), st.text("ab \t\n'", max_size=8), st.text("ab\n", max_size=4))
def test_whatever_is_asked_the_answer_is_a_change_or_an_error(text, old, new):
    try:
        match = find_replacement(text, old, new)
    except ToolError:
        return
    (start, end, _piece) = match.spans[0]
    assert 0 <= start <= end <= len(text)
    assert replaced(text, old, new)[0] != text


def test_places_that_overlap_are_several():
    with pytest.raises(MatchError, match="2 times: at lines 1, 2"):
        find_replacement("}\n}\n}\n", "}\n}\n", "x\n")
    assert len(find_replacement("aaaa", "aa", "b", replace_all=True).spans) == 2


FUNCTION = """\
def mean(values):
    # the usual mean
    total = sum(values)
    count = len(values)
    return total / count
"""


def test_nearly_the_same_is_taken_only_where_that_was_asked_for():
    old = FUNCTION.replace("usual", "usuel")
    with pytest.raises(MatchError, match=r"most alike: lines 2–6 \(9\d%\)"):
        find_replacement(f"x\n{FUNCTION}y\n", old, "new\n")
    match = find_replacement(f"x\n{FUNCTION}y\n", old, "new\n", fuzzy=True)
    assert match.spans == ((2, 2 + len(FUNCTION), "new\n"),)
    assert match.note.startswith(
        "took lines 2–6, 99% alike; these lines were other than quoted:\n      # the usual mean"
    )


@pytest.mark.parametrize(
    ("text", "old"),
    [
        (FUNCTION + FUNCTION.replace("usual", "usuaal"), FUNCTION.replace("usual", "usuel")),  # two are alike enough
        (FUNCTION, FUNCTION.replace("the usual mean", "something else")),  # less than 95 %
        ("x" * 30_000 + "y\n", "x" * 30_000 + "z\n"),  # too long to compare
        ("", "x"),
    ],
)
def test_what_is_not_surely_meant_is_not_taken(text, old):
    with pytest.raises(MatchError):
        find_replacement(text, old, "new", fuzzy=True)


@given(
    st.lists(st.sampled_from(["alpha beta gamma delta", "if x == 1:", "    return value", "", "}"]), max_size=12),
    st.integers(0, 11),
    st.integers(1, 4),
)
def test_fuzzy_never_matters_where_something_fits(lines, start, size):
    text = "\n".join(lines)
    old = "\n".join(lines[start : start + size])
    outcomes = []
    for fuzzy in (False, True):
        try:
            outcomes.append(find_replacement(text, old, "new text", fuzzy=fuzzy))
        except ToolError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]

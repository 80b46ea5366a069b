from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.search_lines import search_lines
from zidane_lab.tools.truncate import MAX_BYTES


def search(text, query, **options):
    return search_lines(io.StringIO(text, newline="\n"), query, **options)


TEXT = "".join(f"line {number}\n" for number in range(1, 31)).replace("line 12\n", "an Error here\n")


def test_matches_come_with_numbers_and_neighbours():
    assert search(TEXT, "error", around=1) == "11- line 11\n12: an Error here\n13- line 13\n[1 match]"


def test_small_letters_match_capitals_and_capitals_only_themselves():
    assert "[1 match]" in search(TEXT, "Error")
    assert search(TEXT, "ERROR") == "[no line holds 'ERROR']"


def test_groups_apart_are_told_apart_and_neighbours_shown_once():
    assert search("a\nb\nx1\nx2\nc\nd\ne\nf\nx3\n", "x", around=1).split("\n") == [
        "2- b", "3: x1", "4: x2", "5- c", "--", "8- f", "9: x3", "[3 matches]",
    ]  # fmt: skip


def test_a_text_is_taken_as_it_is():
    assert search("a.c\nabc\n", "a.c", around=0) == "1: a.c\n[1 match]"
    assert search("(((((((((((a\n", "(((", around=0) == "1: (((((((((((a\n[1 match]"


def test_more_matches_than_wanted_say_where_to_go_on():
    found = search(TEXT, "line", most=3, around=0)
    assert found.endswith("3: line 3\n[29 matches; the first 3 are shown; go on with offset=4]")
    assert search(TEXT, "line", most=3, around=0, start=4).startswith("4: line 4\n")
    assert search(TEXT, "line 2", start=30) == "[no line from line 30 on holds 'line 2']"


def test_a_long_line_is_searched_to_its_end_and_shown_around_the_match():
    text = "x" * 100_000 + "needle" + "y" * 100_000
    found = search(text, "needle")
    assert "[1 match]" in found
    assert "xneedley" in found
    assert len(found) < 1_500


def test_one_line_full_of_matches_ends():
    found = search("needle " * 100_000, "needle", most=2)
    assert found.endswith("narrow the query to see more]")


@given(
    st.lists(st.sampled_from(["a", "b", "ab", "A", "é", "x" * 5_000, ""]), max_size=40),
    st.sampled_from(["a", "ab", "é"]),
)
def test_every_matching_line_is_found_by_going_on(lines, query):
    text = "".join(f"{line}\n" for line in lines)
    wanted = [number for number, line in enumerate(lines, 1) if query in line.lower()]
    got, start = [], 1
    while True:
        found = search(text, query, most=3, around=0, start=start)
        got += [int(row.split(":")[0]) for row in found.split("\n") if row[:1].isdigit()]
        if "go on with offset=" not in found:
            break
        start = int(found.rpartition("offset=")[2].rstrip("]"))
    assert got == wanted


def test_what_is_shown_keeps_to_the_limits_of_a_tools_text():
    text = "".join(f"{number} {'é' * 390}\n" for number in range(5_000))
    found = search(text, "é", most=10_000, around=20)
    assert len(found.encode()) <= MAX_BYTES
    assert "go on with offset=" in found

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.kernel.inside.text import Page, amount, clip, first_line, join, listing, megabytes, one_line, plain


@given(st.text(), st.integers(-3, 50))
def test_clip_never_exceeds_its_width_and_tells_that_it_cut(text, width):
    cut = clip(text, width)
    assert len(cut) <= max(width, 0)
    if width >= len(text):
        assert cut == text
    elif width > 0:
        assert cut.endswith("…")


@given(st.text(st.characters()), st.integers(0, 80))
def test_one_line_is_printable_and_bounded(text, width):
    line = one_line(text, width)
    assert len(line) <= width
    assert line.isprintable()
    line.encode("utf-8")


def test_one_line_of_a_huge_text_looks_at_its_beginning_only():
    class Counting(str):
        __slots__ = ()

        def split(self, *_):
            raise AssertionError("the whole text was split")

    assert one_line(Counting("word " * 10**6), 20) == "word word word word…"


def test_unprintable_characters_are_escaped():
    assert plain("a\x1b[31mb\u202ec\ud800\nd\te") == "a\\x1b[31mb\\u202ec\\ud800\nd\te"


@pytest.mark.parametrize(
    ("doc", "line"),
    [("\n\n  Sum up.\n\nMore.", "Sum up."), ("", ""), (None, ""), (5, ""), ("\n \n", ""), ("x" * 500, "x" * 119 + "…")],
)
def test_first_line_of_documentation(doc, line):
    assert first_line(doc) == line


@pytest.mark.parametrize(
    ("count", "noun", "nouns", "said"),
    [(1, "row", "", "1 row"), (0, "row", "", "0 rows"), (2000, "entry", "entries", "2,000 entries")],
)
def test_amount(count, noun, nouns, said):
    assert amount(count, noun, nouns) == said


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (1536, "1.54 kB"),
        (4.5e8, "450 MB"),
        (3e12, "3 TB"),
        (3e18, "3,000,000 TB"),
    ],
)
def test_megabytes(size, said):
    assert megabytes(size) == said


@given(st.lists(st.text(max_size=10), max_size=20), st.integers(0, 60))
def test_join_is_bounded(parts, width):
    assert len(join(parts, width)) <= width


def test_join_takes_no_more_parts_than_it_needs():
    taken = []
    parts = (taken.append(i) or f"part {i}" for i in range(10**6))
    assert join(parts, 20).endswith("…")
    assert len(taken) < 6


def test_a_page_asks_for_no_line_after_the_first_that_does_not_fit():
    asked = []

    def lines():
        for i in range(1000):
            asked.append(i)
            yield f"line {i}"

    page = Page(100)
    page.write(lines())
    assert len(page.text()) <= 100
    assert page.text().endswith("… cut at 100 characters")
    assert len(asked) < 15


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(-5, 300))
def test_a_page_never_exceeds_its_budget(lines, budget):
    page = Page(budget)
    page.write(lines)
    assert len(page.text()) <= max(budget, 0)


def test_a_listing_counts_what_it_leaves_out():
    page = Page(200)
    page.write(listing(page, (f"  item {i}" for i in range(10**6)), 10**6, "item"))
    lines = page.text().splitlines()
    shown = len(lines) - 1
    assert lines[-1] == f"  … {10**6 - shown:,} more items"
    assert lines[shown - 1] == f"  item {shown - 1}"


def test_a_listing_that_fits_says_nothing_more():
    page = Page(200)
    page.write(listing(page, ["a", "b"], 2, "item"))
    assert page.text() == "a\nb"


def test_a_listing_leaves_the_rest_of_the_page_to_others():
    page = Page(1000)

    def lines():
        yield from listing(page, ["x" * 50] * 100, 100, "line", share=0.5)
        yield "the end"

    page.write(lines())
    assert page.text().endswith("the end")


def test_cells_are_spent_once():
    page = Page(100, cells=10)
    assert page.afford(6)
    assert not page.afford(5)
    assert page.afford(4)

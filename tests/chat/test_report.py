"""Reports drawn twice: Markdown and HTML say the same, and foreign text breaks neither."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.chat.report import (
    Bar,
    Code,
    Key,
    Line,
    Note,
    Part,
    Stack,
    Strong,
    Table,
    spark,
    table,
    to_html,
    to_markdown,
)

FOREIGN = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a|b\nc",
    "`tick` ``two``",
    "[x](javascript:alert(1))",
    "\x1b[31mred\x00",
    "\u202egnp.exe",
    "x" * 10_000,
    "",
]


class Elements(HTMLParser):
    """The elements of a page, with their attributes; text apart."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = set(), set(), [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def report(text):
    return [
        Line((Strong("Sum"), ": ", Code(text), " below 5 & more")),
        Stack((Part(3, Code(text).shown, "#123456"), Part(7, "free", "", "free"))),
        Table(("part", "n"), ((Code(text), 1_234), (("in ", Code(text)), Bar(0.5)), (Key(0, "#123456"), "~5")), "lr"),
        Note(("That is ", Code(text))),
    ]


@pytest.mark.parametrize("text", FOREIGN)
def test_foreign_text_stays_text(text):
    page = Elements(to_html(report(text)))
    assert page.tags <= {"div", "p", "b", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.attributes <= {"style", "title", "role", "aria-label"}
    markdown = to_markdown(report(text))
    outside = re.sub(r"`[^`\n]*`", "", markdown)
    assert "alert" not in outside
    assert "\x1b" not in markdown
    assert "\u202e" not in markdown
    assert len(markdown) < 2_000
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}


@given(st.text())
def test_any_foreign_text_keeps_the_markup_whole(text):
    page = Elements(to_html(report(text)))
    assert page.tags <= {"div", "p", "b", "code", "table", "thead", "tbody", "tr", "th", "td"}
    outside = re.sub(r"`[^`\n]*`", "", to_markdown(report(text)))
    assert "`" not in outside


def test_both_say_the_same_numbers():
    markdown, page = to_markdown(report("name")), "".join(Elements(to_html(report("name"))).texts)
    for said in ("Sum", "name", "1,234", "~5", "below 5 & more"):
        assert said in markdown
        assert said in page


def test_tables_align_and_escape():
    assert table(("a", "b"), [("x|y", "l1\nl2")], "lr").splitlines() == [
        "| a | b |", "| --- | ---: |", "| x\\|y | l1 l2 |"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("share", "drawn"), [(0, ""), (1, "█" * 20), (0.5, "█" * 10), (0.0001, "▏"), (7, "█" * 20), (-1, "")]
)
def test_bars(share, drawn):
    (row,) = to_markdown([Table(("a",), ((Bar(share),),), "l")]).splitlines()[2:]
    assert row.strip("| ") == drawn


def test_a_stack_is_as_wide_as_it_is_told_and_in_the_order_of_its_parts():
    text = to_markdown(
        [Stack((Part(1, "a", ""), Part(1, "b", ""), Part(2, "", "", "free"), Part(2, "", "", "reserve")))]
    )
    assert text == "`" + "█" * 10 + "▓" * 10 + "·" * 20 + "░" * 20 + "`"
    assert to_markdown([Stack(())]) == "``"


@given(st.lists(st.integers(0, 10**9), max_size=30))
def test_sparks_are_one_character_each(values):
    drawn = spark(values)
    assert len(drawn) == len(values)
    assert [each == "·" for each in drawn] == [value == 0 for value in values]
    if any(values):
        assert drawn[values.index(max(values))] == "█"

"""The summary in an answer."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zidane_lab.compaction.answer import is_cut_in_analysis, strip_analysis


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        ("<analysis>a</analysis><summary>S</summary>", "S"),
        ("Sure.\n<analysis>a</analysis>\n\n<summary>\nS\n</summary>\nHope it helps.", "S"),
        ("<ANALYSIS>a</Analysis>< summary >S</ Summary >", "S"),
        # Tags that are missing.
        ("S", "S"),
        ("<summary>S", "S"),
        ("S</summary>", "S"),
        ("<analysis>a</analysis>S", "S"),
        ("a</analysis>S", "S"),
        ("a</analysis><summary>S</summary>", "S"),
        ("<analysis>a<summary>S</summary>", "S"),
        ("<analysis>a<summary>S", "S"),
        ("S<analysis>a", "S"),
        ("<analysis>S", "S"),
        ("S</analysis>", "S"),
        ("S</analysis></summary>", "S"),
        ("</summary><analysis>S", "S"),
        ("<summary></summary>S", "S"),
        ("S<summary> </summary>", "S"),
        # Several of them.
        ("<analysis>a</analysis>\n<analysis>b</analysis><summary>S</summary>", "S"),
        ("<analysis>a</analysis>S<analysis>b</analysis>T", "ST"),
        ("<summary>S</summary>\n<summary>T</summary>", "S\n\nT"),
        ("<summary>S</summary><analysis>b</analysis> <summary>T</summary>", "S\n\nT"),
        # Tags that are quoted.
        ("<summary>use <summary>x</summary> in HTML</summary>", "use <summary>x</summary> in HTML"),
        ("<summary>the <analysis>x</analysis> tag</summary>", "the <analysis>x</analysis> tag"),
        ("<analysis>then I write <summary> tags</analysis><summary>S</summary>", "S"),
        ("<analysis>a<summary>S quotes </analysis></summary>", "S quotes </analysis>"),
        # Nothing else there.
        ("<analysis>a</analysis>", ""),
        ("<analysis>a</analysis><summary></summary>", ""),
        ("<summary>  </summary>", ""),
        ("<analysis>", ""),
        (" \n", ""),
        ("", ""),
    ],
)
def test_the_summary_is_found(answer, summary):
    assert strip_analysis(answer) == summary


TEXT = st.text("ab \n.", max_size=12)
PIECES = st.one_of(
    TEXT, st.sampled_from(["<analysis>", "</analysis>", "<summary>", "</summary>", "< Summary>", "</ ANALYSIS >"])
)
TAGS = re.compile(r"<\s*/?\s*(?:analysis|summary)\s*>", re.IGNORECASE)


@given(st.text())
def test_without_tags_it_is_the_answer(answer):
    if not TAGS.search(answer):
        assert strip_analysis(answer) == answer.strip()


@given(TEXT, TEXT, TEXT)
def test_well_formed_answers(before, analysis, summary):
    if summary.strip():
        text = f"{before}<analysis>{analysis}</analysis>\n<summary>{summary}</summary>"
        assert strip_analysis(text) == summary.strip()


@given(st.lists(PIECES, max_size=9).map("".join))
@example("<summary><analysis>a</summary>")
@example("a</analysis></summary>")
@example("</summary><analysis>a")
@example("a<analysis></analysis><analysis><summary></summary>")
def test_nothing_is_lost_but_analysis(answer):
    summary = strip_analysis(answer)
    outside = re.sub(r"<\s*analysis\s*>.*?(<\s*/\s*analysis\s*>|\Z)", "", answer, flags=re.IGNORECASE | re.DOTALL)
    if TAGS.sub("", outside).strip():
        assert summary
    assert len(summary) <= len(answer)


@given(st.lists(PIECES, max_size=9).map("".join))
def test_a_summary_never_holds_what_was_never_said(answer):
    said = iter(TAGS.sub("", answer))
    assert all(character in said for character in "".join(TAGS.sub("", strip_analysis(answer)).split()))


@pytest.mark.parametrize(
    ("answer", "cut"),
    [
        ("<analysis>I was about", True),
        ("<analysis>a</analysis> <analysis>b", True),
        ("<analysis>a</analysis>", False),
        ("<analysis>a</analysis><summary>S", False),
        ("<analysis>a<summary>S", False),
        ("S", False),
        ("", False),
    ],
)
def test_an_answer_that_ends_before_the_summary(answer, cut):
    assert is_cut_in_analysis(answer) is cut

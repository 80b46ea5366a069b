"""Which turns are summarised, and which stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compaction.support import answer, calls_are_answered, conversations, ids, marker, plain, results, user
from zidane_lab.compaction.scope import From, Full, Tail, UpTo, parse_scope
from zidane_lab.compaction.slicing import borders, covered_ids, slice_for_compaction, still_visible
from zidane_lab.errors import CompactInvalidInputError
from zidane_lab.turns import CustomBlock, ImageBlock, TextBlock, ThinkingBlock, Turn
from zidane_lab.wire.cutoff import apply_summary_cutoff

STEPS = (user("plot it", "t1"), answer("", "t2", calls=["c1"]), results("t3", "c1"), answer("done", "t4"))


# --- scopes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("full", Full()),
        ("tail", Tail(4)),
        ("", Tail(4)),
        ("TAIL 6", Tail(6)),
        ("tail -3", Tail(-3)),
        ("from turn_1", From("turn_1")),
        ("up_to turn_1", UpTo("turn_1")),
        ("up-to turn_1", UpTo("turn_1")),
    ],
)
def test_a_scope_is_read_from_text(text, scope):
    assert parse_scope(text) == scope


@pytest.mark.parametrize("scope", [Full(), Tail(4), Tail(-1), From("t1"), UpTo("t9")])
def test_the_text_of_a_scope_reads_back(scope):
    assert parse_scope(str(scope)) == scope


@pytest.mark.parametrize("text", ["half", "tail four", "tail --1", "tail 1 2", "from", "up_to", "full 3", "tail ²"])
def test_what_is_no_scope(text):
    with pytest.raises(CompactInvalidInputError, match="says no part"):
        parse_scope(text)


def test_tail_without_a_number_keeps_what_is_set():
    assert parse_scope("tail", keep_turns=9) == Tail(9)


# --- parts ----------------------------------------------------------------------------------------


def test_full_leaves_nothing():
    turns = plain(6)
    part = slice_for_compaction(turns, Full())
    assert part.to_summarize == turns
    assert part.preserved == ()


def test_a_tail_stays():
    part = slice_for_compaction(plain(6), Tail(2))
    assert (ids(part.to_summarize), ids(part.preserved)) == (["t1", "t2", "t3", "t4"], ["t5", "t6"])
    assert part.anchor.id == "t5"


@pytest.mark.parametrize("keep", [0, -7])
def test_a_tail_of_less_than_one_turn_is_none(keep):
    assert slice_for_compaction(plain(3), Tail(keep)).preserved == ()


def test_from_a_turn_on():
    part = slice_for_compaction(plain(6), From("t3"))
    assert (ids(part.to_summarize), ids(part.preserved)) == (["t3", "t4", "t5", "t6"], ["t1", "t2"])
    assert ids(part.visible) == ["t1", "t2", "t3", "t4", "t5", "t6"]


def test_up_to_a_turn_and_that_turn():
    part = slice_for_compaction(plain(6), UpTo("t3"))
    assert (ids(part.to_summarize), ids(part.preserved)) == (["t1", "t2", "t3"], ["t4", "t5", "t6"])


@pytest.mark.parametrize(
    ("scope", "summarised"),
    [(Tail(2), ["t1"]), (UpTo("t2"), ["t1", "t2", "t3"]), (From("t3"), ["t2", "t3", "t4"]), (UpTo("t1"), ["t1"])],
)
def test_calls_stay_with_their_results(scope, summarised):
    assert ids(slice_for_compaction(STEPS, scope).to_summarize) == summarised


def test_calls_stay_with_results_that_come_later():
    turns = (
        user("a", "t1"),
        answer("", "t2", calls=["c1"]),
        Turn("user", (CustomBlock("note"),), id="t3"),
        results("t4", "c1"),
        user("b", "t5"),
    )
    assert borders(turns) == (0, 1, 4, 5)


@given(conversations(), st.data())
def test_every_part_is_sound_and_together_they_are_the_whole(turns, data):
    name = data.draw(st.sampled_from(ids(turns)))
    scope = data.draw(st.sampled_from([Full(), From(name), UpTo(name), Tail(data.draw(st.integers(0, len(turns))))]))
    try:
        part = slice_for_compaction(turns, scope)
    except CompactInvalidInputError:
        return
    assert part.visible == turns
    assert all(any(turn is given for given in turns) for turn in part.visible)
    assert calls_are_answered(part.to_summarize)
    assert calls_are_answered(part.preserved)
    if isinstance(scope, Tail):
        assert len(part.preserved) >= scope.keep_turns
    elif not isinstance(scope, Full):
        assert name in ids(part.to_summarize)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "scope", "words"),
    [
        ((), Full(), "empty"),
        (plain(4), Tail(4), "are to stay"),
        (plain(4), Tail(9), "are to stay"),
        (plain(4), From("t9"), "There is no turn 't9'"),
        (plain(4), UpTo("t9"), "There is no turn 't9'"),
        (STEPS[1:3], Tail(1), "belongs to a call"),
        ((Turn("user", (ImageBlock("image/png", b"x"), TextBlock("  "))),), Full(), "no text"),
        ((Turn("assistant", (ThinkingBlock("hm"),)), Turn("user", ())), Full(), "no text"),
        ((*plain(2), marker("m", "t1", "t2")), Full(), "summary already"),
        ((*plain(3), marker("m", "t1", "t2")), Tail(1), "summary already"),
        ((*plain(3), marker("m", "t1", "t2")), From("t1"), "no longer sent"),
    ],
)
def test_nothing_to_summarise(turns, scope, words):
    with pytest.raises(CompactInvalidInputError, match=words):
        slice_for_compaction(turns, scope)


# --- earlier summaries ----------------------------------------------------------------------------


def test_what_a_summary_stands_for_is_not_summarised_again_but_the_summary_is():
    turns = (*plain(6), marker("m1", "t1", "t2", "t3", "t4"), user("more", "t7"), answer("yes", "t8"))
    part = slice_for_compaction(turns, Tail(2))
    assert ids(part.to_summarize) == ["m1", "t5", "t6"]
    assert part.to_summarize[0] is turns[6]
    assert covered_ids(part.to_summarize) == ("t1", "t2", "t3", "t4", "m1", "t5", "t6")


def test_a_summary_of_summaries_hides_all_that_they_hid_and_comes_where_the_oldest_was():
    turns = (*plain(8), marker("m1", "t1", "t2"), marker("m2", "t3", "t4"))
    part = slice_for_compaction(turns, Tail(4))
    assert ids(part.to_summarize) == ["m1", "m2"]
    newer = marker("m3", *covered_ids(part.to_summarize))
    assert ids(still_visible((*turns, newer))) == ["m3", "t5", "t6", "t7", "t8"]


def test_an_undone_summary_gives_its_turns_back():
    turns = (*plain(4), marker("m1", "t1", "t2"), user("more", "t5"))
    assert ids(slice_for_compaction(turns, Full(), undone={"m1"}).to_summarize) == ["t1", "t2", "t3", "t4", "t5"]
    with pytest.raises(CompactInvalidInputError, match="no longer sent"):
        slice_for_compaction(turns, UpTo("m1"), undone={"m1"})


@given(conversations(min_size=3), st.data())
def test_what_counts_as_visible_is_what_is_sent(turns, data):
    undone: set[str] = set()
    for n in range(data.draw(st.integers(1, 3))):
        try:
            part = slice_for_compaction(turns, Tail(data.draw(st.integers(0, 3))), undone=undone)
        except CompactInvalidInputError:
            break
        turns = (*turns, marker(f"m{n}", *covered_ids(part.to_summarize)), user("on", f"u{n}"))
        if data.draw(st.booleans()):
            undone.add(f"m{n}")
    sent = apply_summary_cutoff(turns, undone)
    assert [turn.id.removesuffix("-summary") for turn in sent] == ids(still_visible(turns, undone))

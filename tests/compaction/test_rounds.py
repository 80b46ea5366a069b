"""Rounds, and halving."""

from __future__ import annotations

from hypothesis import given

from tests.compaction.support import answer, calls_are_answered, conversations, ids, plain, results, user
from zidane_lab.compaction.rounds import halve_head, rounds, told_bytes
from zidane_lab.turns import ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock, Turn


def parts(turns):
    return [ids(part) for part in rounds(turns)]


def test_a_round_is_a_prompt_its_answer_and_the_results():
    turns = (user("a", "t1"), answer("", "t2", calls=["c"]), results("t3", "c"), user("b", "t4"), answer("c", "t5"))
    assert parts(turns) == [["t1", "t2", "t3"], ["t4", "t5"]]


def test_each_step_of_a_long_run_is_a_round():
    turns = [user("do it", "t0")]
    for n in range(3):
        turns += [answer("", f"a{n}", calls=[f"c{n}"]), results(f"r{n}", f"c{n}")]
    assert parts(turns) == [["t0", "a0", "r0"], ["a1", "r1"], ["a2", "r2"]]


def test_nothing_has_no_rounds():
    assert rounds(()) == ()
    assert halve_head(()) == ()


def test_halving_drops_from_the_head_until_half_is_left():
    turns = tuple(user("x" * 10, f"t{n}") for n in range(8))
    assert ids(halve_head(turns)) == ["t4", "t5", "t6", "t7"]


def test_at_least_one_round_goes():
    turns = (user("x", "t1"), user("y" * 1000, "t2"))
    assert ids(halve_head(turns)) == ["t2"]


def test_at_least_one_round_stays():
    turns = (*plain(6), user("y" * 10_000, "t7"))
    assert ids(halve_head(turns)) == ["t7"]


def test_one_round_cannot_be_shortened():
    turns = (user("a", "t1"), answer("", "t2", calls=["c"]), results("t3", "c"))
    assert halve_head(turns) is turns


@given(conversations())
def test_rounds_are_the_whole_and_keep_calls_with_results(turns):
    found = rounds(turns)
    assert tuple(turn for part in found for turn in part) == turns
    assert all(calls_are_answered(part) for part in found)


@given(conversations())
def test_halving_halves_or_leaves_the_last_round(turns):
    shorter = halve_head(turns)
    found = rounds(turns)
    if len(found) < 2:
        assert shorter is turns
        return
    assert 0 < len(shorter) < len(turns)
    assert shorter == turns[-len(shorter) :]
    assert calls_are_answered(shorter)
    assert told_bytes(shorter) <= told_bytes(turns) / 2 or shorter == found[-1]
    # Not more is dropped than is needed.
    kept = len(rounds(shorter))
    if kept < len(found) - 1:
        one_more = tuple(turn for part in found[-kept - 1 :] for turn in part)
        assert told_bytes(one_more) > told_bytes(turns) / 2


def test_bytes_are_those_of_what_is_told():
    turn = Turn(
        "user",
        (
            ToolResultBlock("c", (TextBlock("é€"), ImageBlock("image/png", b"1234567"))),
            ImageBlock("image/png", b"1234567"),
            TextBlock("ab"),
        ),
    )
    assert told_bytes((turn, Turn("assistant", (ThinkingBlock("long thoughts"),)))) == 7

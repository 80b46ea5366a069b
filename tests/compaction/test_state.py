"""What compaction remembers, in memory and from a session."""

from __future__ import annotations

from tests.compaction.support import answer, marker, user
from zidane_lab.compaction.state import CompactionState, baseline_of
from zidane_lab.turns import Usage


def test_failures_open_the_circuit_and_a_success_closes_it():
    state = CompactionState().failed()
    assert not state.is_open(2)
    state = state.failed()
    assert state.is_open(2)
    assert not state.compacted(100).is_open(2)


def test_each_run_gets_its_own_chance_and_keeps_the_baseline():
    state = CompactionState(2, 50_000)
    assert state.run_started() == CompactionState(0, 50_000)
    quiet = CompactionState(0, 50_000)
    assert quiet.run_started() is quiet


def test_the_first_count_after_a_compaction_replaces_the_estimate():
    state = CompactionState().compacted(30_000)
    assert state.counted(0) is state
    counted = state.counted(34_000)
    assert (counted.baseline_tokens, counted.is_estimate) == (34_000, False)
    assert counted.counted(60_000) is counted


def test_a_session_without_summary_has_no_baseline():
    assert baseline_of((user("a", "t1"), answer("b", "t2", usage=Usage(input=10)))) == (None, False)


def test_the_baseline_is_read_back_from_the_first_answer_after_the_last_summary():
    turns = (
        marker("m1", "t1", after=5),
        answer("old", "t2", usage=Usage(input=1_000)),
        marker("m2", "t2", after=6),
        user("restored", "t3"),
        answer("first", "t4", usage=Usage(input=7_000, cache_read=1_000)),
        answer("second", "t5", usage=Usage(input=9_000)),
    )
    assert baseline_of(turns) == (8_000, False)
    assert CompactionState.of(turns) == CompactionState(0, 8_000)


def test_until_there_is_an_answer_the_estimate_of_the_summary_counts():
    turns = (user("a", "t1"), marker("m1", "t1", after=600))
    assert baseline_of(turns) == (600, True)
    assert CompactionState.of(turns).counted(640).baseline_tokens == 640


def test_a_summary_that_was_undone_does_not_count():
    turns = (
        marker("m1", "t1", after=500),
        answer("x", "t2", usage=Usage(input=700)),
        marker("m2", "t2", after=600),
        answer("y", "t3", usage=Usage(input=900)),
    )
    assert baseline_of(turns, {"m2"}) == (700, False)
    assert baseline_of(turns, {"m1", "m2"}) == (None, False)


def test_damaged_metadata_are_no_baseline():
    assert baseline_of((marker("m1", after="many"),)) == (None, False)

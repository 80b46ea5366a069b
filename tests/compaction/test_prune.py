from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compaction.talk import Talk, tokens
from zidane_lab.compaction.prune import PrunePolicy, elide_tail, prune_outputs
from zidane_lab.compaction.useless import SUPERSEDED_NOTICE, USELESS_NOTICE
from zidane_lab.session.persisted import build_persisted_stub
from zidane_lab.turns import ImageBlock, ToolCallBlock, ToolResultBlock
from zidane_lab.wire.state import ELIDE, WireState, wire_state


def talk_of(*sizes, tool="run_python"):
    talk = Talk().ask()
    for index, size in enumerate(sizes):
        talk.call((f"c{index}", tool, {}, tokens(size)))
    return talk.answer()


def pruned(talk, policy=None, state=None):
    elision = prune_outputs(talk.turns, state or WireState(), policy)
    return set(elision.results) if elision else set()


def test_the_newest_forty_thousand_tokens_stay_and_older_outputs_go():
    assert pruned(talk_of(15_000, 15_000, 20_000, 20_000)) == {"c0", "c1"}


def test_an_output_that_begins_within_the_protected_tokens_stays_whole():
    assert pruned(talk_of(30_000, 30_000, 39_999)) == {"c0"}


def test_nothing_goes_for_less_than_twenty_thousand_tokens():
    assert pruned(talk_of(19_999, 40_000)) == set()
    assert pruned(talk_of(20_100, 40_000)) == {"c0"}


def test_small_results_stay():
    assert pruned(talk_of(49, 30_000, 40_000)) == {"c1"}


def test_protected_tools_stay_and_the_set_can_be_chosen():
    for tool in ("skills_use", "skills_read", "present_plan"):
        assert pruned(talk_of(30_000, 40_000, tool=tool)) == set()
    policy = PrunePolicy(protected_tools=frozenset({"read_file"}))
    assert pruned(talk_of(30_000, 40_000, tool="read_file"), policy) == set()
    assert pruned(talk_of(30_000, 40_000, tool="present_plan"), policy) == {"c0"}


def test_results_the_model_has_not_seen_stay_however_large_the_batch():
    talk = Talk().ask().call(*((f"c{n}", "f", {}, tokens(20_000)) for n in range(6)))
    assert pruned(talk) == set()
    assert pruned(talk.answer()) == {"c0", "c1", "c2", "c3"}


def test_the_placeholder_says_how_much_went_and_how_to_have_it_back():
    talk = talk_of(30_000, 40_000)
    elision = prune_outputs(talk.turns, WireState())
    assert elision.results["c0"] == (
        '[Left out to save room: about 30,000 tokens; read_output(call_id="c0") shows it.]'
    )
    assert 29_900 < elision.tokens < 30_000
    again = prune_outputs(talk.turns, WireState(), PrunePolicy(reader=None))
    assert again.results["c0"].endswith("call run_python again if you need it.]")


def test_what_is_decided_and_recorded_is_not_decided_again():
    talk = talk_of(30_000, 40_000)
    elision = prune_outputs(talk.turns, WireState())
    state = wire_state([(ELIDE, elision.data)])
    assert state.elided == elision.results
    assert prune_outputs(talk.turns, state) is None


def test_results_behind_a_summary_are_left_alone():
    talk = talk_of(30_000, 30_000, 40_000)
    talk.summarise("t0", "t1", "t2")
    talk.answer()
    assert pruned(talk) == {"c1"}


def test_stubs_of_results_in_files_stay():
    stub = build_persisted_stub("f", 90_000, "/s/tool-results/c.txt", tokens(30_000))
    talk = (
        Talk()
        .ask()
        .call(("c", "f", {}, stub))
        .call(("d", "f", {}, tokens(30_000)))
        .call(("e", "f", {}, tokens(40_000)))
    )
    assert pruned(talk.answer(), PrunePolicy(minimum=1)) == {"d"}


def test_pictures_go_with_their_result():
    talk = Talk().ask()
    talk.say("assistant", ToolCallBlock("c", "plot", {}))
    talk.say("user", ToolResultBlock("c", (ImageBlock("image/png", b"x"),)))
    talk.call(("d", "f", {}, tokens(40_000))).answer()
    assert pruned(talk, PrunePolicy(minimum=1_000)) == {"c"}


def test_empty_and_repeated_results_go_even_when_they_are_recent():
    talk = Talk().ask().call(("old", "f", {}, tokens(30_000))).call(("middle", "f", {}, tokens(20_000)))
    talk.call(("first", "list_variables", {}, tokens(100)))
    talk.call(("none", "glob", {}, tokens(60), {"metadata": {"useless": True}}))
    talk.call(("second", "list_variables", {}, tokens(100))).call(("new", "f", {}, tokens(30_000))).answer()
    elision = prune_outputs(talk.turns, WireState())
    assert list(elision.results) == ["old", "first", "none"]
    assert elision.results["first"] == SUPERSEDED_NOTICE
    assert elision.results["none"] == USELESS_NOTICE


@given(st.lists(st.integers(0, 30_000), max_size=12))
def test_pruning_keeps_its_promises(sizes):
    talk = talk_of(*sizes)
    elision = prune_outputs(talk.turns, WireState())
    if elision is None:
        return
    assert elision.tokens >= 20_000
    gone = {int(name[1:]) for name in elision.results}
    assert all(sizes[index] >= 50 for index in gone)
    assert sum(sizes[max(gone) + 1 :]) >= 40_000


# --- the tail ----------------------------------------------------------------------------------------


def test_older_outputs_go_when_there_are_too_many_bytes_and_the_last_turns_stay():
    talk = talk_of(1_000, 1_000, 1_000)
    elision = elide_tail(talk.turns, WireState(), threshold=8_000, keep_turns=4)
    assert set(elision.results) == {"c0"}
    elision = elide_tail(talk.turns, WireState(), threshold=8_000, keep_turns=3)
    assert set(elision.results) == {"c0", "c1"}


@pytest.mark.parametrize(("threshold", "gone"), [(12_000, False), (11_999, True)])
def test_the_threshold_itself_is_allowed(threshold, gone):
    talk = talk_of(1_000, 1_000, 1_000)
    assert (elide_tail(talk.turns, WireState(), threshold=threshold) is not None) is gone


def test_stubs_protected_tools_and_unseen_results_stay_in_the_tail_too():
    stub = build_persisted_stub("f", 90_000, "/s/tool-results/c.txt", tokens(3_000))
    talk = Talk().ask().call(("a", "f", {}, stub)).call(("b", "present_plan", {}, tokens(3_000)))
    talk.call(("c", "f", {}, tokens(3_000)))
    assert elide_tail(talk.turns, WireState(), threshold=1, keep_turns=0) is None
    assert set(elide_tail(talk.answer().turns, WireState(), threshold=1, keep_turns=-3).results) == {"c"}

from __future__ import annotations

from tests.compaction.talk import Talk, tokens
from zidane_lab.compaction.past_results import elision_of, past_results
from zidane_lab.turns import TextBlock, ToolResultBlock
from zidane_lab.wire.state import WireState


def facts(turns, state=None):
    return {
        each.call.id: (each.tokens, each.behind, each.sent, each.seen)
        for each in past_results(turns, state or WireState())
    }


def test_results_know_their_size_and_what_follows_them():
    talk = Talk().ask().call(("a", "f", {}, tokens(10)), ("b", "f", {}, tokens(20))).answer(tokens(5))
    assert facts(talk.turns) == {"a": (10, 25, True, True), "b": (20, 5, True, True)}


def test_the_newest_results_are_not_seen_until_the_model_answers():
    talk = Talk().ask().call(("a", "f", {}, "x")).call(("b", "f", {}, "x"))
    assert [fact[3] for fact in facts(talk.turns).values()] == [True, False]


def test_what_the_loop_put_in_for_the_model_does_not_count_as_an_answer():
    talk = Talk().ask().call(("a", "f", {}, "x"))
    talk.say("assistant", TextBlock("put back"), injected="restore")
    assert not facts(talk.turns)["a"][3]


def test_left_out_and_summarised_results_are_not_sent_and_weigh_what_is_sent_instead():
    talk = (
        Talk()
        .ask()
        .call(("a", "f", {}, tokens(100)))
        .call(("b", "f", {}, tokens(100)))
        .call(("c", "f", {}, tokens(50)))
    )
    marker = talk.summarise("t0", "t1", "t2")
    state = WireState({"b": tokens(3)})
    found = facts(talk.turns, state)
    assert [found[name][2] for name in "abc"] == [False, False, True]
    assert found["a"][1] - found["b"][1] == 3 + 2  # the stand-in of b, and its call's `f` and `{}`
    undone = facts(talk.turns, WireState(undone=frozenset({marker.id})))
    assert undone["a"][2]


def test_results_without_a_call_are_passed_over():
    talk = Talk().ask()
    talk.say("user", ToolResultBlock("ghost", (TextBlock("x"),)))
    assert past_results(talk.turns, WireState()) == ()


def test_an_elision_leaves_alone_what_it_would_not_shorten():
    past = past_results(Talk().ask().call(("a", "f", {}, tokens(100)), ("b", "f", {}, "ok")).turns, WireState())
    elision = elision_of([(each, tokens(10)) for each in past], "a test")
    assert elision.data == {"results": {"a": tokens(10)}}
    assert elision.tokens == 90
    assert elision_of([(past[1], tokens(10))], "a test") is None

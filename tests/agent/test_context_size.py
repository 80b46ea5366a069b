"""The size of the context: what was counted, what came since, and never a count that no longer holds."""

from __future__ import annotations

from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from tests.agent.runs import talk
from zidane_lab.agent.context_size import counted_size, estimated_size, fixed_tokens, measured_in
from zidane_lab.providers.base import Request, ToolSpec
from zidane_lab.turns import CompactSummaryBlock, TextBlock, Turn, Usage
from zidane_lab.wire.build import NO_STATE
from zidane_lab.wire.state import WireState
from zidane_lab.wire.tokens import estimate_turns


def user(text):
    return Turn("user", (TextBlock(text),))


def test_what_was_counted_and_an_estimate_of_what_came_since():
    turns = talk(2).turns
    assert counted_size(turns, ("a2", 500)) == 500
    assert counted_size((*turns, user("abcd" * 30)), ("a2", 500)) == 530
    assert counted_size(turns, ("a1", 500)) == 500 + estimate_turns(turns[2:])


def test_where_nothing_was_counted_nothing_is_said():
    turns = talk(2).turns
    assert counted_size(turns, None) is None
    assert counted_size(turns, ("elsewhere", 500)) is None  # on another branch
    assert counted_size((), ("a1", 500)) is None


@given(st.integers(0, 10), st.integers(0, 10))
def test_the_size_grows_with_every_turn(before, since):
    turns = talk(before + 1).turns
    later = (*turns, *(user("word") for _ in range(since)))
    assert counted_size(later, (turns[-1].id, 100)) == 100 + since


def test_an_estimate_holds_turns_instructions_and_tools():
    turns = (user("abcd" * 10),)
    bare = Request("m", "", turns)
    assert estimated_size(bare) == 10
    tool = ToolSpec("look", "look at it", {"type": "object"})
    whole = Request("m", "abcd" * 7, turns, (tool,))
    assert fixed_tokens(whole) > 7
    assert estimated_size(whole) == 10 + fixed_tokens(whole)


def test_a_restart_finds_the_newest_count():
    session = talk(3, context=900)
    assert measured_in(session.turns, NO_STATE) == ("a3", 910)
    session.append(user("and then?"))
    session.append(Turn("assistant", (TextBlock("half"),), id="lost"))
    session.append(Turn("assistant", (TextBlock("none"),), id="uncounted", usage=Usage(output=3)))
    assert measured_in(session.turns, NO_STATE) == ("a3", 910)
    assert measured_in((), NO_STATE) is None


def test_cached_tokens_are_part_of_the_prompt():
    usage = Usage(input=1, cache_read=20, cache_creation=300, output=4_000)
    assert measured_in((Turn("assistant", (), id="a", usage=usage),), NO_STATE) == ("a", 4_321)


def test_a_count_from_before_a_change_is_not_used():
    turns = talk(3, context=900).turns
    marker = Turn("user", (CompactSummaryBlock("summary", ("q1",)),), usage=Usage(input=700))
    assert measured_in((*turns, marker), NO_STATE) is None
    after = Turn("assistant", (TextBlock("ok"),), id="new", usage=Usage(input=50, output=1))
    assert measured_in((*turns, marker, after), NO_STATE) == ("new", 51)
    assert measured_in(turns, WireState(MappingProxyType({"c1": "left out"}))) is None
    assert measured_in(turns, WireState(undone=frozenset({"m1"}))) is None

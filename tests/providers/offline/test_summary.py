"""The planner's summaries: complete lists, in the form that was asked for, and a way to go on from them."""

from __future__ import annotations

import pytest

from zidane_lab.compaction.compact import compact_turns
from zidane_lab.compaction.prompts import TRAILER as ASKED_TRAILER
from zidane_lab.compaction.prompts import build_compact_prompt
from zidane_lab.compaction.scope import Full, Tail
from zidane_lab.compaction.transcript import transcript
from zidane_lab.providers.base import Request, TextDelta
from zidane_lab.providers.offline.provider import OfflineProvider
from zidane_lab.providers.offline.state import read_state
from zidane_lab.providers.offline.summary import SUMMARY_MARK, TRAILER, asks_for_summary, summarise
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.cutoff import SUMMARY_HEAD


def user(text, *more):
    return Turn("user", (TextBlock(text), *more))


def ran(call_id, code, answer, *, failed=False):
    call = ToolCallBlock(call_id, "run_python", {"code": code, "intent": "Count"})
    result = ToolResultBlock(call_id, (TextBlock(answer),), is_error=failed)
    return (Turn("assistant", (TextBlock("Let me see."), call)), Turn("user", (result,)))


TALK = (
    user(
        "How many penguins are there?",
        TextBlock('<notebook-text id="abc234" kind="variable" name="penguins">\npenguins: …'),
    ),
    *ran("c1", "rows = len(penguins)", "[value]\n344\n[done in 0.01 s; created: rows, note]"),
    *ran("c2", "rows + missing", "[error]\nNameError: missing\n[failed after 0.01 s]", failed=True),
    Turn("assistant", (TextBlock("There are 344."),)),
    user("And by species?"),
    *ran("c3", "penguins.species.value_counts()", "[value]\nAdelie 152\n[done in 0.01 s]"),
)


def prefixed(turns):
    return Request("planner", "", (*turns, user(build_compact_prompt("full"))))


def alone(turns):
    return Request("planner", "", (user(f"{transcript(turns)}\n\n{build_compact_prompt('full')}"),))


def test_the_literals_agree_with_those_who_write_them():
    assert TRAILER == ASKED_TRAILER
    assert SUMMARY_HEAD.startswith(SUMMARY_MARK)


@pytest.mark.parametrize("request_of", [prefixed, alone])
def test_everything_asked_run_made_and_failed_is_listed(request_of):
    request = request_of(TALK)
    assert asks_for_summary(request)
    text = summarise(request)
    assert text.startswith("<summary>\n1. Primary request and intent:\n- And by species?")
    assert text.endswith("</summary>")
    for number in range(1, 10):
        assert f"\n{number}. " in f"\n{text.removeprefix('<summary>')}"
    for words in ("rows = len(penguins)", "Variables made: note, rows", "NameError: missing", "There are 344.",
                  "- How many penguins are there?", "Request under way: And by species?"):  # fmt: skip
        assert words in text, words
    assert "penguins: …" not in text.split("6. All user messages")[1]  # attached, not said


def test_an_ordinary_prompt_is_no_wish_for_a_summary():
    assert not asks_for_summary(Request("planner", "", TALK[:1]))
    assert not asks_for_summary(Request("planner", "", ()))


def test_long_conversations_say_what_is_left_out():
    talk = tuple(
        turn for n in range(60) for turn in (user(f"question {n}"), Turn("assistant", (TextBlock(f"answer {n}"),)))
    )
    text = summarise(prefixed(talk))
    assert "(20 earlier ones are left out here)" in text
    assert "question 59" in text


@pytest.mark.asyncio
async def test_work_goes_on_from_a_summary_of_its_own():
    provider = OfflineProvider(pace=0)
    done = await compact_turns(TALK, provider.stream, model="planner", provider="offline", scope=Tail(2))
    state = read_state(wire_turns((*TALK, done.turn)))
    assert state.prompt == "And by species?"
    assert {"rows", "note"} <= state.made
    assert state.earlier == ()


@pytest.mark.asyncio
async def test_a_summary_of_a_summary_keeps_what_the_first_one_said():
    provider = OfflineProvider(pace=0)
    first = await compact_turns(TALK, provider.stream, model="planner", provider="offline", scope=Full())
    talk = (*TALK, first.turn, user("continue"), Turn("assistant", (TextBlock("Adelie leads."),)))
    second = await compact_turns(talk, provider.stream, model="planner", provider="offline", scope=Full())
    (block,) = [each for each in second.turn.blocks if isinstance(each, CompactSummaryBlock)]
    assert "rows = len(penguins)" in block.text
    assert "Adelie leads." in block.text
    assert read_state(wire_turns((*talk, second.turn))).made >= {"rows", "note"}


@pytest.mark.asyncio
async def test_it_is_streamed_like_any_answer():
    events = [event async for event in OfflineProvider(pace=0).stream(prefixed(TALK))]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == summarise(prefixed(TALK))

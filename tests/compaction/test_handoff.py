"""Handing work over."""

from __future__ import annotations

import pytest

from tests.compaction.support import marker, plain, user
from zidane_lab.compaction.handoff import handoff_prompt, write_handoff
from zidane_lab.errors import CompactInvalidInputError
from zidane_lab.providers.base import Request
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.wire.build import wire_turns


@pytest.mark.asyncio
async def test_the_document_is_the_answer_to_the_cached_request():
    turns = plain(3)
    provider = ScriptedProvider(["# Goal\n\nPlot."])
    request = Request("main", "Be kind.", wire_turns(turns))
    written = await write_handoff(turns, provider.stream, model="main", focus="the plot", prefix_request=request)
    assert written.text == "# Goal\n\nPlot."
    assert provider.requests[0].turns[:-1] == request.turns
    assert provider.requests[0].turns[-1].text == handoff_prompt("the plot")
    assert "the plot" in handoff_prompt("the plot")


@pytest.mark.asyncio
async def test_if_that_calls_a_tool_the_conversation_is_told_as_text():
    turns = (*plain(4), marker("m", "t1", "t2", text="Loaded a."), user("SECRET", "t9"))
    provider = ScriptedProvider([call("f"), "# Goal"])
    request = Request("main", "", wire_turns(turns))
    written = await write_handoff(turns, provider.stream, model="main", prefix_request=request)
    assert written.summarized_ids == ("m", "t3", "t4", "t9")
    assert provider.requests[1].tools == ()
    assert "Loaded a." in provider.requests[1].turns[0].text
    assert "question 1" not in provider.requests[1].turns[0].text


@pytest.mark.asyncio
@pytest.mark.parametrize("turns", [(), (user("hi", "t1"),), (user("hi", "t1"), user(" ", "t2"))])
async def test_two_turns_are_the_least(turns):
    provider = ScriptedProvider(["# Goal"])
    with pytest.raises(CompactInvalidInputError, match="nothing to hand over"):
        await write_handoff(turns, provider.stream, model="main")
    assert provider.requests == []

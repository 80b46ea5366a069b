"""Whatever a session holds, both vendors accept what is made of it."""

from __future__ import annotations

import copy

from hypothesis import given, settings

from tests.wire.histories import STATES, TURNS
from tests.wire.rules import check_anthropic, check_openai
from zidane_lab.providers import anthropic_request, openai_request
from zidane_lab.providers.base import Request
from zidane_lab.wire.build import wire_turns


@settings(max_examples=300, deadline=None)
@given(TURNS, STATES)
def test_any_history_is_accepted_by_both_vendors_and_left_as_it_was(turns, state):
    before = copy.deepcopy(turns)
    out = wire_turns(turns, state=state)
    assert turns == before, "the history was changed"
    assert wire_turns(turns, state=state) == out, "two passes differ"
    assert wire_turns(out, state=state) is out, "a fit request was built anew"
    if out:
        request = Request("claude-sonnet-4-5", "Be kind.", out, max_tokens=8000, thinking="low")
        check_anthropic(anthropic_request.build_request(request, producer="anthropic"))
        check_openai(openai_request.build_request(request, base_url="http://localhost/v1"))
        check_openai(openai_request.build_request(request, base_url="https://api.openai.com/v1"), openai=True)

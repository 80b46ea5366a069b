"""Whether the services would take a conversation as it stands."""

from __future__ import annotations

from tests.wire.rules import check_anthropic, check_openai
from zidane_lab.providers.anthropic_request import build_request as anthropic_body
from zidane_lab.providers.base import Request
from zidane_lab.providers.openai_request import build_request as openai_body
from zidane_lab.wire.build import wire_turns


def must_be_valid(session):
    """Refuse a session that a strict service would refuse, whatever its format."""
    check_request(Request("claude-sonnet-4-5", "", wire_turns(session.turns, state=session.wire_state)))


def check_request(request):
    check_anthropic(anthropic_body(request, producer="anthropic"))
    check_openai(openai_body(request, base_url="http://127.0.0.1:1/v1"))
    check_openai(openai_body(request, base_url="https://api.openai.com/v1"), openai=True)

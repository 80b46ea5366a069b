"""The policy for reasoning: the whole table, and that no builder sends what it forbids."""

from __future__ import annotations

import json
from itertools import product

import pytest

from zidane_lab.providers import anthropic_request, openai_request
from zidane_lab.providers.base import Request
from zidane_lab.providers.reasoning import reasoning_action
from zidane_lab.turns import TextBlock, ThinkingBlock, Turn

SEALED = [
    # producer, to anthropic, to openai, to google, to another route of Google's
    (None, "keep", "strip-signature", "strip-signature", "strip-signature"),
    ("anthropic", "keep", "drop", "drop", "drop"),
    ("openai", "drop", "keep", "strip-signature", "strip-signature"),
    ("google", "drop", "strip-signature", "keep", "strip-signature"),
    ("google-vertex", "drop", "strip-signature", "strip-signature", "keep"),
    ("another", "drop", "strip-signature", "strip-signature", "strip-signature"),
]
TARGETS = ["anthropic", "openai", "google", "google-vertex"]


@pytest.mark.parametrize(("producer", "actions"), [(row[0], row[1:]) for row in SEALED])
def test_sealed_reasoning(producer, actions):
    block = ThinkingBlock("hm", "sig", producer)
    assert tuple(reasoning_action(block, target) for target in TARGETS) == actions


@pytest.mark.parametrize("producer", [row[0] for row in SEALED])
@pytest.mark.parametrize("target", TARGETS)
def test_reasoning_without_a_seal_is_text_which_anthropic_does_not_take(producer, target):
    to_anthropic = target == "anthropic" or producer == "anthropic"
    assert reasoning_action(ThinkingBlock("hm", None, producer), target) == ("drop" if to_anthropic else "keep")


@pytest.mark.parametrize("producer", [None, "anthropic"])
@pytest.mark.parametrize("target", TARGETS)
def test_hidden_reasoning_goes_only_where_it_came_from(producer, target):
    block = ThinkingBlock("", "data", producer, redacted=True)
    assert reasoning_action(block, target) == ("keep" if target == "anthropic" else "drop")


def test_a_gateway_may_speak_anthropics_format_under_its_own_name():
    own, theirs = ThinkingBlock("hm", "sig", "gateway"), ThinkingBlock("hm", "sig", "openai")
    assert reasoning_action(own, "gateway", wire="anthropic") == "keep"
    assert reasoning_action(theirs, "gateway", wire="anthropic") == "drop"
    assert reasoning_action(own, "anthropic") == "drop"


@pytest.mark.parametrize(
    ("signature", "producer", "redacted"),
    list(product([None, "", "sig"], [None, "anthropic", "openai", "google", "another"], [False, True])),
)
def test_no_builder_sends_what_the_policy_forbids(signature, producer, redacted):
    block = ThinkingBlock("thought", signature, producer, redacted)
    turns = (
        Turn("user", (TextBlock("q"),)),
        Turn("assistant", (block, TextBlock("a"))),
        Turn("user", (TextBlock("q"),)),
    )
    request = Request("claude-sonnet-4-5", "", turns)
    body = anthropic_request.build_request(request, producer="anthropic")
    kinds = [each["type"] for each in body["messages"][1]["content"]]
    assert kinds == ["text"] or reasoning_action(block, "anthropic") == "keep"
    chat = json.dumps(openai_request.build_request(request, base_url="https://api.openai.com/v1"))
    assert "thought" not in chat or reasoning_action(block, "openai") != "drop"
    assert '"sig"' not in chat or reasoning_action(block, "openai") == "keep"

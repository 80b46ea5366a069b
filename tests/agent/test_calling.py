"""Asking a model once, whatever it takes: retries, models that take over, and what each try is sent."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.runs import QUICK, Service, counted, failing, others, talk, wire_texts
from tests.agent.support import Recorder, echo, simple_tool, texts
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.budgets import Budgets
from zidane_lab.agent.fallback import FallbackState
from zidane_lab.agent.kit import Continuity
from zidane_lab.agent.retry import RetryPolicy
from zidane_lab.agent.thinking_decay import StepDecay
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.errors import (
    AuthError,
    BadRequestError,
    BudgetExceededError,
    ConfigurationError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    ToolPairingError,
)
from zidane_lab.events import ContextTransform
from zidane_lab.providers.base import TextDelta, ThinkingDelta, ThinkingEnd, ToolCallStart
from zidane_lab.providers.scripted import call, say, think
from zidane_lab.providers.targets import ModelTarget
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock, ThinkingBlock, ToolResultBlock, Turn, Usage

pytestmark = pytest.mark.asyncio

BUSY = OverloadedError("Too busy.")


def agent_with(*answers, behavior=None, **options):
    return Agent(Service("main", answers), behavior=behavior or Behavior(retry=QUICK), **options)


def chain(first, *rest, behavior=None, **options):
    return Agent(
        first,
        fallbacks=[each if isinstance(each, ModelTarget) else ModelTarget(each, "script") for each in rest],
        behavior=behavior or Behavior(retry=RetryPolicy(max_retries=0)),
        **options,
    )


# --- retries --------------------------------------------------------------------------------------


async def test_a_failure_that_passes_is_retried_and_leaves_one_answer():
    failed = failing(BUSY, spent=Usage(input=50, output=1))
    agent = agent_with(failed, NetworkError("No route."), counted("At last.", context=60, output=4))
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    assert texts(agent) == [("user", "go"), ("assistant", "At last.")]
    assert [(e.attempt, e.most, e.error, e.error_code) for e in seen.of("retry:wait")] == [
        (1, 3, "Too busy.", "overloaded"),
        (2, 3, "No route.", "network"),
    ]
    assert [len(seen.of(name)) for name in ("turn:before", "turn:after", "stream:end")] == [1, 1, 3]
    assert agent.provider.requests[0] == agent.provider.requests[1] == agent.provider.requests[2]
    # The turn tells what its own call used, the run what all of them did.
    assert agent.session.turns[-1].usage == Usage(input=60, output=4)
    assert result.usage == seen.of("agent:done")[0].usage == agent.session.runs[-1].usage == Usage(input=110, output=5)


async def test_what_was_shown_is_kept_and_not_asked_for_again():
    agent = agent_with([TextDelta("So far"), BUSY], "never")
    seen = Recorder(agent.hooks)
    with pytest.raises(OverloadedError):
        await agent.run("go")
    assert texts(agent) == [("user", "go"), ("assistant", "So far")]
    assert (seen.of("retry:wait"), len(agent.provider.requests)) == ([], 1)


async def test_a_call_that_has_begun_is_not_asked_for_again_nor_kept():
    agent = agent_with([ToolCallStart(0, "c1", "echo"), BUSY], "never")
    with pytest.raises(OverloadedError):
        await agent.run("go")
    assert texts(agent) == [("user", "go")]
    assert len(agent.provider.requests) == 1


async def test_reasoning_alone_is_no_answer_yet():
    agent = agent_with([ThinkingDelta("Hm, one."), ThinkingEnd("seal"), BUSY], [think("Two."), say("Fine.")])
    seen = Recorder(agent.hooks)
    await agent.run("go")
    assert "".join(event.text for event in seen.of("stream:thinking")) == "Hm, one.Two."
    assert [type(block) for block in agent.session.turns[-1].blocks] == [ThinkingBlock, TextBlock]
    assert agent.session.turns[-1].blocks[0].text == "Two."
    assert len({event.ids.turn_id for event in seen.of("stream:end")}) == 1


@pytest.mark.parametrize(
    ("error", "policy"),
    [
        (RateLimitError("Come back later.", retry_after=61), QUICK),
        (RateLimitError("Come back later.", retry_after=3), RetryPolicy(base_delay=0, max_delay=2)),
        (OverloadedError("Closed for today.", final=True), QUICK),
        (BadRequestError("Malformed."), QUICK),
        (BUSY, RetryPolicy(max_retries=0)),
    ],
)
async def test_what_is_not_worth_waiting_for_fails_at_once(error, policy):
    agent = agent_with(error, "never", behavior=Behavior(retry=policy))
    seen = Recorder(agent.hooks)
    with pytest.raises(type(error)) as caught:
        await agent.run("go")
    assert caught.value.message == error.message
    assert (seen.of("retry:wait"), len(agent.provider.requests)) == ([], 1)


async def test_retries_that_do_not_help_end_with_the_service_s_own_words():
    agent = agent_with(*[BUSY] * 3, behavior=Behavior(retry=RetryPolicy(max_retries=2, base_delay=0.001)))
    with pytest.raises(OverloadedError) as caught:
        await agent.run("go")
    assert caught.value.message == "Too busy."
    assert "tried 3 times" in caught.value.hint
    assert (caught.value.result.status, texts(agent)) == ("error", [("user", "go")])


async def test_a_stop_ends_the_wait_before_a_retry():
    agent = agent_with(BUSY, "never", behavior=Behavior(retry=RetryPolicy(base_delay=30)))
    waits = asyncio.Event()
    agent.hooks.on("retry:wait", lambda _event: waits.set())
    run = asyncio.create_task(agent.run("go"))
    await waits.wait()
    assert agent.abort()
    result = await asyncio.wait_for(run, 0.5)
    assert (result.status, texts(agent)) == ("aborted", [("user", "go")])
    assert not others()


# --- models that take over ------------------------------------------------------------------------


async def test_the_next_model_goes_on_where_the_first_one_failed():
    first, second = Service("a", [[TextDelta("So far "), BUSY]]), Service("b", ["and so on."])
    agent = chain(first, second)
    seen = Recorder(agent.hooks)
    result = await agent.run("go")
    (switch,) = seen.of("fallback:switch")
    assert (switch.from_model, switch.to_model, switch.error) == ("a/script", "b/script", "Too busy.")
    said = [(turn.text, turn.model) for turn in agent.session.turns if turn.role == "assistant"]
    assert said == [("So far ", "a/script"), ("and so on.", "b/script")]
    assert (result.model, result.text) == ("b/script", "and so on.")
    assert wire_texts(second.requests[0])[:2] == ["go", "So far "]
    assert second.requests[0].turns[-1].role == "user"
    assert len({turn.id for turn in agent.session.turns}) == 3
    assert len(seen.of("turn:before")) == len(seen.of("turn:after")) == 1


async def test_the_model_that_took_over_goes_on_for_the_rest_of_the_run():
    first, second = Service("a", [BUSY]), Service("b", [call("echo", text="x"), "done"])
    agent = chain(first, second, tools=[simple_tool("echo", echo)])
    await agent.run("go")
    assert [len(each.requests) for each in (first, second)] == [1, 2]


async def test_a_model_that_hit_a_limit_rests_until_it_is_over():
    class Clock:
        now = 1000.0

        def __call__(self):
            return self.now

    clock = Clock()
    first, second = Service("a", [QuotaError("Spent."), "a again"]), Service("b", ["one", "two"])
    agent = chain(first, second, continuity=Continuity(fallback=FallbackState(clock)))
    seen = Recorder(agent.hooks)
    await agent.run("go")
    clock.now += 299
    assert (await agent.run("go on")).text == "two"
    clock.now += 2
    assert (await agent.run("go on")).text == "a again"
    assert [event.model for event in seen.of("agent:start")] == ["a/script", "b/script", "a/script"]
    assert len(seen.of("fallback:switch")) == 1


async def test_no_money_is_spent_with_a_model_whose_price_is_not_known():
    first = Service("a", [QuotaError("Spent.")], metered=True, priced=True)
    second = Service("b", ["never"], metered=True)
    agent = chain(first, second, behavior=Behavior(max_cost=100, retry=QUICK))
    with pytest.raises(ConfigurationError, match="price of b/script is not known") as caught:
        await agent.run("go")
    assert isinstance(caught.value.__context__, QuotaError)
    before = agent.session.turns
    with pytest.raises(ConfigurationError, match="price of b/script"):  # the first one rests: the second would answer
        await agent.run("go on")
    assert agent.session.turns == before
    assert second.requests == []


@pytest.mark.parametrize(("status", "answers"), [(401, "from b"), (403, "from a")])
async def test_a_refused_key_is_refused_for_all_models_of_a_provider(status, answers):
    first = Service("a", [AuthError("No.", status=status), "from a"])
    second = Service("b", ["from b"])
    agent = chain(first, ModelTarget(first, "other"), second)
    assert (await agent.run("go")).text == answers


async def test_the_last_failure_of_a_chain_is_the_one_that_is_raised():
    agent = chain(Service("a", [BUSY]), Service("b", [BadRequestError("Malformed.")]))
    with pytest.raises(BadRequestError, match="Malformed"):
        await agent.run("go")
    assert texts(agent) == [("user", "go")]
    agent.fallbacks = ()
    agent.provider = Service("a", ["fine"])
    assert (await agent.run("again")).text == "fine"


async def test_models_of_one_name_are_asked_once_each():
    refusal = BadRequestError("Malformed.")
    first, second = Service("a", [refusal] * 9), Service("a", [refusal] * 9)
    agent = chain(first, second, second)
    with pytest.raises(BadRequestError):
        await agent.run("go")
    assert (len(first.requests), len(second.requests)) == (1, 1)


# --- a request that is too long -------------------------------------------------------------------


async def test_a_larger_model_answers_what_could_not_be_shortened():
    small = Service("a", [ContextExceededError("Too long.")], window=50_000)
    same, large = Service("b", [], window=50_000), Service("c", ["It fits."], window=200_000)
    agent = chain(small, same, large)
    seen = Recorder(agent.hooks)
    assert (await agent.run("go")).text == "It fits."
    assert same.requests == []
    assert seen.of("compact:start") == []  # one turn: there is nothing to summarise


async def test_a_request_that_stays_too_long_is_an_error_and_loses_nothing():
    agent = agent_with(ContextExceededError("Too long."))
    with pytest.raises(ContextExceededError) as caught:
        await agent.run("go")
    assert (texts(agent), caught.value.result.status) == ([("user", "go")], "error")


# --- what is sent ---------------------------------------------------------------------------------


async def test_a_request_names_the_conversation_and_how_long_to_keep_it():
    agent = agent_with("one", "two", behavior=Behavior(cache_ttl="1h", max_tokens=99, thinking="low"))
    await agent.run("a")
    await agent.run("b")
    for request in agent.provider.requests:
        assert (request.cache_key, request.cache_ttl) == (agent.session.id, "1h")
        assert (request.max_tokens, request.thinking, request.thinking_budget) == (99, "low", None)


async def test_the_thinking_budget_falls_from_answer_to_answer_and_starts_anew_with_each_run():
    behavior = Behavior(thinking="high", thinking_budget=8_000, thinking_decay=StepDecay(1, 1_000), retry=QUICK)
    again = [call("echo"), BUSY, call("echo"), "done"]
    agent = agent_with(*again, *again, behavior=behavior, tools=[simple_tool("echo", echo)])
    await agent.run("go")
    budgets = [request.thinking_budget for request in agent.provider.requests]
    assert budgets == [8_000, 1_000, 1_000, 1_000]  # a retry is the same answer
    await agent.run("go on")
    assert agent.provider.requests[4].thinking_budget == 8_000


async def test_a_rewritten_context_is_what_every_try_is_sent():
    first, second = Service("a", [BUSY, BUSY]), Service("b", [call("echo"), "done"])
    agent = chain(first, second, behavior=Behavior(retry=RetryPolicy(max_retries=1, base_delay=0.001)))
    agent.tools["echo"] = simple_tool("echo", echo)
    times = 0

    def note(event: ContextTransform) -> None:
        nonlocal times
        times += 1
        event.turns = (Turn("user", (TextBlock("A note."),)), *event.turns)

    agent.hooks.on(ContextTransform, note)
    await agent.run("go")
    assert [wire_texts(request)[0] for request in first.requests + second.requests] == ["A note."] * 4
    assert times == 3  # one for each request that was built: a retry sends the same one
    assert "A note." not in [text for _, text in texts(agent)]


async def test_calls_that_do_not_match_end_a_strict_run():
    def torn():
        session = Session.memory()
        session.append(Turn("user", (ToolResultBlock("gone", (TextBlock("what?"),)),)))
        return session

    assert (await agent_with("mended", session=torn()).run("go")).text == "mended"
    agent = agent_with("never", session=torn(), behavior=Behavior(strict_pairing=True))
    with pytest.raises(ToolPairingError):
        await agent.run("go")
    assert agent.provider.requests == []


async def test_whatever_passes_in_whatever_order_one_answer_is_left():
    faults = [BUSY, NetworkError("x"), RateLimitError("x", retry_after=0.001), [ThinkingDelta("hm"), BUSY]]
    for first in faults:
        for second in faults:
            agent = agent_with(first, second, counted("ok"))
            await agent.run("go")
            assert texts(agent) == [("user", "go"), ("assistant", "ok")]


# --- limits between the tries ---------------------------------------------------------------------


async def test_a_summary_made_because_of_a_refusal_counts_before_the_next_try():
    too_long = ContextExceededError("prompt is too long: 250000 tokens > 200000 maximum")
    summary = counted("<summary>All is well.</summary>", context=900, output=100)
    provider = Service("main", [too_long, summary, "never"])
    behavior = Behavior(retry=QUICK, budgets=Budgets.of(tokens=1_000), compaction=AutoCompact(window=200_000))
    agent = Agent(provider, session=talk(6), behavior=behavior)
    with pytest.raises(BudgetExceededError):
        await agent.run("go")
    assert len(provider.requests) == 2


async def test_what_a_failed_model_used_counts_before_another_takes_over():
    spent = failing(QuotaError("Spent."), spent=Usage(input=990, output=10))
    second = Service("second", ["never"])
    agent = chain(
        Service("main", [spent]),
        second,
        behavior=Behavior(retry=RetryPolicy(max_retries=0), budgets=Budgets.of(tokens=1_000)),
    )
    with pytest.raises(BudgetExceededError):
        await agent.run("go")
    assert second.requests == []

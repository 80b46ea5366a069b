"""Having a summary written: cached request, fallback, shortening, retries, costs."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compaction.support import answer, conversations, ids, plain, results, run_quickly, user
from zidane_lab.compaction.calls import Attempt
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.compaction.observers import Observers
from zidane_lab.compaction.prompts import full_prompt
from zidane_lab.compaction.summarize import CUT_OFF, Ledger, prefixed_request, summarize
from zidane_lab.errors import (
    AbortedError,
    AuthError,
    CompactionError,
    CompactPromptTooLongError,
    ContextExceededError,
    NetworkError,
    OperationTimeoutError,
    OverloadedError,
    RateLimitError,
)
from zidane_lab.providers.anthropic_request import build_request
from zidane_lab.providers.base import Finish, Request, TextDelta, ToolSpec, UsageUpdate
from zidane_lab.providers.scripted import ScriptedProvider, call, say
from zidane_lab.turns import ImageBlock, TextBlock, ThinkingBlock, Turn, Usage
from zidane_lab.wire.build import wire_turns

GOOD = "<analysis>all of it</analysis><summary>What happened.</summary>"
PAID = Usage(input=100, output=10, cost=0.5)
TOOLS = (ToolSpec("run_python", "Run it.", {"type": "object"}),)


def prefix(turns, **options):
    return Request("main", "Be kind.", wire_turns(turns), TOOLS, options.pop("max_tokens", 512), **options)


async def ask(provider, turns=None, *, told=None, config=None, sleeps=None, **options):
    async def sleep(seconds):
        (sleeps if sleeps is not None else []).append(seconds)

    def instruct(some, whole):
        return f"[{'whole' if whole else 'part'}: {' '.join(ids(some))}]"

    return await summarize(
        provider.stream,
        plain(6) if turns is None else turns,
        options.pop("instruct", instruct),
        model=options.pop("model", "main"),
        config=config if config is not None else AutoCompact(),
        observers=Observers(on_attempt=told.append) if told is not None else None,
        sleep=sleep,
        jitter=lambda: 1.0,
        **options,
    )


def kinds(attempts):
    return [attempt.kind for attempt in attempts]


# --- a request of its own -------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_request_of_its_own():
    provider = ScriptedProvider([GOOD], usage=PAID)
    told = []
    summary = await ask(provider, told=told)
    (request,) = provider.requests
    assert request.tools == ()
    assert request.thinking == "off"
    assert request.max_tokens == 20_000
    assert len(request.turns) == 1
    assert request.turns[0].role == "user"
    assert request.turns[0].text.endswith("[part: t1 t2 t3 t4 t5 t6]")
    assert "question 1" in request.turns[0].text
    assert (summary.text, summary.model) == ("What happened.", "main")
    assert (summary.usage, summary.spent) == (PAID, PAID)
    assert summary.summarized_ids == ("t1", "t2", "t3", "t4", "t5", "t6")
    assert (summary.dropped_ids, summary.ptl_retries, summary.from_cache) == ((), 0, False)
    assert summary.attempts == (Attempt("initial", 1),) == tuple(told)


@pytest.mark.asyncio
async def test_no_attachment_and_no_call_is_sent():
    turns = (
        Turn("user", (ImageBlock("image/png", b"\x89PNG"), TextBlock("look")), id="t1"),
        answer("", "t2", calls=["c1"]),
        results("t3", "c1"),
    )
    provider = ScriptedProvider([GOOD])
    await ask(provider, turns)
    assert all(isinstance(block, TextBlock) for turn in provider.requests[0].turns for block in turn.blocks)
    body = json.dumps(build_request(replace(provider.requests[0], model="claude-sonnet-4-5"), producer="anthropic"))
    assert "tool_use" not in body
    assert '"image"' not in body


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "without a summary"),
        ("<analysis>only</analysis>", "without a summary"),
        ([call("run_python", code="1")], "called a tool"),
        ([TextDelta("I will not."), Finish("refusal")], "refused"),
        ([TextDelta("<analysis>on and on"), Finish("length")], "limit of output"),
        ([Finish("length")], "limit of output"),
    ],
)
async def test_an_answer_without_summary_fails(reply, words):
    provider = ScriptedProvider([reply])
    with pytest.raises(CompactionError, match=words):
        await ask(provider)
    assert len(provider.requests) == 1


@pytest.mark.asyncio
async def test_a_summary_that_reached_its_limit_says_so():
    summary = await ask(ScriptedProvider([[TextDelta("<summary>1. Plot the"), Finish("length")]]))
    assert summary.text == f"1. Plot the\n\n{CUT_OFF}"


@pytest.mark.asyncio
async def test_text_beside_a_call_is_a_summary():
    assert (await ask(ScriptedProvider([[say(GOOD), call("f")]]))).text == "What happened."


# --- too long -------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_conversation_that_is_too_long_is_halved():
    turns = tuple(user("x" * 100, f"t{n}") for n in range(16))
    provider = ScriptedProvider([ContextExceededError("long"), ContextExceededError("long"), GOOD])
    summary = await ask(provider, turns)
    assert summary.ptl_retries == 2
    assert kinds(summary.attempts) == ["initial", "ptl-retry", "ptl-retry"]
    assert [attempt.number for attempt in summary.attempts] == [1, 1, 2]
    assert summary.summarized_ids == ("t12", "t13", "t14", "t15")
    assert summary.dropped_ids == tuple(f"t{n}" for n in range(12))
    assert "[part: t12 t13 t14 t15]" in provider.requests[-1].turns[0].text


@pytest.mark.asyncio
@pytest.mark.parametrize("most", [0, 1, 3])
async def test_it_is_shortened_so_often_and_no_more(most):
    turns = tuple(user("x" * 100, f"t{n}") for n in range(64))
    provider = ScriptedProvider([ContextExceededError("long")], loop=True)
    with pytest.raises(CompactPromptTooLongError) as caught:
        await ask(provider, turns, config=AutoCompact(max_ptl_retries=most))
    assert caught.value.ptl_retries == most
    assert len(provider.requests) == most + 1
    assert isinstance(caught.value.__cause__, ContextExceededError)


@pytest.mark.asyncio
async def test_one_round_cannot_be_shortened():
    turns = (user("a", "t1"), answer("", "t2", calls=["c"]), results("t3", "c"))
    provider = ScriptedProvider([ContextExceededError("long")])
    with pytest.raises(CompactPromptTooLongError, match="latest round") as caught:
        await ask(provider, turns)
    assert caught.value.ptl_retries == 0


@pytest.mark.asyncio
async def test_a_rest_without_text_is_not_asked_about():
    turns = (user("a" * 99, "t1"), Turn("user", (ImageBlock("image/png", b"x"),), id="t2"))
    provider = ScriptedProvider([ContextExceededError("long")])
    with pytest.raises(CompactPromptTooLongError):
        await ask(provider, turns)


@given(conversations(min_size=2), st.integers(0, 3))
def test_what_is_described_and_what_is_dropped_are_the_whole(turns, times):
    provider = ScriptedProvider([*[ContextExceededError("long")] * times, GOOD])
    try:
        summary = run_quickly(ask(provider, turns))
    except CompactPromptTooLongError:
        return
    assert [*summary.dropped_ids, *summary.summarized_ids] == ids(turns)
    assert summary.summarized_ids
    assert summary.ptl_retries == times


# --- failures that pass ---------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize("error", [OverloadedError("busy"), RateLimitError("slow"), NetworkError("gone")])
async def test_a_failure_that_passes_is_tried_again_twice(error):
    sleeps = []
    summary = await ask(ScriptedProvider([error, error, GOOD]), sleeps=sleeps)
    assert kinds(summary.attempts) == ["initial", "transient-retry", "transient-retry"]
    assert sleeps == [1.0, 2.0]
    with pytest.raises(type(error)):
        await ask(ScriptedProvider([error, error, error]))


@pytest.mark.asyncio
async def test_the_wait_varies_and_a_service_may_ask_for_more():
    sleeps = []
    provider = ScriptedProvider([OverloadedError("busy"), RateLimitError("slow", retry_after=30), GOOD])

    async def sleep(seconds):
        sleeps.append(seconds)

    await summarize(
        provider.stream, plain(4), lambda *_: "", model="m", config=AutoCompact(), sleep=sleep, jitter=lambda: 0.0
    )
    assert sleeps == [0.5, 30]


@pytest.mark.asyncio
async def test_a_service_that_asks_for_too_much_is_not_waited_for():
    provider = ScriptedProvider([RateLimitError("slow", retry_after=61)])
    with pytest.raises(RateLimitError):
        await ask(provider)
    assert len(provider.requests) == 1


@pytest.mark.asyncio
async def test_a_failure_for_good_is_not_tried_again():
    provider = ScriptedProvider([AuthError("no key")])
    with pytest.raises(AuthError):
        await ask(provider)
    assert len(provider.requests) == 1


def test_silence_is_not_tried_again():
    async def never(_request):
        await asyncio.sleep(10_000)
        yield Finish("stop")

    provider = ScriptedProvider([])
    provider.stream = never
    with pytest.raises(OperationTimeoutError):
        run_quickly(ask(provider))


@pytest.mark.asyncio
async def test_errors_to_be_passed_on_are_passed_on():
    for error in (OverloadedError("suspend"), ContextExceededError("suspend")):
        for request in (None, prefix(plain(6))):
            provider = ScriptedProvider([error])
            with pytest.raises(type(error)) as caught:
                await ask(provider, prefix_request=request, rethrow=lambda each: "suspend" in str(each))
            assert str(caught.value) == str(error)
            assert len(provider.requests) == 1


# --- the cached request ---------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_the_cached_request_is_sent_with_the_instruction_behind_it():
    turns = plain(7)
    request = prefix(turns, cache_key="notebook", cache_ttl="1h")
    provider = ScriptedProvider([GOOD], usage=PAID)
    summary = await ask(provider, turns[:4], prefix_request=request)
    (sent,) = provider.requests
    assert sent.turns[:-1] == request.turns
    assert sent.turns[-1].role == "user"
    assert sent.turns[-1].text == "[whole: t1 t2 t3 t4]"
    assert replace(sent, turns=request.turns, max_tokens=request.max_tokens) == request
    assert sent.max_tokens == 20_000
    assert summary.from_cache
    assert (summary.model, summary.usage, summary.spent) == ("main", PAID, PAID)
    assert summary.summarized_ids == ("t1", "t2", "t3", "t4")
    assert kinds(summary.attempts) == ["initial"]


def bodies(turns, **options):
    request = replace(prefix(turns, **options), model="claude-sonnet-4-5")
    sent = prefixed_request(request, full_prompt(), 20_000)
    return build_request(request, producer="anthropic"), build_request(sent, producer="anthropic")


def blocks_of(body):
    """The blocks of all messages with their roles; where the cache is marked is no part of what is cached."""
    return [
        (message["role"], json.dumps({key: value for key, value in block.items() if key != "cache_control"}))
        for message in body["messages"]
        for block in message["content"]
    ]


@given(conversations())
def test_the_body_begins_with_the_bytes_of_the_cached_one(turns):
    first, second = bodies(turns)
    before, after = blocks_of(first), blocks_of(second)
    assert after[: len(before)] == before
    assert len(after) == len(before) + 1
    for name in {*first, *second} - {"messages", "max_tokens"}:
        assert json.dumps(first.get(name)) == json.dumps(second.get(name))


@pytest.mark.parametrize("thinking", ["off", "low", "high", "max"])
@pytest.mark.parametrize("limit", [None, 4_000, 16_000, 64_000])
def test_reasoning_keeps_a_budget_that_leaves_room_for_the_summary(thinking, limit):
    request = prefix(plain(3), thinking=thinking, max_tokens=limit)
    sent = prefixed_request(request, "x", 20_000)
    if thinking == "off":
        assert sent.max_tokens == 20_000
    else:
        assert sent.max_tokens == (None if limit is None else max(limit, 20_000))


def test_the_same_request_gives_the_same_request():
    request = prefix(plain(3))
    assert prefixed_request(request, "x", 9) == prefixed_request(request, "x", 9)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ([say(GOOD), call("run_python", code="1")], "called a tool"),
        ("", "without a summary"),
        ("<analysis>a</analysis>", "without a summary"),
        ([TextDelta("no"), Finish("refusal")], "without a summary"),
        (ContextExceededError("too long"), "too long"),
        (AuthError("no key"), "no key"),
        (OverloadedError("busy"), "busy"),
        (ValueError("a fault"), "a fault"),
    ],
)
async def test_whatever_goes_wrong_with_it_a_request_of_its_own_follows(reply, reason):
    provider = ScriptedProvider([reply, GOOD])
    told = []
    summary = await ask(provider, told=told, prefix_request=prefix(plain(6)))
    assert summary.text == "What happened."
    assert not summary.from_cache
    assert reason in summary.fallback_reason
    assert kinds(told) == ["initial", "prefix-fallback"]
    assert provider.requests[1].tools == ()


@pytest.mark.asyncio
async def test_after_it_shortening_and_retries_go_on_as_usual():
    turns = tuple(user("x" * 100, f"t{n}") for n in range(4))
    provider = ScriptedProvider([ContextExceededError("a"), ContextExceededError("b"), OverloadedError("c"), GOOD])
    summary = await ask(provider, turns, prefix_request=prefix(turns))
    assert kinds(summary.attempts) == ["initial", "prefix-fallback", "ptl-retry", "transient-retry"]
    assert summary.ptl_retries == 1
    assert summary.dropped_ids == ("t0", "t1")


# --- stops and costs ------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize("cached", [True, False])
async def test_a_stop_passes_through(cached):
    provider = ScriptedProvider([AbortedError("stop")])
    with pytest.raises(AbortedError):
        await ask(provider, prefix_request=prefix(plain(6)) if cached else None)
    assert len(provider.requests) == 1


@pytest.mark.parametrize("cached", [True, False])
def test_a_cancelled_task_stops_at_once(cached):
    requests = []

    async def slow(request):
        requests.append(request)
        yield UsageUpdate(PAID)
        await asyncio.sleep(100)
        yield Finish("stop")

    async def main():
        provider = ScriptedProvider([])
        provider.stream = slow
        ledger = Ledger()
        task = asyncio.ensure_future(ask(provider, prefix_request=prefix(plain(6)) if cached else None, ledger=ledger))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ledger

    ledger = run_quickly(main())
    assert len(requests) == 1
    assert ledger.spent == PAID


@pytest.mark.asyncio
async def test_all_that_was_paid_is_counted():
    def failing(error):
        return [UsageUpdate(Usage(input=50, output=5, cost=0.25)), error]

    turns = tuple(user("x" * 100, f"t{n}") for n in range(4))
    provider = ScriptedProvider(
        [
            Turn("assistant", (say("<analysis>a</analysis>"),), usage=PAID),
            failing(OverloadedError("busy")),
            failing(ContextExceededError("long")),
            Turn("assistant", (say(GOOD),), usage=Usage(input=30, output=3, cost=0.125)),
        ]
    )
    summary = await ask(provider, turns, prefix_request=prefix(turns))
    assert summary.usage == Usage(input=30, output=3, cost=0.125)
    assert summary.spent == Usage(input=230, output=23, cost=1.125)


@pytest.mark.asyncio
async def test_what_was_paid_for_nothing_is_counted_too():
    ledger = Ledger()
    with pytest.raises(CompactionError):
        await ask(ScriptedProvider(["", ""], usage=PAID), prefix_request=prefix(plain(6)), ledger=ledger)
    assert ledger.spent == PAID + PAID
    assert kinds(ledger.attempts) == ["initial", "prefix-fallback"]


@pytest.mark.asyncio
async def test_progress_begins_anew_with_each_call():
    seen = []
    provider = ScriptedProvider([[TextDelta("x" * 40), OverloadedError("busy")], GOOD], chunk_size=8)
    await summarize(
        provider.stream,
        plain(4),
        lambda *_: "",
        model="m",
        config=AutoCompact(),
        observers=Observers(on_progress=lambda each: seen.append((each.attempt.kind, each.tokens))),
        sleep=lambda _: asyncio.sleep(0),
    )
    assert seen[0] == ("initial", 10)
    again = [tokens for kind, tokens in seen if kind == "transient-retry"]
    assert again[0] == 2
    assert again == sorted(again)


@pytest.mark.asyncio
async def test_listeners_that_fail_spoil_nothing(caplog):
    def fail(_):
        raise RuntimeError("a listener's fault")

    summary = await summarize(
        ScriptedProvider([GOOD]).stream,
        plain(4),
        lambda *_: "",
        model="m",
        config=AutoCompact(),
        observers=Observers(on_attempt=fail, on_progress=fail),
    )
    assert summary.text == "What happened."
    assert "a listener's fault" in caplog.text


@pytest.mark.asyncio
async def test_reasoning_of_the_conversation_is_not_told():
    turns = (user("a", "t1"), Turn("assistant", (ThinkingBlock("PRIVATE", "sig"), TextBlock("b")), id="t2"))
    provider = ScriptedProvider([GOOD])
    await ask(provider, turns)
    assert "PRIVATE" not in provider.requests[0].turns[0].text

"""Making a failed call again."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.retry import RetryPolicy, shows_answer, with_retries
from zidane_lab.errors import (
    AbortedError,
    AuthError,
    BadRequestError,
    ConfigurationError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
    StreamInterruptedError,
)
from zidane_lab.providers.base import Finish, TextDelta, ThinkingDelta, ToolCallStart, UsageUpdate
from zidane_lab.turns import Usage

pytestmark = pytest.mark.asyncio


class Calls:
    """Fails with each of ``errors`` in turn, then succeeds; keeps what happened."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.attempts, self.waits, self.slept = [], [], []

    async def attempt(self, retries):
        self.attempts.append(retries)
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    async def on_wait(self, retry, most, seconds, error):
        self.waits.append((retry, most, seconds, error.code))

    async def sleep(self, seconds):
        self.slept.append(seconds)

    def run(self, policy=None, **options):
        options = {"on_wait": self.on_wait, "sleep": self.sleep, "random": lambda: 0.5, **options}
        return with_retries(self.attempt, policy or RetryPolicy(), **options)


async def test_a_success_waits_for_nothing():
    calls = Calls()
    assert await calls.run() == "answer"
    assert (calls.attempts, calls.waits, calls.slept) == ([0], [], [])


async def test_waits_double_and_are_told_before_they_begin():
    calls = Calls(OverloadedError("busy"), NetworkError("cut"), StreamInterruptedError("cut"))
    assert await calls.run() == "answer"
    assert calls.slept == [2.0, 4.0, 8.0]
    assert calls.attempts == [0, 1, 2, 3]
    assert calls.waits == [
        (1, 3, 2.0, "overloaded"),
        (2, 3, 4.0, "network"),
        (3, 3, 8.0, "stream_interrupted"),
    ]


async def test_the_last_failure_is_raised_with_its_message_unchanged():
    errors = [OverloadedError(f"busy {number}", hint="Wait.") for number in range(5)]
    calls = Calls(*errors)
    with pytest.raises(OverloadedError) as caught:
        await calls.run()
    assert caught.value is errors[3]
    assert caught.value.message == "busy 3"
    assert caught.value.hint == "Wait. It was tried 4 times."
    assert str(caught.value) == "busy 3 Wait. It was tried 4 times."
    assert errors[0].hint == "Wait."
    assert len(calls.attempts) == 4


async def test_a_failure_at_once_says_nothing_of_attempts():
    calls = Calls(AuthError("no key", hint="Set it."))
    with pytest.raises(AuthError) as caught:
        await calls.run()
    assert caught.value.hint == "Set it."


@pytest.mark.parametrize(
    "error",
    [
        AuthError("x", retry_after=1),
        BadRequestError("x", retry_after=1),
        ContextExceededError("x", retry_after=1),
        ProviderError("x"),
        QuotaError("x"),
        QuotaError("x", retry_after=61),
        RateLimitError("x", retry_after=60.5),
        OverloadedError("x", final=True),
        AbortedError("x"),
        ValueError("x"),
    ],
)
async def test_what_is_never_made_again(error):
    calls = Calls(error)
    with pytest.raises(type(error)):
        await calls.run()
    assert (calls.attempts, calls.slept) == ([0], [])


@pytest.mark.parametrize("error", [QuotaError("x", retry_after=30), RateLimitError("x", retry_after=30)])
async def test_an_announced_wait_is_kept(error):
    calls = Calls(error)
    await calls.run()
    assert 30 <= calls.slept[0] <= 31


async def test_a_short_announced_wait_does_not_shorten_the_own():
    calls = Calls(RateLimitError("x", retry_after=0.01))
    await calls.run()
    assert calls.slept == [2.0]


async def test_an_announced_wait_above_the_policys_longest_is_not_waited_for():
    calls = Calls(RateLimitError("x", retry_after=20))
    with pytest.raises(RateLimitError):
        await calls.run(RetryPolicy(max_delay=10))
    assert calls.slept == []


async def test_an_answer_that_was_shown_is_not_made_again():
    shown = False
    calls = Calls(NetworkError("1"), NetworkError("2"), NetworkError("3"))

    async def attempt(retries):
        nonlocal shown
        shown = retries == 1
        return await calls.attempt(retries)

    with pytest.raises(NetworkError, match="2"):
        await with_retries(attempt, may_retry=lambda: not shown, sleep=calls.sleep)
    assert calls.attempts == [0, 1]


async def test_no_retries():
    calls = Calls(NetworkError("x"))
    with pytest.raises(NetworkError):
        await calls.run(RetryPolicy(max_retries=0))
    assert calls.attempts == [0]


async def test_cancelling_ends_a_wait_at_once():
    calls = Calls(NetworkError("x"))
    waiting = asyncio.Event()

    async def on_wait(*_):
        waiting.set()

    task = asyncio.create_task(with_retries(calls.attempt, RetryPolicy(base_delay=50), on_wait=on_wait))
    await waiting.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)
    assert calls.attempts == [0]


async def test_cancelling_an_attempt_is_no_failure():
    async def attempt(_):
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await with_retries(attempt)


@pytest.mark.parametrize(
    ("event", "shows"),
    [
        (TextDelta("a"), True),
        (TextDelta(""), False),
        (TextDelta("\n\n"), False),
        (ToolCallStart(0, "c", "add"), True),
        (ThinkingDelta("hm"), False),
        (UsageUpdate(Usage(input=3)), False),
        (Finish("stop"), False),
    ],
)
async def test_which_pieces_show_an_answer(event, shows):
    assert shows_answer(event) is shows


@pytest.mark.parametrize(
    "options", [{"max_retries": -1}, {"base_delay": -1}, {"max_delay": float("nan")}, {"jitter": 1.5}, {"jitter": -0.1}]
)
async def test_a_policy_that_makes_no_sense(options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        RetryPolicy(**options)


@given(
    st.integers(1, 2000),
    st.none() | st.floats(0, 60),
    st.floats(0, 1),
    st.floats(0, 30),
    st.floats(0, 1),
)
async def test_a_wait_is_never_shorter_than_announced_nor_much_longer_than_allowed(
    retry, announced, chance, base, jitter
):
    policy = RetryPolicy(base_delay=base, jitter=jitter)
    seconds = policy.seconds(retry, announced, chance)
    assert (announced or 0) <= seconds <= policy.max_delay + jitter * base

"""One call of the summarising model."""

from __future__ import annotations

import asyncio

import pytest

from tests.compaction.support import run_quickly, user
from zidane_lab.compaction.calls import Answer, ask
from zidane_lab.errors import OperationTimeoutError, OverloadedError, StreamInterruptedError
from zidane_lab.providers.base import Finish, Request, TextDelta, ThinkingDelta, ToolCallStart, UsageUpdate
from zidane_lab.turns import Usage

REQUEST = Request("m", "", (user("hi", "t"),))


class Played:
    """A stream of events and waits (numbers, in seconds), which notes that it was closed."""

    def __init__(self, *steps):
        self.steps = steps
        self.closed = False

    async def __call__(self, _request):
        try:
            for step in self.steps:
                if isinstance(step, (int, float)):
                    await asyncio.sleep(step)
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        finally:
            self.closed = True


def read(stream, *, silence=300.0, listen=None):
    """Read a stream to its end on a quick clock: the answer, the tokens told, the seconds passed, what was raised."""
    answer, tokens, raised = Answer(), [], []

    async def on_tokens(count):
        tokens.append(count)
        if listen is not None:
            await listen()

    async def main():
        try:
            await ask(stream, REQUEST, answer, silence_seconds=silence, on_tokens=on_tokens)
        except Exception as error:
            raised.append(error)
        return asyncio.get_running_loop().time()

    seconds = run_quickly(main())
    return answer, tokens, seconds, raised[0] if raised else None


def test_an_answer_is_read_to_its_end():
    stream = Played(
        ThinkingDelta("hmmm"), TextDelta("one "), TextDelta("two"), UsageUpdate(Usage(9, 2)), Finish("stop")
    )
    answer, tokens, _, error = read(stream)
    assert error is None
    assert answer == Answer("one two", Usage(9, 2), "stop")
    assert tokens == [1, 2, 3]
    assert stream.closed


def test_calls_of_tools_are_noted():
    answer, *_ = read(Played(ToolCallStart(0, "c", "f"), Finish("tool-calls")))
    assert answer.calls_tool


def test_silence_ends_a_call_and_what_came_before_is_kept():
    stream = Played(UsageUpdate(Usage(9)), TextDelta("one"), 1_000, TextDelta("two"), Finish("stop"))
    answer, _, seconds, error = read(stream)
    assert isinstance(error, OperationTimeoutError)
    assert "300 seconds" in str(error)
    assert seconds == 300
    assert (answer.text, answer.usage) == ("one", Usage(9))
    assert stream.closed


def test_the_first_word_is_waited_for_no_longer():
    *_, seconds, error = read(Played(301, TextDelta("late"), Finish("stop")))
    assert isinstance(error, OperationTimeoutError)
    assert seconds == 300


@pytest.mark.parametrize("piece", [TextDelta("x"), ThinkingDelta("x")])
def test_an_answer_that_goes_on_is_never_stopped(piece):
    *_, seconds, error = read(Played(*(200, piece) * 10, Finish("stop")))
    assert error is None
    assert seconds == 2_000


def test_events_that_say_nothing_are_silence():
    *_, error = read(Played(200, UsageUpdate(Usage(1)), 200, TextDelta("x"), Finish("stop")))
    assert isinstance(error, OperationTimeoutError)


def test_zero_is_no_limit():
    *_, seconds, error = read(Played(100_000, TextDelta("x"), Finish("stop")), silence=0)
    assert error is None
    assert seconds == 100_000


def test_a_slow_listener_is_not_the_models_silence():
    stream = Played(TextDelta("x"), 200, TextDelta("y"), Finish("stop"))
    *_, error = read(stream, listen=lambda: asyncio.sleep(250))
    assert error is None


def test_the_services_own_timeout_stays_what_it_is():
    *_, error = read(Played(TimeoutError("theirs")))
    assert type(error) is TimeoutError


def test_failures_pass_through_and_the_stream_is_closed():
    stream = Played(TextDelta("x"), OverloadedError("busy"))
    answer, _, _, error = read(stream)
    assert isinstance(error, OverloadedError)
    assert answer.text == "x"
    assert stream.closed


def test_an_answer_without_an_end_is_cut_off():
    *_, error = read(Played(TextDelta("x")))
    assert isinstance(error, StreamInterruptedError)


def test_a_stop_passes_through_and_the_stream_is_closed():
    stream = Played(TextDelta("x"), 1_000)
    answer = Answer()

    async def main():
        async def on_tokens(_tokens):
            task.cancel()

        task = asyncio.ensure_future(ask(stream, REQUEST, answer, silence_seconds=300.0, on_tokens=on_tokens))
        with pytest.raises(asyncio.CancelledError):
            await task

    run_quickly(main())
    assert stream.closed
    assert answer.text == "x"

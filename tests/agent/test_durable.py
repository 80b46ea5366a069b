"""The seam for runs that are played again."""

from __future__ import annotations

import asyncio
from datetime import UTC

import pytest

from zidane_lab.agent.durable import (
    Durable,
    RecordingJournal,
    SystemClock,
    SystemRetryClock,
    direct,
    is_control_error,
)
from zidane_lab.errors import AbortedError, NetworkError, SessionError


def test_the_default_clock_asks_the_system():
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    assert clock.new_id("turn").startswith("turn_")
    assert clock.new_id("turn") != clock.new_id("turn")


@pytest.mark.asyncio
async def test_the_default_retry_clock_waits_and_spreads():
    import random

    clock = SystemRetryClock(random.Random(1))
    assert await clock.sleep(0) is None
    assert [SystemRetryClock(random.Random(1)).jitter(), SystemRetryClock(random.Random(1)).jitter()] == [
        clock.jitter()
    ] * 2
    assert all(0 <= SystemRetryClock().jitter() < 1 for _ in range(20))


@pytest.mark.asyncio
async def test_a_journal_plays_what_was_recorded_and_runs_the_rest():
    kept = []

    def step(value):
        async def run():
            ran.append(value)
            return value

        return run

    ran = []
    first = RecordingJournal((), lambda name, value: kept.append((name, value)))
    assert [await first("read", step(1)), await first("read", step(2))] == [1, 2]
    again = RecordingJournal(kept[:], lambda name, value: kept.append((name, value)))
    assert [await again("read", step(8)), await again("read", step(9)), await again("list", step(3))] == [1, 2, 3]
    assert ran == [1, 2, 3]
    assert kept == [("read", 1), ("read", 2), ("list", 3)]


@pytest.mark.asyncio
async def test_a_step_that_fails_is_not_recorded():
    async def fail():
        raise NetworkError("gone")

    kept = []
    with pytest.raises(NetworkError):
        await RecordingJournal((), lambda *step: kept.append(step))("read", fail)
    assert kept == []


@pytest.mark.asyncio
async def test_a_run_that_goes_another_way_is_not_played_on():
    async def step():
        return 1

    with pytest.raises(SessionError, match="'read' when it was recorded and is 'list' now"):
        await RecordingJournal([("read", 1)], lambda *_: None)("list", step)


@pytest.mark.asyncio
async def test_the_default_journal_records_nothing():
    async def step():
        return 5

    assert await Durable().journal("x", step) == await direct("x", step) == 5


@pytest.mark.parametrize(
    ("error", "control"),
    [
        (asyncio.CancelledError(), True),
        (AbortedError("stop"), True),
        (KeyboardInterrupt(), True),
        (SystemExit(), True),
        (NetworkError("gone"), False),
        (TimeoutError(), False),
        (ExceptionGroup("g", [ValueError(), ExceptionGroup("h", [AbortedError("stop")])]), True),
        (ExceptionGroup("g", [ValueError()]), False),
        (BaseExceptionGroup("g", [asyncio.CancelledError(), ValueError()]), True),
    ],
)
def test_errors_that_stop_a_run_are_never_swallowed(error, control):
    assert is_control_error(error) is control
    assert Durable().controls(error) is control

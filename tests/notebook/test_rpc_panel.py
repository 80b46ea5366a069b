"""Panels come and go, also without a word; nobody is waited for that is not there."""

from __future__ import annotations

import asyncio
import threading

import pytest

from zidane_lab.chat.interacting import Desk
from zidane_lab.notebook.interactions import Announced
from zidane_lab.notebook.rpc_panel import (
    LONGEST_SILENCE,
    MOST_PANELS,
    NAME,
    SHORTEST_SILENCE,
    Panels,
    _Waiter,
    panels_of,
)
from zidane_lab.session.interactions import InteractionAnswer, new_interaction
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock, ToolCallBlock, Turn

ASKED = new_interaction("plan", {"title": "t", "steps": [{"title": "one"}]}, run_id="run_1", call_id="call_1")


class Clock:
    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def announced():
    return Announced()


@pytest.fixture
def panels(announced, clock):
    return Panels(announced, clock)


async def waiting(panels):
    task = asyncio.ensure_future(panels.front(ASKED))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def settled(task):
    return await asyncio.wait_for(task, 5)


# --- who is there -----------------------------------------------------------------------------------


def test_a_panel_is_there_while_it_is_heard_of(panels, clock, announced):
    assert not panels.hear("a")
    assert panels.announce("a", 10) == 10
    assert announced.get(NAME) == panels.front
    for _ in range(5):
        clock.time += 9
        assert panels.hear("a")
    clock.time += 10
    assert panels.names == ()
    assert not panels.hear("a")
    assert announced.names == ()


def test_panels_are_told_apart(panels, clock, announced):
    panels.announce("a", 10)
    panels.announce("b", 20)
    clock.time += 15
    assert panels.names == ("b",)
    assert panels.leave("b")
    assert not panels.leave("b")
    assert announced.names == ()


@pytest.mark.parametrize(("wanted", "given"), [(0.001, SHORTEST_SILENCE), (1e9, LONGEST_SILENCE), (45, 45)])
def test_a_silence_is_neither_a_moment_nor_for_ever(panels, wanted, given):
    assert panels.announce("a", wanted) == given


def test_there_is_a_limit_to_panels(panels, clock):
    for number in range(MOST_PANELS + 5):
        panels.announce(str(number))
        clock.time += 0.1
    assert panels.names == tuple(str(number) for number in range(5, MOST_PANELS + 5))


def test_a_panel_is_asked_before_forms_whichever_came_first(panels, announced):
    async def form(_interaction):
        return None

    announced.announce("widget", form)
    panels.announce("a")
    assert announced.names == (NAME,)
    announced.announce("widget", form)
    panels.announce("a")
    assert announced.names == (NAME, "widget")


def test_one_shell_has_one(announced):
    shell, other = type("Shell", (), {})(), type("Shell", (), {})()
    assert panels_of(shell) is panels_of(shell)
    assert panels_of(shell) is not panels_of(other)


# --- waiting ----------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_nobody_is_waited_for_where_no_panel_is(panels):
    assert await settled(panels.front(ASKED)) is None


@pytest.mark.asyncio
async def test_the_next_front_is_asked_when_the_last_panel_leaves(panels):
    panels.announce("a")
    panels.announce("b")
    task = await waiting(panels)
    await asyncio.to_thread(panels.leave, "a")
    await asyncio.sleep(0.01)
    assert not task.done()
    await asyncio.to_thread(panels.leave, "b")
    assert await settled(task) is None


@pytest.mark.asyncio
async def test_a_panel_that_vanished_is_given_up(announced):
    panels = Panels(announced)
    panels.announce("a", SHORTEST_SILENCE)
    assert await settled(panels.front(ASKED)) is None
    assert announced.names == ()


@pytest.mark.asyncio
async def test_a_panel_that_is_heard_of_is_waited_for_longer(panels, clock):
    panels.announce("a", 2)
    task = await waiting(panels)
    clock.time += 1.99
    panels.hear("a")
    await asyncio.sleep(0.05)
    assert not task.done()
    panels.leave("a")
    assert await settled(task) is None


@pytest.mark.asyncio
async def test_one_that_leaves_and_comes_back_at_once_is_waited_for(panels):
    panels.announce("a")
    task = await waiting(panels)
    panels.leave("a")
    panels.announce("b")
    await asyncio.sleep(0.01)
    assert not task.done()
    panels.leave("b")
    await settled(task)


def test_a_loop_that_has_ended_is_not_told():
    loop = asyncio.new_event_loop()
    loop.close()
    _Waiter(loop).wake()


def test_many_threads_come_and_go(announced):
    panels = Panels(announced)

    def work(name):
        for _ in range(200):
            panels.announce(name)
            panels.hear(name)
            panels.leave(name)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (panels.names, announced.names) == ((), ())


# --- at the desk --------------------------------------------------------------------------------------


@pytest.fixture
def desk():
    session = Session.memory()
    session.append(Turn("user", (TextBlock("go"),)))
    session.append(Turn("assistant", (ToolCallBlock("call_1", "present_plan", {}),), run_id="run_1"))
    desk = Desk(session)
    desk.keep = session
    return desk


@pytest.mark.asyncio
async def test_an_answer_of_the_panel_ends_the_waiting(panels, desk):
    panels.announce("a")
    task = asyncio.ensure_future(desk.put(ASKED, panels.front))
    await asyncio.sleep(0.01)
    await asyncio.to_thread(lambda: desk.answer(ASKED.id, {"decision": "approve"}, by=NAME))
    answer = await settled(task)
    assert (answer.value["decision"], answer.by) == ("approve", NAME)
    assert panels._waiters == set()


@pytest.mark.asyncio
async def test_a_silent_panel_still_answers_what_is_then_asked_elsewhere(panels, desk, clock):
    async def next_front(interaction):
        if (answer := await panels.front(interaction)) is not None:
            return answer
        return InteractionAnswer(interaction.id, await asyncio.Event().wait(), "widget")

    panels.announce("a", 2)
    clock.time += 1.999
    task = asyncio.ensure_future(desk.put(ASKED, next_front))
    await asyncio.sleep(0.01)
    clock.time += 1
    await asyncio.sleep(0.05)
    assert panels.names == ()
    desk.answer(ASKED.id, {"decision": "reject"}, by=NAME)
    assert (await settled(task)).value["decision"] == "reject"


@pytest.mark.asyncio
async def test_a_stop_while_a_panel_is_asked_closes_the_question(panels, desk):
    panels.announce("a")
    task = asyncio.ensure_future(desk.put(ASKED, panels.front))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await settled(task)
    assert desk.pending == ()
    assert panels._waiters == set()

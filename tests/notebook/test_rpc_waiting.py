"""What waits for a person, answered by calls from outside."""

# ruff: noqa: F401, F811 - fixtures are imported, and named as arguments

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from tests.notebook.test_rpc import PLAN, Thread, idle, shell
from zidane_lab.chat.interacting import desk_of, nobody_there
from zidane_lab.notebook.interactions import announced_at
from zidane_lab.notebook.rpc_control import REPLY, REQUEST, install
from zidane_lab.notebook.rpc_methods import METHODS
from zidane_lab.session.interactions import (
    INTERACTION_ANSWER,
    new_interaction,
)

# --- a run that waits -----------------------------------------------------------------------------------


class Waiting:
    """A run that waits for a person in a thread of its own, as the agent's does."""

    def __init__(self, shell, payload=PLAN, front=None):
        self.answer = None

        async def front_until_answered(_interaction):
            await asyncio.Event().wait()

        async def put():
            interaction = new_interaction("plan", payload, run_id="run_1", call_id="call_1")
            self.answer = await desk_of(shell.session).put(interaction, front or front_until_answered)

        self.loop = asyncio.new_event_loop()
        self.task = self.loop.create_task(put())
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        try:
            self.loop.run_until_complete(asyncio.wait({self.task}))
        finally:
            self.loop.close()

    def end(self):
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.answer


def until(condition):
    end = threading.Event()
    for _ in range(1000):
        if condition():
            return
        end.wait(0.005)
    raise AssertionError("it did not happen")


def asked_in(shell):
    until(lambda: desk_of(shell.session).is_waited_at)
    (asked,) = shell.call("pending")["pending"]
    return asked["id"]


def test_a_run_goes_on_with_the_answer(shell):
    run = Waiting(shell)
    told = shell.call("answer", id=asked_in(shell), value={"decision": "edit", "steps": [" two "]})
    assert told == {"value": {"decision": "edit", "reason": "", "steps": ["two"]}, "running": True}
    assert run.end().value == told["value"]


def test_what_was_answered_is_open_no_more_though_its_run_sleeps_on(shell):
    run = Waiting(shell)
    name, woken = asked_in(shell), threading.Event()
    run.loop.call_soon_threadsafe(woken.wait)
    shell.call("answer", id=name, value={"decision": "approve"})
    try:
        assert shell.call("pending")["pending"] == []
        assert shell.call("status")["pending"] == 0
        assert shell.call("answer", id=name, value={"decision": "reject"})["code"] == "answered"
    finally:
        woken.set()
    assert run.end().value["decision"] == "approve"


@pytest.mark.parametrize("_round", range(5))
def test_of_many_answers_at_once_one_counts_and_the_others_are_told(shell, _round):
    run, count = Waiting(shell), 12
    name, replies, barrier = asked_in(shell), [None] * count, threading.Barrier(count)

    def send(number):
        barrier.wait()
        replies[number] = shell.call("answer", id=name, value={"decision": "reject", "reason": str(number)})

    threads = [threading.Thread(target=send, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    taken = [each["value"]["reason"] for each in replies if "value" in each]
    assert sorted(each.get("code", "") for each in replies) == [""] + ["answered"] * (count - 1)
    assert [run.end().value["reason"]] == taken
    assert len(shell.session.records(INTERACTION_ANSWER)) == 1


def test_nobody_there_and_a_late_answer(shell):
    run = Waiting(shell, front=nobody_there)
    assert run.end().value is None
    (record,) = shell.session.records(INTERACTION_ANSWER)
    assert shell.call("answer", id=record["id"], value={"decision": "approve"})["code"] == "closed"


# --- the run ----------------------------------------------------------------------------------------


def test_a_run_is_steered_followed_up_and_stopped(shell):
    assert shell.call("steer", text="left") == {"queued": ["left"]}
    assert shell.call("follow_up", text="then right")["queued"] == ["left", "then right"]
    assert shell.call("stop") == {"stopping": True}
    assert shell.stopped == 1


def test_a_status_tells_what_is_going_on(shell, idle):
    shell.left_open("plan", PLAN)
    status = shell.call("status")
    assert (status["running"], status["model"], status["mode"], status["pending"]) == (True, "scripted/x", "auto", 1)
    assert (status["session"]["id"], status["session"]["turns"]) == (shell.session.id, 2)
    assert status["session"]["usage"]["input"] == 0
    status = idle.call("status")
    assert (status["running"], status["model"]) == (False, "scripted/y")


def test_a_run_that_begins_is_one_that_can_be_stopped(idle):
    idle._zidane_host._current = object()
    assert idle.call("status")["running"] is True
    assert idle.call("stop") == {"stopping": True}


def test_an_agent_that_does_not_answer_keeps_nobody_waiting(idle, monkeypatch):
    from zidane_lab.notebook import rpc_methods

    monkeypatch.setattr(rpc_methods, "_PATIENCE", 0.05)
    free = threading.Event()
    idle._zidane_host.thread.loop.call_soon_threadsafe(free.wait)
    assert idle.call("status")["code"] == "busy"
    free.set()
    monkeypatch.undo()
    assert idle.call("status")["running"] is False


def test_it_may_be_called_on_the_agents_own_thread(idle):
    async def ask():
        return idle.call("status")

    assert idle._zidane_host.thread.call(ask(), 5)["running"] is False


# --- the control channel --------------------------------------------------------------------------------


class Kernel:
    def __init__(self, shell):
        self.shell, self.control_handlers, self.sent = shell, {}, []
        self.session = SimpleNamespace(send=lambda *args, **more: self.sent.append((*args, more)))


def test_a_message_on_the_control_channel_is_answered(shell):
    kernel = shell.kernel = Kernel(shell)
    assert shell.call("hello")["control"] is True
    shell.call("hello")
    handle = kernel.control_handlers[REQUEST]
    handle("stream", [b"me"], {"content": {"v": 1, "method": "steer", "params": {"text": "left"}}})
    ((stream, kind, content, _parent, more),) = kernel.sent
    assert (stream, kind, more) == ("stream", REPLY, {"ident": [b"me"]})
    assert content == {"status": "ok", "v": 1, "result": {"queued": ["left"]}}
    for content in ({}, None, {"v": 1, "method": "x"}, {"v": 1, "method": "hello", "params": {"a": object()}}):
        handle("stream", [b"me"], {"content": content})
        assert kernel.sent[-1][2]["error"]["code"] in ("malformed", "version", "unknown_method")


def test_kernels_without_such_a_channel_say_so(shell):
    assert install(None) is False
    shell.kernel = SimpleNamespace()
    assert shell.call("hello")["control"] is False


def test_hello_names_every_method(shell):
    told = shell.call("hello")
    assert told["methods"] == list(METHODS)
    assert told["loaded"] is True
    assert announced_at(shell).names == ()

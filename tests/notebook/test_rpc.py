"""The entry for front ends: whatever is sent, one JSON reply; answers are checked, bound to an id, and the first wins."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.approvals.decisions import Question
from zidane_lab.chat.interacting import question_payload
from zidane_lab.notebook.rpc import EXPRESSION, LONGEST_REPLY, LONGEST_REQUEST, rpc
from zidane_lab.notebook.rpc_errors import CODES
from zidane_lab.notebook.rpc_methods import METHODS
from zidane_lab.notebook.rpc_sizes import LONGEST_LISTED, MOST_LISTED
from zidane_lab.session.interactions import (
    INTERACTION,
    INTERACTION_ANSWER,
    interaction_record,
    interactions_in,
    new_interaction,
)
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock, ToolCallBlock, Turn

PLAN = {"title": "Clean up", "steps": [{"title": "one"}]}
QUESTIONS = {"questions": [{"id": "why", "type": "text", "question": "What for?"}]}
APPROVAL = question_payload(Question("shell", "Build", "make", choices=("once", "session", "deny")))


class Agent:
    """As much of an agent as front ends reach."""

    def __init__(self, session):
        self.session, self.running, self.model_name = session, True, "scripted/x"
        self.said = []

    def steer(self, text):
        self.said.append(text)

    follow_up = steer

    def queued(self):
        return tuple(self.said)


class Thread:
    """The agent's thread: a loop that is started when it is needed."""

    def __init__(self):
        self.thread = None

    @property
    def loop(self):
        if self.thread is None:
            self._loop = asyncio.new_event_loop()
            self.thread = threading.Thread(target=self._loop.run_forever)
            self.thread.start()
        return self._loop

    def call(self, work, seconds):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(seconds)

    def stop(self):
        if self.thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self.thread.join(10)
            self._loop.close()
            self.thread = None


class Shell:
    """A shell that has the extension, with a session of one open call."""

    def __init__(self, *, running=True):
        self.session = Session.memory()
        self.session.append(Turn("user", (TextBlock("go"),)))
        self.session.append(Turn("assistant", (ToolCallBlock("call_1", "present_plan", {}),), run_id="run_1"))
        self.stopped = 0
        chat = SimpleNamespace(
            agent=Agent(self.session) if running else None,
            session=self.session,
            screen=None,
            settings=SimpleNamespace(mode="auto"),
            choose_model=lambda: SimpleNamespace(name="scripted/y"),
        )
        self._zidane_host = SimpleNamespace(chat=chat, thread=Thread(), stop=self.stop, _current=None)

    run_zidane = None

    @property
    def agent(self):
        return self._zidane_host.chat.agent

    def stop(self):
        self.stopped += 1

    def call(self, method, **params):
        reply = json.loads(rpc(json.dumps({"v": 1, "method": method, "params": params}), shell=self))
        assert reply["v"] == 1
        return reply.get("result") or reply["error"]

    def left_open(self, kind, payload):
        """Record what a process that died has asked."""
        interaction = new_interaction(kind, payload, run_id="run_1", call_id="call_1")
        self.session.record(INTERACTION, interaction_record(interaction))
        return interaction


@pytest.fixture
def shell():
    shell = Shell()
    host = shell._zidane_host
    yield shell
    host.thread.stop()


@pytest.fixture
def idle():
    shell = Shell(running=False)
    yield shell
    shell._zidane_host.thread.stop()


# --- the envelope -----------------------------------------------------------------------------------

BAD = {
    "": "malformed",
    "[]": "malformed",
    '"hello"': "malformed",
    "{": "malformed",
    "{}": "version",
    '{"v": 2, "method": "hello"}': "version",
    '{"v": true, "method": "hello"}': "version",
    '{"v": "1", "method": "hello"}': "version",
    '{"v": 1}': "unknown_method",
    '{"v": 1, "method": "__init__"}': "unknown_method",
    '{"v": 1, "method": ["hello"]}': "unknown_method",
    '{"v": 1, "method": "hello", "params": []}': "invalid_params",
    '{"v": 1, "method": "status", "params": {"client": 3}}': "invalid_params",
    '{"v": 1, "method": "status", "params": {"client": ""}}': "invalid_params",
    '{"v": 1, "method": "status", "params": {"client": "' + "x" * 201 + '"}}': "invalid_params",
    '{"v": 1, "method": "announce"}': "invalid_params",
    '{"v": 1, "method": "announce", "params": {"client": "a", "silence": true}}': "invalid_params",
    '{"v": 1, "method": "announce", "params": {"client": "a", "silence": NaN}}': "invalid_params",
    '{"v": 1, "method": "announce", "params": {"client": "a", "silence": -1}}': "invalid_params",
    '{"v": 1, "method": "answer", "params": {"id": 7}}': "invalid_params",
    '{"v": 1, "method": "answer", "params": {"id": ""}}': "invalid_params",
    '{"v": 1, "method": "steer", "params": {"text": " "}}': "invalid_params",
    "9" * 10_000: "malformed",
    "[" * 100_000: "malformed",
    "\x00": "malformed",
    "\ud800": "malformed",
}


@pytest.mark.parametrize(("text", "code"), BAD.items(), ids=[each[:60] for each in BAD.values()])
def test_a_request_that_cannot_be_read_is_told_why(shell, capsys, text, code):
    reply = json.loads(rpc(text, shell=shell))
    assert (reply["v"], reply["error"]["code"]) == (1, code)
    assert reply["error"]["message"]
    assert set(reply["error"]) == {"code", "message", "hint"}
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("request_", [None, 3, b"{}", {"v": 1, "method": "hello"}])
def test_what_is_no_text_is_told_so(shell, request_):
    assert json.loads(rpc(request_, shell=shell))["error"]["code"] == "malformed"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.text() | JSON.map(json.dumps))
def test_any_text_gets_a_reply(text):
    reply = json.loads(rpc(text, shell=object()))
    assert reply.keys() == {"v", "error"}


@given(
    st.sampled_from(sorted(METHODS)),
    st.dictionaries(st.sampled_from(["id", "value", "client", "text", "silence"]), JSON),
)
def test_any_parameters_get_a_reply_and_no_fault(method, params):
    shell = Shell()
    shell.left_open("plan", PLAN)
    reply = json.loads(rpc(json.dumps({"v": 1, "method": method, "params": params}), shell=shell))
    assert reply.keys() in ({"v", "result"}, {"v", "error"})
    assert reply.get("error", {}).get("code") != "internal", reply


def test_sizes_are_bounded_both_ways(shell):
    request = json.dumps({"v": 1, "method": "steer", "params": {"text": "x" * LONGEST_REQUEST}})
    assert json.loads(rpc(request, shell=shell))["error"]["code"] == "too_large"
    assert shell.agent.said == []
    asked = shell.left_open("plan", {**PLAN, "summary": "x" * LONGEST_REPLY})
    assert shell.call("pending", id=asked.id)["code"] == "too_large"
    (listed,) = shell.call("pending")["pending"]
    assert listed["shortened"] is True
    assert len(json.dumps(listed)) < 2 * LONGEST_LISTED


def test_a_fault_of_ours_is_a_reply(shell, monkeypatch):
    monkeypatch.setattr(shell._zidane_host, "stop", lambda: 1 / 0)
    assert shell.call("stop") == {"code": "internal", "message": "ZeroDivisionError: division by zero", "hint": ""}


def test_an_interrupt_is_a_reply(shell, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(shell._zidane_host, "stop", interrupted)
    assert shell.call("stop")["code"] == "internal"


def test_every_code_is_told_and_every_one_told_is_used(shell):
    from pathlib import Path

    import zidane_lab.notebook as package

    code = "".join(
        path.read_text() for path in Path(package.__file__).parent.glob("rpc*.py") if "errors" not in path.name
    )
    for name in CODES:
        assert f'"{name}"' in code


def test_as_a_user_expression_it_is_plain_json():
    from IPython.core.formatters import DisplayFormatter

    request = json.dumps({"v": 1, "method": "hello", "params": {"word": "\U0001f427 \\ \" ' \n {0}"}})
    namespace = {}
    expression = EXPRESSION.format(json.dumps(request)).replace(".rpc(", ".rpc(shell=shell, request=")
    value = eval(expression, {"shell": object()}, namespace)
    data, _ = DisplayFormatter().format(value)
    assert json.loads(data["text/plain"])["result"]["loaded"] is False
    assert namespace == {}


# --- without the extension, and before the first prompt -------------------------------------------------


def test_without_the_extension_only_comings_and_goings_are_answered():
    shell = type("Bare", (), {})()
    assert json.loads(rpc('{"v": 1, "method": "hello"}', shell=shell))["result"]["loaded"] is False
    for name in ("pending", "answer", "stop", "steer", "follow_up", "status"):
        params = {"id": "ask_1", "text": "go", "value": {}}
        reply = json.loads(rpc(json.dumps({"v": 1, "method": name, "params": params}), shell=shell))
        assert reply["error"]["code"] == "not_loaded"


def test_before_the_first_prompt_nothing_is_going_on_and_nothing_is_made(shell):
    del shell._zidane_host
    status = shell.call("status")
    assert (status["running"], status["session"], status["pending"]) == (False, None, 0)
    assert shell.call("pending") == {"pending": [], "more": 0, "announced": False}
    assert shell.call("stop") == {"stopping": False}
    assert shell.call("steer", text="go")["code"] == "not_running"
    assert shell.call("answer", id="ask_1", value={})["code"] == "not_found"


# --- what waits -------------------------------------------------------------------------------------


def test_what_a_dead_process_asked_is_listed_and_answered(idle):
    shell = idle
    asked = shell.left_open("plan", PLAN)
    (listed,) = shell.call("pending")["pending"]
    assert listed["payload"] == PLAN
    assert (listed["id"], listed["kind"], listed["title"]) == (asked.id, "plan", "Plan: Clean up")
    assert (listed["call_id"], listed["run_id"], listed["shortened"]) == ("call_1", "run_1", False)
    assert listed["how"].startswith("approve")
    assert shell.call("pending", id=asked.id)["pending"] == [listed]
    told = shell.call("answer", id=asked.id, value={"decision": "approve"})
    assert told == {"value": {"decision": "approve", "reason": ""}, "running": False}
    assert shell.call("pending")["pending"] == []
    assert interactions_in(shell.session).answers[asked.id].by == "panel"


@pytest.mark.parametrize(
    "value",
    [
        None, [], "approve", {}, {"decision": "yes"}, {"decision": "edit", "steps": []}, {"decision": "approve", "reason": 3},
        {"decision": ["approve"]}, {"answers": {}},
    ],
)  # fmt: skip
def test_an_answer_that_does_not_fit_leaves_it_open(shell, value):
    asked = shell.left_open("plan", PLAN)
    told = shell.call("answer", id=asked.id, value=value)
    assert (told["code"], told["message"][:24]) == ("invalid_answer", "That does not answer it:")
    assert told["hint"]
    assert [each["id"] for each in shell.call("pending")["pending"]] == [asked.id]
    assert shell.session.records(INTERACTION_ANSWER) == ()


def test_more_than_was_offered_cannot_be_allowed(shell):
    asked = shell.left_open("approval", APPROVAL)
    assert shell.call("answer", id=asked.id, value={"decision": "always"})["code"] == "invalid_answer"
    assert shell.call("answer", id=asked.id, value={"decision": "session"})["value"]["decision"] == "session"


def test_an_answer_is_bound_to_the_whole_id(shell):
    asked = shell.left_open("plan", PLAN)
    for name in (asked.id[:-1], asked.id.removeprefix("ask_"), asked.id + "x", asked.id.upper(), "ask_"):
        assert shell.call("answer", id=name, value={"decision": "approve"})["code"] == "not_found"
    assert shell.session.records(INTERACTION_ANSWER) == ()


def test_a_second_answer_is_told_that_it_came_late(shell):
    asked = shell.left_open("plan", PLAN)
    shell.call("answer", id=asked.id, value={"decision": "approve"})
    assert shell.call("answer", id=asked.id, value={"decision": "reject"})["code"] == "answered"
    assert shell.call("pending", id=asked.id)["code"] == "answered"
    assert len(shell.session.records(INTERACTION_ANSWER)) == 1


def test_what_nobody_waits_for_any_more_is_closed(shell):
    asked = shell.left_open("plan", PLAN)
    shell.session.close_calls()
    told = shell.call("answer", id=asked.id, value={"decision": "approve"})
    assert told["code"] == "closed"
    assert shell.session.records(INTERACTION_ANSWER) == ()


def test_half_a_character_does_no_harm(shell):
    asked = shell.left_open("question", QUESTIONS)
    value = {"answers": {"why": "a\ud83d"}}
    request = json.dumps({"v": 1, "method": "answer", "params": {"id": asked.id, "value": value}})
    assert "\\ud83d" in request
    taken = json.loads(rpc(request, shell=shell))["result"]["value"]
    assert taken == {"answers": {"why": "a?"}}


def test_a_session_of_unknown_origin_hides_nothing(shell):
    """Payloads are read from a file that anybody may have written."""
    strange = {"tool": {"a": 1}, "choices": ["launch"], "reasons": 3, "hunks": "x", "target": None}
    for _ in range(2):
        shell.left_open("approval", strange)
    shell.left_open("question", {"questions": "none"})
    shell.left_open("plan", {"title": ["x"], "steps": {}})
    huge = {"questions": [{"id": "x" * 1000, "question": "y" * 1000, "options": [{"label": "z" * 1000}] * 60}] * 60}
    shell.left_open("question", huge)
    last = shell.left_open("plan", PLAN)
    listed = shell.call("pending")["pending"]
    assert len(listed) == 6
    assert listed[-1]["id"] == last.id
    assert [each["shortened"] for each in listed] == [False] * 4 + [True, False]
    assert all(len(json.dumps(each)) < 2 * LONGEST_LISTED for each in listed)


def test_a_long_list_is_cut_and_says_so(shell):
    for _ in range(MOST_LISTED + 3):
        shell.left_open("plan", PLAN)
    told = shell.call("pending")
    assert (len(told["pending"]), told["more"]) == (MOST_LISTED, 3)

"""Answering, steering and stopping from outside the cell, in a real kernel, whatever its main thread does."""

from __future__ import annotations

import json
import time

import pytest

from tests.kernels import running_kernel
from tests.notebook.front_end import front_end
from tests.notebook.test_cell_interactions import PLAN, QUESTIONS, Hand, page_on, records, results, said
from tests.notebook.test_magics import WRITE, Book, python

pytestmark = pytest.mark.kernel

WAYS = ("control", "subshell")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    with running_kernel(folder) as kernel:
        version = eval(kernel.ok("from ipykernel._version import version_info as v; print(v)").stream("stdout"))
        kernel.version, kernel.folder = tuple(version[:2]), folder
        yield kernel


@pytest.fixture
def book(kernel):
    kernel.run("%unload_ext zidane_lab")
    kernel.ok("%load_ext zidane_lab")
    (kernel.folder / "made.txt").unlink(missing_ok=True)
    return Book(kernel, kernel.folder)


@pytest.fixture
def front(kernel):
    with front_end(kernel) as front:
        front.call("hello", way="shell")
        yield front
        front.call("leave", client="panel-1")


@pytest.fixture(params=WAYS)
def either(request, kernel, front):
    """The same front end, over the control channel and on a subshell."""
    if request.param == "control":
        yield front
        return
    if kernel.version < (7, 0):
        pytest.skip("no subshells on ipykernel 6")
    with front_end(kernel, "subshell") as other:
        yield other


def start(book, *answers, options="", **more):
    return book.kernel.start(book.cell("go", *answers, options=options), **more)


# --- a panel is asked -----------------------------------------------------------------------------------


def test_a_permission_is_given_while_the_cell_runs(book, either):
    either.call("announce", client="panel-1")
    msg = start(book, WRITE, {"text": "ok"})
    asked = either.asked(client="panel-1")
    assert (asked["kind"], asked["title"]) == ("approval", "Write a file")
    assert "made.txt" in asked["payload"]["target"]
    assert either.call("answer", id=asked["id"], value={"decision": "once"})["running"] is True
    assert either.seconds < 1
    prompts = []
    cell = book.kernel.finish(msg, answer=prompts.append)
    assert (cell.status, prompts) == ("ok", [])
    assert (book.folder / "made.txt").exists()
    assert [data["by"] for data in records(book, "interaction-answer")] == ["panel"]


def test_questions_plans_and_budgets_are_answered(book, front):
    front.call("announce", client="panel-1")
    msg = start(book, {"calls": [QUESTIONS]}, {"calls": [PLAN]}, WRITE, {"text": "ok"}, options="--max-turns 2")
    values = {
        "question": {"answers": {"lib": "pandas", "why": "a report"}},
        "plan": {"decision": "edit", "steps": ["Read", "Count"]},
        "budget": {"decision": "once"},
        "approval": {"decision": "deny", "reason": "not here"},
    }
    kinds = []
    while len(kinds) < len(values):
        asked = front.asked(client="panel-1")
        kinds.append(asked["kind"])
        assert "value" in front.call("answer", id=asked["id"], value=values[asked["kind"]])
    book.kernel.finish(msg)
    assert kinds == ["question", "plan", "budget", "approval"]
    assert said(book, 0).split("\n")[:3] == ["User answers:", "lib: pandas", "why: a report"]
    assert '"steps": ["Read", "Count"]' in said(book, 1)
    assert "They said: not here" in said(book, 2)


def test_an_answer_that_does_not_fit_changes_nothing(book, front):
    front.call("announce", client="panel-1")
    msg = start(book, WRITE, {"text": "ok"})
    asked = front.asked()
    for value in ({"decision": "launch"}, {"decision": "once", "hunks": [True]}, "yes", None):
        assert front.call("answer", id=asked["id"], value=value)["code"] == "invalid_answer"
    assert front.call("answer", id=asked["id"][:10], value={"decision": "once"})["code"] == "not_found"
    front.call("answer", id=asked["id"], value={"decision": "deny"})
    book.kernel.finish(msg)
    assert front.call("answer", id=asked["id"], value={"decision": "once"})["code"] == "answered"
    assert not (book.folder / "made.txt").exists()


# --- a panel that goes --------------------------------------------------------------------------------


def test_a_panel_that_leaves_makes_room_for_the_input_box(book, front):
    front.call("announce", client="panel-1")
    msg = start(book, WRITE, {"text": "ok"})
    front.asked()
    assert front.call("leave", client="panel-1") == {"left": True}
    prompts = []
    book.kernel.finish(msg, answer=lambda prompt: prompts.append(prompt) or "y")
    assert len(prompts) == 1
    assert [data["by"] for data in records(book, "interaction-answer")] == ["stdin"]


def test_a_panel_that_vanished_keeps_nobody_waiting(book, front):
    front.call("announce", client="panel-1", silence=2)
    begun, prompts = time.monotonic(), []
    book.ask("go", WRITE, {"text": "ok"}, answer=lambda prompt: prompts.append(prompt) or "y")
    assert time.monotonic() - begun < 15
    assert len(prompts) == 1
    assert front.call("pending", client="panel-1")["announced"] is False


def test_where_nobody_else_is_a_vanished_panel_means_policy(book, front):
    front.call("announce", client="panel-1", silence=2)
    msg = start(book, WRITE, {"text": "ok"}, allow_stdin=False)
    asked = front.asked()
    book.kernel.finish(msg)
    assert said(book).startswith("Blocked: refused")
    assert front.call("answer", id=asked["id"], value={"decision": "once"})["code"] == "closed"
    assert not (book.folder / "made.txt").exists()


# --- stopping and speaking ------------------------------------------------------------------------------


def test_an_interrupt_while_a_panel_is_asked_stops_the_run(book, front):
    front.call("announce", client="panel-1")
    msg = start(book, WRITE, {"text": "never"})
    asked = front.asked()
    moments = book.kernel.interrupt_when(lambda: True)
    cell = book.kernel.finish(msg)
    assert time.monotonic() - moments[0] < 2
    assert cell.error["ename"] == "RunStopped"
    assert front.call("answer", id=asked["id"], value={"decision": "once"})["code"] == "closed"
    assert [data["by"] for data in records(book, "interaction-answer")] == ["stop"]
    assert not (book.folder / "made.txt").exists()


@pytest.mark.parametrize("code", ["import time; time.sleep(30)", "import asyncio; await asyncio.sleep(30)"])
def test_a_run_is_stopped_in_the_middle_of_its_code(book, either, code):
    msg = start(book, {"calls": [python(f"print('begun'); {code}")]}, {"text": "never"})
    book.kernel.late(msg, seconds=20, until=lambda messages: any(each["msg_type"] == "stream" for each in messages))
    assert either.call("status")["running"] is True
    begun = time.monotonic()
    assert either.call("stop") == {"stopping": True}
    assert book.kernel.finish(msg).error["ename"] == "RunStopped"
    assert time.monotonic() - begun < 3
    assert either.call("stop") == {"stopping": False}


def test_a_run_is_steered_and_followed_up_in_the_middle_of_its_code(book, front):
    wait = "import time\nprint('begun')\nwhile not __import__('os').path.exists('go'): time.sleep(0.02)"
    msg = start(book, {"calls": [python(wait)]}, {"text": "To the left."}, {"text": "And on."})
    book.kernel.late(msg, seconds=20, until=lambda messages: any(each["msg_type"] == "stream" for each in messages))
    assert front.call("steer", text="left, please") == {"queued": ["left, please"]}
    assert front.call("follow_up", text="then go on")["queued"] == ["left, please", "then go on"]
    assert front.call("status")["queued"] == ["left, please", "then go on"]
    (book.folder / "go").touch()
    book.kernel.finish(msg)
    (book.folder / "go").unlink()
    users = [turn["blocks"][-1].get("text") for turn in book.turns() if turn["role"] == "user"]
    assert users[0] == "go"
    assert any("left, please" in str(text) for text in users)
    assert users[-1] == "then go on"
    assert front.call("steer", text="too late")["code"] == "not_running"


# --- whatever the main thread does ----------------------------------------------------------------------


@pytest.mark.parametrize("busy", ["import time; time.sleep(3)", "n = 0\nwhile n < 40_000_000: n += 1"])
def test_answers_arrive_while_the_main_thread_is_blocked(book, either, busy):
    either.call("announce", client="panel-1")
    book.kernel.finish(start(book, WRITE, {"text": "done"}, options="--bg"))
    asked = either.asked()
    msg = book.kernel.start(f"print('begun', flush=True)\n{busy}")
    book.kernel.late(msg, seconds=20, until=lambda messages: any(each["msg_type"] == "stream" for each in messages))
    assert either.call("answer", id=asked["id"], value={"decision": "once"})["running"] is True
    assert either.seconds < 1.5
    assert not (book.folder / "made.txt").exists()
    book.kernel.finish(msg)
    end = time.monotonic() + 20
    while not (book.folder / "made.txt").exists():
        assert time.monotonic() < end
        book.kernel.ok("import time; time.sleep(0.05)")


def test_calls_over_the_control_channel_leave_a_running_cell_alone(book, front):
    """An execute request on a subshell draws its figure halfway, ends its input box and takes its payload."""
    pytest.importorskip("matplotlib")
    if book.kernel.run("%matplotlib inline\nimport matplotlib.pyplot as plt").status != "ok":
        pytest.skip("the kernel has no matplotlib")
    code = """
get_ipython().set_next_input("next")
plt.plot([1, 2])
print("begun", flush=True)
answer = input("go on?")
plt.title("late")
print(len(plt.get_fignums()), answer)
"""
    msg = book.kernel.start(code)

    def ask(_prompt):
        for method in ("status", "pending", "hello", "stop", "announce"):
            assert "code" not in front.call(method, client="panel-1")
        return "yes"

    cell = book.kernel.finish(msg, answer=ask)
    assert cell.stream("stdout") == "begun\n1 yes\n"
    assert [data.keys() & {"image/png"} for data in cell.displays] == [{"image/png"}]
    assert [each["text"] for each in cell.reply["payload"]] == ["next"]
    assert book.kernel.value("plt.get_fignums()") == []


def test_nothing_sent_harms_the_kernel(book, front):
    deep = "[" * 400 + "]" * 400
    for text in (json.dumps({"v": 1, "method": "answer", "params": {"id": "x" * 900_000}}), f'{{"a": {deep}}}'):
        assert "error" in front.send(text)
    big = json.dumps({"v": 1, "method": "steer", "params": {"text": "y" * 2_000_000}})
    assert front.send(big)["error"]["code"] == "too_large"
    assert front.send(big, way="shell")["error"]["code"] == "too_large"
    assert front.call("hello", way="shell")["control"] is True
    assert book.kernel.ok("1 + 1").messages[-1]["content"]["data"]["text/plain"] == "2"


def test_a_call_leaves_no_trace(book, front):
    look = "(len(In), [name for name in sorted(globals()) if name[0] != '_'], get_ipython().execution_count)"
    cells, names, count = book.kernel.value(look)
    for way in ("shell", "control"):
        front.call("status", way=way)
        front.call("pending", way=way)
    assert book.kernel.value(look) == (cells + 1, names, count + 1)
    book.kernel.ok("41 + 1")
    front.call("status", way="shell")
    assert book.kernel.value("_") == 42


# --- two at once ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["click", "call"])
def test_a_click_and_a_call_at_once_are_one_answer(book, front, first):
    if book.kernel.version < (7, 0):
        pytest.skip("a click reaches no running cell on ipykernel 6")
    book.kernel.run("%unload_ext zidane_lab")
    page = page_on(book.kernel)
    told = []

    def both():
        if page.find(_model_name="ButtonModel", description="Deny") is None:
            return False
        name = front.asked()["id"]
        if first == "click":
            page.press("Deny")
        posted = front.post("answer", id=name, value={"decision": "deny", "reason": "by call"})
        if first == "call":
            page.press("Deny")
        told.append(front.reply(posted))
        return True

    cell = book.ask("go", WRITE, {"text": "ok"}, on_message=Hand(page, both))
    (record,) = records(book, "interaction-answer")
    assert record["by"] in ("widget", "panel")
    assert ("value" in told[0]) == (record["by"] == "panel")
    assert ("They said: by call" in said(book)) == (record["by"] == "panel")
    assert len(cell.own("interaction")) == 1


# --- before and after -------------------------------------------------------------------------------------


def test_a_kernel_without_the_extension_says_so(book, front):
    book.kernel.ok("%unload_ext zidane_lab")
    assert front.call("hello")["loaded"] is False
    assert front.call("status")["code"] == "not_loaded"
    book.kernel.ok("%load_ext zidane_lab")
    assert front.call("hello")["loaded"] is True
    assert front.call("status")["session"] is None


@pytest.mark.slow
def test_a_kernel_is_killed_while_a_panel_is_asked_and_the_next_one_is_answered(tmp_path):
    with running_kernel(tmp_path) as kernel, front_end(kernel) as front:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        front.call("hello", way="shell")
        front.call("announce", client="panel-1")
        start(book, WRITE, {"text": "never"})
        before = front.asked()
        kernel.kill()
    with running_kernel(tmp_path) as kernel, front_end(kernel) as front:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        kernel.ok("%zidane /resume")
        front.call("hello", way="shell")
        after = front.asked()
        assert after == before
        assert front.call("answer", id=after["id"], value={"decision": "once"})["running"] is False
        cell = kernel.ok(f"%zidane --model {book.script({'text': 'Here again.'})} continue", allow_stdin=False)
        assert "Here again." in cell.text
        assert (tmp_path / "made.txt").exists()
        assert len(results(book)) == 1

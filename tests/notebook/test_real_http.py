"""A cell, a kernel, and a model behind real HTTP: a third-party mock server in both wire formats."""

from __future__ import annotations

import time

import pytest
from llmock.scenarios import Reply, ToolCall

from tests.kernels import running_kernel

pytestmark = pytest.mark.kernel


@pytest.fixture
def kernel(llmock, tmp_path):
    with running_kernel(tmp_path, env=llmock.env()) as kernel:
        kernel.ok("%load_ext zidane_lab\nnumbers = [1, 2, 3]")
        yield kernel


@pytest.mark.parametrize("model", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"])
def test_a_whole_run(llmock, kernel, model):
    code = "total = sum(numbers)\nprint('adding')\ntotal"
    llmock.add(Reply(text="Let me add.", tool_calls=(ToolCall("run_python", {"code": code, "intent": "Add up"}),)))
    llmock.reply("The total is 6.")
    cell = kernel.ok(f"%%zidane --model {model} --to r\nSum the numbers.")
    for words in ("Let me add.", "✓ Add up", "adding", "The total is 6."):
        assert words in cell.text
    assert kernel.value("total") == 6
    assert model in cell.own("usage")[0]["model"]
    assert cell.own("usage")[0]["output"] > 0
    assert cell.own("usage")[0]["cost"] is None  # a mock is no vendor: no price applies
    sent = str(llmock.last_request.body)
    assert "[stdout]\\nadding\\n[value]\\n6" in sent
    llmock.assert_resilient(strict=True)


def test_figures_are_sent_as_images(llmock, kernel):
    code = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot(numbers);"
    llmock.add(Reply(tool_calls=(ToolCall("run_python", {"code": code, "intent": "Plot"}),)))
    llmock.reply("A line.")
    kernel.ok("%%zidane --model anthropic/claude-sonnet-4-5\nPlot.")
    (result,) = [
        block
        for message in llmock.last_request.body["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
    image = next(part for part in result["content"] if part["type"] == "image")
    assert image["source"]["media_type"] == "image/png"


@pytest.mark.parametrize(
    ("fault", "ename"),
    [
        (lambda mock: mock.rate_limit(times=None, retry_after=1), "RateLimitError"),
        (lambda mock: mock.fail(529, times=None), "OverloadedError"),
        (lambda mock: mock.fail(401, times=None), "AuthError"),
    ],
)
def test_a_refusing_service_is_one_clear_line(llmock, kernel, fault, ename):
    fault(llmock)
    cell = kernel.run("%%zidane --model anthropic/claude-sonnet-4-5\nHello?")
    assert cell.error["ename"] == ename
    assert len(cell.error["traceback"]) == 1
    assert "llmock-test-key" not in cell.text + str(cell.error)
    assert cell.own("banner")[-1]["level"] == "error"


def test_a_cut_stream_keeps_what_was_shown(llmock, kernel, tmp_path):
    llmock.truncate(after_chunks=6)
    llmock.reply("Once upon a time there was a kernel that nobody restarted, and it kept everything.")
    cell = kernel.run("%%zidane --model openai/gpt-4o\nTell me a story.")
    assert cell.error["ename"] == "StreamInterruptedError"
    shown = [data["text/plain"] for data in cell.displays if "text/markdown" in data]
    assert shown
    (session,) = tmp_path.glob(".zidane/sessions/*/*.jsonl")
    assert shown[0] in session.read_text()
    llmock.reply("Here is the rest.")
    assert "Here is the rest." in kernel.ok("%%zidane --model openai/gpt-4o\nGo on.").text


def test_an_interrupt_closes_the_stream(llmock, kernel):
    llmock.stall(after_chunks=3)
    llmock.reply("Once upon a time there was a kernel that nobody restarted, and it kept everything.")
    shown = []
    msg = kernel.start("%%zidane --model openai/gpt-4o\nTell me a story.")
    moments = kernel.interrupt_when(lambda: any(m["msg_type"] == "display_data" for m in shown))
    cell = kernel.finish(msg, on_message=shown.append)
    assert time.monotonic() - moments[0] < 1.5
    assert cell.error["ename"] == "RunStopped"


def test_without_naming_a_model_the_first_key_decides(llmock, kernel):
    llmock.reply("Hello from the first key.")
    cell = kernel.ok("%%zidane\nHi")
    assert "Hello from the first key." in cell.text
    assert cell.own("usage")[0]["model"].startswith("anthropic/")


def test_the_key_stays_out_of_session_and_output(llmock, kernel, tmp_path):
    llmock.reply("ok")
    cell = kernel.ok("%%zidane --model openai/gpt-4o\nHi")
    doctor = kernel.ok("%zidane /doctor")
    files = "".join(path.read_text() for path in tmp_path.rglob("*.jsonl"))
    assert "llmock-test-key" not in cell.text + doctor.text + files

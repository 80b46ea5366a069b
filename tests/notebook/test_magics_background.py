"""Runs in the background, and loading and unloading, in a real kernel."""

# ruff: noqa: F401, F811 - fixtures are imported, and named as arguments

from __future__ import annotations

import time

import pytest

from tests.kernels import MIME, running_kernel
from tests.notebook.test_magics import Book, book, python, shared

pytestmark = pytest.mark.kernel


# --- background -------------------------------------------------------------------------------------


def ended(messages):
    return any(
        m["content"].get("data", {}).get(MIME, {}).get("kind") == "usage" for m in messages if "data" in m["content"]
    )


def test_background_runs_return_at_once_and_draw_into_their_cell(book):
    code = "background = 5\nprint('from behind')\nbackground"
    source = book.cell(
        "go", {"calls": [python(code)]}, {"text": "Done behind."}, options="--bg --to r", script={"delay": 0.05}
    )
    msg = book.kernel.start(source)
    first = book.kernel.finish(msg)
    assert "Done behind." not in first.text
    assert book.kernel.value("1 + 1") == 2
    assert "going on" in book.kernel.ok("%zidane /status").text
    rest = book.kernel.late(msg, seconds=20, until=ended)
    first.messages += rest.messages
    assert "Done behind." in first.text
    assert "from behind" in first.text
    assert [card["status"] for card in first.own("tool")] == ["ok"]
    deadline = time.monotonic() + 20  # the name is bound behind the last thing drawn, when the kernel is free
    while not book.kernel.value("'r' in globals()"):
        assert time.monotonic() < deadline
    assert book.kernel.value("(background, r.text)") == (5, "Done behind.")


def test_background_code_keeps_out_of_the_users_cells(book):
    source = book.cell(
        "go", {"calls": [python("order.append('agent')")]}, {"text": "ok"}, options="--bg", script={"delay": 0.01}
    )
    book.kernel.ok("order = []")
    msg = book.kernel.start(source)
    book.kernel.finish(msg)
    book.kernel.ok("import asyncio\norder.append('in')\nawait asyncio.sleep(1.0)\norder.append('out')")
    book.kernel.late(msg, seconds=20, until=ended)
    assert book.kernel.value("order") in (["in", "out", "agent"], ["agent", "in", "out"])


def test_a_background_run_can_be_steered_and_stopped(book):
    slow = {"calls": [python("import asyncio\nawait asyncio.sleep(1.0)"), python("skipped = 1")]}
    source = book.cell("go", slow, {"text": "As you wish. " * 300}, options="--bg", script={"delay": 0.03})
    msg = book.kernel.start(source)
    book.kernel.finish(msg)
    time.sleep(0.5)
    assert "Told" in book.kernel.ok("%zidane /steer look at b instead").text
    seen = book.kernel.late(msg, seconds=20, until=lambda ms: any("As you wish" in str(m["content"]) for m in ms))
    assert "You, meanwhile: look at b instead" in seen.text
    assert "Stopping" in book.kernel.ok("%zidane /stop").text
    seen.messages += book.kernel.late(msg, seconds=10, until=ended).messages
    assert "Stopped." in seen.text
    assert not book.kernel.value("'skipped' in globals()")
    with_results = [b for t in book.turns() for b in t["blocks"] if b["kind"] == "tool_result"]
    assert with_results[1]["parts"][0]["text"] == "[Tool use skipped — superseded by user message]"


def test_a_second_prompt_during_a_background_run_is_refused(book):
    msg = book.kernel.start(book.cell("go", {"text": "slow " * 100}, options="--bg", script={"delay": 0.05}))
    book.kernel.finish(msg)
    cell = book.kernel.run(book.cell("me too", {"text": "no"}))
    assert "under way" in cell.error["traceback"][0]
    book.kernel.ok("%zidane /stop")
    book.kernel.late(msg, seconds=10, until=ended)


# --- loading ----------------------------------------------------------------------------------------


def test_loading_starts_nothing_and_unloading_takes_all_out(tmp_path):
    with running_kernel(tmp_path) as kernel:
        kernel.ok("import sys, threading; _before, _threads = set(sys.modules), threading.active_count()")
        kernel.ok("%load_ext zidane_lab")
        new = kernel.value("sorted(m for m in set(sys.modules) - _before if not m.startswith('IPython.core.magics'))")
        assert new == [
            "zidane_lab",
            "zidane_lab.notebook",
            "zidane_lab.notebook.extension",
            "zidane_lab.notebook.rpc_control",
            "zidane_lab.notebook.transform",
            "zidane_lab.notebook.widget_manager",
        ]
        assert kernel.value("threading.active_count() - _threads") == 0
        kernel.ok("%zidane /help")
        assert not (tmp_path / ".zidane").exists()
        kernel.ok("%unload_ext zidane_lab")
        assert kernel.run("%zidane /help").status == "error" or "not found" in kernel.run("%zidane /help").text
        kernel.ok("%load_ext zidane_lab\n")
        assert "doctor" in kernel.ok("%zidane /help").text


def test_names_of_ours_stay_out_of_the_namespace(book):
    before = set(book.kernel.value("sorted(globals())"))
    book.ask("go", {"calls": [python("only_this = 1")]}, {"text": "ok"})
    new = {name for name in set(book.kernel.value("sorted(globals())")) - before if not name.startswith("_")}
    assert new == {"only_this"}


def test_stopping_a_background_run_that_waits_in_code_takes_less_than_a_second(book):
    code = "import asyncio\nprint('waiting', flush=True)\nawait asyncio.sleep(30)"
    msg = book.kernel.start(book.cell("go", {"calls": [python(code)]}, {"text": "never"}, options="--bg"))
    book.kernel.finish(msg)
    seen = book.kernel.late(msg, seconds=20, until=lambda ms: any(m["msg_type"] == "stream" for m in ms))
    book.kernel.ok("%zidane /steer never mind")
    started = time.monotonic()
    book.kernel.ok("%zidane /stop")
    seen.messages += book.kernel.late(msg, seconds=10, until=ended).messages
    assert time.monotonic() - started < 1.5
    assert "Stopped." in seen.text
    assert "ok now" in book.ask("and now?", {"text": "ok now"}).text


def test_unloading_during_a_background_run_leaves_nothing_behind(tmp_path):
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        code = "import asyncio\nprint('waiting', flush=True)\nawait asyncio.sleep(30)"
        msg = kernel.start(book.cell("go", {"calls": [python(code)]}, {"text": "never"}, options="--bg"))
        kernel.finish(msg)
        kernel.late(msg, seconds=20, until=lambda ms: any(m["msg_type"] == "stream" for m in ms))
        kernel.ok("%unload_ext zidane_lab")
        assert not kernel.value("hasattr(get_ipython(), 'run_zidane')")
        kernel.ok("%load_ext zidane_lab")
        assert "doctor" in kernel.ok("%zidane /help").text
        assert kernel.value("1 + 1") == 2


def test_a_setting_that_cannot_be_read_is_told_and_errs_on_the_safe_side(tmp_path):
    with running_kernel(tmp_path, env={"ZIDANE_MODE": "plna"}) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        cell = kernel.ok(
            book.cell("go", {"calls": [python("harmless = 1")]}, {"text": "ok"}), answer=lambda _prompt: "n"
        )
        assert "ZIDANE_MODE: mode = 'plna'" in cell.text
        assert not kernel.value("'harmless' in globals()")


def test_the_title_is_what_was_asked_not_what_is_attached(book):
    book.kernel.ok("numbers = [1, 2]")
    book.ask("Look at @numbers", {"text": "ok"})
    assert "| Look at @numbers |" in book.kernel.ok("%zidane /sessions").displays[-1]["text/markdown"]

"""``%%zidane`` in a real kernel: the whole path, from a cell to a drawn answer and a session on disk."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tests.kernels import running_kernel

pytestmark = pytest.mark.kernel


def python(code: str, intent: str = "Work") -> dict:
    return {"name": "run_python", "arguments": {"code": code, "intent": intent}}


class Book:
    """A kernel with the extension, and a way to say what the model will answer."""

    def __init__(self, kernel, folder: Path) -> None:
        self.kernel, self.folder = kernel, folder
        self.count = 0

    def script(self, *answers, **options) -> str:
        """Write a script and return the model name that plays it."""
        self.count += 1
        path = self.folder / f"script{self.count}.json"
        path.write_text(json.dumps({"answers": list(answers), **options}))
        return f"scripted/{path.name}"

    def cell(self, prompt: str, *answers, options: str = "", script: dict | None = None) -> str:
        return f"%%zidane --model {self.script(*answers, **(script or {}))} {options}\n{prompt}"

    def ask(self, prompt: str, *answers, options: str = "", **run):
        return self.kernel.ok(self.cell(prompt, *answers, options=options), **run)

    def session(self) -> list[dict]:
        """Entries of the newest session file."""
        newest = max(self.folder.glob(".zidane/sessions/*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(line) for line in newest.read_text().splitlines()]

    def turns(self) -> list[dict]:
        return [entry["turn"] for entry in self.session() if entry["type"] == "turn"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    with running_kernel(folder) as kernel:
        kernel.ok("%load_ext zidane_lab")
        yield Book(kernel, folder)


@pytest.fixture
def book(shared):
    shared.kernel.ok("%zidane /new")
    return shared


# --- asking -----------------------------------------------------------------------------------------


def test_an_answer_is_drawn_as_markdown_and_a_usage_line(book):
    cell = book.ask("Hello?", {"text": "Hello **there**."})
    assert [data["text/markdown"] for data in cell.displays if "text/markdown" in data] == ["Hello **there**."]
    assert cell.own("usage")[0]["turns"] == 1
    assert cell.own("usage")[0]["cost"] is None
    assert "execute_result" not in [message["msg_type"] for message in cell.messages]


def test_code_runs_in_the_users_namespace_and_its_outputs_appear(book):
    book.kernel.ok("numbers = [1, 2, 3]")
    cell = book.ask(
        "Sum them.", {"calls": [python("total = sum(numbers)\nprint('adding')\ntotal", "Add up")]}, {"text": "It is 6."}
    )
    assert book.kernel.value("total") == 6
    assert cell.stream("stdout") == "adding\n"
    card, value = (data["text/plain"].split("\n")[0] for data in cell.displays[:2])
    assert re.fullmatch(r"✓ Add up  \(run_python · created total · [\d.]+ m?s\)", card)
    assert value == "6"
    (result,) = [block for turn in book.turns() for block in turn["blocks"] if block["kind"] == "tool_result"]
    assert result["parts"][0]["text"].startswith("[stdout]\nadding\n[value]\n6\n[done in 0.0")
    assert result["parts"][0]["text"].endswith("; created: total]")


def test_figures_reach_the_page_whole_and_the_model_shrunk(book):
    code = "%matplotlib inline\nimport matplotlib.pyplot as plt\nfig = plt.figure(figsize=(30, 10)); plt.plot([1, 2]);"
    cell = book.ask("Plot.", {"calls": [python(code)]}, {"text": "See above."}, options="--to r")
    (png,) = [data["image/png"] for data in cell.displays if "image/png" in data]
    size = "__import__('struct').unpack('>II', {}[16:24])"
    sent = book.kernel.value(size.format("r.figures[0]"))
    shown = book.kernel.value(size.format(f"__import__('base64').b64decode({png[:60]!r})"))
    assert max(sent) == 1024
    assert shown[0] > 1024


@pytest.mark.parametrize(
    "prompt", ["what is {x}?", "!ls $HOME", "is it 'so'?", "%time it", "line one\n\n  line {two}?", "@nobody knows"]
)
def test_prompts_travel_raw(book, prompt):
    book.kernel.ok("x = 'WRONG'")
    book.ask(prompt, {"text": "ok"})
    first = book.turns()[0]["blocks"][0]["text"]
    assert first == prompt


def test_a_line_magic_asks_too(book):
    cell = book.kernel.ok(f"y = 1\n%zidane --model {book.script({'text': 'Fine.'})} how is it?\nz = 2")
    assert "Fine." in cell.text
    assert book.kernel.value("(y, z)") == (1, 2)
    assert book.turns()[0]["blocks"][0]["text"] == "how is it?"


def test_assignment_and_to_keep_the_result(book):
    book.kernel.ok(f"r = %zidane --model {book.script({'text': 'Kept.'})} hello")
    book.ask("hello", {"text": "Also kept."}, options="--to s")
    assert book.kernel.value("(r.text, r.status, s.text, str(s))") == ("Kept.", "completed", "Also kept.", "Also kept.")


def test_history_and_outputs_of_the_user_are_untouched(book):
    book.kernel.ok("40 + 2")
    book.ask("go", {"calls": [python("'agent value'")]}, {"text": "ok"})
    assert book.kernel.value("_") == 42
    assert book.kernel.value("[line for line in In if line.startswith('await get_ipython().run_zidane')] != []")
    assert "%%zidane" in book.kernel.value("get_ipython().history_manager.input_hist_raw[-4]")


def test_references_attach_variables_and_files_as_data(book):
    (book.folder / "notes.txt").write_text("remember the milk\n")
    book.kernel.ok("prices = {'apple': 3}")
    book.ask("Compare @prices with @notes.txt", {"text": "ok"})
    said, attached = (block["text"] for block in book.turns()[0]["blocks"])
    assert said == "Compare @prices with @notes.txt"
    assert "apple" in attached
    assert "remember the milk" in attached


def test_the_conversation_goes_on_from_cell_to_cell(book):
    book.ask("first", {"text": "one"})
    book.ask("second", {"text": "two"})
    assert [turn["blocks"][0]["text"] for turn in book.turns()] == ["first", "one", "second", "two"]
    book.ask("third", {"text": "three"}, options="--new")
    assert [turn["blocks"][0]["text"] for turn in book.turns()] == ["third", "three"]


def test_an_error_of_the_code_reaches_the_model_and_the_cell_goes_on(book):
    cell = book.ask("go", {"calls": [python("before = 1\n1 / 0")]}, {"text": "I see."})
    assert cell.error == {}
    assert cell.own("error")[0]["name"] == "ZeroDivisionError"
    (result,) = [block for turn in book.turns() for block in turn["blocks"] if block["kind"] == "tool_result"]
    assert "ZeroDivisionError: division by zero" in result["parts"][0]["text"]
    assert "what ran before stays (created: before)" in result["parts"][0]["text"]


def test_long_output_is_cut_for_the_model_and_kept_in_the_session(book):
    book.ask("go", {"calls": [python("for n in range(20_000): print('row', n)")]}, {"text": "ok"})
    (result,) = [block for turn in book.turns() for block in turn["blocks"] if block["kind"] == "tool_result"]
    text = result["parts"][0]["text"]
    assert len(text.encode()) < 52_500
    assert "row 0\n" in text
    assert "row 19999" in text
    (kept,) = book.folder.glob(".zidane/sessions/*/*/outputs/*.txt")
    assert str(kept) in text
    assert kept.read_text().count("row ") == 20_000
    kept.unlink()


# --- the gate ---------------------------------------------------------------------------------------

WRITE = {"calls": [python("open('made.txt', 'w').write('x')", "Write a file")]}


@pytest.mark.parametrize(("answer", "made"), [("y", True), ("n", False), ("", False)])
def test_risky_code_asks_on_standard_input(book, answer, made):
    questions = []

    def reply(prompt):
        questions.append(prompt)
        return answer

    target = book.folder / "made.txt"
    target.unlink(missing_ok=True)
    cell = book.ask("go", WRITE, {"text": "ok"}, answer=reply)
    assert target.exists() == made
    assert "made.txt" in questions[0]
    assert len(questions) == 1
    assert cell.own("tool")[0]["status"] == ("ok" if made else "blocked")


def test_nobody_to_ask_means_no(book):
    (book.folder / "made.txt").unlink(missing_ok=True)
    cell = book.ask("go", WRITE, {"text": "ok"}, allow_stdin=False)
    assert not (book.folder / "made.txt").exists()
    assert cell.own("tool")[0]["status"] == "blocked"
    (result,) = [block for turn in book.turns() for block in turn["blocks"] if block["kind"] == "tool_result"]
    assert result["parts"][0]["text"].startswith("Blocked: ")


@pytest.mark.parametrize(("interaction", "asked"), [("none", 0), ("stdin", 1), ("auto", 1)])
def test_who_may_be_asked_is_a_setting(book, interaction, asked):
    questions = []

    def reply(prompt):
        questions.append(prompt)
        return "n"

    book.kernel.ok(f"%zidane /config interaction {interaction}")
    book.ask("go", WRITE, {"text": "ok"}, answer=reply)
    book.kernel.ok("%zidane /config interaction auto")
    assert len(questions) == asked


def test_plan_profile_has_no_code_to_run(book):
    cell = book.ask("go", {"calls": [python("1 + 1")]}, {"text": "1. Run it."}, options="--profile plan")
    assert cell.own("tool")[0]["status"] == "error"


# --- interrupts -------------------------------------------------------------------------------------

POINTS = {
    "waiting for the model": ([{"text": "slow " * 400}], {"delay": 0.05}),
    "in synchronous code": (
        [{"calls": [python("import time\nprint('on', flush=True)\ntime.sleep(60)")]}, {"text": "never"}],
        {},
    ),
    "in asynchronous code": (
        [{"calls": [python("import asyncio\nprint('on', flush=True)\nawait asyncio.sleep(60)")]}, {"text": "never"}],
        {},
    ),
    "in a tool of many calls": (
        [
            {
                "calls": [
                    python("import time\nprint('on', flush=True)\ntime.sleep(60)"),
                    python("after = 1"),
                    {"name": "list_variables", "arguments": {}},
                ]
            }
        ],
        {},
    ),
}


@pytest.mark.parametrize("point", POINTS)
def test_an_interrupt_stops_the_run_within_a_second(book, point):
    answers, options = POINTS[point]
    shown = []
    msg = book.kernel.start(book.cell("go", *answers, script=options))
    ready = (
        (lambda: len(shown) > 2)
        if point == "waiting for the model"
        else (lambda: any(m["msg_type"] == "stream" for m in shown))
    )
    moments = book.kernel.interrupt_when(ready)
    cell = book.kernel.finish(msg, on_message=shown.append)
    assert time.monotonic() - moments[0] < 1.5
    check_stopped(book, cell)
    assert not book.kernel.value("'after' in globals()")


def test_an_interrupt_while_asking_for_permission_stops_the_run(book):
    asked = []
    msg = book.kernel.start(book.cell("go", WRITE, {"text": "never"}))
    moments = book.kernel.interrupt_when(lambda: bool(asked))
    cell = book.kernel.finish(msg, answer=asked.append)
    assert time.monotonic() - moments[0] < 1.5
    check_stopped(book, cell)
    assert not (book.folder / "made.txt").exists()


def check_stopped(book, cell):
    assert (cell.status, cell.error["ename"], cell.error["traceback"]) == ("error", "RunStopped", ["Stopped."])
    assert cell.own("banner")[-1]["title"] == "Stopped."
    assert not [card for card in cell.own("tool") if card["status"] in ("running", "waiting")]
    entries = book.session()
    assert entries[-1]["type"] == "run-end"
    assert entries[-1]["status"] == "aborted"
    calls = [b["id"] for t in book.turns() for b in t["blocks"] if b["kind"] == "tool_call"]
    results = {b["call_id"]: b for t in book.turns() for b in t["blocks"] if b["kind"] == "tool_result"}
    assert list(results) == calls
    assert all(
        "[Request interrupted by user for tool use]" in r["parts"][0]["text"] or "Blocked" in r["parts"][0]["text"]
        for r in results.values()
    )
    late = book.kernel.ok("import time; time.sleep(0.7)")
    assert late.text.strip() == ""
    assert not [m for m in book.kernel.stray if m["msg_type"].endswith("display_data")]
    again = book.ask("go on", {"text": "Here again."})
    assert "Here again." in again.text


def test_queued_cells_do_not_run_after_a_stop(book):
    shown = []
    msg = book.kernel.start(book.cell("go", *POINTS["in synchronous code"][0]))
    queued = book.kernel.start("ran_anyway = True")
    book.kernel.interrupt_when(lambda: any(m["msg_type"] == "stream" for m in shown))
    book.kernel.finish(msg, on_message=shown.append)
    reply = None
    while reply is None or reply["parent_header"].get("msg_id") != queued:
        reply = book.kernel.client.get_shell_msg(timeout=10)
    assert reply["content"]["status"] == "aborted"
    assert not book.kernel.value("'ran_anyway' in globals()")


# --- failures ---------------------------------------------------------------------------------------


def test_a_failing_provider_fails_the_cell_in_one_line(book):
    cell = book.kernel.run(book.cell("go", {"error": {"code": "quota", "message": "Too fast."}}))
    assert cell.status == "error"
    assert cell.error["ename"] == "QuotaError"
    assert len(cell.error["traceback"]) == 1
    assert cell.own("banner")[0]["level"] == "error"
    assert book.kernel.value("1 + 1") == 2


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("%%zidane --model nosuch/x\nhi", "nosuch"),
        ("%%zidane --modle x\nhi", "Did you mean --model"),
        ("%%zidane --profile biuld\nhi", "Did you mean build"),
        ("%zidane /hlep", "Did you mean /help"),
        ("%zidane /steer hi", "Nothing is running"),
        ("%%zidane --model anthropic\nhi", "ANTHROPIC_API_KEY"),
    ],
)
def test_mistakes_are_explained_and_cost_nothing(book, source, words):
    cell = book.kernel.run(source)
    assert cell.status == "error"
    assert words in cell.error["traceback"][0]
    assert len(cell.error["traceback"]) == 1


def test_the_turn_limit_ends_the_run_with_a_banner(book):
    endless = {"calls": [{"name": "list_variables", "arguments": {}}]}
    asked = []
    source = book.cell("go", endless, script={"loop": True}, options="--max-turns 3 --to r")
    cell = book.kernel.run(source, answer=lambda prompt: asked.append(prompt) or "n")
    assert "3 turns of 3 turns" in asked[0]
    assert cell.error["ename"] == "BudgetExceededError"
    assert cell.own("banner")[0]["title"] == "The run reached its limit."
    assert book.kernel.value("(r.status, len(r.turns))") == ("error", 7)


# --- commands ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "%zidane /resume"),
        ("/help", "%zidane /doctor"),
        ("/model", "offline"),
        ("/models", "scripted"),
        ("/usage", "Nothing has been asked"),
        ("/session", "Nothing is written until the first prompt"),
        ("/status", "none"),
        ("/doctor", "No problems found"),
        ("/config", "max_turns"),
        ("/stop", "Nothing is running"),
        ("/new", "starts a new session"),
        ("/reset", "Reset"),
    ],
)
def test_commands_answer(book, command, words):
    cell = book.kernel.ok(f"%zidane {command}")
    assert words in cell.text
    assert cell.own("command")


def test_a_path_is_no_command(book):
    book.ask("/data/file.csv: what is in it?", {"text": "ok"})
    assert book.turns()[0]["blocks"][0]["text"].startswith("/data/file.csv")


def test_usage_and_sessions_after_a_run(book):
    book.kernel.ok(book.cell("Tell me", {"text": "ok", "usage": {"input": 1200, "output": 34, "cache_read": 800}}))
    assert "in 2,000 (cache 800) / 34 out" in book.kernel.ok("%zidane /usage").text
    assert "Tell me" in book.kernel.ok("%zidane /sessions").text


def test_resume_repaints_without_running_and_goes_on(book):
    book.kernel.ok("runs = []")
    code = "runs.append(1)\nprint('side effect')\nlen(runs)"
    book.ask("Remember me", {"calls": [python(code, "Count")]}, {"text": "Counted once."})
    book.kernel.ok("%zidane /new")
    cell = book.kernel.ok("%zidane /resume")
    for words in ("Remember me", "✓ Count", "side effect", "Counted once."):
        assert words in cell.text
    assert book.kernel.value("runs") == [1]
    book.ask("and on", {"text": "On."})
    assert [turn["blocks"][0].get("text") for turn in book.turns()][-2:] == ["and on", "On."]


def test_a_model_picked_in_the_session_stays(book):
    model = book.script({"text": "one"}, {"text": "two"})
    book.kernel.ok(f"%zidane /model {model}")
    assert "one" in book.kernel.ok("%%zidane\nhi").text
    assert model in book.kernel.ok("%zidane /status").text
    book.kernel.ok("%zidane /new")
    assert model not in book.kernel.ok("%zidane /status").text

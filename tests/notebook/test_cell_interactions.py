"""Permissions, questions and plans in a real kernel: by a form of widgets, by input, by nobody, and after a kill."""

from __future__ import annotations

import contextlib
import queue
import time
from pathlib import Path

import pytest

from tests.kernels import running_kernel
from tests.notebook.test_magics import WRITE, Book, python
from tests.widget_page import WidgetPage

pytestmark = pytest.mark.kernel

QUESTIONS = {
    "name": "ask_user",
    "arguments": {
        "questions": [
            {
                "id": "lib",
                "question": "Which library?",
                "options": [{"label": "pandas"}, {"label": "polars"}],
                "recommended": 1,
            },
            {"id": "why", "question": "What for?"},
        ]
    },
}
PLAN = {
    "name": "present_plan",
    "arguments": {"title": "Clean up", "steps": [{"title": "Read"}, {"title": "Drop", "details": "rows"}]},
}


def version_of(kernel) -> tuple[int, int]:
    """Return the version of ipykernel there."""
    version = eval(kernel.ok("from ipykernel._version import version_info as v; print(v)").stream("stdout"))
    return tuple(version[:2])


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    with running_kernel(folder) as kernel:
        kernel.version, kernel.folder = version_of(kernel), folder
        yield kernel


@pytest.fixture
def book(kernel):
    kernel.run("%unload_ext zidane_lab")
    (kernel.folder / "made.txt").unlink(missing_ok=True)
    return Book(kernel, kernel.folder)


def page_on(kernel, **options):
    """Load the extension as a page does that draws widgets."""
    page = WidgetPage(kernel, subshell=(7, 0) <= kernel.version < (7, 4), **options)
    kernel.ok("%load_ext zidane_lab", on_message=page)
    kernel.ok("pass")  # what the page sent meanwhile is handled between the cells
    return page


def results(book):
    return [block for turn in book.turns() for block in turn["blocks"] if block["kind"] == "tool_result"]


def said(book, number=-1):
    return results(book)[number]["parts"][0]["text"]


def records(book, kind):
    return [entry["data"] for entry in book.session() if entry["type"] == "custom" and entry["kind"] == kind]


class Hand:
    """Does one thing after another on a page, each as soon as it can be done."""

    def __init__(self, page, *steps):
        self.page, self.steps, self.moment = page, list(steps), 0.0
        page.kernel.stray.clear()

    def __call__(self, message):
        self.page(message)
        self.on_stray()

    def on_stray(self):
        strays, self.page.kernel.stray = self.page.kernel.stray, []
        for each in strays:  # what a click brings about belongs to the click, not to the cell
            self.page(each)
        while self.steps and self.steps[0]():
            self.steps.pop(0)
            self.moment = time.monotonic()


def needs_clicks(kernel):
    if kernel.version < (7, 0):
        pytest.skip("a click reaches no running cell on ipykernel 6")


# --- the form ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("button", "made", "words"),
    [("Allow once", True, "Allowed once"), ("Allow this session", True, "Allowed for this session"), ("Deny", False, "Denied")],
)  # fmt: skip
def test_a_click_decides_while_the_cell_runs(book, button, made, words):
    needs_clicks(book.kernel)
    page = page_on(book.kernel)
    hand = Hand(page, lambda: page.press(button))
    prompts = []
    cell = book.ask("go", WRITE, {"text": "ok"}, on_message=hand, answer=lambda prompt: prompts.append(prompt) or "n")
    assert (book.folder / "made.txt").exists() == made
    assert prompts == []
    (left,) = cell.own("interaction")
    assert (left["about"], left["by"], left["answered"]) == ("approval", "widget", True)
    assert words in cell.text
    assert not [data for data in cell.displays if "application/vnd.jupyter.widget-view+json" in data]
    assert set(page.shown) <= set(page.closed)
    assert [data["kind"] for data in records(book, "interaction")] == ["approval"]
    assert [data["by"] for data in records(book, "interaction-answer")] == ["widget"]


def test_a_reason_goes_with_a_refusal(book):
    needs_clicks(book.kernel)
    page = page_on(book.kernel)

    def write():
        name = page.find(placeholder="Why not, for the model (optional)")
        if name is not None:
            page.change(name, value="use a temporary file")
        return name is not None

    book.ask("go", WRITE, {"text": "ok"}, on_message=Hand(page, write, lambda: page.press("Deny")))
    assert "They said: use a temporary file" in said(book)


def test_questions_are_answered_in_a_form_that_tells_what_is_missing(book):
    needs_clicks(book.kernel)
    page = page_on(book.kernel)

    def write():
        name = page.find(_model_name="TextareaModel")
        if name is not None and any("why is empty" in str(each.get("value")) for each in page.widgets.values()):
            page.change(name, value="a report")
            return True
        return False

    hand = Hand(page, lambda: page.press("Send"), write, lambda: page.press("Send"))
    cell = book.ask("go", {"calls": [QUESTIONS]}, {"text": "ok"}, on_message=hand)
    assert said(book).split("\n")[:3] == ["User answers:", "lib: polars", "why: a report"]
    (left,) = cell.own("interaction")
    assert left["value"]["answers"] == {"lib": {"selected": ["polars"]}, "why": "a report"}


def test_a_plan_is_changed_and_approved(book):
    needs_clicks(book.kernel)
    page = page_on(book.kernel)

    def edit():
        page.change(page.find(_model_name="TextareaModel"), value="Read\nCount")
        return True

    hand = Hand(page, lambda: page.press("Edit…"), edit, lambda: page.press("Approve"))
    book.ask("go", {"calls": [PLAN]}, {"text": "ok"}, on_message=hand)
    assert '{"decision": "edit", "steps": ["Read", "Count"]}' in said(book)


def test_a_stop_while_the_form_is_open_takes_it_away(book):
    needs_clicks(book.kernel)
    page = page_on(book.kernel)
    msg = book.kernel.start(book.cell("go", WRITE, {"text": "never"}))
    moments = book.kernel.interrupt_when(lambda: bool(page.shown))
    cell = book.kernel.finish(msg, on_message=page)
    assert time.monotonic() - moments[0] < 1.5
    assert cell.error["ename"] == "RunStopped"
    late = book.kernel.late(msg, seconds=1, until=lambda _messages: bool(cell.own("interaction")))
    cell.messages += late.messages
    assert cell.own("interaction")[0]["answered"] is False
    assert records(book, "interaction-answer")[0]["by"] == "stop"


def test_a_background_run_is_answered_by_a_click_on_any_kernel_and_by_a_command(book):
    page = page_on(book.kernel)
    msg = book.kernel.start(book.cell("go", WRITE, WRITE, {"text": "done"}, options="--bg"))
    book.kernel.finish(msg, on_message=page)
    book.kernel.late(msg, seconds=10, until=lambda messages: [page(each) for each in messages] and bool(page.shown))
    assert page.press("Allow once")
    end = time.monotonic() + 10
    while not (book.folder / "made.txt").exists():
        assert time.monotonic() < end
        book.kernel.ok("import time; time.sleep(0.05)")
    (book.folder / "made.txt").unlink()
    while "1 thing" not in (text := book.kernel.ok("%zidane /pending").text) and "One thing" not in text:
        assert time.monotonic() < end, text
    assert "Told: the run goes on." in book.kernel.ok("%zidane /answer yes").text
    while not (book.folder / "made.txt").exists():
        assert time.monotonic() < end
        book.kernel.ok("import time; time.sleep(0.05)")
    assert [data["by"] for data in records(book, "interaction-answer")] == ["widget", "command"]


# --- who is asked -----------------------------------------------------------------------------------


def test_a_page_that_draws_no_widgets_gets_an_input_box(book):
    page = page_on(book.kernel, draws=False)
    prompts = []
    book.ask("go", WRITE, {"text": "ok"}, on_message=page, answer=lambda prompt: prompts.append(prompt) or "y")
    assert (book.folder / "made.txt").exists()
    assert len(prompts) == 1
    assert page.shown == []


def test_a_page_that_says_nothing_gets_an_input_box(book):
    book.kernel.ok("%load_ext zidane_lab")
    start, prompts = time.monotonic(), []
    book.ask("go", WRITE, {"text": "ok"}, answer=lambda prompt: prompts.append(prompt) or "no, too early")
    assert len(prompts) == 1
    assert "They said: too early" in said(book)
    assert time.monotonic() - start < 5


def test_questions_in_an_input_box(book):
    book.kernel.ok("%load_ext zidane_lab")
    typed = iter(["1", "a report"])
    book.ask("go", {"calls": [QUESTIONS]}, {"text": "ok"}, answer=lambda _prompt: next(typed))
    assert said(book).split("\n")[:3] == ["User answers:", "lib: pandas", "why: a report"]


def test_a_plan_in_an_input_box(book):
    book.kernel.ok("%load_ext zidane_lab")
    book.ask("go", {"calls": [PLAN]}, {"text": "ok"}, answer=lambda _prompt: "n, start with the tests")
    assert '"reason": "start with the tests"' in said(book)


@pytest.mark.parametrize("setting", ["none", "panel"])
def test_nobody_is_asked_where_the_setting_leaves_nobody(book, setting):
    page = page_on(book.kernel)
    book.kernel.ok(f"%zidane /config interaction {setting}")
    prompts = []
    book.ask("go", {"calls": [QUESTIONS]}, WRITE, {"text": "ok"}, on_message=page, answer=prompts.append)
    book.kernel.ok("%zidane /config interaction auto")
    assert "Nobody can answer now" in said(book, 0)
    assert said(book, 1).startswith("Blocked: refused")
    assert (prompts, page.shown) == ([], [])


def test_standard_input_can_be_forced(book):
    page = page_on(book.kernel)
    book.kernel.ok("%zidane /config interaction stdin")
    book.ask("go", WRITE, {"text": "ok"}, on_message=page, answer=lambda _prompt: "y")
    book.kernel.ok("%zidane /config interaction auto")
    assert (book.folder / "made.txt").exists()
    assert page.shown == []


def test_widgets_that_cannot_work_here_are_said_to_and_input_is_used(book):
    if book.kernel.version >= (7, 0):
        pytest.skip("widgets work here")
    page = page_on(book.kernel)
    book.kernel.ok("%zidane /config interaction widget")
    cell = book.ask("go", WRITE, {"text": "ok"}, on_message=page, answer=lambda _prompt: "y")
    book.kernel.ok("%zidane /config interaction auto")
    assert (book.folder / "made.txt").exists()
    assert "asked in an input box" in cell.text


def test_an_unattended_notebook_is_refused_and_told_what_to_do(book):
    book.kernel.ok("%load_ext zidane_lab", allow_stdin=False)
    cell = book.ask("go", {"calls": [QUESTIONS, PLAN]}, WRITE, {"text": "ok"}, allow_stdin=False)
    assert "Go on with what you recommended (lib: polars)" in said(book, 0)
    assert "Nobody can approve the plan" in said(book, 1)
    assert said(book, 2).startswith("Blocked: refused")
    assert not [message for message in cell.messages if message["msg_type"].startswith("comm")]
    assert not (book.folder / "made.txt").exists()


def test_nbclient_executes_a_notebook_that_asks(book):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    source = book.cell("go", {"calls": [QUESTIONS]}, WRITE, {"text": "Done without you."})
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(each) for each in ("%load_ext zidane_lab", source)]
    )
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(book.folder)}}).execute()
    text = str(notebook.cells[1].outputs)
    assert "Done without you." in text
    assert "widgets" not in notebook.metadata
    assert not (book.folder / "made.txt").exists()


# --- later ------------------------------------------------------------------------------------------


def killed_kernel(folder: Path, *answers):
    """Ask in a kernel that is killed while it waits for a person."""
    with running_kernel(folder) as kernel:
        kernel.ok("%load_ext zidane_lab")
        asked, book = [], Book(kernel, folder)
        kernel.client.execute(book.cell("go", *answers), allow_stdin=True)
        deadline = time.monotonic() + 30
        while not asked:
            assert time.monotonic() < deadline
            try:
                asked.append(kernel.client.get_stdin_msg(timeout=1))
            except Exception:
                continue
        kernel.kill()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "made", "words"),
    [("yes", True, "[done in"), ("no use another name", False, "They said: use another name")],
)
def test_a_permission_is_given_after_the_kernel_was_killed(tmp_path, answer, made, words):
    killed_kernel(tmp_path, WRITE, {"text": "never"})
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        shown = kernel.ok("%zidane /resume").text
        assert "One thing waits for you" in shown
        assert "zidane wants to use run_python: Write a file" in shown
        assert "made.txt" in shown
        assert not (tmp_path / "made.txt").exists()
        assert "%zidane continue" in kernel.ok(f"%zidane /answer {answer}").text
        cell = kernel.ok(f"%zidane --model {book.script({'text': 'Here again.'})} continue")
        assert "Here again." in cell.text
        assert (tmp_path / "made.txt").exists() == made
        assert words in said(book)
        assert [turn["role"] for turn in book.turns()] == ["user", "assistant", "user", "user", "assistant"]


@pytest.mark.slow
def test_questions_and_plans_are_answered_after_the_kernel_was_killed(tmp_path):
    killed_kernel(tmp_path, {"calls": [python("'kept'"), QUESTIONS, PLAN]})
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        kernel.ok("%zidane /resume")
        kernel.ok("%%zidane /answer\nlib: 1\nwhy: a report")
        script = book.script({"text": "Thanks."})
        kernel.ok(f"%zidane --model {script} continue", answer=lambda _prompt: "y")
        texts = [result["parts"][0]["text"] for result in results(book)]
        assert "'kept'" in texts[0]  # it had run, and does not run again
        assert texts[1].startswith("User answers:\nlib: pandas\nwhy: a report")
        assert texts[2].startswith("The user approved the plan.")


@pytest.mark.slow
def test_a_prompt_without_an_answer_lets_the_question_go(tmp_path):
    killed_kernel(tmp_path, WRITE, {"text": "never"})
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        kernel.ok("%zidane /resume")
        kernel.ok(f"%zidane --model {book.script({'text': 'Sure.'})} something else", allow_stdin=False)
        assert said(book) == "[Tool use interrupted]"
        assert "Nothing waits for you" in kernel.ok("%zidane /pending").text


@pytest.mark.slow
@pytest.mark.parametrize("restart", [True, False])
def test_a_question_outlives_an_orderly_end_of_the_kernel_too(tmp_path, restart):
    """A page that restarts the kernel asks it to end: what waits in a form is left as a kill would leave it."""
    with running_kernel(tmp_path) as kernel:
        kernel.version = version_of(kernel)
        if kernel.version < (7, 0):
            pytest.skip("forms need ipykernel 7")
        page, book = page_on(kernel), Book(kernel, tmp_path)
        kernel.client.execute(book.cell("go", WRITE, {"text": "never"}), allow_stdin=True)
        deadline = time.monotonic() + 30
        while page.find(_model_name="ButtonModel") is None:
            assert time.monotonic() < deadline
            with contextlib.suppress(queue.Empty):
                page(kernel.client.get_iopub_msg(timeout=1))
        kernel.client.shutdown(restart=restart)
        while kernel.manager.is_alive():
            assert time.monotonic() < deadline
            time.sleep(0.1)
    with running_kernel(tmp_path) as kernel:
        book = Book(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        assert "One thing waits for you" in kernel.ok("%zidane /resume").text
        kernel.ok("%zidane /answer yes")
        kernel.ok(f"%zidane --model {book.script({'text': 'Here again.'})} continue")
        assert (tmp_path / "made.txt").exists()

"""The context in a real kernel: compactions, budgets, retries, large results and reports, from the cell's side."""

from __future__ import annotations

import re
import time

import pytest

from tests.kernels import running_kernel
from tests.notebook.support import stripped
from tests.notebook.test_magics import Book, python

pytestmark = pytest.mark.kernel

SUMMARY = "<analysis>hm</analysis><summary>Prices of fruit were collected.</summary>"
TAGS_OF_SCRIPTS = {"script", "iframe", "object", "embed", "link", "style", "form"}


class ContextBook(Book):
    """A notebook whose model is chosen for the session, and whose requests can be looked at."""

    def model(self, *answers, **options) -> str:
        name = self.script(*answers, **options)
        self.kernel.ok(f"%zidane /model {name}")
        return name

    def say(self, prompt: str, options: str = "", **run):
        return self.kernel.ok(f"%%zidane {options}\n{prompt}", **run)

    def request(self, index: int = -1) -> tuple[str, str]:
        """System prompt and everything else of a request that was sent: as text, with roles."""
        self.kernel.ok(
            "def _sent(request):\n"
            "    def text(block):\n"
            "        parts = getattr(block, 'parts', None)\n"
            "        return ' '.join(p.text for p in parts) if parts else getattr(block, 'text', str(getattr(block, 'input', '')))\n"
            "    return request.system, '\\n'.join(f'{t.role}: {text(b)}' for t in request.turns for b in t.blocks)\n"
        )
        requests = "get_ipython()._zidane_host.chat._providers._made['scripted'].requests"
        return self.kernel.value(f"_sent({requests}[{index}])")

    def restored(self) -> list[dict]:
        return [block for turn in self.turns() if turn.get("injected") == "restore" for block in turn["blocks"]]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("context")
    with running_kernel(folder) as kernel:
        kernel.ok("%load_ext zidane_lab")
        yield ContextBook(kernel, folder)


@pytest.fixture
def book(shared):
    shared.kernel.ok("%zidane /new\nimport os; os.environ.pop('ZIDANE_CONTEXT_WINDOW', None)")
    # What an earlier session made is the person's in this one, and changing it would have to be allowed.
    shared.kernel.ok("for _name in ('prices', 'gone', 'means', 'spread', 'limited'): globals().pop(_name, None)")
    return shared


def text_of(result: dict) -> str:
    return "".join(part.get("text", "") for part in result.get("parts", ()))


# --- compactions ------------------------------------------------------------------------------------


def priced(book, *more, **options):
    """A conversation that made two variables; one is gone since, the other has changed."""
    made = {"calls": [python("prices = {'apple': 3}\ngone = 1", "Collect")]}
    book.model(made, "Collected.", *more, **options)
    book.say("Collect prices of fruit, codeword heliotrope")
    book.kernel.ok("del gone\nprices['pear'] = 2")


def test_compact_draws_the_divider_and_puts_back_what_the_kernel_holds_now(book):
    priced(book, SUMMARY, "Three coins.")
    cell = book.kernel.ok("%zidane /compact full")
    (mark,) = cell.own("compaction")
    assert (mark["reason"], mark["replaced"], mark["variables"], mark["undone"]) == ("manual", 4, ["prices"], False)
    assert "Prices of fruit were collected." in cell.text
    assert "hm" not in cell.text
    assert not cell.own("tool")
    results = {block["call_id"]: block for block in book.restored() if block["kind"] == "tool_result"}
    assert any("'pear': 2" in text_of(result) for result in results.values())
    (missing,) = [result for result in results.values() if result.get("is_error")]
    assert text_of(missing).startswith("No longer in the kernel: gone.")
    book.say("What does an apple cost?")
    _, sent = book.request()
    assert "Prices of fruit were collected." in sent
    assert "heliotrope" not in sent
    assert "What does an apple cost?" in sent
    assert book.turns()[0]["blocks"][0]["text"].startswith("Collect prices")  # nothing is lost


def test_what_to_keep_reaches_the_one_who_summarises(book):
    priced(book, SUMMARY)
    book.kernel.ok("%zidane /compact full keep every number")
    assert "keep every number" in book.request()[1]


def test_undo_sends_the_turns_again(book):
    priced(book, SUMMARY, "Three.")
    book.kernel.ok("%zidane /compact full")
    reply = book.kernel.ok("%zidane /compact undo")
    assert "sent again" in reply.text
    book.say("And now?")
    _, sent = book.request()
    assert "heliotrope" in sent
    assert "Prices of fruit were collected." not in sent
    cell = book.kernel.run("%zidane /compact undo")
    assert len(cell.error["traceback"]) == 1
    assert "There is no compaction to undo." in cell.error["traceback"][0]


def test_with_nothing_to_compact_there_is_one_line_and_nothing_is_lost(book):
    book.model("Yes.", "Still here.")
    cell = book.kernel.run("%zidane /compact")
    assert (cell.status, len(cell.error["traceback"])) == ("error", 1)
    assert "nothing to compact" in cell.error["traceback"][0]
    book.say("Are you there?")
    before = book.turns()
    cell = book.kernel.run("%zidane /compact")
    assert len(cell.error["traceback"]) == 1
    assert "2 turn(s) that are sent, and 4 are to stay" in cell.error["traceback"][0]
    assert not cell.displays
    assert book.turns() == before
    assert "Still here." in book.say("And now?").text


def test_a_summary_that_fails_is_one_line_and_changes_nothing(book):
    priced(
        book, {"error": {"code": "bad_request", "message": "No."}}, {"error": {"code": "auth", "message": "No."}}, "On."
    )
    before = book.turns()
    cell = book.kernel.run("%zidane /compact full")
    assert len(cell.error["traceback"]) == 1
    assert "could not be compacted" in cell.text
    assert book.turns() == before
    assert "On." in book.say("Go on").text


def test_an_interrupt_stops_a_compaction_within_a_second_and_nothing_is_changed(book):
    priced(book, "<summary>" + "slow words " * 400 + "</summary>", "Here again.", delay=0.02)
    before, shown = book.turns(), []
    msg = book.kernel.start("%zidane /compact full")
    moments = book.kernel.interrupt_when(lambda: "Compacting" in str(shown))
    cell = book.kernel.finish(msg, on_message=shown.append)
    assert time.monotonic() - moments[0] < 1.5
    assert (cell.error["ename"], cell.error["traceback"]) == ("RunStopped", ["Stopped."])
    assert "Nothing was changed." in cell.text
    assert "Compacting" not in cell.text
    assert not cell.own("compaction")
    assert book.turns() == before
    assert "Here again." in book.say("Still there?").text
    assert "heliotrope" in book.request()[1]


def test_a_prompt_right_after_an_interrupted_compaction_is_answered(book):
    priced(book, "<summary>" + "slow words " * 400 + "</summary>", "At once.", delay=0.02)
    shown = []
    msg = book.kernel.start("%zidane /compact full")
    book.kernel.interrupt_when(lambda: "Compacting" in str(shown))
    book.kernel.finish(msg, on_message=shown.append)
    assert "At once." in book.say("Still there?").text


def full_window(*, until="Flippers do."):
    """Answers of which the second fills a window of 26,000 tokens; then comes the summary."""
    return (
        {"calls": [python("means = {'Adelie': 190}", "Average")], "usage": {"input": 3_000, "output": 20}},
        {"calls": [python("spread = {'Adelie': 6.5}", "Spread")], "usage": {"input": 5_900, "output": 20}},
        SUMMARY,
        {"text": until, "usage": {"input": 2_000, "output": 20}},
    )


def test_the_window_fills_in_the_middle_of_a_run_and_the_run_goes_on(book):
    book.kernel.ok("%env ZIDANE_CONTEXT_WINDOW=26000")
    book.model("Hello.", *full_window())
    book.say("Hello, codeword heliotrope" + ", and much more" * 1_000)
    cell = book.say("What separates the species?")
    kinds = [data[next(key for key in data if "zidane" in key)]["kind"] for data in cell.displays]
    assert kinds == ["tool", "tool", "compaction", "text", "usage"]
    (mark,) = cell.own("compaction")
    assert (mark["reason"], mark["before"] > 5_100, mark["after"] < mark["before"]) == ("auto", True, True)
    assert set(mark["variables"]) == {"means", "spread"}
    _, sent = book.request()
    assert "Prices of fruit were collected." in sent  # whatever it says: the script's summary
    assert "heliotrope" not in sent
    assert "Compacting" not in cell.text


def test_off_leaves_it_to_the_person(book):
    book.kernel.ok("%env ZIDANE_CONTEXT_WINDOW=26000\n%zidane /config auto_compact off")
    try:
        answers = full_window()
        book.model("Hello.", *answers[:2], answers[3])
        book.say("Hello")
        cell = book.say("What separates the species?")
    finally:
        book.kernel.ok("%zidane /config auto_compact on")
    assert not cell.own("compaction")
    assert "Flippers do." in cell.text


def test_after_a_restart_the_divider_is_drawn_again(tmp_path):
    with running_kernel(tmp_path) as kernel:
        book = ContextBook(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        priced(book, SUMMARY, "Three.")
        (drawn,) = kernel.ok("%zidane /compact full").displays
        book.say("And an apple?")
    with running_kernel(tmp_path) as kernel:
        book = ContextBook(kernel, tmp_path)
        book.count = 10
        kernel.ok("%load_ext zidane_lab")
        cell = kernel.ok("%zidane /resume")
        assert drawn in cell.displays  # the very same
        for words in ("You: Collect prices of fruit", "✓ Collect", "You: And an apple?", "Three."):
            assert words in cell.text
        assert "inspect_variable" not in cell.text
        book.model("Fine.", "Again.")
        book.say("Go on")
        assert "heliotrope" not in book.request()[1]
        kernel.ok("%zidane /compact undo")
        again = kernel.ok("%zidane /resume " + book.session()[0]["id"])
        assert [mark["undone"] for mark in again.own("compaction")] == [True]
        book.say("And now")
        assert "heliotrope" in book.request()[1]


# --- budgets and retries ----------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "status"), [("y", "ok"), ("n", "error"), ("", "error")])
def test_at_a_limit_the_person_is_asked(book, answer, status):
    questions = []

    def reply(prompt):
        questions.append(prompt)
        return answer

    book.model({"calls": [python("limited = 1", "Work")]}, "Done.")
    cell = book.kernel.run("%%zidane --max-turns 1 --to r\nWork", answer=reply)
    assert cell.status == status
    assert len(questions) == 1
    assert "1 turn" in questions[0]
    assert ("Done." in cell.text) == (status == "ok")
    assert book.kernel.value("limited") == 1  # what was done is done
    if status == "error":
        assert cell.error["ename"] == "BudgetExceededError"
        assert cell.own("banner")[0]["title"] == "The run reached its limit."
        assert "Done." in book.say("Go on").text


def test_with_nobody_to_ask_a_limit_ends_the_run(book):
    book.model({"calls": [python("1")], "usage": {"input": 900, "output": 200}}, "never")
    cell = book.kernel.run("%%zidane --max-tokens 1k\nWork", allow_stdin=False)
    assert cell.error["ename"] == "BudgetExceededError"
    assert len(cell.error["traceback"]) == 1
    assert "1,100" in cell.own("banner")[0]["text"]


def test_a_limit_of_the_session_holds_until_it_is_raised(book):
    book.model({"text": "One.", "usage": {"input": 900, "output": 200}}, {"text": "Two.", "usage": {"input": 1_000}})
    book.say("One?")
    assert "1,100 tokens" in book.kernel.ok("%zidane /budget session tokens 1k").text
    cell = book.kernel.run("%%zidane\nTwo?", allow_stdin=False)
    assert cell.error["ename"] == "BudgetExceededError"
    book.kernel.ok("%zidane /budget session tokens none")
    assert "Two." in book.say("Two?").text


def test_a_failure_in_passing_is_told_and_the_answer_comes(book):
    book.model({"error": {"code": "overloaded", "message": "Too busy.", "retry_after": 0.05}}, "Now.")
    cell = book.say("Hello?")
    (told,) = cell.own("notice")
    assert told["about"] == "retry"
    assert told["title"].startswith("Too busy.")
    assert "(1 of 3)" in told["title"]
    assert "Now." in cell.text


# --- reports ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["/context", "/usage", "/usage --days 7"])
def test_reports_come_in_every_form_and_without_scripts(book, command):
    book.model({"text": "ok", "usage": {"input": 2_345, "output": 5}})
    book.say("Hello <script>alert(1)</script>")
    (reply,) = book.kernel.ok(f"%zidane {command}").displays
    assert {"text/plain", "text/markdown", "text/html"} <= reply.keys()
    page = stripped(reply["text/html"])
    assert not page.tags & TAGS_OF_SCRIPTS
    assert not [name for name in page.attributes if name.startswith("on")]
    assert "scripted/" in "".join(page.text)
    assert "2,345" in reply["text/plain"]


def test_context_counts_a_summary_as_one(book):
    priced(book, SUMMARY)
    book.kernel.ok("%zidane /compact full")
    assert "summaries" in book.kernel.ok("%zidane /context").text


# --- large results and the system prompt ------------------------------------------------------------


def test_a_large_result_is_kept_whole_and_read_back(book):
    code = "for n in range(4_000): print('row number', n)"
    book.model({"calls": [python(code, "Print")]}, "Long.")
    cell = book.say("Print a lot")
    (card,) = [data["text/plain"] for data in cell.displays if data["text/plain"].startswith("✓ Print")]
    call_id = re.search(r"kB; whole: %zidane /output (\S+?)[ )·]", card)[1]
    (result,) = [block for turn in book.turns() for block in turn["blocks"] if block["kind"] == "tool_result"]
    assert len(text_of(result)) < 4_000
    assert text_of(result).startswith("<persisted-output")
    assert "row number 3999" in book.kernel.ok(f"%zidane /output {call_id}").text
    read = {"name": "read_output", "arguments": {"call_id": call_id, "query": "row number 2345"}}
    book.model({"calls": [read]}, "Found.")
    book.say("Look it up")
    assert "row number 2345" in book.request()[1]


def test_the_system_prompt_stays_the_same_bytes_and_what_changed_is_told_behind_the_prompt(tmp_path):
    (tmp_path / "below").mkdir()
    with running_kernel(tmp_path) as kernel:
        book = ContextBook(kernel, tmp_path)
        kernel.ok("%load_ext zidane_lab")
        book.model("One.")
        book.say("One?")
        system, first = book.request()
        assert str(tmp_path) in system
    with running_kernel(tmp_path) as kernel:
        book = ContextBook(kernel, tmp_path)
        book.count = 10
        kernel.ok("%load_ext zidane_lab")
        kernel.ok("%zidane /resume")
        kernel.ok(f"%zidane /model scripted/{tmp_path / book.script('Two.', 'Three.').removeprefix('scripted/')}")
        kernel.ok("import os; os.chdir('below')")
        book.say("Two?")
        again, sent = book.request()
        assert again == system
        assert sent.startswith(first)
        last = sent.removeprefix(first)
        assert last.index("Two?") < last.index('<system-note section="env">') < last.index(str(tmp_path / "below"))
        assert "system-note" not in kernel.ok("%zidane /resume " + book.session()[0]["id"]).text
        book.say("Three?")
        again, sent = book.request()
        assert again == system
        assert sent.count("<system-note") == 1  # told once

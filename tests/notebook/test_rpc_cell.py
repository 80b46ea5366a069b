"""What the cell shows, and lets go of, when it is answered from beside the notebook."""

from __future__ import annotations

import time

import pytest

from tests.kernels import Cell
from tests.notebook.front_end import front_end
from tests.notebook.test_cell_interactions import PLAN, records
from tests.notebook.test_magics import WRITE
from tests.notebook.test_rpc_kernel import book, front, kernel, start  # noqa: F401 - fixtures

pytestmark = pytest.mark.kernel


def test_the_way_is_open_as_soon_as_the_extension_is_loaded(book):  # noqa: F811
    with front_end(book.kernel) as fresh:
        assert fresh.call("hello")["loaded"] is True


def test_an_input_box_is_taken_back_when_the_answer_comes_from_elsewhere(book, front):  # noqa: F811
    msg, prompts = start(book, WRITE, WRITE, {"text": "ok"}), []

    def answer_elsewhere(prompt):
        prompts.append(prompt)
        name = front.asked()["id"]
        assert front.call("answer", id=name, value={"decision": "once"})["running"] is True

    begun = time.monotonic()
    cell = book.kernel.finish(msg, answer=answer_elsewhere)
    assert cell.status == "ok", cell.error
    assert time.monotonic() - begun < 15
    assert len(prompts) == 2
    assert (book.folder / "made.txt").exists()
    assert [data["by"] for data in records(book, "interaction-answer")] == ["panel", "panel"]
    assert book.kernel.ok("print(input('still?'))", answer=lambda _prompt: "yes").stream("stdout") == "yes\n"


def test_the_cell_says_that_it_waits_and_then_what_was_decided(book, front):  # noqa: F811
    front.call("announce", client="panel-1")
    msg = start(book, {"calls": [PLAN]}, {"text": "ok"})
    asked = front.asked()
    seen = book.kernel.late(msg, seconds=10, until=lambda messages: Cell(messages=messages).own("interaction"))
    (waits,) = seen.own("interaction")
    assert (waits["id"], waits["open"], waits["answered"]) == (asked["id"], True, False)
    assert "/answer" in seen.text
    front.call("answer", id=asked["id"], value={"decision": "edit", "steps": ["Read", "Count"]})
    cell = book.kernel.finish(msg)
    cell.messages = [*seen.messages, *cell.messages]
    (told,) = cell.own("interaction")
    assert (told["open"], told["by"], told["value"]["steps"]) == (False, "panel", ["Read", "Count"])
    assert "Approved with changes" in cell.text


def test_a_panel_that_leaves_leaves_the_answer_of_the_next_front(book, front):  # noqa: F811
    front.call("announce", client="panel-1")
    msg = start(book, WRITE, {"text": "ok"})
    front.asked()
    front.call("leave", client="panel-1")
    cell = book.kernel.finish(msg, answer=lambda _prompt: "y")
    (told,) = cell.own("interaction")
    assert (told["open"], told["answered"]) == (False, False)
    assert "Not needed any more." in cell.text

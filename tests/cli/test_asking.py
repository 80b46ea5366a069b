"""Questions at the terminal: shown whole, answered line by line, and only by what was typed after they were shown."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import sys
import threading

import pytest

from zidane_lab.approvals.decisions import Question
from zidane_lab.chat.interacting import nobody_there, question_payload
from zidane_lab.cli.asking import Lines, TerminalFront, terminal_front
from zidane_lab.cli.output import Pipe
from zidane_lab.session.interactions import new_interaction

QUESTIONS = {
    "questions": [
        {"id": "lib", "type": "choice", "question": "Which?", "options": [{"label": "pandas"}, {"label": "polars"}]},
        {"id": "why", "type": "text", "question": "What for?"},
    ]
}
PLAN = {"title": "Clean up", "steps": [{"title": "Read"}, {"title": "Drop"}]}


def approval(tool="run_python", target="a = 1\nb = 2", **more):
    return new_interaction("approval", question_payload(Question(tool, "tidy", target, **more)))


class Person:
    """A person at the other end of a pipe or a terminal."""

    def __init__(self, *, terminal=False):
        self.out = io.StringIO()
        if terminal:
            self.hand, self.end = pty.openpty()
        else:
            self.end, self.hand = os.pipe()
        self.lines = Lines(self.end)
        self.front = TerminalFront(Pipe(self.out), self.lines)

    def type(self, text):
        os.write(self.hand, text.encode())

    def leave(self):
        if self.hand is not None:
            os.close(self.hand)
            self.hand = None

    @property
    def seen(self):
        return self.out.getvalue()

    async def until_asked(self, words, number=1):
        for _ in range(1000):
            if self.seen.count(words) >= number:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(self.seen)


@pytest.fixture
def person():
    person = Person()
    yield person
    person.leave()
    os.close(person.end)


@pytest.fixture
def at_terminal():
    person = Person(terminal=True)
    yield person
    for each in (person.hand, person.end):
        os.close(each)


async def ask(person, interaction, *typed):
    for line in typed:
        person.type(f"{line}\n")
    return await asyncio.wait_for(person.front(interaction), 10)


# --- each kind --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "decision", "reason"),
    [("y", "once", ""), ("n", "deny", ""), ("n use another name", "deny", "use another name"), ("", "deny", ""), ("s", "session", "")],
)  # fmt: skip
@pytest.mark.asyncio
async def test_a_permission(person, typed, decision, reason):
    answer = await ask(person, approval(choices=("once", "session", "deny"), remember=("variable:df",)), typed)
    assert answer.value == {"decision": decision, "reason": reason}
    assert answer.by == "stdin"


@pytest.mark.asyncio
async def test_all_of_the_code_is_shown_and_nothing_in_it_hides(person):
    code = "\n".join(f"x{number} = {number}" for number in range(300)) + "\nsafe = 1\x1b[2K\x1b[1A # \u202eevil"
    await ask(person, approval(target=code), "y")
    assert all(f"    x{number} = {number}\n" in person.seen for number in range(300))
    assert r"safe = 1\x1b[2K\x1b[1A # \x202eevil" in person.seen
    assert not {"\x1b", "\u202e"} & set(person.seen)


@pytest.mark.asyncio
async def test_what_another_tool_would_do_is_shown_once_and_a_change_as_a_diff(person):
    await ask(person, approval("shell", "make all\n"), "y")
    assert person.seen.count("make all") == 1
    await ask(person, approval("multi_edit", '{"path": "a.py"}', diff="--- a.py\n+++ a.py\n-old\n+new", hunks=2), "2")
    assert "+new\n" in person.seen


@pytest.mark.asyncio
async def test_parts_of_a_change(person):
    answer = await ask(person, approval("multi_edit", "{}", diff="-a\n+b", hunks=3), "1 3")
    assert answer.value["hunks"] == [True, False, True]


@pytest.mark.asyncio
async def test_questions_one_by_one_and_again_where_an_answer_does_not_fit(person):
    answer = await ask(person, new_interaction("question", QUESTIONS), "7", "2", "", "a report")
    assert answer.value == {"answers": {"lib": {"selected": ["polars"]}, "why": "a report"}}
    assert "(1 of 2) Which?" in person.seen
    assert "7 is no option" in person.seen


@pytest.mark.asyncio
async def test_questions_are_declined(person):
    answer = await ask(person, new_interaction("question", QUESTIONS), "decline not now")
    assert answer.value == {"declined": True, "reason": "not now"}


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        (["y"], {"decision": "approve", "reason": ""}),
        (["n too long"], {"decision": "reject", "reason": "too long"}),
        (["e", "Read; Count"], {"decision": "edit", "reason": "", "steps": ["Read", "Count"]}),
    ],
)
@pytest.mark.asyncio
async def test_a_plan(person, typed, value):
    answer = await ask(person, new_interaction("plan", PLAN), *typed)
    assert answer.value == value
    assert "1. Read" in person.seen


@pytest.mark.asyncio
async def test_what_does_not_fit_is_told_and_asked_again(person):
    answer = await ask(person, new_interaction("plan", PLAN), "e", ";", "y")
    assert answer.value["decision"] == "approve"
    assert "the edited plan has no steps" in person.seen
    assert await ask(person, new_interaction("plan", PLAN), *["e", ";"] * 3) is None


@pytest.mark.asyncio
async def test_a_budget(person):
    question = Question("budget", "go on, with a limit of 4 turns", "limit of this run: 2 turns, then 4 turns")
    answer = await ask(person, new_interaction("budget", question_payload(question)), "yes")
    assert answer.value["decision"] == "once"
    assert "wants to go on, with a limit of 4 turns" in person.seen


# --- what counts as an answer -----------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_the_end_of_the_input_is_no_answer(person):
    person.leave()
    assert await ask(person, approval()) is None
    assert await ask(person, new_interaction("question", QUESTIONS)) is None


@pytest.mark.asyncio
async def test_a_last_line_without_an_end_is_one(person):
    person.type("y")
    person.leave()
    assert (await ask(person, approval())).value["decision"] == "once"
    assert await ask(person, approval()) is None


@pytest.mark.asyncio
async def test_lines_that_are_piped_in_answer_one_question_each(person):
    person.type("y\nn\ny\n")
    decisions = [(await ask(person, approval())).value["decision"] for _ in range(3)]
    assert decisions == ["once", "deny", "once"]


@pytest.mark.asyncio
async def test_a_long_line_is_one_answer(person):
    long = "n " + "ä" * 30_000
    typing = threading.Thread(target=person.type, args=(f"{long}\ny\n",))
    typing.start()
    first, second = [await ask(person, approval()) for _ in range(2)]
    typing.join()
    assert first.value == {"decision": "deny", "reason": "ä" * 30_000}
    assert second.value["decision"] == "once"


@pytest.mark.asyncio
async def test_what_was_typed_before_the_question_was_shown_allows_nothing(at_terminal):
    person = at_terminal
    person.type("y\ny\ny\n")
    await asyncio.sleep(0.05)
    task = asyncio.ensure_future(person.front(approval()))
    await person.until_asked("Allow it?")
    await asyncio.sleep(0.05)
    assert not task.done()
    person.type("n\ny\n")
    assert (await asyncio.wait_for(task, 10)).value["decision"] == "deny"
    task = asyncio.ensure_future(person.front(approval()))
    await person.until_asked("Allow it?", 2)
    await asyncio.sleep(0.3)
    assert not task.done()
    person.type("yes\n")
    assert (await asyncio.wait_for(task, 10)).value["decision"] == "once"


@pytest.mark.asyncio
async def test_people_who_end_one_answer_are_asked_again_next_time(at_terminal):
    person = at_terminal
    task = asyncio.ensure_future(person.front(approval()))
    await person.until_asked("Allow it?")
    person.type("\x04")
    assert await asyncio.wait_for(task, 10) is None
    task = asyncio.ensure_future(person.front(approval()))
    await person.until_asked("Allow it?", 2)
    person.type("y\n")
    assert (await asyncio.wait_for(task, 10)).value["decision"] == "once"


@pytest.mark.asyncio
async def test_two_at_once_are_asked_one_after_the_other(person):
    first = asyncio.ensure_future(person.front(approval(target="first = 1")))
    second = asyncio.ensure_future(person.front(approval(target="second = 2")))
    await person.until_asked("Allow it?")
    await asyncio.sleep(0.02)
    assert "second = 2" not in person.seen
    person.type("y\nn\n")
    assert [(await asyncio.wait_for(each, 10)).value["decision"] for each in (first, second)] == ["once", "deny"]


@pytest.mark.asyncio
async def test_a_question_that_is_dropped_takes_no_answer_with_it(person):
    task = asyncio.ensure_future(person.front(approval()))
    await person.until_asked("Allow it?")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(100):
        if not any(thread.name == "zidane-answer" for thread in threading.enumerate()):
            break
        await asyncio.sleep(0.02)
    person.type("y\n")
    assert (await ask(person, approval())).value["decision"] == "once"


# --- who is there ---------------------------------------------------------------------------------------


class End:
    def __init__(self, terminal, descriptor=0):
        self.isatty = lambda: terminal
        self.fileno = lambda: descriptor


@pytest.mark.parametrize(
    ("setting", "stdin", "stderr", "asked"),
    [
        ("auto", True, True, True),
        ("auto", False, True, False),
        ("auto", True, False, False),
        ("widget", True, True, True),
        ("panel", True, True, True),
        ("none", True, True, False),
        ("stdin", False, False, True),
    ],
)
def test_a_person_must_be_at_both_ends_unless_standard_input_is_forced(monkeypatch, setting, stdin, stderr, asked):
    monkeypatch.setattr(sys, "stdin", End(stdin))
    monkeypatch.setattr(sys, "stderr", End(stderr))
    assert (terminal_front(setting, Pipe(None)) is not nobody_there) == asked


@pytest.mark.parametrize("setting", ["auto", "stdin", "none"])
def test_without_standard_input_nobody_is_asked(monkeypatch, setting):
    monkeypatch.setattr(sys, "stdin", None)
    assert terminal_front(setting, Pipe(None)) is nobody_there

from __future__ import annotations

import asyncio

import pytest

from zidane_lab.approvals.gate import Gate, Question
from zidane_lab.errors import AbortedError, ConfigurationError
from zidane_lab.events import Ids, ToolGate
from zidane_lab.turns import ToolResultBlock

TIERS = {"read_file": "read", "list_files": "read", "run_python": "execute", "edit": "write", "fetch": "network"}


class Person:
    """Answers every question the same way and remembers what was asked."""

    def __init__(self, answer):
        self.answer, self.questions = answer, []

    async def __call__(self, question: Question):
        self.questions.append(question)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


async def decide(tool, arguments, *, answer=None, **options):
    person = Person(answer)
    event = ToolGate(Ids(), tool, arguments)
    await Gate(person, tiers=TIERS, **options)(event)
    return event.block, person.questions


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "data.csv"}),
        ("list_files", {}),
        ("run_python", {"code": "df.describe()", "intent": "look"}),
    ],
)
async def test_looking_and_pure_computation_run_unasked(tool, arguments):
    assert await decide(tool, arguments) == (None, [])


@pytest.mark.asyncio
async def test_risky_code_is_asked_about_with_lines_and_reasons():
    code = "x = 1\ndf.to_csv('out.csv')"
    block, (question,) = await decide("run_python", {"code": code, "intent": "export results"}, answer=True)
    assert block is None
    assert (question.tool, question.intent, question.target) == ("run_python", "export results", code)
    assert question.reasons == ("writes a file (line 2: df.to_csv('out.csv'))",)
    assert question.text == (
        "zidane wants to use run_python: export results\n  - writes a file (line 2: df.to_csv('out.csv'))"
    )


@pytest.mark.asyncio
async def test_when_nobody_can_answer_the_refusal_says_why_and_what_else_to_do():
    block, questions = await decide("run_python", {"code": "import subprocess"}, answer=None)
    assert len(questions) == 1
    assert block == (
        "refused: starts or steers processes (line 1: import subprocess). This needs permission and nobody is here "
        "to give it. Work without it, or tell the user what you would do."
    )


@pytest.mark.asyncio
async def test_a_no_is_told_as_the_users_no():
    block, _ = await decide("run_python", {"code": "!ls"}, answer=False)
    assert block.startswith("refused by the user: runs a shell command (line 1: !ls). Do not try the same another way")


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", ["yes", 1, object(), [], ""])
async def test_only_true_itself_is_a_yes(answer):
    block, _ = await decide("run_python", {"code": "!ls"}, answer=answer)
    assert block.startswith("refused")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("edit", "it may change files"),
        ("fetch", "it may use the network"),
        ("someones_tool", "it may do anything its author wrote"),
    ],
)
async def test_other_tools_ask_and_show_their_arguments(tool, why):
    arguments = {"path": "a.txt", "content": "x" * 1000, "intent": "fix it"}
    block, (question,) = await decide(tool, arguments, answer=True)
    assert block is None
    assert question.reasons == (why,)
    assert f"zidane wants to use {tool}: fix it\n  - {why}\n    path: a.txt\n    content: xxx" in question.text
    assert "(700 more characters)" in question.text


@pytest.mark.asyncio
@pytest.mark.parametrize("path", [".env", "~/.aws/credentials", "keys/server.pem"])
async def test_reading_what_commonly_holds_secrets_is_asked_about(path):
    block, (question,) = await decide("read_file", {"path": path})
    assert "commonly holds secrets" in question.reasons[0]
    assert path in block


@pytest.mark.asyncio
async def test_a_link_to_a_secret_and_nested_paths_are_seen(tmp_path):
    (tmp_path / ".env").write_text("A=1")
    (tmp_path / "notes.txt").symlink_to(".env")
    for arguments in ({"path": str(tmp_path / "notes.txt")}, {"files": [{"path": ".env"}]}, {"file_path": ".env"}):
        block, _ = await decide("read_file", arguments)
        assert block is not None


@pytest.mark.asyncio
async def test_mode_ask_asks_for_pure_code_and_lets_looking_run():
    block, (question,) = await decide("run_python", {"code": "1 + 1"}, mode="ask", answer=True)
    assert (block, question.reasons) == (None, ("it runs code",))
    assert await decide("read_file", {"path": "a.txt"}, mode="ask") == (None, [])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("tool", "arguments"), [("run_python", {"code": "1"}), ("run_python", {"code": "!ls"}), ("edit", {}), ("other", {})]
)
async def test_mode_plan_refuses_everything_but_looking_without_asking(tool, arguments):
    block, questions = await decide(tool, arguments, mode="plan", answer=True)
    assert questions == []
    assert block.startswith("refused: plan mode only looks")


@pytest.mark.asyncio
async def test_mode_plan_looks_and_asks_about_secrets():
    assert await decide("read_file", {"path": "a.txt"}, mode="plan") == (None, [])
    assert (await decide("read_file", {"path": ".env"}, mode="plan", answer=True))[0] is None


def test_modes_that_do_not_exist_are_refused():
    with pytest.raises(ConfigurationError, match="Running everything unasked is off"):
        Gate(Person(None), mode="bypass")
    with pytest.raises(ConfigurationError, match="no approval mode 'yolo'"):
        Gate(Person(None), mode="yolo")


@pytest.mark.asyncio
@pytest.mark.parametrize("code", [None, 3, ["x"], {"a": 1}])
async def test_code_that_is_no_text_is_asked_about(code):
    block, questions = await decide("run_python", {"code": code})
    assert len(questions) == 1
    assert "its code is not a text" in block


@pytest.mark.asyncio
async def test_a_fault_while_judging_asks():
    def broken():
        raise RuntimeError("dictionary changed size during iteration")

    block, (question,) = await decide("run_python", {"code": "1"}, known=broken)
    assert question.reasons == ("it cannot be judged (RuntimeError)",)
    assert block.startswith("refused")


@pytest.mark.asyncio
async def test_a_question_that_cannot_be_put_is_a_no():
    block, _ = await decide("run_python", {"code": "!ls"}, answer=OSError("no terminal"))
    assert block.startswith("refused: runs a shell command (line 1: !ls); asking failed (OSError)")


@pytest.mark.asyncio
@pytest.mark.parametrize("stop", [AbortedError("stopped"), asyncio.CancelledError()])
async def test_stops_pass_through(stop):
    with pytest.raises(type(stop)):
        await decide("run_python", {"code": "!ls"}, answer=stop)


@pytest.mark.asyncio
async def test_an_earlier_verdict_stands():
    person = Person(True)
    blocked = ToolGate(Ids(), "run_python", {"code": "!ls"}, block="no")
    answered = ToolGate(Ids(), "run_python", {"code": "!ls"}, result=ToolResultBlock("c1"))
    for event in (blocked, answered):
        await Gate(person, tiers=TIERS)(event)
    assert (blocked.block, answered.block, person.questions) == ("no", None, [])


@pytest.mark.asyncio
async def test_the_users_names_are_asked_for_at_each_call():
    names = {"df"}
    person = Person(False)
    gate = Gate(person, tiers=TIERS, protected=lambda: frozenset(names), known=lambda: {"sp": "subprocess"})
    for code in ("df = 1", "sp.run('ls')"):
        event = ToolGate(Ids(), "run_python", {"code": code})
        await gate(event)
        assert event.block is not None
    names.clear()
    event = ToolGate(Ids(), "run_python", {"code": "df = 1"})
    await gate(event)
    assert event.block is None


def test_a_question_cannot_repaint_the_screen():
    question = Question("run_python", "x\x1b[2J\nAllow it? y", "", ("why \r\x08 \u202eabc",))
    assert "\x1b" not in question.text
    assert question.text.count("\n") == 1
    assert not {"\r", "\x08", "\u202e"} & set(question.text)


def test_a_question_with_many_reasons_says_how_many_are_left_out():
    question = Question("run_python", "", "", tuple(f"reason {n}" for n in range(50)))
    assert question.text.endswith("  - and for 30 more reasons")


@pytest.mark.asyncio
async def test_what_a_diff_shows_is_not_told_twice():
    asked = []

    async def ask(question):
        asked.append(question)
        return False

    async def preview(tool, arguments):
        return "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n" if arguments["new_string"] else ""

    gate = Gate(ask, tiers={"edit": "write"}, preview=preview)
    for new in ("two", ""):
        arguments = {"path": "a.txt", "old_string": "one", "new_string": new, "replace_all": False}
        await gate(ToolGate(Ids("run_1", "turn_1", "call_1"), "edit", arguments))
    assert asked[0].target == "path: a.txt"
    assert asked[1].target == "path: a.txt\nold_string: one\nnew_string: \nreplace_all: False"

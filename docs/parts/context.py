"""What the model sees of what is done to its context: notes, stand-ins, words of the loop, summaries."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final
from unittest import mock

from parts.text import fenced, listed

FOLDER: Final = "/data/penguins"
"""Where the conversations of the examples happen."""

SESSION: Final = f"{FOLDER}/.zidane/sessions/analysis/20260131-142059-3f9c0a"


# --- the system prompt ----------------------------------------------------------------------------


def _composed(day: date) -> Any:
    from zidane_lab.chat.place import Place
    from zidane_lab.chat.profiles import PROFILES
    from zidane_lab.chat.system import compose_system

    place = Place(Path(FOLDER, "analysis.ipynb"), Path(FOLDER), "")
    with (
        mock.patch("platform.system", return_value="Linux"),
        mock.patch("platform.python_version", return_value="3.12.4"),
    ):
        return compose_system(PROFILES["build"], place, Path(FOLDER), day)


def environment() -> str:
    """Return the end of the system prompt, which tells where and when the conversation began."""
    return fenced(_composed(date(2026, 1, 31)).sections["env"])


def change_note() -> str:
    """Return what the model is told when the day is another one."""
    from zidane_lab.agent.frozen_system import freeze

    first = freeze((), _composed(date(2026, 1, 31)), key="build")
    assert first.record is not None
    later = freeze((first.record,), _composed(date(2026, 2, 2)), key="build")
    assert later.text == first.text
    return fenced(later.notes[0].text)


# --- results --------------------------------------------------------------------------------------


def kept_result() -> str:
    """Return what is sent of a result of 71 kB: its stand-in."""
    from zidane_lab.agent.hooks import HookBus
    from zidane_lab.agent.persistence import Persistence, PersistenceSettings
    from zidane_lab.events import Ids, ToolTransform
    from zidane_lab.session.blob_writer import Written
    from zidane_lab.turns import TextBlock, ToolResultBlock

    class Writer:
        async def write(self, path: Path, content: str) -> Written:
            assert content
            return Written(path)

    class Session:
        folder = Path(SESSION)

    text = "[stdout]\n" + "".join(f"row {number}: a line of the table\n" for number in range(2_000))
    text += "[error]\n  cell, line 3, in <module>\nKeyError: 'mass'\n[failed after 0.42 s; what ran before stays]"
    result = ToolResultBlock("toolu_01", (TextBlock(text),), is_error=True, metadata={"execution": {}})
    event = ToolTransform(Ids(call_id="toolu_01"), "run_python", result)
    hooks = HookBus()
    hooks.use(Persistence(Session(), PersistenceSettings(writer=Writer())))
    asyncio.run(hooks.emit(event))
    lines = event.result.text.splitlines()
    end = lines.index("</persisted-output>")
    return fenced("\n".join([*lines[:6], "… (2,048 bytes in all) …", *lines[end:]]))


def left_out() -> str:
    """Return what stands in place of results that are left out: by which lever each, see the page."""
    from zidane_lab.compaction.past_results import PastResult
    from zidane_lab.compaction.prune import placeholder
    from zidane_lab.compaction.useless import FAILED_NOTICE, SUPERSEDED_NOTICE, USELESS_NOTICE
    from zidane_lab.turns import ToolCallBlock, ToolResultBlock

    call = ToolCallBlock("toolu_07", "run_python", {})
    old = PastResult(call, ToolResultBlock("toolu_07"), 0, datetime(2026, 1, 31, tzinfo=UTC), 6_200, 0, 0, True, True)
    return listed(USELESS_NOTICE, FAILED_NOTICE, SUPERSEDED_NOTICE, placeholder(old))


def read_again() -> str:
    """Return the answer to a second reading of the same lines of an unchanged file."""
    from zidane_lab.providers.scripted import call

    with _folder() as folder:
        folder.joinpath("notes.txt").write_text("remember the milk\n", encoding="utf-8")
        turns = _played(
            [call("read_file", path="notes.txt"), call("read_file", path="notes.txt"), "I know it."],
            folder=folder,
        )
    return fenced(turns[-2].tool_results[0].text.replace(str(folder), FOLDER))


# --- words of the loop ----------------------------------------------------------------------------


def repeated() -> str:
    """Return what the model is told at the third time of the same step, and at the fifth."""
    from zidane_lab.agent.guards.repeat_guard import BLOCK_AT
    from zidane_lab.providers.scripted import call

    with _folder() as folder:
        turns = _played([call("read_file", path="nothing.txt")] * BLOCK_AT + ["I stop."], folder=folder)
    said = next(turn for turn in turns if turn.injected == "progress-nudge")
    return listed(said.text, turns[-2].tool_results[0].text)


def same_error() -> str:
    """Return what the model is told when a tool fails the same way for the third time."""
    from zidane_lab.agent.nudges import MESSAGES

    return fenced(MESSAGES["same-error"].format(tool="run_python", count=3))


def resumes() -> str:
    """Return what is said after an answer that was cut, paused or refused."""
    from zidane_lab.agent.resume import CONTINUE_LENGTH, CONTINUE_PAUSE, RETRY_REFUSAL

    return listed(CONTINUE_LENGTH, CONTINUE_PAUSE, RETRY_REFUSAL)


def not_run() -> str:
    """Return the result of a call that a budget came before."""
    from zidane_lab import Agent, Behavior, ScriptedProvider
    from zidane_lab.agent.budgets import Budgets
    from zidane_lab.errors import BudgetExceededError
    from zidane_lab.providers.scripted import call
    from zidane_lab.turns import Usage

    provider = ScriptedProvider([call("list_variables")], usage=Usage(input=200_000, output=3_417))
    agent = Agent(provider, behavior=Behavior(budgets=Budgets.of(tokens=200_000)))
    try:
        asyncio.run(agent.run("Look around"))
    except BudgetExceededError:
        return fenced(agent.session.turns[-1].tool_results[0].text)
    raise AssertionError("The budget was not kept.")


# --- summaries ------------------------------------------------------------------------------------


def summary() -> str:
    """Return how a summary is sent."""
    from zidane_lab.compaction.touched import Touched, with_touched
    from zidane_lab.wire.cutoff import summary_text

    touched = Touched(("notes.txt",), (), ("penguins", "by_species"))
    return fenced(summary_text(with_touched("1. Primary request and intent: …\n…\n9. Next step: …", touched)))


def put_back() -> str:
    """Return the calls and results that put a file and the variables back behind a summary."""
    from zidane_lab.compaction.restore import PostCompactRestoreOptions, build_post_compact_attachments
    from zidane_lab.compaction.working_set import RecentFile, UsedVariable
    from zidane_lab.kernel.embedded import embedded_shell
    from zidane_lab.kernel.live import LiveExecutor

    with _folder() as folder:
        folder.joinpath("notes.txt").write_text("remember the milk\n", encoding="utf-8")
        options = PostCompactRestoreOptions(
            cwd=folder,
            recent_files=(RecentFile(str(folder / "notes.txt"), 0.0),),
            executor=LiveExecutor(embedded_shell({"prices": {"apple": 3, "pear": 2.5}})),
            variables=(UsedVariable("prices", True), UsedVariable("draft", True)),
        )
        made = asyncio.run(build_post_compact_attachments(options))
    calls, results = made.turns
    answers = {result.call_id: result for result in results.tool_results}
    lines = []
    for call in calls.tool_calls:
        arguments = json.dumps(dict(call.input)).replace(str(folder), FOLDER)
        failed = " (error)" if answers[call.id].is_error else ""
        lines += [f"call {call.id}: {call.name} {arguments}", f"result{failed}:"]
        lines += [f"  {line}" for line in answers[call.id].text.replace(str(folder), FOLDER).splitlines()]
    return fenced("\n".join(lines))


def summary_prompt() -> str:
    """Return the instruction for a summary, whole: all but the kept tail, an earlier summary among it."""
    from zidane_lab.compaction.prompts import build_compact_prompt

    return fenced(build_compact_prompt("tail", "Now by island", is_update=True, instructions="Keep all numbers."))


def summary_prompt_beginnings() -> str:
    """Return the second paragraph of the instruction for the other scopes, and for a tail that is not shown."""
    from zidane_lab.compaction.prompts import build_compact_prompt

    prompts = (
        build_compact_prompt("tail"),
        build_compact_prompt("full"),
        build_compact_prompt("from", "Now by island"),
        build_compact_prompt("up_to", "Now by island"),
    )
    return fenced("\n\n".join(prompt.split("\n\n")[1] for prompt in prompts))


def summary_alone() -> str:
    """Return a request for a summary that stands by itself: system prompt, and the conversation as text."""
    from zidane_lab.compaction.summarize import standalone_request
    from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn

    turns = (
        Turn("user", (TextBlock("How many rows has penguins?"),)),
        Turn("assistant", (ToolCallBlock("1", "run_python", {"code": "len(penguins)", "intent": "Count"}),)),
        Turn("user", (ToolResultBlock("1", (TextBlock("[value]\n344\n[done in 0.01 s]"),)),)),
    )
    request = standalone_request(turns, "", model="", max_tokens=1)
    return "\n\n".join((fenced(request.system), fenced(request.turns[0].text)))


# --- helpers --------------------------------------------------------------------------------------


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name).resolve()


def _played(answers: list[Any], *, folder: Path) -> tuple[Any, ...]:
    """Return the turns of a run that reads files, with the guards of a notebook."""
    from zidane_lab import Agent, Behavior, ScriptedProvider
    from zidane_lab.agent.guards.settings import GuardSettings
    from zidane_lab.tools.read_file import read_file_tool

    agent = Agent(
        ScriptedProvider(answers), tools=[read_file_tool()], behavior=Behavior(guards=GuardSettings()), cwd=folder
    )
    run: Callable[[str], Awaitable[Any]] = agent.run

    async def play() -> None:
        await run("Go")

    asyncio.run(play())
    return agent.session.turns

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.agent.support import Recorder
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.persistence import Persistence, PersistenceSettings
from zidane_lab.events import Ids, ToolTransform
from zidane_lab.kernel.execution import ErrorInfo, Execution, Output
from zidane_lab.session.layout import sessions_folder
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_output import read_output
from zidane_lab.tools.run_python import describe_execution
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn

pytestmark = pytest.mark.asyncio
LONG = "".join(f"row {number}\n" for number in range(5_000))


@pytest.fixture
def session(tmp_path):
    with Session.create(sessions_folder(notebook=tmp_path / "work.ipynb")) as session:
        session.append(Turn("user", (TextBlock("go"),)))
        yield session


async def transformed(session, result, tool="query", settings=None):
    hooks = HookBus()
    recorder = Recorder(hooks)
    Persistence(session, settings or PersistenceSettings()).install(hooks)
    event = ToolTransform(Ids(call_id="call_1"), tool, result)
    assert await hooks.emit(event) == []
    return event.result, recorder.of("result:persisted")


def result_of(text=LONG, **fields):
    return ToolResultBlock("call_1", (TextBlock(text),), **fields)


async def test_a_large_result_goes_to_the_sessions_folder_and_is_announced(session):
    result, (event,) = await transformed(session, result_of(metadata={"rows": 5_000}, is_error=True))
    path = session.folder / "tool-results" / "call_1.txt"
    assert path.read_text() == LONG
    assert result.text.startswith('<persisted-output tool="query"')
    assert result.metadata == {"rows": 5_000, "persisted": {"path": str(path), "bytes": len(LONG)}}
    assert result.is_error
    assert (event.tool, event.size, event.path, event.error) == ("query", len(LONG), str(path), None)


async def test_what_went_to_a_file_is_read_back_whole(session):
    session.append(Turn("assistant", (ToolCallBlock("call_1", "query"),)))
    result, _ = await transformed(session, result_of())
    session.append(Turn("user", (result,)))
    output = read_output(ToolContext(outputs=session), call_id="call_1", offset=4_990)
    assert output.parts[0].text.startswith("row 4989\n")


@pytest.mark.parametrize(
    ("result", "tool"),
    [
        (result_of("short"), "query"),
        (result_of(), "read_file"),
        (ToolResultBlock("call_1", (TextBlock(LONG), ImageBlock("image/png", b"x"))), "query"),
        (result_of(metadata={"persisted": {"path": "/x", "bytes": 1}}), "query"),
    ],
)
async def test_other_results_are_left_alone(session, result, tool):
    after, events = await transformed(session, result, tool)
    assert after is result
    assert events == []


async def test_a_session_in_memory_keeps_everything_inline():
    after, events = await transformed(Session.memory(), result_of())
    assert (after.text, events) == (LONG, [])


async def test_settings_are_followed(session):
    settings = PersistenceSettings(threshold=3, max_bytes=1, exclude_tools=frozenset({"query"}))
    assert (await transformed(session, result_of(), settings=settings))[1] == []
    assert (await transformed(session, result_of("long enough"), "read_file", settings))[1] != []


async def test_nothing_is_lost_when_the_disk_fails(session):
    session.folder.mkdir(parents=True)
    (session.folder / "tool-results").write_text("in the way")
    result, (event,) = await transformed(session, result_of())
    assert "could not be kept in a file" in result.text
    assert len(result.text) < 3_000
    assert event.path == ""
    assert event.error
    assert result.metadata["persisted"]["text"] == LONG
    session.append(Turn("assistant", (ToolCallBlock("call_1", "query"),)))
    session.append(Turn("user", (result,)))
    output = read_output(ToolContext(outputs=session), call_id="call_1", query="row 4321")
    assert "row 4321" in output.parts[0].text


async def test_the_evidence_of_code_keeps_how_it_ended_and_its_full_output_is_stored_once(session):
    error = ErrorInfo("ValueError", "bad", "ValueError: bad")
    ran = Execution(
        "run()", "error", (Output("stdout", LONG.replace("row", "a wider row") * 3),), error=error, wall_seconds=0.5
    )
    output = describe_execution(ran, ToolContext(outputs=session))
    block = ToolResultBlock("call_1", output.parts, output.is_error, output.metadata)
    result, (event,) = await transformed(session, block, "run_python")
    saved = output.metadata["execution"]["full_output"]
    assert event.path == result.metadata["persisted"]["path"] == saved
    assert event.size == len((session.folder / "outputs").joinpath("1.call.run_python.txt").read_bytes())
    assert not (session.folder / "tool-results").exists()
    assert result.text.endswith(
        "</persisted-output>\n[error]\nValueError: bad\n"
        "[failed after 0.50 s; no variable was created, changed or deleted]"
    )


async def test_an_ending_out_of_all_proportion_is_shortened(session):
    ran = Execution("x", "error", error=ErrorInfo("E", "m", "e" * 40_000))
    output = describe_execution(ran, ToolContext())
    result, _ = await transformed(session, ToolResultBlock("", output.parts, metadata=output.metadata), "run_python")
    assert len(result.text) < 5_000
    assert result.text.endswith("no variable was created, changed or deleted]")


async def test_it_decides_about_what_the_handlers_before_it_left(session):
    hooks = HookBus()

    def shorten(event):
        event.result = replace(event.result, parts=(TextBlock("short"),))

    hooks.on(ToolTransform, shorten)
    uninstall = Persistence(session).install(hooks)
    event = ToolTransform(Ids(call_id="call_1"), "query", result_of())
    await hooks.emit(event)
    assert event.result.text == "short"
    uninstall()
    event = ToolTransform(Ids(call_id="call_1"), "query", result_of())
    await hooks.emit(event)
    assert event.result.text == "short"

from __future__ import annotations

import re

import pytest

from zidane_lab.errors import ToolError, ToolInputError
from zidane_lab.session.layout import sessions_folder
from zidane_lab.session.persisted import build_persisted_stub
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_output import read_output, read_output_tool
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn

TEXT = "".join(f"row {number}\n" for number in range(1, 1_001))


@pytest.fixture
def session(tmp_path):
    with Session.create(sessions_folder(notebook=tmp_path / "work.ipynb")) as session:
        session.append(Turn("user", (TextBlock("go"),)))
        yield session


def keep(session, call_id, text, name="tool-results/kept.txt", **metadata):
    path = session.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    stub = build_persisted_stub("f", len(text), path, text)
    add(session, call_id, stub, persisted={"path": str(path), "bytes": len(text)}, **metadata)
    return path


def add(session, call_id, text, *parts, **metadata):
    session.append(Turn("assistant", (ToolCallBlock(call_id, "f"),)))
    session.append(Turn("user", (ToolResultBlock(call_id, (TextBlock(text), *parts), metadata=metadata),)))


def read(session, **arguments):
    return read_output(ToolContext(outputs=session), **arguments).parts[0].text


def test_a_kept_result_is_read_by_pages_that_cover_it_exactly(session):
    keep(session, "c", TEXT)
    got, offset = "", 1
    for _ in range(10):
        page = read(session, call_id="c", offset=offset)
        body, _, note = page.rpartition("\n[")
        got += body + "\n"
        if not (found := re.search(r"go on with offset=(\d+)", note)):
            break
        offset = int(found[1])
    assert got == TEXT
    assert note == "lines 901–1,000 of 1,000; this is the end]"


def test_it_is_searched_for_a_text(session):
    path = keep(session, "c", TEXT)
    assert read(session, path=str(path), query="row 77", around=0, limit=2) == (
        "77: row 77\n770: row 770\n[11 matches; the first 2 are shown; go on with offset=771]"
    )


def test_a_result_left_out_of_requests_is_read_from_the_session_pictures_and_all(session):
    picture = ImageBlock("image/png", b"x")
    add(session, "c", "what it said\n", picture)
    output = read_output(ToolContext(outputs=session), call_id="c")
    assert output.parts == (TextBlock("what it said\n"), picture)
    assert read_output(ToolContext(outputs=session), call_id="c", query="said").parts[1:] == ()


def test_what_could_not_be_written_is_read_from_memory():
    session = Session.memory()
    add(session, "c", "the beginning", persisted={"bytes": 4, "error": "disk full", "text": TEXT})
    assert read(session, call_id="c", offset=1_000) == "row 1000\n[lines 1,000–1,000 of 1,000; this is the end]"


@pytest.mark.parametrize("metadata", ["execution", "output_path"])
def test_a_shortened_result_is_read_from_the_file_of_its_tool(session, metadata):
    path = session.save_output("c.run_python", TEXT)
    evidence = {"execution": {"full_output": str(path)}} if metadata == "execution" else {"output_path": str(path)}
    add(session, "c", "row 1 … row 1000", **evidence)
    assert read(session, call_id="c").startswith("row 1\nrow 2\n")


def test_a_shortened_result_whose_file_is_gone_shows_what_there_is(session):
    add(session, "c", "row 1 … row 1000", output_path=str(session.folder / "outputs" / "9.txt"))
    assert read(session, call_id="c") == "row 1 … row 1000"


def test_a_file_that_is_gone_is_said_to_be(session):
    keep(session, "c", TEXT).unlink()
    with pytest.raises(ToolError, match="is gone"):
        read(session, call_id="c")


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "tool-results/../../x", "blobs/x", "a\0b", ""])
def test_only_the_sessions_own_results_are_read(session, path):
    with pytest.raises(ToolError, match="not a result of this session"):
        read(session, path=path)


def test_metadata_that_name_a_file_elsewhere_give_nothing_away(session, tmp_path):
    secret = tmp_path / "tool-results" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("secret")
    add(session, "c", "harmless", persisted={"path": str(secret), "bytes": 6})
    assert read(session, call_id="c") == "harmless"
    with pytest.raises(ToolError):
        read(session, path=str(secret))


def test_an_unknown_call_names_the_kept_ones(session):
    keep(session, "kept", TEXT)
    with pytest.raises(ToolError, match=r"no result of a call 'x'.*those of kept"):
        read(session, call_id="x")


@pytest.mark.parametrize("arguments", [{}, {"call_id": "a", "path": "b"}])
def test_exactly_one_of_call_and_path_is_given(session, arguments):
    with pytest.raises(ToolError, match="either call_id or path"):
        read(session, **arguments)


def test_without_a_session_there_is_nothing_to_read():
    with pytest.raises(ToolError, match="No results are kept here"):
        read_output(ToolContext(), call_id="c")


def test_odd_bytes_and_long_lines_are_shown_as_far_as_they_go(session):
    path = keep(session, "c", "")
    path.write_bytes(b"\xff\xfe\n" + b"y" * 200_000)
    text = read(session, call_id="c")
    assert text.startswith("\ufffd\ufffd\n")
    assert "go on with offset=2" in text
    assert "use query" in read(session, call_id="c", offset=2)
    assert read(session, call_id="c", offset=9) == "[the result has 2 lines; there is no line 9]"


@pytest.mark.asyncio
async def test_the_tool_takes_its_arguments_and_refuses_others(session):
    tool = read_output_tool()
    keep(session, "c", TEXT)
    output = await tool.run(ToolContext(outputs=session), {"call_id": "c", "query": "row 1000"})
    assert "1000: row 1000" in output.parts[0].text
    assert (tool.name, tool.tier, tool.concurrency) == ("read_output", "read", "shared")
    with pytest.raises(ToolInputError):
        await tool.run(ToolContext(outputs=session), {"call": "c"})

"""A session as its users see it: what goes in is there when it is opened again."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zidane_lab.errors import SessionError, SessionLockedError
from zidane_lab.session import Session, sessions_folder
from zidane_lab.session.layout import is_session_id
from zidane_lab.tools.base import OutputStore
from zidane_lab.turns import (
    CommandBlock,
    CompactSummaryBlock,
    CustomBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Usage,
)
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.pairing import TOOL_USE_INTERRUPTED

PNG = bytes(range(256)) * 20


def user(*blocks, **kw):
    return Turn("user", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), **kw)


def assistant(*blocks, **kw):
    return Turn("assistant", tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), **kw)


def call(call_id):
    return ToolCallBlock(call_id, "run_python", {"code": "1"})


def result(call_id, text="1", **kw):
    return ToolResultBlock(call_id, (TextBlock(text),), **kw)


def lines(session):
    return [json.loads(line) for line in session.path.read_bytes().splitlines()]


def reopened(session):
    session.close()
    return Session.open(session.path)


@pytest.fixture
def session(folder, tmp_path):
    with Session.create(folder, notebook=tmp_path / "analysis.ipynb", cwd=tmp_path, kernel="k1") as session:
        yield session


class TestLazy:
    def test_an_abandoned_session_leaves_nothing(self, session, tmp_path):
        assert session.turns == ()
        assert session.title == "New session"
        assert session.tail_state == "clean"
        session.close()
        assert list(tmp_path.iterdir()) == []

    def test_the_first_turn_makes_file_and_header(self, session, tmp_path):
        session.append(user("hello"))
        header, entry = lines(session)
        assert header["type"] == "session"
        assert header["version"] == 1
        assert header["id"] == session.id == session.path.stem
        assert is_session_id(session.id)
        assert header["notebook"] == str(tmp_path / "analysis.ipynb")
        assert header["cwd"] == str(tmp_path)
        assert header["zidane_lab"]
        assert entry["type"] == "turn"
        assert entry["parent"] is None
        assert (tmp_path / ".zidane" / ".gitignore").read_text() == "*\n"
        assert not session.folder.exists()

    def test_the_lock_is_there_while_it_is_written_and_gone_after(self, session):
        session.append(user("hello"))
        lock = session.path.with_suffix(".lock")
        assert json.loads(lock.read_text())["kernel"] == "k1"
        session.close()
        assert not lock.exists()


class TestRoundTrip:
    def test_every_kind_of_block_comes_back(self, session):
        turns = [
            user(
                "q",
                ImageBlock("image/png", PNG, "plot"),
                DocumentBlock("application/pdf", b"%PDF"),
                CommandBlock("help", "x", "y"),
            ),
            assistant(
                ThinkingBlock("hm", "sig", "anthropic", redacted=True),
                "text",
                call("1"),
                usage=Usage(1, 2, 3, 4, 5, 0.25),
                model="p/m",
            ),
            user(
                ToolResultBlock("1", (TextBlock("r"), ImageBlock("image/png", PNG)), metadata={"n": {"m": [1.5, None]}})
            ),
            assistant(CompactSummaryBlock("s", ("a",)), CustomBlock("pin", {"x": 1})),
        ]
        stored = [session.append(turn) for turn in turns]
        again = reopened(session)
        assert again.turns == session.turns == tuple(stored)
        assert [turn.parent_id for turn in stored] == [None, *(turn.id for turn in stored[:-1])]
        assert [turn.blocks for turn in stored] == [turn.blocks for turn in turns]
        assert again.repairs == ()
        again.close()

    def test_entries_follow_each_other(self, session):
        session.append(user("a"))
        session.set_model("p/m")
        session.append(assistant("b"))
        entries = lines(session)[1:]
        assert [entry["parent"] for entry in entries] == [None, entries[0]["id"], entries[1]["id"]]
        assert len({entry["id"] for entry in entries}) == 3

    def test_what_was_written_never_changes(self, session):
        session.append(user("a"))
        before = session.path.read_bytes()
        with reopened(session) as again:
            again.append(assistant("b"))
            again.move_to(again.turns[0].id)
            again.append(assistant("c"))
        assert again.path.read_bytes().startswith(before)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["user", "assistant"]),
                st.lists(
                    st.one_of(
                        st.builds(TextBlock, st.text(st.characters())),
                        st.builds(ImageBlock, st.text(), st.binary(), st.none() | st.text()),
                        st.builds(
                            ToolCallBlock,
                            st.text(max_size=2),
                            st.text(),
                            st.dictionaries(st.text(), st.integers() | st.text()),
                        ),
                        st.builds(
                            ToolResultBlock, st.text(max_size=2), st.lists(st.builds(TextBlock, st.text())).map(tuple)
                        ),
                    ),
                    max_size=4,
                ).map(tuple),
            ),
            max_size=6,
        )
    )
    def test_any_conversation_comes_back(self, tmp_path, rows):
        with Session.create(sessions_folder(notebook=tmp_path / "any.ipynb")) as session:
            for role, blocks in rows:
                session.append(Turn(role, blocks))
            if not rows:
                return
        with Session.open(session.path) as again:
            assert again.turns == session.turns


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            "数据 分析.ipynb",
            "Übung 3 (copy).ipynb",
            "a'b\"c.ipynb",
            "emoji 😀.ipynb",
            "-rf.ipynb",
            "x" * 240 + ".ipynb",
        ],
    )
    def test_notebooks_of_any_name_have_sessions(self, tmp_path, name):
        with Session.create(sessions_folder(notebook=tmp_path / name), notebook=name) as session:
            session.append(user("hi"))
            session.save_output("出力 /../x", "text")
        with Session.open(session.path) as again:
            assert again.header.notebook == name
            assert again.turns[0].text == "hi"

    def test_through_a_link_it_is_the_same_session_and_the_same_lock(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        with Session.create(sessions_folder(notebook=tmp_path / "real" / "a.ipynb")) as session:
            session.append(user("hi"))
            other = sessions_folder(notebook=tmp_path / "link" / "a.ipynb") / session.path.name
            with pytest.raises(SessionLockedError):
                Session.open(other)
        with Session.open(other) as again:
            assert again.turns == session.turns

    def test_a_session_that_is_a_link_is_not_opened(self, session, tmp_path):
        session.append(user("hi"))
        session.close()
        real = session.path.rename(tmp_path / "elsewhere")
        session.path.symlink_to(real)
        with pytest.raises(SessionError, match="symbolic link"):
            Session.open(session.path)

    def test_no_session_is_no_session(self, folder):
        with pytest.raises(SessionError, match="There is no session"):
            Session.open(folder / "20260131-142059-3f9c0a.jsonl")
        with pytest.raises(SessionError, match="not a session id"):
            Session.open(Path("/etc/passwd.jsonl"))

    def test_a_file_that_is_no_session_is_left_alone_and_unlocked(self, session):
        session.append(user("hi"))
        session.close()
        session.path.write_bytes(b"not a session\n")
        with pytest.raises(SessionError, match="does not begin"):
            Session.open(session.path)
        assert session.path.read_bytes() == b"not a session\n"
        assert not session.path.with_suffix(".lock").exists()


class TestCalls:
    def test_ids_used_before_are_minted_anew(self, session):
        session.append(user("q"))
        session.append(assistant(call("call_0")))
        session.append(user(result("call_0")))
        again = session.append(assistant(call("call_0"), call("call_0")))
        assert [each.id for each in again.tool_calls] == ["call_0_r1", "call_0_r2"]
        assert session.turns[-1] is again

    def test_so_are_they_after_opening_again(self, session):
        session.append(user("q"))
        session.append(assistant(call("call_0")))
        session.append(user(result("call_0")))
        with reopened(session) as again:
            assert again.append(assistant(call("call_0"))).tool_calls[0].id == "call_0_r1"

    def test_a_cut_run_shows_and_is_closed_when_the_next_begins(self, session):
        run = session.start_run("q", model="p/m", cell_id="cell")
        session.append(user("q"))
        session.append(assistant("let me see", call("1"), call("2"), run_id=run.id))
        session.path.with_suffix(".lock").unlink()  # as if the process were gone
        again = Session.open(session.path)
        assert again.tail_state == "interrupted"
        assert again.interrupted
        assert again.runs[0].status == "interrupted"
        before = again.path.read_bytes()
        wire_turns(wire_turns(again.turns), strict=True)
        again.start_run("go on")
        again.append(user("go on"))
        assert not again.interrupted
        closing = again.turns[2]
        assert [each.call_id for each in closing.tool_results] == ["1", "2"]
        assert {each.text for each in closing.tool_results} == {TOOL_USE_INTERRUPTED}
        assert all(each.is_error for each in closing.tool_results)
        assert closing.run_id == run.id
        assert wire_turns(again.turns, strict=True) is again.turns
        assert again.path.read_bytes().startswith(before)
        again.close()

    def test_calls_can_still_be_answered_before_the_next_run(self, session):
        session.append(user("q"))
        session.append(assistant(call("1")))
        with reopened(session) as again:
            again.append(user(result("1", "the person's answer")))
            again.start_run("go on")
            assert len(again.turns) == 3
            assert again.tail_state == "clean"
            assert again.close_calls() is None

    def test_the_ends_a_conversation_can_have(self, session):
        assert session.tail_state == "clean"
        session.append(user("q"))
        assert session.tail_state == "clean"
        session.append(assistant("a"))
        assert session.tail_state == "completed"
        assert not session.interrupted
        session.append(assistant(call("1")))
        assert session.tail_state == "interrupted"


class TestRuns:
    def test_a_run_is_recorded_from_start_to_end(self, session):
        started = session.start_run("q", model="p/m", cell_id="c", options={"max_turns": 3})
        assert (started.id, started.status, started.prompt, started.model, started.cell_id) == (
            "run_1",
            "running",
            "q",
            "p/m",
            "c",
        )
        assert started.options == {"max_turns": 3}
        session.append(user("q", run_id=started.id))
        ended = session.end_run("run_1", "error", finish="length", usage=Usage(1, 2), seconds=1.5, error="it broke")
        with reopened(session) as again:
            assert again.runs == (ended,)
        assert (ended.status, ended.finish, ended.usage, ended.seconds, ended.error) == (
            "error",
            "length",
            Usage(1, 2),
            1.5,
            "it broke",
        )
        assert ended.started_at.startswith("20")

    def test_ids_are_counted_and_never_used_twice(self, session):
        assert [session.start_run("q").id, session.start_run("q", run_id="run_3").id] == ["run_1", "run_3"]
        assert session.start_run("q").id == "run_4"
        with pytest.raises(SessionError, match="already"):
            session.start_run("q", run_id="run_1")
        with reopened(session) as again:
            assert again.start_run("q").id == "run_5"

    def test_an_unknown_run_cannot_end(self, session):
        with pytest.raises(SessionError, match="no run"):
            session.end_run("run_9", "completed")


class TestTitleModelUsage:
    def test_the_title_is_the_first_question_on_one_line(self, session):
        session.append(user(CommandBlock("help")))
        session.append(user("Continue.", injected="length-resume"))
        assert session.title == "New session"
        session.append(user("What is\n\n  the mean  of `a`?"))
        assert session.title == "What is the mean of `a`?"
        assert session.title_source is None

    def test_a_long_one_is_clipped(self, session):
        session.append(user("word " * 40))
        assert len(session.title) <= 80
        assert session.title.endswith("word…")

    def test_a_persons_title_is_not_replaced_by_an_automatic_one(self, session):
        session.set_title("Auto one", source="auto")
        session.set_title("Auto two", source="auto")
        assert (session.title, session.title_source) == ("Auto two", "auto")
        session.set_title(" Mine \n")
        session.set_title("Auto three", source="auto")
        session.set_title("  ")
        assert (session.title, session.title_source) == ("Mine", "user")
        session.append(user("hi"))
        with reopened(session) as again:
            assert (again.title, again.title_source) == ("Mine", "user")

    def test_the_model_last_chosen(self, session):
        assert session.model is None
        session.set_model("p/a")
        session.set_model("p/b")
        session.set_model("p/b")
        assert not session.path.exists()  # choices wait for the first prompt
        session.append(user("hi"))
        assert len(lines(session)) == 4
        with reopened(session) as again:
            assert again.model == "p/b"

    def test_usage_is_summed_and_never_a_false_zero(self, session):
        session.append(assistant("a", usage=Usage(10, 1, 5)))
        assert session.usage == Usage(10, 1, 5, cost=None)
        session.append(assistant("b", usage=Usage(1, 1, cost=0.5)))
        session.append(user("c"))
        assert session.usage == Usage(11, 2, 5, cost=0.5)


class TestRecords:
    def test_evidence_is_kept_apart_from_the_conversation(self, session):
        picture = base64.b64encode(PNG).decode()
        session.record("evidence", {"outputs": [{"data": {"image/png": picture}}]})
        session.record("other", {})
        session.record("evidence", {"n": 2})
        assert session.turns == ()
        session.start_run("hi")
        assert len(session.path.read_bytes()) < 2000
        with reopened(session) as again:
            assert again.records("evidence") == ({"outputs": [{"data": {"image/png": picture}}]}, {"n": 2})
            assert again.records("none") == ()


class TestOutputs:
    def test_full_outputs_are_numbered_files(self, session):
        store: OutputStore = session
        first = store.save_output("run_python", "a\nb")
        second = store.save_output("../../etc/passwd", "\ud800")
        assert first == session.folder / "outputs" / "1.run_python.txt"
        assert first.read_text() == "a\nb"
        assert second.parent == first.parent
        assert second.name.startswith("2.")
        assert second.read_text() == "\\ud800"
        session.append(user("q"))
        with reopened(session) as again:
            first.unlink()
            assert again.save_output("shell", "x").name == "3.shell.txt"

    def test_in_memory_nothing_is_kept(self):
        assert Session.memory().save_output("x", "text") is None

    def test_no_output_goes_through_a_link(self, session, tmp_path):
        session.append(user("q"))
        session.folder.mkdir()
        (session.folder / "outputs").symlink_to(tmp_path)
        assert session.save_output("x", "text") is None
        assert not list(tmp_path.glob("*.txt"))


class TestMemory:
    def test_it_is_a_session_without_files(self):
        with Session.memory() as session:
            assert (session.path, session.folder, session.unsaved) == (None, None, 0)
            session.start_run("q")
            session.append(user("q"))
            session.append(assistant(call("1")))
            session.append(user(result("1")))
            assert session.append(assistant(call("1"))).tool_calls[0].id == "1_r1"
            assert session.title == "q"


def test_a_closed_session_can_be_read_but_not_changed(session):
    session.append(user("q"))
    session.close()
    session.close()
    assert session.turns[0].text == "q"
    with pytest.raises(SessionError, match="closed"):
        session.append(user("x"))


def test_threads_may_append_at_the_same_time(session):
    def work(name):
        for n in range(15):
            session.append(user(f"{name} {n}"))
            session.record("n", {"n": n})

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reopened(session) as again:
        assert again.turns == session.turns
        assert len(again.turns) == 45
        assert again.repairs == ()


def test_importing_the_session_is_light():
    code = "import sys, zidane_lab.session; print([m for m in ('httpx','pydantic','IPython','nbformat','asyncio') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

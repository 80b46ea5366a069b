"""Usage added up over session files: by day, model, notebook and hour; each paid turn once."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from zidane_lab.session import Session, sessions_folder
from zidane_lab.session import usage as usage_module
from zidane_lab.session.usage import read_session_usage, read_usage, run_usage_aggregates
from zidane_lab.turns import (
    CommandBlock,
    CompactSummaryBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Usage,
)

MARCH = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)


@pytest.fixture
def notebook(tmp_path):
    return tmp_path / "analysis.ipynb"


def talk(notebook, *turns):
    session = Session.create(sessions_folder(notebook=notebook))
    for turn in turns:
        session.append(turn)
    session.close()
    return session.path


def asked(text="hi", at=MARCH, **more):
    return Turn("user", (TextBlock(text),), created_at=at, **more)


def answer(at=MARCH, model="a/x", **usage):
    return Turn("assistant", (TextBlock("ok"),), created_at=at, usage=Usage(**usage) if usage else None, model=model)


def rows(buckets):
    return [(row.day, row.model, row.notebook, row.input, row.output, row.turns) for row in buckets.assistant]


def edit(path, change):
    """Rewrite the lines of a session file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(change(lines)) + "\n", encoding="utf-8")


def changed_turns(path, change):
    """Rewrite the data of every turn of a session file."""

    def each(line):
        raw = json.loads(line)
        if raw["type"] == "turn":
            change(raw["turn"])
        return json.dumps(raw)

    edit(path, lambda lines: [each(line) for line in lines])


def test_use_is_added_up_by_day_model_and_notebook(notebook, tmp_path):
    later = MARCH + timedelta(days=1)
    talk(notebook, asked(), answer(input=1, output=2, cost=0.1), answer(input=3, output=4), answer(model=None, input=5))
    talk(notebook, asked(at=later), answer(later, input=7))
    talk(tmp_path / "other.ipynb", asked(), answer(input=9, cache_read=1, cache_creation=2, cost=0.2))
    buckets = run_usage_aggregates(tmp_path, zone=UTC)
    assert rows(buckets) == [
        ("2026-03-01", "a/x", "analysis", 4, 6, 2),
        ("2026-03-01", "unknown", "analysis", 5, 0, 1),
        ("2026-03-01", "a/x", "other", 9, 0, 1),
        ("2026-03-02", "a/x", "analysis", 7, 0, 1),
    ]
    first, _, third, last = buckets.assistant
    assert (first.cost, first.unpriced) == (0.1, 1)
    assert (third.cache_read, third.cache_creation, third.unpriced) == (1, 2, 0)
    assert last.cost is None
    assert buckets.problems == ()


def test_days_and_hours_are_local(notebook, tmp_path):
    talk(notebook, asked(), answer(input=1))
    east = run_usage_aggregates(tmp_path, zone=timezone(timedelta(hours=1)))
    west = run_usage_aggregates(tmp_path, zone=timezone(timedelta(hours=-8)))
    assert [(row.day, row.hour) for row in east.user] == [("2026-03-02", 0)]
    assert [(row.day, row.hour) for row in west.user] == [("2026-03-01", 15)]
    assert east.assistant[0].day == "2026-03-02"


def test_sessions_are_counted_on_the_day_they_began(notebook, tmp_path):
    for _ in range(2):
        talk(notebook, asked())
    (row,) = run_usage_aggregates(tmp_path, zone=UTC).sessions
    assert row.sessions == 2
    assert row.day == datetime.now(UTC).date().isoformat()


def test_only_what_a_person_said_is_a_message(notebook, tmp_path):
    picture = ImageBlock("image/png", b"x")
    talk(
        notebook,
        asked(),
        asked(injected="length-resume"),
        Turn("assistant", (ToolCallBlock("c1", "look"),), created_at=MARCH),
        Turn("user", (ToolResultBlock("c1", (TextBlock("seen"),)),), created_at=MARCH),
        Turn("user", (CommandBlock("usage"),), created_at=MARCH),
        Turn("user", (CompactSummaryBlock("so far"),), created_at=MARCH),
        Turn("user", (picture,), created_at=MARCH),
    )
    assert [row.messages for row in run_usage_aggregates(tmp_path, zone=UTC).user] == [2]


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_summary_adds_its_cost_and_no_turn(notebook, tmp_path, role):
    block = CompactSummaryBlock("so far", ("t",), {"model": "a/small"})
    talk(notebook, asked(), Turn(role, (block,), created_at=MARCH, usage=Usage(100, 20, cost=0.3)))
    (row,) = run_usage_aggregates(tmp_path, zone=UTC).assistant
    assert (row.model, row.turns, row.input, row.cost) == ("a/small", 0, 100, 0.3)


def test_every_branch_was_paid(notebook, tmp_path):
    session = Session.create(sessions_folder(notebook=notebook))
    question = session.append(asked())
    session.append(answer(input=1))
    session.move_to(question.id)
    session.append(answer(input=10))
    session.close()
    (row,) = run_usage_aggregates(tmp_path, zone=UTC).assistant
    assert (row.input, row.turns) == (11, 2)


def test_a_copied_session_does_not_count_its_turns_again(notebook, tmp_path):
    path = talk(notebook, asked(), answer(input=1))
    for _ in range(2):
        copy = Session.branch(path)
        copy.append(asked("more"))
        copy.append(answer(input=10))
        copy.close()
    nested = Session.branch(copy.path, folder=sessions_folder(notebook=tmp_path / "other.ipynb"))
    nested.append(answer(input=100))
    nested.close()
    buckets = run_usage_aggregates(tmp_path, zone=UTC)
    assert rows(buckets) == [
        ("2026-03-01", "a/x", "analysis", 21, 0, 3),
        ("2026-03-01", "a/x", "other", 100, 0, 1),
    ]
    assert sum(row.messages for row in buckets.user) == 3
    assert sum(row.sessions for row in buckets.sessions) == 4


def test_a_copy_whose_original_is_gone_counts_in_its_place(notebook, tmp_path):
    path = talk(notebook, asked(), answer(input=1))
    Session.branch(path).close()
    path.unlink()
    assert [row.input for row in run_usage_aggregates(tmp_path).assistant] == [1]


def test_turns_that_only_share_an_id_are_two(notebook, tmp_path):
    for hours in (1, 2):
        turn = Turn("assistant", (), id="mine", created_at=MARCH - timedelta(hours=hours), usage=Usage(1))
        talk(notebook, asked(), turn)
    assert [row.input for row in run_usage_aggregates(tmp_path, zone=UTC).assistant] == [2]


def test_notebooks_in_folders_below_count_and_hidden_ones_do_not(tmp_path):
    for name in ("deep/er/n.ipynb", ".hidden/n.ipynb", "node_modules/n.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        talk(tmp_path / name, asked(), answer(input=1))
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    talk(tmp_path / "env" / "n.ipynb", asked(), answer(input=1))
    for folder in (tmp_path, tmp_path / "deep"):  # without a notebook
        session = Session.create(sessions_folder(cwd=folder))
        session.append(answer(input=1))
        session.close()
    found = {row.notebook for row in run_usage_aggregates(tmp_path).assistant}
    assert found == {"deep/er/n", "", "deep"}


def test_links_are_not_followed(notebook, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    inside = tmp_path / "inside"
    elsewhere.mkdir()
    inside.mkdir()
    path = talk(elsewhere / "n.ipynb", asked(), answer(input=1))
    (inside / ".zidane").symlink_to(elsewhere / ".zidane")
    (inside / "linked").symlink_to(elsewhere)
    assert read_usage(inside).sessions == ()
    own = talk(inside / "linked" / "m.ipynb", asked())
    assert read_usage(inside).sessions == ()
    linked = own.with_name("20260101-000000-abcdef.jsonl")
    linked.symlink_to(path)
    problems = read_usage(elsewhere).problems
    assert len(problems) == 1
    assert "symbolic link" in problems[0]


def test_a_bound_on_folders_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(usage_module, "MOST_FOLDERS", 3)
    for n in range(5):
        (tmp_path / str(n)).mkdir()
    assert "more than 3 folders" in read_usage(tmp_path).problems[0]


def test_a_folder_that_is_not_there_is_told(tmp_path):
    records = read_usage(tmp_path / "nowhere")
    assert records.sessions == ()
    assert "nowhere" in records.problems[0]


def test_days_before_the_first_one_do_not_count(notebook, tmp_path):
    talk(notebook, asked(), answer(input=1), answer(MARCH + timedelta(days=3), input=10))
    buckets = run_usage_aggregates(tmp_path, since=date(2026, 3, 2), zone=UTC)
    assert [row.input for row in buckets.assistant] == [10]
    assert buckets.user == ()


def test_old_files_are_not_even_read(notebook, tmp_path):
    path = talk(notebook, asked(), answer(input=1))
    path.write_bytes(b"not a session")
    os.utime(path, (MARCH.timestamp(), MARCH.timestamp()))
    assert read_usage(tmp_path, since=date(2026, 3, 4), zone=UTC).problems == ()
    assert read_usage(tmp_path, since=date(2026, 3, 2), zone=UTC).problems  # within the day of slack


# --- damage ---------------------------------------------------------------------------------------


def test_a_damaged_line_is_told_and_the_rest_counts(notebook, tmp_path):
    path = talk(notebook, asked(), answer(input=1), answer(input=2))
    edit(path, lambda lines: [line[:-9] if '"input":1' in line else line for line in lines])
    buckets = run_usage_aggregates(tmp_path)
    assert [row.input for row in buckets.assistant] == [2]
    assert "damaged" in buckets.problems[0]
    assert path.name in buckets.problems[0]


@pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff\xfe\x00", b'{"type": "session", "version": 99, "id": "x"}\n'])
def test_a_file_that_is_no_session_is_told_and_the_others_count(notebook, tmp_path, content):
    talk(notebook, asked(), answer(input=1))
    talk(notebook, asked(), answer(input=2)).write_bytes(content)
    buckets = run_usage_aggregates(tmp_path)
    assert sum(row.input for row in buckets.assistant) == 1
    assert len(buckets.problems) == 1


def test_a_folder_or_pipe_named_like_a_session_is_passed_over(notebook, tmp_path):
    path = talk(notebook, asked(), answer(input=1))
    path.with_name("20260101-000000-abcdef.jsonl").mkdir()
    os.mkfifo(path.with_name("20260101-000000-abcdee.jsonl"))
    path.with_name("notes.jsonl").write_text("not ours")
    buckets = run_usage_aggregates(tmp_path)
    assert len(buckets.assistant) == 1
    assert len(buckets.problems) == 2


ODD = (None, 5, "x", [1], {})


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("name", ["usage", "blocks", "model", "run_id", "injected", "role", "created_at"])
def test_a_turn_with_any_damaged_field_breaks_nothing(notebook, tmp_path, name, value):
    path = talk(notebook, asked(), answer(input=1))
    changed_turns(path, lambda turn: turn.update({name: value}))
    talk(notebook, asked(), answer(input=2))
    assert sum(row.input for row in run_usage_aggregates(tmp_path).assistant) in (2, 3)


@pytest.mark.parametrize("value", [None, 5, [1], {}])
def test_a_turn_without_an_id_is_told(notebook, tmp_path, value):
    path = talk(notebook, asked(), answer(input=1))
    changed_turns(path, lambda turn: turn.update(id=value))
    assert len(run_usage_aggregates(tmp_path).problems) == 2


def test_a_block_of_a_newer_version_makes_a_call_no_cheaper(notebook, tmp_path):
    path = talk(notebook, asked(), answer(input=1))
    changed_turns(path, lambda turn: turn["blocks"].append({"kind": "hologram"}))
    buckets = run_usage_aggregates(tmp_path)
    assert [row.input for row in buckets.assistant] == [1]
    assert [row.messages for row in buckets.user] == [1]


@pytest.mark.parametrize("cost", [10**400, -1, "free", True])
def test_an_impossible_cost_is_an_unknown_one(notebook, tmp_path, cost):
    path = talk(notebook, asked(), answer(input=1))
    changed_turns(path, lambda turn: turn.get("usage", {}).update(cost=cost))
    (row,) = run_usage_aggregates(tmp_path).assistant
    assert (row.input, row.cost) == (1, None)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00", "yesterday"])
def test_a_time_at_the_edge_of_the_calendar_still_counts(notebook, tmp_path, moment):
    path = talk(notebook, asked(), answer(input=1))
    changed_turns(path, lambda turn: turn.update(created_at=moment))
    for hours in (-12, 12):
        assert [row.input for row in run_usage_aggregates(tmp_path, zone=timezone(timedelta(hours=hours))).assistant]


def test_a_header_without_a_time_falls_back_to_the_id(notebook, tmp_path):
    path = talk(notebook, asked())
    edit(path, lambda lines: [lines[0].replace('"created_at"', '"was"'), *lines[1:]])
    (row,) = run_usage_aggregates(tmp_path, zone=UTC).sessions
    assert row.day.replace("-", "") == path.name[:8]


def test_one_session_with_all_it_took_over(notebook):
    path = talk(notebook, asked(), answer(input=1))
    copy = Session.branch(path)
    copy.append(answer(input=10))
    copy.close()
    (session,) = read_session_usage(copy.path).sessions
    assert [answer.usage.input for answer in session.answers] == [1, 10]

"""``jupyter zidane usage``: tables for people, JSON for programs."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pytest

from zidane_lab.cli.main import main
from zidane_lab.cli.output import Pipe
from zidane_lab.cli.usage import usage
from zidane_lab.session import Session, sessions_folder
from zidane_lab.turns import TextBlock, Turn, Usage


@pytest.fixture
def notebooks(tmp_path):
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    session = Session.create(sessions_folder(notebook=tmp_path / "n.ipynb"))
    session.append(Turn("user", (TextBlock("hi"),), created_at=at))
    session.append(Turn("assistant", (TextBlock("ok"),), created_at=at, usage=Usage(10, 5), model="a/x\x1b[31m"))
    session.close()
    return tmp_path


class Out:
    def __init__(self):
        self.written = ""

    def write(self, text):
        self.written += text

    def flush(self):
        pass


def test_tables_for_people(notebooks, capsys):
    assert main(["usage", "--folder", str(notebooks), "--days", "36000"]) == 0
    out, err = capsys.readouterr()
    assert "1 session begun, 1 message of yours, 1 answer; in 10 / 5 out" in out
    assert "| 2026-03-01 | ████" in out
    assert "\x1b" not in out
    assert "$" not in out
    assert err == ""


def test_json_for_programs(notebooks):
    out = Out()
    assert usage(notebooks, 2, Pipe(out), as_json=True, today=date(2026, 3, 2)) == 0
    told = json.loads(out.written)
    assert (told["folder"], told["since"], told["until"]) == (str(notebooks), "2026-03-01", "2026-03-02")
    (row,) = told["assistant"]
    assert row == {
        "day": "2026-03-01", "model": "a/x\x1b[31m", "notebook": "n", "input": 10, "output": 5, "cache_read": 0,
        "cache_creation": 0, "cost": None, "turns": 1, "unpriced": 1,
    }  # fmt: skip
    assert [each["messages"] for each in told["user"]] == [1]
    assert told["problems"] == []


def test_days_before_do_not_count(notebooks):
    out = Out()
    usage(notebooks, 1, Pipe(out), today=date(2027, 1, 2))
    assert "**No usage** below" in out.written


@pytest.mark.parametrize("arguments", [["--days", "0"], ["--days", "x"], ["--folder", "nowhere"]])
def test_what_does_not_fit_is_refused_with_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["usage", *arguments])
    assert stop.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_damage_is_told_and_is_no_failure(notebooks, capsys):
    (path,) = notebooks.glob(".zidane/sessions/n/*.jsonl")
    path.write_bytes(b"nonsense")
    assert main(["usage", "--folder", str(notebooks), "--days", "36000"]) == 0
    assert "Not everything could be read" in capsys.readouterr().out

"""Code and commands that were written to get past the judge, and work that must not be held up."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from zidane_lab.approvals.assess import Surroundings
from zidane_lab.approvals.judging import assess
from zidane_lab.approvals.project import Project
from zidane_lab.approvals.python_code import classify
from zidane_lab.approvals.shell_code import classify_shell


def corpus(name):
    return runpy.run_path(str(Path(__file__).with_name(f"corpus_attack_{name}.py")))


LATER = corpus("later")
PYTHON = {**corpus("python")["RISKY"], **LATER["RISKY_PYTHON"]}
SHELL = {**corpus("shell")["RISKY"], **LATER["RISKY_SHELL"]}
HARMLESS = corpus("harmless")
PROTECTED = frozenset({"df", "sales", "model", "results", "config"})


@pytest.mark.parametrize("group", PYTHON)
def test_no_risky_code_runs_unasked(group):
    risky = PYTHON[group]
    assert [code for code in risky if classify(code, protected=PROTECTED).risk == "pure"] == []


@pytest.mark.parametrize("group", SHELL)
def test_no_risky_command_runs_unasked(group):
    assert [command for command in SHELL[group] if classify_shell(command).risk == "pure"] == []


def test_data_science_is_not_held_up(tmp_path, monkeypatch):
    """All of a project's own checks count here: links, patterns, folders."""
    monkeypatch.chdir(tmp_path)
    for name in ("data/a.csv", "src/a.py", ".env", ".git/config"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    around = Surroundings(Project(str(tmp_path), str(tmp_path)), PROTECTED)
    calls = [("run_python", {"code": code}) for code in HARMLESS["PYTHON"]]
    calls += [("shell", {"command": command}) for command in HARMLESS["SHELL"]]
    held = []
    for tool, arguments in calls:
        found = assess(tool, arguments, "execute", around)
        if found.reach not in {"read", "compute"} or found.critical or found.advice:
            held.append((arguments, found.reasons, found.advice))
    assert len(held) <= len(calls) // 20, held


def test_no_verdict_comes_from_a_fault_of_the_judge():
    for group in PYTHON.values():
        for code in group:
            assert not any("cannot be judged" in reason.why for reason in classify(code, protected=PROTECTED).reasons)
    for group in SHELL.values():
        for command in group:
            assert not any("cannot be judged" in reason.why for reason in classify_shell(command).reasons)

"""What editing costs, beside the tools everybody knows.

Run with ``pytest -m bench -s tests/benchmarks/bench_edit.py``. A real source file gets a dozen changes: their diff is
compared with :mod:`difflib`, making them with ``git apply`` and a bare write of the file, merging with ``git merge-file``.
"""

from __future__ import annotations

import asyncio
import difflib
import random
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.benchmarks.measure import interleaved, middle, spread, table, timed
from zidane_lab.session.session import Session
from zidane_lab.tools.apply_patch import apply_patch_tool
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edit_lines import edit_lines_tool
from zidane_lab.tools.edits.anchors import anchor
from zidane_lab.tools.edits.diff import split_lines, unified
from zidane_lab.tools.edits.merge import merge
from zidane_lab.tools.multi_edit import multi_edit_tool

pytestmark = pytest.mark.bench

GIT = shutil.which("git") or "git"
SOURCE = Path(sysconfig.get_paths()["stdlib"]) / "typing.py"
CHANGES = 12
ROUNDS = 15


def changed(lines, seed):
    """The lines with a dozen of the unique ones rewritten, and which."""
    unique = [number for number, line in enumerate(lines) if len(line) > 20 and lines.count(line) == 1]
    chosen = sorted(random.Random(seed).sample(unique, CHANGES))
    new = list(lines)
    for number in chosen:
        new[number] = f"{lines[number][:-1]}  # changed\n"
    return new, chosen


def show(title, took, floor):
    base = middle(took[floor])
    rows = [
        (name, middle(times) * 1e3, spread([each * 1e3 for each in times]), middle(times) / base)
        for name, times in took.items()
    ]
    table(title, ("", "ms", "middle half", f"× {floor}"), rows)


@pytest.fixture
def source():
    text = SOURCE.read_text(encoding="utf-8")
    return text, split_lines(text)


def test_a_diff(source):
    text, lines = source
    new, _ = changed(lines, 1)
    after = "".join(new)
    works = {
        "difflib": lambda: timed(lambda: list(difflib.unified_diff(lines, new, "a", "b"))),
        "unified": lambda: timed(lambda: unified(text, after, "f", limit=10**9)),
    }
    assert unified(text, after, "f").text.count("\n+") == CHANGES + 1
    show(f"diff of {CHANGES} changes in {len(lines):,} lines", interleaved(works, rounds=ROUNDS), "difflib")


def test_making_the_changes(source, tmp_path):
    text, lines = source
    new, chosen = changed(lines, 1)
    after = "".join(new)
    patch = unified(text, after, "f.py", limit=10**9).text.encode()
    replacements = [{"old_string": lines[number], "new_string": new[number]} for number in chosen]
    anchored = [
        {"op": "replace", "anchor": anchor(lines[number].rstrip("\n"), number + 1), "text": new[number]}
        for number in chosen
    ]
    target = tmp_path / "f.py"
    context = ToolContext(cwd=tmp_path, outputs=Session.memory())

    def with_tool(tool, **arguments):
        def work():
            target.write_text(text, encoding="utf-8")
            took = timed(lambda: asyncio.run(tool.run(context, arguments)))
            assert target.read_text(encoding="utf-8") == after
            return took

        return work

    def with_git():
        target.write_text(text, encoding="utf-8")
        took = timed(lambda: subprocess.run([GIT, "apply", "-"], input=patch, cwd=tmp_path, check=True))
        assert target.read_text(encoding="utf-8") == after
        return took

    def bare():
        return timed(lambda: target.write_text(after, encoding="utf-8"))

    works = {
        "bare write": bare,
        "git apply": with_git,
        "multi_edit": with_tool(multi_edit_tool(), path="f.py", edits=replacements),
        "edit_lines": with_tool(edit_lines_tool(), path="f.py", edits=anchored),
        "apply_patch": with_tool(apply_patch_tool(), patch=patch.decode()),
    }
    title = f"{CHANGES} changes of {len(text) // 1024} KB: found, checked, kept for undo, diffed, written and synced"
    show(title, interleaved(works, rounds=ROUNDS), "git apply")


def test_a_merge(source, tmp_path):
    text, lines = source
    ours, theirs = ("".join(changed(lines, seed)[0]) for seed in (1, 2))
    for name, side in (("base", text), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_text(side, encoding="utf-8")
    command = [GIT, "merge-file", "-p", "ours", "base", "theirs"]
    merged = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout.decode()
    assert merge(text, ours, theirs) == merged
    works = {
        "git merge-file": lambda: timed(lambda: subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)),
        "merge": lambda: timed(lambda: merge(text, ours, theirs)),
    }
    show(
        f"merge of twice {CHANGES} changes in {len(lines):,} lines", interleaved(works, rounds=ROUNDS), "git merge-file"
    )

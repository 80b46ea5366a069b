"""Where a repository stands is read without git, and agrees with it; odd files are not trusted."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.contexts.repository import RepositoryState, change_note, repository_state

A, B = "a" * 40, "b" * 40
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git makes the repositories")


def git(folder, *words):
    config = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *config, *words], cwd=folder, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


def made(folder, head, **files):
    (folder / ".git").mkdir(exist_ok=True)
    (folder / ".git" / "HEAD").write_bytes(head.encode() if isinstance(head, str) else head)
    for name, text in files.items():
        path = folder / ".git" / name.replace("__", "/").replace("_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return repository_state(folder)


@needs_git
def test_it_agrees_with_git(tmp_path):
    git(tmp_path, "init", "-q")
    assert repository_state(tmp_path) == RepositoryState(tmp_path / ".git", "main", "")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "one")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for step in (
        ["switch", "-qc", "feature/x"],
        ["commit", "-q", "--allow-empty", "-m", "two"],
        ["pack-refs", "--all"],
    ):
        git(tmp_path, *step)
        state = repository_state(tmp_path / "deep" / "er")
        assert (state.branch, state.commit) == ("feature/x", git(tmp_path, "rev-parse", "HEAD"))
    git(tmp_path, "worktree", "add", "-q", str(tmp_path / "linked"), "main")
    linked = repository_state(tmp_path / "linked")
    assert (linked.branch, linked.commit) == ("main", git(tmp_path, "rev-parse", "main"))
    git(tmp_path, "checkout", "-q", "--detach", "main")
    state = repository_state(tmp_path)
    assert (state.branch, state.commit) == ("", git(tmp_path, "rev-parse", "main"))
    assert "on no branch" in state.describe()


def test_outside_of_one():
    assert repository_state(Path("/")) is None


@pytest.mark.parametrize(
    "head", ["", "ref: ", "ref: refs/heads/../../x", "ref: /etc/passwd", "x" * 10_000, b"\xff\0", "ref: refs/heads/a b"]
)
def test_heads_that_make_no_sense(tmp_path, head):
    assert made(tmp_path, head) is None


@given(st.binary(max_size=60))
def test_any_bytes_are_read(tmp_path_factory, data):
    made(tmp_path_factory.mktemp("x"), data)


def test_loose_refs_come_before_packed_ones(tmp_path):
    packed = f"# pack-refs with: peeled\n{A} refs/heads/main\n^{B}\n"
    assert made(tmp_path, "ref: refs/heads/main\n", packed_refs=packed).commit == A
    assert made(tmp_path, "ref: refs/heads/main\n", packed_refs=packed, refs__heads__main=f"{B}\n").commit == B
    assert made(tmp_path, "ref: refs/heads/main", refs__heads__main="no commit").commit == A


def test_what_is_told_of_a_change(tmp_path):
    first = RepositoryState(tmp_path, "main", A)
    assert change_note(first, first) is None
    assert change_note(None, first) is None
    assert change_note(first, None) is None
    assert change_note(first, RepositoryState(tmp_path / "other", "x", B)) is None
    assert change_note(first, RepositoryState(tmp_path, "dev", A)).startswith(
        "[The repository is on another branch since you last looked: branch dev (aaaaaaaaaa), before branch main (aaaa"
    )
    assert "is at another commit" in change_note(first, RepositoryState(tmp_path, "main", B))

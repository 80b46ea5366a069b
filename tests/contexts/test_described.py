"""Contexts as settings describe them, and what of the project a container gets to see and to change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.contexts.container import ContainerSpec, Mount
from zidane_lab.contexts.described import Folders, described
from zidane_lab.contexts.registry import ContextSettings, check_contexts, read_context
from zidane_lab.errors import ConfigurationError


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "project"
    (folder / "notebooks").mkdir(parents=True)
    return folder


def container(name, project, cwd=None, **contexts):
    return read_context(name, cwd or project, ContextSettings(contexts=contexts), project=project)


# --- the project ------------------------------------------------------------------------------------


def test_a_container_works_in_the_notebooks_folder_of_the_project(project):
    found = container("docker:some:1", project, project / "notebooks")
    assert found.folder == "/workspace/notebooks"
    assert found.mounts == (Mount(str(project), "/workspace"),)
    found = container("box", project, project / "notebooks", box={"kind": "docker", "image": "x", "folder": "/src"})
    assert (found.folder, found.project) == ("/src/notebooks", Mount(str(project), "/src"))


def test_a_kernel_that_has_left_the_project_does_not_take_it_along(project, tmp_path):
    assert container("docker:some:1", project, tmp_path).folder == "/workspace"


@pytest.mark.parametrize("above", ["", "..", "../.."])
@pytest.mark.parametrize("how", ["rw", "ro"])
def test_the_home_folder_is_not_handed_over(project, above, how):
    home = project.parent / above
    with pytest.raises(ConfigurationError, match="home folder with all keys"):
        container("docker:some:1", home)
    with pytest.raises(ConfigurationError, match="home folder"):
        container("box", home, box={"kind": "docker", "image": "x", "project": how})
    (project / "link").symlink_to(home.resolve())
    with pytest.raises(ConfigurationError, match="home folder"):
        container("docker:some:1", project / "link")


def test_nothing_of_it_may_be_handed_over_anywhere(project):
    found = container("box", project.parent, box={"kind": "docker", "image": "x", "project": "none"})
    assert found.mounts == ()


def test_what_other_programs_obey_stays_as_it_is(project):
    """A hook written in the container would run outside of it with the next commit."""
    for name in (".git/hooks", ".vscode", ".zidane"):
        (project / name).mkdir(parents=True)
    for name in (".git/config", ".envrc"):
        (project / name).write_text("")
    (project / ".idea").symlink_to(project / "notebooks")
    mounts = container("docker:some:1", project).mounts
    assert mounts[0] == Mount(str(project), "/workspace")
    assert Mount(str(project / ".git"), "/workspace/.git") in mounts  # what is mounted cannot be moved away
    closed = {each.target for each in mounts if each.read_only}
    assert closed == {f"/workspace/{name}" for name in (".git/hooks", ".git/config", ".vscode", ".zidane", ".envrc")}
    assert all(each.source == str(project / each.target.removeprefix("/workspace/")) for each in mounts[1:])
    read_only = container("box", project, box={"kind": "docker", "image": "x", "project": "ro"})
    assert read_only.mounts == (Mount(str(project), "/workspace", read_only=True),)


def test_the_project_may_be_reached_through_a_link(project, tmp_path):
    (tmp_path / "link").symlink_to(project)
    folders = Folders.of(tmp_path / "link" / "notebooks", tmp_path / "link")
    assert folders == Folders(str(project / "notebooks"), str(project))


# --- fields -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "docker", "image": "x", "cpus": float("inf")},
        {"kind": "docker", "image": "x", "cpus": float("nan")},
        {"kind": "docker", "image": "x", "env": {"A": 1}},
        {"kind": "docker", "image": "x", "env": ["A=1"]},
        {"kind": "docker", "image": "x\0y"},
        {"kind": "docker", "image": "x", "mounts": ["/a\0:/b"]},
        {"kind": "docker", "image": "x", "pids": 1.5},
        {"kind": "ssh", "host": "ada@h"},
        {"kind": "ssh", "host": "h:22"},
        {"kind": "ssh", "host": "h/srv"},
        {"kind": "ssh", "host": "h", "port": 70_000},
        {"kind": "ssh", "host": "h", "port": True},
        {"kind": "ssh", "host": "h", "keys": "~/.ssh/id"},
    ],
)
def test_fields_that_cannot_be(given):
    with pytest.raises(ConfigurationError):
        described("odd", given, None)


def test_variables_of_a_container():
    found = described("box", {"kind": "docker", "image": "x", "env": {"A": "1"}}, None)
    assert found == ContainerSpec("x", env={"A": "1"})


@pytest.mark.parametrize("name", ["", " x", "docker:x", "ssh:x", "process", "a\nb", "a\x1b[2J"])
def test_names_no_context_can_have(name):
    with pytest.raises(ConfigurationError, match="cannot be named"):
        check_contexts({name: {"kind": "process"}})


@pytest.mark.parametrize("given", [None, [], "x", 3, {"a": None}, {3: {"kind": "process"}}])
def test_contexts_that_are_none(given):
    with pytest.raises(ConfigurationError):
        check_contexts(given)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
fields = st.dictionaries(
    st.sampled_from(["kind", "image", "folder", "mounts", "network", "cpus", "pids", "env", "host", "port", "keys"]),
    json_values | st.sampled_from(["docker", "ssh", "process", "/a:/b"]),
)


@given(st.dictionaries(st.text(max_size=6), fields, max_size=2))
def test_whatever_a_file_says_is_read_or_refused(contexts):
    contexts = json.loads(json.dumps(contexts))
    try:
        checked = check_contexts(contexts)
    except ConfigurationError:
        return
    assert set(checked) == set(contexts)
    for name in checked:
        read_context(name, Path("/nowhere/project"), ContextSettings(contexts=checked))

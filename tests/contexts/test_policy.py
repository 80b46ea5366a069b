"""What may be touched: roots, links, what is protected in a root, what is hidden."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.contexts.policy import (
    IsolationPolicy,
    default_hidden,
    is_within,
    isolation_policy,
    parse_allow_write,
)
from zidane_lab.errors import ConfigurationError


@pytest.fixture
def project(tmp_path, monkeypatch):
    home = tmp_path / "home"
    for folder in ("project/.git/hooks", "project/src", "other", ".ssh"):
        (home / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home / "project"


@pytest.fixture
def policy(project):
    return isolation_policy(project)


def test_the_project_may_be_written_and_nothing_else(policy, project):
    for path in ("a", "src/new/deep", ".", "src/../b", ".gitignore", ".git/index", ".github/workflows/x.yml"):
        assert policy.may_write(f"{project}/{path}"), path
    for path in ("/etc/passwd", f"{project}/../other/x", f"{project}-beside", "/", f"{project}x", "/tmp/x\0y"):
        assert not policy.may_write(path), path


@pytest.mark.parametrize(
    "path",
    [".git/hooks/pre-commit", ".git/config", ".GIT/HOOKS/x", "sub/.git/hooks/x", ".zidane/settings.json", ".envrc"],
)
def test_what_other_programs_obey_stays_as_it_is(policy, project, path):
    assert "stays as it is" in policy.write_objection(f"{project}/{path}")


def test_links_are_followed_before_anything_is_compared(policy, project):
    os.symlink("/etc", project / "out")
    os.symlink(project / ".git" / "hooks", project / "hooks")
    os.symlink(project / "src", project.parent / "other" / "in")
    os.symlink("../other/none", project / "dangling")
    os.symlink("loop", project / "loop")
    assert not policy.may_write(f"{project}/out/passwd")
    assert not policy.may_write(f"{project}/hooks/pre-commit")
    assert not policy.may_write(f"{project}/dangling")
    assert not policy.may_write(f"{project}/out/../../etc/x")
    assert policy.may_write(f"{project.parent}/other/in/x")


def test_a_root_that_is_a_link(project):
    os.symlink(project, project.parent / "short")
    policy = isolation_policy(project.parent / "short")
    assert policy.writable_roots == (str(project),)
    assert policy.may_write(f"{project}/x")


def test_in_a_home_folder_what_programs_obey_stays(project):
    for root in (project.parent, project.parent.parent):
        policy = isolation_policy(root)
        assert policy.may_write(f"{project.parent}/notes.txt")
        assert not policy.may_write(f"{project.parent}/.bashrc")
        assert not policy.may_write(f"{project.parent}/.config/autostart/x")


def test_what_is_hidden_is_neither_read_nor_written(project, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(project / "runtime"))
    policy = isolation_policy(project, hidden=["secrets"], allow_write="~")
    for path in (f"{project.parent}/.ssh/id_rsa", f"{project}/secrets/key", f"{project}/runtime/kernel-1.json"):
        assert not policy.may_read(path)
        assert not policy.may_write(path)
    assert policy.may_read("/etc/hostname")


def test_only_what_is_named_is_read(project):
    policy = isolation_policy(project, readable=["~/other"])
    assert policy.may_read(f"{project}/x")
    assert policy.may_read(f"{project.parent}/other/x")
    assert not policy.may_read(f"{project.parent}/x")


@pytest.mark.parametrize("bad", ["/", "/..", ["a", "/"]])
def test_the_whole_machine_cannot_be_opened(project, bad):
    with pytest.raises(ConfigurationError, match="whole machine"):
        isolation_policy(project, allow_write=bad)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ("", []),
        ("a, ../other ,", ["{project}/a", "{home}/other"]),
        (["~", "/srv"], ["{home}", "/srv"]),
        (("a", "./a"), ["{project}/a"]),
    ],
)
def test_a_setting_that_names_folders(project, value, expected):
    names = {"project": project, "home": project.parent}
    assert list(parse_allow_write(value, project)) == [each.format(**names) for each in expected]


@pytest.mark.parametrize("bad", [3, {"a": 1}, ["a", 3], "a\0b"])
def test_a_setting_that_does_not(project, bad):
    with pytest.raises(ConfigurationError):
        parse_allow_write(bad, project)


def test_variables():
    env = {"PATH": "/bin", "LC_ALL": "C", "OPENAI_API_KEY": "x", "MY_A": "1"}
    assert IsolationPolicy((), env=None).environment(env) == env
    assert IsolationPolicy((), env=("MY_*",)).environment(env) == {"PATH": "/bin", "LC_ALL": "C", "MY_A": "1"}


def test_nothing_hidden_is_relative():
    assert all(os.path.isabs(each) for each in default_hidden())


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "ab"]), max_size=8))
def test_no_way_leads_out_by_spelling(parts):
    policy = IsolationPolicy(("/no-such-root/a",), hidden=())
    path = "/".join(["/no-such-root/a", *parts])
    assert policy.may_write(path) == is_within(os.path.normpath(path), "/no-such-root/a")

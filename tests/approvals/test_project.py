from __future__ import annotations

import subprocess

import pytest

from zidane_lab.approvals.project import Project, checkout_root, main_checkout, project_root


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path)
    return Project(str(root), str(root / "src"), own=(str(tmp_path / "config"),))


@pytest.mark.parametrize("path", ["a.py", "../a.py", "new/b/c.py", ".", "..", "./x", "a b"])
def test_what_lies_in_the_project(project, path):
    assert project.contains(path)
    assert project.objection(path) is None


@pytest.mark.parametrize("path", ["/etc/x", "../../x", "../out/x", "~/x", "/", "../../work2/x", "a\0b"])
def test_what_does_not(project, path):
    assert not project.contains(path)
    assert project.objection(path) is not None


@pytest.mark.parametrize("path", ["deep/../../../x", "deep/../../../config/settings.json"])
def test_a_link_before_dots_is_read_both_ways(project, tmp_path, path):
    """Programs follow the link first, the editing tools take the text: both must stay in the project."""
    folder = tmp_path / "work" / "src" / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    (tmp_path / "work" / "src" / "deep").symlink_to(folder)
    assert not project.contains(path)
    assert project.objection(path) is not None
    assert project.is_own(path) == path.endswith(".json")


@pytest.mark.parametrize(
    "path",
    [
        "../.git/config",
        "../.GIT/hooks/x",
        "../.zidane/s",
        "a/.vscode/tasks.json",
        ".bashrc",
        "x.pth",
        "sitecustomize.py",
        ".envrc",
        "../../config/settings.json",
    ],
)
def test_what_other_programs_or_the_agent_obey_is_objected_to(project, path):
    assert project.objection(path) is not None


def test_in_a_place_elsewhere_paths_are_only_words():
    project = Project("/work", "/work/src", is_local=False)
    assert project.contains("../a")
    assert not project.contains("../../a")
    assert not project.contains("~/a")
    assert not project.contains("/workshop/a")
    assert project.objection("a") is None
    assert "obey" in project.objection("../.git/config")
    assert "outside" in project.objection("/etc/x")


def test_the_project_of_a_worktree_is_its_main_checkout(tmp_path):
    main, tree = tmp_path / "main", tmp_path / "tree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(main)]
    main.mkdir()
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True, capture_output=True)
    (tree / "src").mkdir()
    assert checkout_root(tree / "src") == tree
    assert main_checkout(tree) == main
    assert project_root(tree / "src") == main
    assert project_root(main) == main
    assert main_checkout(main) is None


@pytest.mark.parametrize("text", ["", "gitdir: /nowhere", "gitdir:", "x" * 10_000, "gitdir: ../other"])
def test_a_git_file_that_makes_no_sense_is_a_project_of_its_own(tmp_path, text):
    (tmp_path / ".git").write_text(text)
    (tmp_path / "src").mkdir()
    assert project_root(tmp_path / "src") == tmp_path


def test_a_repository_of_the_whole_home_folder_is_no_project(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    (tmp_path / "work").mkdir()
    assert project_root(tmp_path / "work") == tmp_path / "work"


def test_links_of_another_place_are_those_that_were_looked_up():
    project = Project(
        "/work", "/work/src", is_local=False, links={"/work/out": "/etc", "/work/x": "", "/work/src/a": "/work/b"}
    )
    assert not project.contains("../out")
    assert not project.contains("../x")
    assert project.contains("a")
    assert project.contains("other")
    moved = Project("/work", "/work", is_local=False, links={"/work": "/mnt/work", "/work/a": "/mnt/work/a"})
    assert moved.contains("a")


def test_code_is_judged_by_the_project_of_the_kernel_wherever_files_are():
    import asyncio

    from zidane_lab.approvals.gate import Gate
    from zidane_lab.events import Ids, ToolGate

    async def ask(_question):
        return False

    gate = Gate(
        ask,
        mode="accept-edits",
        tiers={"write_file": "write"},
        project=lambda: Project("/srv/work", "/srv/work", is_local=False),
        here=lambda: Project("/home/me/work", "/home/me/work"),
    )
    for path, passes in (("/srv/work/a.csv", False), ("/home/me/work/a.csv", True)):
        event = ToolGate(Ids(), "run_python", {"code": f"df.to_csv('{path}')"})
        asyncio.run(gate(event))
        assert (event.block is None) is passes
        event = ToolGate(Ids(), "write_file", {"path": path, "content": ""})
        asyncio.run(gate(event))
        assert (event.block is None) is not passes

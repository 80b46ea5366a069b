"""The isolation policy around a place of this machine holds for every tool that reads, also through links."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from zidane_lab.contexts.guarded import GuardedContext
from zidane_lab.contexts.policy import isolation_policy
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.glob import glob_tool
from zidane_lab.tools.grep import grep_tool
from zidane_lab.tools.list_files import list_files_tool
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.tools.reading import files as module
from zidane_lab.tools.reading.files import LocalFiles
from zidane_lab.tools.search import choose
from zidane_lab.tools.search.ripgrep import find_ripgrep

pytestmark = pytest.mark.asyncio

KEPT = "the isolation policy keeps it from the agent"


@pytest.fixture(params=["python", *(["ripgrep"] if find_ripgrep() else [])])
def engine(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(choose, "find_ripgrep", lambda: None)


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    for name in ("ok.txt", "secret/key.txt", "we[i]rd*/key.txt", "../outside/key.txt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("needle TOPSECRET\n" if "key" in name else "needle\n")
    with closing(sqlite3.connect(folder / "secret" / "a.db")) as connection:
        connection.execute("create table topsecret (a)")
        connection.commit()
    (folder / "link.txt").symlink_to("secret/key.txt")
    (folder / "folder").symlink_to("secret")
    (folder / "out").symlink_to(tmp_path / "outside")
    return folder


def guarded(project, **options):
    hidden = [str(project / "secret"), str(project / "we[i]rd*"), str(project.parent / "outside")]
    policy = isolation_policy(project, **({"hidden": hidden} | options))
    return ToolContext(cwd=project, place=GuardedContext(LocalProcess(project), policy))


async def run(made, context, **arguments):
    return (await made.run(context, arguments)).parts[0].text


@pytest.mark.parametrize(
    "path",
    [
        "secret/key.txt",
        "secret/key.txt:1-1",
        "secret/key.txt:raw",
        "secret/key.txt:b0",
        "link.txt",
        "folder/key.txt",
        "secret",
        "folder",
        "out",
        "out/key.txt",
        "ok.txt/../secret/key.txt",
        "../outside/key.txt",
        "secret/a.db",
        "secret/a.db:topsecret",
        "we[i]rd*/key.txt",
        "folder/../secret/key.txt",
    ],
)
async def test_what_is_hidden_cannot_be_read_listed_or_searched(project, path, engine):
    context = guarded(project)
    for made, arguments in (
        (read_file_tool(), {}),
        (list_files_tool(), {}),
        (grep_tool(), {"pattern": "needle"}),
        (glob_tool(), {"pattern": "*"}),
    ):
        with pytest.raises(ToolError) as caught:
            await run(made, context, path=path, **arguments)
        assert "TOPSECRET" not in str(caught.value)
    with pytest.raises(ToolError, match=KEPT):
        await run(read_file_tool(), context, path=path)


async def test_it_is_left_out_of_folders_and_searches_and_counted(project, engine):
    context = guarded(project)
    note = "[2 left out that the isolation policy keeps from the agent]"
    for made, arguments in (
        (list_files_tool(), {"depth": 3}),
        (list_files_tool(), {"depth": 3, "ignored": True}),
        (glob_tool(), {"pattern": "**/*"}),
        (read_file_tool(), {"path": "."}),
        (grep_tool(), {"pattern": "needle"}),
        (grep_tool(), {"pattern": "needle", "ignored": True}),
        (grep_tool(), {"pattern": "needle", "glob": "**/key.txt"}),
    ):
        text = await run(made, context, **arguments)
        assert note in text
        assert "TOPSECRET" not in text
        assert "secret/key.txt" not in text.replace("link.txt -> secret/key.txt", "")
        assert "a.db" not in text
    assert "[3 left out" in await run(grep_tool(), context, pattern="needle", path="..")


async def test_it_is_not_found_by_a_path_that_is_nearly_right(project):
    with pytest.raises(ToolError, match="does not exist") as caught:
        await run(read_file_tool(), guarded(project), path="key.txt")
    assert "secret" not in str(caught.value)


async def test_only_what_may_be_read_is(project):
    context = guarded(project, hidden=(), readable=[str(project)])
    assert await run(read_file_tool(), context, path="ok.txt") == "needle\n"
    for path in ("..", "../outside", "out/key.txt", "/etc"):
        for made, arguments in ((read_file_tool(), {}), (list_files_tool(), {}), (grep_tool(), {"pattern": "x"})):
            with pytest.raises(ToolError, match=KEPT):
                await run(made, context, path=path, **arguments)


async def test_a_link_that_is_changed_after_the_question_leads_nowhere(project, monkeypatch):
    (project / "swap.txt").symlink_to("ok.txt")
    files = LocalFiles(project, guarded(project).place.policy)
    opening = module.open_ordinary

    def swapped(path):
        os.unlink(project / "swap.txt")
        (project / "swap.txt").symlink_to("secret/key.txt")
        return opening(path)

    monkeypatch.setattr(module, "open_ordinary", swapped)
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("the system does not tell what is open")
    with pytest.raises(PermissionError, match=KEPT):
        files.open(str(project / "swap.txt"))


async def test_without_a_policy_everything_is_read(project):
    for place in (None, LocalProcess(project)):
        context = ToolContext(cwd=project, place=place)
        assert "TOPSECRET" in await run(read_file_tool(), context, path="link.txt")

"""A day with all tools in each place: this machine, one reached by SSH, commands kept inside, a container."""

from __future__ import annotations

import zipfile

import pytest
import pytest_asyncio

from tests.chat.hands import KEY, Day, call
from tests.chat.test_chat_places import configure, here, keys, run_in, server, settings_for, there, until  # noqa: F401
from tests.contexts.fake_docker import FakeDocker
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.place import Place
from zidane_lab.contexts.isolation import isolation_availability

pytestmark = pytest.mark.asyncio

PLACES = ["process", "ssh", "docker"] + (["guarded"] if isolation_availability() else [])


@pytest_asyncio.fixture(params=PLACES)
async def lab(request, here, there, server, keys, monkeypatch):  # noqa: F811 - fixtures
    """A day, and the folder its files and commands are in."""
    folder = {"ssh": there, "docker": server.home.parent / "inside"}.get(request.param, here)
    folder.mkdir(exist_ok=True)
    monkeypatch.setattr("zidane_lab.contexts.docker.docker_client", lambda: FakeDocker(folder))
    box = {"kind": "docker", "image": "some:1", "project": "none", "folder": str(folder)}
    settings = {
        "ssh": lambda: settings_for(server, keys),
        "docker": lambda: {"contexts": {"box": box}, "context": "box"},
        "guarded": lambda: {"isolation": "required"},
        "process": dict,
    }[request.param]()
    configure(here, settings)
    chat = Chat(Place(here / "work.ipynb", here, "told"), env={"ZIDANE_HOME": str(here.parent / "config")})
    day = Day(chat)
    yield day, folder, request.param
    await chat.close()
    assert day.left_running() == []


async def test_a_day(lab):
    day, folder, kind = lab
    p = day.placeholder()
    (folder / "a.py").write_text(f"x = f('{KEY}')\n")
    (folder / "a.txt").write_text(f"one\ntoken = {KEY}\nthree\n")
    (folder / "Makefile").write_text('hello:\n\t@cat a.txt; echo "$(X)"\n')
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.writestr("in.txt", f"v {KEY}\n")
    patch = f"*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-key = {p}\n+k = {p}\n three\n"
    patch += f"*** Add File: new/b.txt\n+{p}\n*** End Patch\n"
    calls = [
        call("read_file", path="a.txt"),
        call("list_files"),
        call("glob", pattern="*.py"),
        call("grep", pattern=p),
        call("ast_grep", pattern=f"f('{p}')", paths=["a.py"]),
        call("ast_edit", ops=[{"pattern": f"f('{p}')", "rewrite": f"g('{p}')"}], paths=["a.py"]),
        call("resolve", action="apply", reason="fine"),
        call("edit", path="a.txt", old_string=f"token = {p}", new_string=f"key = {p}"),
        call("apply_patch", patch=patch),
        call("undo_edit"),
        call("read_file", path="z.zip:in.txt"),
        call("write_file", path="z.zip:in.txt", content=f"w {p}\n"),
        call("shell", command=f"printf '%s\\n' '{p}' \"$TOK\"; pwd", env={"TOK": p}),
        call("shell", command=f"printf '%s\\n' '{p}' > out.txt; sleep 0.2; cat out.txt", background=True),
        call("wait_task", seconds=20),
        call("monitor", description=f"wait for {p}", command="sleep 37"),
        call("recipe", op=f"hello X={p}"),
        call("list_tasks"),
        call("cancel_task", task="task-2"),
    ]
    results = await day.play(*calls)
    assert [result.is_error for result in results] == [False] * len(calls), [result.text for result in results]
    texts = [result.text for result in results]
    assert f"{p}\n{p}\n{folder}" in texts[12]
    assert p in texts[14]
    assert texts[16].startswith(f"one\nkey = {p}\nthree\n{p}\n")
    assert (folder / "a.txt").read_text() == f"one\nkey = {KEY}\nthree\n"
    assert (folder / "a.py").read_text() == f"x = g('{KEY}')\n"
    assert not (folder / "new" / "b.txt").exists()
    assert (folder / "out.txt").read_text() == f"{KEY}\n"
    assert zipfile.ZipFile(folder / "z.zip").read("in.txt").decode() == f"w {KEY}\n"
    assert [question.tool for question in day.person.asked] == [
        *("resolve", "edit", "apply_patch", "undo_edit", "write_file", "shell", "shell", "recipe")
    ]
    assert day.leaks() == []
    places = {result.metadata.get("place", "") for call_, result in zip(calls, results, strict=True) if is_of(call_)}
    assert (places == {""}) == (kind in {"process", "guarded"})
    assert len(places) == 1


def is_of(call_):
    """Whether a call has to do with files or commands of the place."""
    return call_.name not in {"wait_task", "list_tasks", "cancel_task"}


async def test_nothing_hides_behind_a_placeholder_elsewhere(lab):
    """A link there that is named like a credential is followed before it is judged."""
    day, folder, _ = lab
    (folder.parent / "out").mkdir()
    (folder / KEY).symlink_to(folder.parent / "out")
    day.chat.env = {**day.chat.env, "ZIDANE_MODE": "accept-edits"}
    for refused in await day.play(
        call("write_file", path=f"{day.placeholder()}/x.txt", content="x\n"),
        call("shell", command=f"echo x > '{day.placeholder()}/y.txt'"),
    ):
        assert "nobody can judge it" in refused.text
    assert list((folder.parent / "out").iterdir()) == []


async def test_going_elsewhere_in_the_middle_mixes_nothing_up(here, there, server, keys):  # noqa: F811 - fixtures
    configure(here, settings_for(server, keys))
    chat = Chat(Place(here / "work.ipynb", here, "told"), env={"ZIDANE_HOME": str(here.parent / "config")})
    day = Day(chat)
    (here / "a.txt").write_text("here\n")
    (there / "a.txt").write_text("there\n")
    edit = {"path": "a.txt", "old_string": "there", "new_string": "THERE"}
    await day.play(
        call("edit", **edit),
        call("edit", **{**edit, "old_string": "THERE", "new_string": "x"}, preview=True),
        call("shell", command="echo $$ > pid; sleep 38", background=True),
    )
    await until((there / "pid").exists)
    await run_in(chat, "process")
    applied, undone, unread, listed = await day.play(
        call("resolve", action="apply", reason="?"),
        call("undo_edit"),
        call("write_file", path="a.txt", content="q\n"),
        call("list_tasks"),
    )
    assert all(result.is_error for result in (applied, undone, unread))
    assert "task-1" in listed.text
    assert (here / "a.txt").read_text() == "here\n"
    await run_in(chat, "gpu")
    applied, undone, _ = await day.play(
        call("resolve", action="apply", reason="?"), call("undo_edit"), call("cancel_task", task="task-1")
    )
    assert (applied.is_error, undone.is_error) == (False, False)
    assert (there / "a.txt").read_text() == "THERE\n"
    await chat.close()
    assert day.left_running() == []

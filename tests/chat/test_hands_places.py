"""A day with all tools in each place: this machine, one reached by SSH, commands kept inside, a container."""

from __future__ import annotations

import asyncio
import json
import zipfile

import pytest
import pytest_asyncio

from tests.chat.hands import KEY, Day, Person, call
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


async def test_x(lab):
    day, folder, kind = lab
    def show(tag, r): print(f"--- {kind} {tag} err={r.is_error} {list(r.metadata)}\n{r.text[:900]} ...[{len(r.text)}]")
    p = day.placeholder()
    (folder / "a.py").write_text(f"x = f('{KEY}')\n")
    (folder / "a.txt").write_text(f"one\ntoken = {KEY}\nthree\n")
    with zipfile.ZipFile(folder / "z.zip", "w") as z: z.writestr("in.txt", f"v {KEY}\n")
    (folder / "Makefile").write_text("hello:\n\t@cat a.txt; echo \"$(X)\"\n")
    import sqlite3
    db = sqlite3.connect(folder/"d.db"); db.execute("create table t(id integer primary key, v text)"); db.execute("insert into t(v) values(?)",(KEY,)); db.commit(); db.close()
    C = [("read_file", dict(path="a.txt")), ("read_file", dict(path="a.py")), ("list_files", {}), ("glob", dict(pattern="*.py")), ("grep", dict(pattern=p)), ("ast_grep", dict(pattern=f"f('{p}')", paths=["a.py"])), ("ast_edit", dict(ops=[dict(pattern=f"f('{p}')", rewrite=f"g('{p}')")], paths=["a.py"])), ("resolve", dict(action="apply", reason="x")),
      ("edit", dict(path="a.txt", old_string=f"token = {p}", new_string=f"key = {p}")), ("multi_edit", dict(path="a.txt", edits=[dict(old_string="one", new_string="1"), dict(old_string="three", new_string=p)])), ("undo_edit", {}),
      ("apply_patch", dict(patch=f"*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-key = {p}\n+k = {p}\n three\n*** Add File: new/b.txt\n+{p}\n*** End Patch\n")), ("undo_edit", {}),
      ("read_file", dict(path="z.zip:in.txt")), ("write_file", dict(path="z.zip:in.txt", content=f"w {p}\n")), ("read_file", dict(path="d.db:t")), ("write_file", dict(path="d.db:t", content=json.dumps({"v": f"n{p}"}))),
      ("shell", dict(command=f"printf '%s\\n' '{p}' \"$TOK\"; pwd", env={"TOK": p})), ("shell", dict(command=f"printf '%s\\n' '{p}' > out.txt; sleep 0.3; cat out.txt", background=True)), ("wait_task", dict(seconds=20)), ("read_task_output", dict(task="task-1")), ("shell", dict(command="sleep 30", background=True, detach=True)), ("monitor", dict(description=f"w {p}", command=f"printf '%s\\n' 'ready {p}'; sleep 30", contains=p)), ("recipe", {}), ("recipe", dict(op=f"hello X={p}")), ("list_tasks", {}), ]
    rs = await day.play(*[call(n, **a) for n, a in C], call("cancel_task", task="task-2"), call("cancel_task", task="task-3"), call("wait_task", seconds=5))
    for (n, a), r in zip(C, rs): show(n, r)
    for r in rs[len(C):]: show("cancel", r)
    print(kind, day.leaks(), day.left_running())
    print((folder/"a.txt").read_text(), (folder/"a.py").read_text(), (folder/"out.txt").read_text())
    print([(q.tool, q.reasons) for q in day.person.asked])
    print([t.text for t in day.chat.session.turns if t.injected])

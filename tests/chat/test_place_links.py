"""Where paths of another place really lead, looked up before a call is judged."""

from __future__ import annotations

import pytest

from tests.contexts.far import Far
from zidane_lab.agent.hooks import HookBus
from zidane_lab.chat.place_links import PlaceLinks, root_of
from zidane_lab.contexts.base import ContextLostError
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.events import Ids, ToolGate

pytestmark = pytest.mark.asyncio

TIERS = {"write_file": "write", "read_file": "read", "shell": "execute", "run_python": "execute"}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "work" / "inner").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "work" / "leads-out").symlink_to(tmp_path / "out")
    (tmp_path / "work" / "leads-in").symlink_to(tmp_path / "work" / "inner")
    (tmp_path / "link-to-work").symlink_to(tmp_path / "work")
    return Far(tmp_path / "work")


async def looked_up(place, tool, **arguments):
    links = PlaceLinks(place, root_of(place), TIERS)
    bus = HookBus()
    bus.use(links)
    await bus.emit(ToolGate(Ids(call_id="c"), tool, arguments))
    return links.found


async def test_links_are_followed(place, tmp_path):
    work = tmp_path / "work"
    found = await looked_up(place, "write_file", path="leads-out/new/x.txt")
    assert found == {str(work): str(work), f"{work}/leads-out/new/x.txt": f"{tmp_path}/out/new/x.txt"}
    found = await looked_up(place, "write_file", path="leads-in/x.txt")
    assert found[f"{work}/leads-in/x.txt"] == f"{work}/inner/x.txt"


async def test_the_project_may_be_behind_a_link_itself(tmp_path, place):
    far = Far(tmp_path / "link-to-work")
    found = await looked_up(far, "write_file", path="x.txt")
    assert found == {
        f"{tmp_path}/link-to-work": f"{tmp_path}/work",
        f"{tmp_path}/link-to-work/x.txt": f"{tmp_path}/work/x.txt",
    }


async def test_what_commands_write_is_looked_up_too(place, tmp_path):
    work = tmp_path / "work"
    found = await looked_up(place, "shell", command="echo x > leads-out/y")
    assert found[f"{work}/leads-out/y"] == f"{tmp_path}/out/y"
    found = await looked_up(place, "shell", command="echo x > leads-out/../y")  # a shell follows the link first
    assert found[f"{work}/y"] == f"{tmp_path}/y"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "leads-out/x"}),
        ("run_python", {"code": "open('leads-out/x', 'w')"}),
        ("shell", {"command": "ls"}),
        ("shell", {"command": 3}),
    ],
)
async def test_nothing_is_looked_up_for_what_writes_nothing_there(place, tool, arguments):
    assert await looked_up(place, tool, **arguments) == {}


async def test_nothing_is_looked_up_on_this_machine(tmp_path):
    assert await looked_up(LocalProcess(tmp_path), "write_file", path="x") == {}


@pytest.mark.parametrize("trouble", [OSError(5, "trouble"), ContextLostError("gone")])
async def test_what_cannot_be_found_out_lies_in_no_project(place, tmp_path, monkeypatch, trouble):
    async def fail(*_arguments):
        raise trouble

    monkeypatch.setattr("zidane_lab.chat.place_links.real_path", fail)
    assert set((await looked_up(place, "write_file", path="x")).values()) == {""}


@pytest.mark.parametrize("path", ["a\0b", "", "x" * 5_000, "-rf", "a\nb", "$(touch pwned)", "'; touch pwned; '"])
async def test_odd_names(place, tmp_path, path):
    await looked_up(place, "write_file", path=path)
    assert not list(tmp_path.rglob("pwned"))

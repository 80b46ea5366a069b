"""Looking through folders for secrets does not hold up the event loop, and is bounded."""

from __future__ import annotations

import asyncio
import threading

import pytest

from zidane_lab.approvals import secret_files
from zidane_lab.approvals.assess import Surroundings
from zidane_lab.approvals.gate import Gate
from zidane_lab.approvals.judging import assess
from zidane_lab.approvals.project import Project
from zidane_lab.approvals.secret_files import Looks, UnseenError
from zidane_lab.events import Ids, ToolGate

TIERS = {"run_python": "execute", "shell": "execute"}
CALLS = {
    "a search": ("shell", {"command": "grep -rn limit ."}),
    "a pattern": ("shell", {"command": "cat conf/*"}),
    "two searches": ("shell", {"command": "grep -rn a conf; grep -rn a other"}),
    "Python": ("run_python", {"code": "for p in Path('.').rglob('*'):\n    print(p.read_text())"}),
}


@pytest.fixture
def folder(tmp_path):
    for name in ("conf/.env", "conf/key.pem", "other/a.txt", "other/id_rsa"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


async def nobody(question):
    return None


def gate(folder):
    here = Project(str(folder), str(folder))
    return Gate(nobody, tiers=TIERS, project=lambda: here, here=lambda: here)


@pytest.mark.asyncio
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_the_loop_stays_free_while_folders_are_looked_through(folder, monkeypatch, call):
    """The walk goes on only once something else has run on the loop."""
    free, threads = threading.Event(), set()

    def slowly(look):
        def looking(*given, **options):
            threads.add(threading.current_thread())
            assert free.wait(20)
            return look(*given, **options)

        return looking

    monkeypatch.setattr(secret_files, "_walk", slowly(secret_files._walk))
    monkeypatch.setattr(secret_files, "_secrets_at", slowly(secret_files._secrets_at))
    event = ToolGate(Ids(), *call)
    asyncio.get_running_loop().call_later(0.05, free.set)
    await gate(folder)(event)
    assert event.block is not None
    assert "commonly hold" in event.block
    assert threading.current_thread() not in threads


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_judgement_that_is_put_off_comes_to_the_same(folder, monkeypatch, call):
    monkeypatch.chdir(folder)
    here = Project(str(folder), str(folder))
    at_once = assess(*call, "execute", Surroundings(here))
    later = Surroundings(here, looks=Looks(deferred=True))
    for _ in range(9):
        try:
            found = assess(*call, "execute", later)
            break
        except UnseenError as unseen:
            unseen.look()
    assert found == at_once
    assert found.advice


@pytest.mark.asyncio
async def test_what_fails_while_looking_is_asked_about(folder, monkeypatch):
    def failing(*_given, **_options):
        raise TimeoutError("too many files")

    monkeypatch.setattr(secret_files, "_secrets_at", failing)
    event = ToolGate(Ids(), "shell", {"command": "cat conf/*"})
    await gate(folder)(event)
    assert "cannot be judged (TimeoutError)" in event.block


def test_all_looks_of_one_judgement_share_their_time(folder, monkeypatch):
    ends = []

    def noting(_pattern, until):
        ends.append(until)
        return iter(())

    monkeypatch.setattr(secret_files, "_secrets_at", noting)
    here = Project(str(folder), str(folder))
    assess("shell", {"command": "cat conf/*; cat other/*"}, "execute", Surroundings(here))
    assert len(ends) == 2
    assert len(set(ends)) == 1


@pytest.mark.asyncio
async def test_being_stopped_while_looking_stops_the_call(folder, monkeypatch):
    free = threading.Event()
    monkeypatch.setattr(secret_files, "_walk", lambda *_given, **_options: free.wait(20))
    event = ToolGate(Ids(), "shell", {"command": "grep -rn limit ."})
    judging = asyncio.create_task(gate(folder)(event))
    await asyncio.sleep(0.02)
    judging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judging
    free.set()

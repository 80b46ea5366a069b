"""Sessions and the death of kernels: what was acknowledged is there, whatever moment the end came."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import zlib

import pytest

from zidane_lab.errors import SessionError, SessionLockedError
from zidane_lab.session import Session, list_sessions
from zidane_lab.session.lock import locked_by
from zidane_lab.turns import TextBlock, Turn, turn_to_json
from zidane_lab.wire.build import wire_turns

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked, to have many of them quickly")

NURSERY = r'''
"""For each line of input, fork a child that works on the session in that folder until it is killed."""
import json, os, random, sys, time, zlib
from pathlib import Path
from zidane_lab.errors import SessionLockedError
from zidane_lab.session import Session, list_sessions
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn, turn_to_json

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())

def run(folder, seed):
    chance = random.Random(seed)
    known = list_sessions(folder)
    session = Session.open(known[0].path, kernel="child") if known else Session.create(folder, kernel="child")
    def append(role, *blocks):
        turn = session.append(Turn(role, blocks))
        say("ack", turn.id, zlib.crc32(json.dumps(turn_to_json(turn), sort_keys=True).encode()))
    def text():
        return chance.choice(["x", "é数😀", "line\n" * 50, "y" * chance.choice([10, 5_000, 70_000, 1_500_000])])
    while True:
        run = session.start_run("q")
        append("user", TextBlock("q" + text()))
        append("assistant", TextBlock("a"), ToolCallBlock("call_0", "run_python", {"code": text()}))
        call = session.turns[-1].tool_calls[0].id
        parts = [TextBlock(text())]
        if chance.random() < 0.3:
            parts.append(ImageBlock("image/png", chance.randbytes(chance.choice([500, 100_000]))))
        append("user", ToolResultBlock(call, tuple(parts)))
        append("assistant", TextBlock("done"))
        session.end_run(run.id, "completed")

def race(folder, seed):
    try:
        session = Session.open(list_sessions(folder)[0].path)
    except SessionLockedError as error:
        say("lost", error.message)
    else:
        session.append(Turn("user", (TextBlock("winner"),)))
        say("won")
        time.sleep(0.6)
    os._exit(0)

say("ready")
for line in sys.stdin:
    what, count, seed, folder = line.rstrip("\n").split("\t")
    for n in range(int(count)):
        pid = os.fork()
        if pid == 0:
            {"run": run, "race": race}[what](Path(folder), seed)
        say("pid", pid)
    for n in range(int(count)):
        os.wait()
    say("dead")
'''


class Nursery:
    """The process that forks the children, and what they say."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self.hear() == ["ready"]

    def begin(self, what, folder, count=1, seed=0):
        self.process.stdin.write(f"{what}\t{count}\t{seed}\t{folder}\n")

    def hear(self):
        return self.process.stdout.readline().split(maxsplit=2)

    def until_dead(self):
        words = []
        while (heard := self.hear()) != ["dead"]:
            assert heard, "the nursery died"
            words.append(heard)
        return words

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def nursery():
    nursery = Nursery()
    yield nursery
    nursery.close()


def checksum(turn):
    import json

    return zlib.crc32(json.dumps(turn_to_json(turn), sort_keys=True).encode())


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing_acknowledged(nursery, tmp_path, record_property):
    chance = random.Random(20260131)
    kills = torn = cut = 0
    for round_ in range(10):
        folder = tmp_path / f"{round_}"
        acknowledged = []
        for _ in range(10):
            nursery.begin("run", folder, seed=chance.random())
            _, pid = nursery.hear()[:2]
            time.sleep(chance.uniform(0, 0.12))
            os.kill(int(pid), signal.SIGKILL)
            acknowledged += [(turn_id, int(crc)) for _, turn_id, crc in nursery.until_dead()]
            kills += 1

            path = next(iter(folder.glob("*.jsonl")), None)
            try:
                session = path and Session.open(path)
            except SessionError:  # killed within the very first write
                session = None
                path.unlink()
            if session is None:
                assert not acknowledged
                continue
            with session:
                stored = {turn.id: checksum(turn) for turn in session.turns}
                assert [(each, stored.get(each)) for each, _ in acknowledged] == acknowledged
                order = [turn.id for turn in session.turns if turn.id in dict(acknowledged)]
                assert order == [each for each, _ in acknowledged]
                torn += any("cut off" in what for what in session.repairs)
                cut += session.interrupted
                session.start_run("go on")
                asked = session.append(Turn("user", (TextBlock("go on"),)))
                acknowledged.append((asked.id, checksum(asked)))
                assert wire_turns(session.turns, strict=True) is session.turns
            assert not path.with_suffix(".lock").exists()
        assert len(list(folder.glob("*.jsonl"))) <= 1
    print(f"{kills} kills, {torn} torn lines mended, {cut} calls left open")
    record_property("kills", kills)
    assert kills == 100


def test_a_living_kernel_is_named_and_its_session_branched(nursery, tmp_path):
    nursery.begin("run", tmp_path)
    _, pid = nursery.hear()[:2]
    while nursery.hear()[0] != "ack":
        pass
    (info,) = list_sessions(tmp_path)
    assert info.locked_by.pid == int(pid)
    with pytest.raises(SessionLockedError, match=f"process {pid} on .*kernel child"):
        Session.open(info.path)
    with Session.branch(info.path) as branch:
        branch.append(Turn("user", (TextBlock("mine"),)))
        assert branch.header.parent_session == info.id
    os.kill(int(pid), signal.SIGKILL)
    nursery.until_dead()
    assert locked_by(info.path.with_suffix(".lock")) is None
    with Session.open(info.path) as theirs, Session.open(branch.path) as mine:
        assert "mine" not in [turn.text for turn in theirs.turns]
        assert mine.turns[-1].text == "mine"
        shared = len(mine.turns) - 1
        assert mine.turns[:shared] == theirs.turns[:shared]


def test_of_many_that_want_a_session_at_once_one_gets_it(nursery, tmp_path):
    with Session.create(tmp_path) as session:
        session.append(Turn("user", (TextBlock("q"),)))
    nursery.begin("race", tmp_path, count=6)
    words = [heard for heard in nursery.until_dead() if heard[0] != "pid"]
    assert sorted(heard[0] for heard in words) == ["lost"] * 5 + ["won"]
    with Session.open(session.path) as again:
        assert [turn.text for turn in again.turns] == ["q", "winner"]
        assert again.repairs == ()

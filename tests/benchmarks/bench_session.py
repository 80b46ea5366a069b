"""What sessions cost: opening a long one, and having one turn safe on disk.

Run with ``pytest -m bench -s tests/benchmarks/bench_session.py``. The floor of opening is reading the file
and parsing each line as JSON, measured in the same run.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import time

import pytest

from zidane_lab.session import Session, list_sessions, sessions_folder
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn, Usage
from zidane_lab.wire.build import wire_turns

pytestmark = pytest.mark.bench

TURNS = 10_000


def long_session(folder, monkeypatch):
    with monkeypatch.context() as patch, Session.create(folder) as session:
        patch.setattr(os, "fsync", lambda handle: None)  # building is not what is measured
        while len(session.turns) < TURNS:
            call = f"call_{len(session.turns)}"
            code = "df.groupby('species')['mass'].mean()\n" * 5
            session.append(Turn("user", (TextBlock("And what is the mean by species now? " * 3),)))
            session.append(
                Turn(
                    "assistant",
                    (TextBlock("I will look at it. " * 10), ToolCallBlock(call, "run_python", {"code": code})),
                    usage=Usage(120, 60, 3000),
                    model="provider/model",
                )
            )
            session.append(
                Turn("user", (ToolResultBlock(call, (TextBlock("1234 5678 " * 60),), metadata={"seconds": 0.2}),))
            )
            session.append(
                Turn(
                    "assistant",
                    (TextBlock("The mean is 5. " * 20),),
                    usage=Usage(120, 60, 3000),
                    model="provider/model",
                )
            )
    return session.path


def fastest(*works, rounds=9):
    """The least processor time of each work, in seconds, taken in turns: the rest measured the neighbours."""
    took = [[] for _ in works]
    for _ in range(rounds):
        for times, work in zip(took, works, strict=True):
            gc.collect()
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return [min(times) for times in took]


def test_opening_ten_thousand_turns(tmp_path, monkeypatch):
    path = long_session(sessions_folder(notebook=tmp_path / "long.ipynb"), monkeypatch)

    def floor():
        return [json.loads(line) for line in path.read_bytes().splitlines()]

    def open_it():
        with Session.open(path) as session:
            return session

    turns = open_it().turns
    assert len(floor()) == len(turns) + 1 == TURNS + 1
    least, opening, wire, glance = fastest(
        floor, open_it, lambda: wire_turns(turns), lambda: list_sessions(path.parent)
    )
    print(
        f"\n{TURNS:,} turns, {path.stat().st_size / 1e6:.1f} MB: open {opening * 1e3:.0f} ms, "
        f"json.loads floor {least * 1e3:.0f} ms, ratio {opening / least:.1f}; "
        f"wire_turns {wire * 1e3:.1f} ms; list {glance * 1e3:.1f} ms"
    )


def test_appending_one_turn(tmp_path):
    took = []
    with Session.create(sessions_folder(notebook=tmp_path / "append.ipynb")) as session:
        for _ in range(500):
            turn = Turn("assistant", (TextBlock("word " * 200),))
            start = time.perf_counter()
            session.append(turn)
            took.append(time.perf_counter() - start)
        assert session.unsaved == 0
    cuts = statistics.quantiles(took, n=100)
    print(
        f"\nappend with fsync: median {statistics.median(took) * 1e3:.2f} ms, 99th percentile {cuts[98] * 1e3:.2f} ms"
    )

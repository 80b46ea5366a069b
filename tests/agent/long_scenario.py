"""A long conversation to be had again and again: files, tools with large outputs, and what the model does with them."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agent.cached_service import CachedService, Exchange
from tests.agent.support import simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.behavior import Behavior
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolOutput
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.turns import TextBlock, ToolCallBlock

SYSTEM = "You work in a notebook. Look before you compute, and say what you found in a sentence. " * 60


def words(chance: random.Random, size: int) -> str:
    """Text of about ``size`` bytes, in lines, as programs print it."""
    lines, length = [], 0
    while length < size:
        lines.append(f"{chance.random():.6f}  {chance.randint(0, 99_999):>6}  Größe {chance.choice('abcdef')}\n")
        length += len(lines[-1].encode())
    return "".join(lines)


def make_files(folder: Path) -> list[str]:
    chance = random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"table_{number}.txt" for number in range(12)]
    for name in names:
        (folder / name).write_text(words(chance, chance.choice((2_000, 8_000, 20_000, 45_000))), encoding="utf-8")
    return names


async def run_python(_context: Any, code: str = "", size: int = 500) -> ToolOutput:
    """As the real tool answers: what was printed, and the evidence of what was made."""
    text = words(random.Random(zlib.crc32(code.encode())), size)
    name = f"frame_{zlib.crc32(code.encode()) % 7}"
    return ToolOutput((TextBlock(text),), metadata={"execution": {"created": [name], "code": code}})


async def glob(_context: Any, pattern: str = "") -> ToolOutput:
    if pattern.startswith("none"):
        return ToolOutput((TextBlock("No files match. " * 20),), metadata={"useless": True})
    return ToolOutput((TextBlock("\n".join(f"{pattern}/{number}.csv" for number in range(40))),))


async def read_output(_context: Any, call_id: str = "") -> str:
    return f"(the output of {call_id})"


async def inspect_variable(_context: Any, name: str = "") -> str:
    return f"{name}: DataFrame, 5,000 rows × 12 columns"


class Kernel:
    """As much of a kernel as putting variables back needs."""

    async def inspect_variable(self, name: str, *, budget: int = 4000) -> str:
        return f"{name}: DataFrame, 5,000 rows × 12 columns"[:budget]


def tools() -> list[Any]:
    return [
        read_file_tool(),
        simple_tool("run_python", run_python),
        simple_tool("glob", glob, concurrency="shared"),
        simple_tool("read_output", read_output, concurrency="shared"),
        simple_tool("inspect_variable", inspect_variable, concurrency="shared"),
    ]


def steps(names: list[str], answers: int) -> Iterator[list[Any]]:
    """Yield answers: a few of calls, then one without, which ends a run."""
    chance, number = random.Random(20261130), 0
    left = 0
    for each in range(answers):
        if left == 0:
            left = chance.randint(4, 12)
        left -= 1
        said = f"Step {each}: " + "I look at the next part of it. " * chance.randint(1, 6)
        if left == 0 or each == answers - 1:
            left = 0
            yield [said]
            continue
        calls = []
        many = each % 60 == 30  # more blocks at once than a service looks back for what it has kept
        for _ in range(24 if many else chance.choice((1, 1, 1, 2, 3))):
            number += 1
            kind = "python" if many else chance.choices(("read", "python", "large", "glob"), (3, 5, 1, 2))[0]
            if kind == "read":
                calls.append(ToolCallBlock(f"toolu_{number:06}", "read_file", {"path": chance.choice(names)}))
            elif kind == "glob":
                pattern = chance.choice(("none*.csv", "data", "data", f"part{number}"))
                calls.append(ToolCallBlock(f"toolu_{number:06}", "glob", {"pattern": pattern}))
            else:
                size = (
                    chance.randint(20_000, 60_000) if kind == "large" else chance.randint(200, 500 if many else 4_000)
                )
                code = f"frame.describe()  # {number}, €"
                calls.append(ToolCallBlock(f"toolu_{number:06}", "run_python", {"code": code, "size": size}))
        yield [said, *calls]


@dataclass
class Watched:
    """What the bus told, each event with the number of requests sent before it."""

    service: CachedService
    events: list[tuple[int, Any]] = field(default_factory=list)

    def __call__(self, event: Any) -> None:
        if not event.name.startswith(("stream:", "context:transform")):
            self.events.append((len(self.service.exchanges), event))

    def of(self, name: str) -> list[Any]:
        return [event for _, event in self.events if event.name == name]

    def declared(self, before: Exchange, after: Exchange) -> list[Any]:
        """What was told between two requests of changes in what is sent."""
        first, last = (self.service.exchanges.index(each) for each in (before, after))
        return [event for at, event in self.events if first < at <= last and changes(event)]


def changes(event: Any) -> bool:
    return event.name == "context:pruned" or (event.name == "compact:end" and event.status == "compacted")


def new_agent(service: CachedService, session: Session, cwd: Path, **compaction: Any) -> Agent:
    settings = {"window": service.window, **compaction}
    return Agent(
        service,
        tools=tools(),
        system=SYSTEM,
        session=session,
        cwd=cwd,
        executor=Kernel(),  # type: ignore[arg-type]
        behavior=Behavior(max_turns=None, compaction=AutoCompact(**settings)),
    )


def entries(path: Path, kinds: tuple[str, ...] = ("turn",)) -> list[dict[str, Any]]:
    """The lines of a session file, read without the package."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [line for line in lines if line["type"] in kinds]

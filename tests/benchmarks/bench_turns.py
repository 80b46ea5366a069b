"""What the loop costs: time per model turn and until the first text, beside two other agent libraries.

Everybody talks to the same mock service in one run and takes turns. Above the floor (bare httpx that reads
the same streams and understands nothing) is what a library adds. Processor time is the steadier figure: the
wall clock also shows how often the service is kept waiting for a core.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import importlib.util
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest

from tests.benchmarks.contestants import LAST, Contestant, Floor, OpenAIAgents, PydanticAI, Zidane, answers
from tests.benchmarks.measure import above, middle, spread, table
from tests.benchmarks.mock_service import MockService, mock_service

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(1200),
    # What other libraries warn of is their business.
    pytest.mark.filterwarnings("ignore"),
]

FLOOR, OURS, OURS_KEPT = "bare httpx (floor)", "zidane_lab", "zidane_lab + session file"
PEERS = {"pydantic-ai": ("pydantic_ai", "pydantic-ai-slim"), "OpenAI Agents SDK": ("agents", "openai-agents")}
SLACK = 2.0
"""How much slower than the faster peer we may be before this fails; it guards against mistakes, not noise."""


@dataclass
class Series:
    """What one contestant took, run by run, in milliseconds."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)


@pytest.fixture(scope="module")
def service():
    missing = [package for module, package in PEERS.values() if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; `pip install -e '.[bench]'` brings them")
    with mock_service() as running:
        yield running


async def race(service: MockService, folder, *, calls: int, rounds: int) -> dict[str, Series]:
    url = service.openai_url
    contestants: dict[str, Contestant] = {
        FLOOR: Floor(url, calls),
        OURS: Zidane(url),
        OURS_KEPT: Zidane(url, folder),
        "pydantic-ai": PydanticAI(url),
        "OpenAI Agents SDK": OpenAIAgents(url),
    }
    series, script, names = {name: Series() for name in contestants}, answers(calls), list(contestants)
    async with AsyncExitStack() as stack:
        for contestant in contestants.values():
            stack.push_async_callback(contestant.aclose)
        for number in range(-1, rounds):  # round -1 warms everybody up
            shift = number % len(names)
            for name in names[shift:] + names[:shift]:
                service.will_answer(script)
                gc.collect()
                outcome = await contestants[name].run()
                assert service.unsaid() == 0, f"{name} did not ask {calls + 1} times"
                assert (outcome.tool_calls, outcome.text.strip()) == (calls, LAST.strip()), name
                assert outcome.first is not None, name
                if number >= 0:
                    series[name].wall.append(outcome.wall * 1e3)
                    series[name].processor.append(outcome.processor * 1e3)
                    series[name].first.append(outcome.first * 1e3)
    return series


@pytest.mark.parametrize(("calls", "rounds"), [(10, 15), (100, 4)], ids=["short", "long"])
def test_cost_of_a_turn_and_time_to_the_first_text(service, tmp_path, calls, rounds):
    series = asyncio.run(race(service, tmp_path, calls=calls, rounds=rounds))
    turns, floor = calls + 1, series[FLOOR]
    wall = {name: above(each.wall, floor.wall) / turns for name, each in series.items()}
    processor = {name: above(each.processor, floor.processor) / turns for name, each in series.items()}
    first = {name: middle(each.first) for name, each in series.items()}
    best = [min(figures[peer] for peer in PEERS) for figures in (wall, processor, first)]
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for _, package in PEERS.values())
    table(
        f"{turns} model turns, {calls} tool calls, {rounds} rounds; milliseconds, medians; "
        f"ratios to the faster peer ({versions})",
        [
            "",
            "wall/turn above floor",
            "ratio",
            "processor/turn above floor",
            "ratio",
            "first text",
            "ratio",
            "half of them",
        ],
        [
            [
                name,
                *(
                    value
                    for figures, least in zip((wall, processor, first), best, strict=True)
                    for value in (figures[name], figures[name] / least)
                ),
                spread(each.first),
            ]
            for name, each in series.items()
            if name != FLOOR
        ],
    )
    print(
        f"  floor: {middle(floor.wall) / turns:.1f} ms wall and {middle(floor.processor) / turns:.2f} ms processor "
        f"a turn, first text after {first[FLOOR]:.1f} ms"
    )
    assert processor[OURS] <= SLACK * best[1]
    assert first[OURS] <= SLACK * best[2]
    assert wall[OURS] <= SLACK * best[0]

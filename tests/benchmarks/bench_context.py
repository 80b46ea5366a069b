"""What a long conversation costs at each turn: from the stored answer to the next request's body, with 2,000 turns behind.

Ours is measured in its parts, with the session's file flushed to the disk, and as a whole loop. Beside it stands
pydantic-ai with the same conversation: its history processing, the messages of its model, the same chat format. Nobody
waits for a network: the body is complete when the transport is handed it.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import os
import time
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.benchmarks.measure import above, interleaved, middle, spread, table, timed
from zidane_lab import Agent, Behavior, Session, tool
from zidane_lab.agent.cache import CacheWatch
from zidane_lab.agent.calling import Caller
from zidane_lab.agent.compacting import window_of
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.events import Ids
from zidane_lab.providers import anthropic_request, openai_request
from zidane_lab.providers.anthropic import AnthropicProvider
from zidane_lab.providers.base import Request
from zidane_lab.providers.openai_chat import OpenAIChatProvider
from zidane_lab.session import sessions_folder
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn, Usage
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.incremental import WireBuilder
from zidane_lab.wire.pairing import repair_pairing
from zidane_lab.wire.state import WireState

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(600),
    # What other libraries warn of is their business.
    pytest.mark.filterwarnings("ignore"),
]

TURNS = 2_000
RUN = 40
ROUNDS = 60
TURN_MS = 5.0
LINEAR = 3.0
"""Twice the turns may take this many times as long: a pass that is not linear takes four times."""
SMALL_MS = 2.0
URL = "http://service.invalid/v1"
MODEL = "gpt-4o"
SYSTEM = "You are a careful assistant. " * 100
CODE = "df.groupby('species')['mass'].mean()\n" * 5
LOOK, FOUND = "I will look at it. " * 10, "1234 5678 " * 60


def answer(number: int) -> Turn:
    usage = Usage(input=120, output=60, cache_read=30 * number)
    return Turn("assistant", (TextBlock(LOOK), ToolCallBlock(f"call_{number}", "add", {"code": CODE})), usage=usage)


def results(number: int) -> Turn:
    return Turn("user", (ToolResultBlock(f"call_{number}", (TextBlock(FOUND),), metadata={"seconds": 0.2}),))


def conversation(turns: int) -> Iterator[Turn]:
    """Runs of forty turns: a prompt, nineteen answers with a call and their results, and a last answer."""
    for at in range(turns):
        if at % RUN == 0:
            yield Turn("user", (TextBlock("And what is the mean by species now? " * 3),))
        elif at % RUN == RUN - 1:
            yield Turn("assistant", (TextBlock("The mean is 5. " * 20),), usage=answer(at).usage)
        else:
            yield answer(at) if at % 2 else results(at - 1)


def stored(folder: Path, monkeypatch: pytest.MonkeyPatch, turns: int = TURNS) -> Session:
    """A session on the disk; filling it is not what is measured."""
    session = Session.create(sessions_folder(notebook=folder / f"{turns}.ipynb"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        for turn in conversation(turns):
            session.append(turn)
    return session


@tool
async def add(code: str) -> str:
    """Add two numbers."""
    return FOUND


def request_of(session: Session, turns: tuple[Turn, ...]) -> Request:
    return Request(MODEL, SYSTEM, turns, (add.spec,), cache_key=session.id)


# --- from the stored turn to the body ---------------------------------------------------------------


def test_a_turn_of_a_long_conversation_is_written_once(tmp_path, monkeypatch):
    rows, medians = [], {}
    for name, encoder in {
        "OpenAI's chat format": openai_request.RequestEncoder("openai", base_url=URL),
        "Anthropic's format": anthropic_request.RequestEncoder("anthropic"),
    }.items():
        with stored(tmp_path / name.split()[0], monkeypatch) as session:
            wire, parts = WireBuilder(), {"append": [], "build": [], "encode": [], "all": []}
            disk, beside = [], (tmp_path / f"{name[0]}.floor").open("ab", buffering=0)
            encoder.encode(request_of(session, wire.build(session.turns, session.wire_state)))
            for each in range(ROUNDS):
                number = TURNS + 2 * each + 1
                gc.collect()
                start = time.perf_counter()
                session.append(answer(number))
                session.append(results(number))
                kept = time.perf_counter()
                turns = wire.build(session.turns, session.wire_state)
                built = time.perf_counter()
                body = encoder.encode(request_of(session, turns))
                done = time.perf_counter()
                for part, seconds in zip(parts, (kept - start, built - kept, done - built, done - start), strict=True):
                    parts[part].append(seconds * 1e3)
                disk.append(timed(lambda beside=beside: _flush_twice(beside)) * 1e3)
            beside.close()
            whole = timed(lambda encoder=encoder: _from_nothing(encoder, session)) * 1e3
            assert body == _from_nothing(encoder, session)
        medians[name] = above(parts["all"], disk)
        figures = [middle(values) for values in parts.values()]
        rows.append([name, middle(disk), *figures, spread(parts["all"]), medians[name], whole, len(body)])
    table(
        f"A model turn (answer and results appended, flushed) with {TURNS:,} turns before it, ms, medians of {ROUNDS}",
        ["", "floor: disk", "append", "build", "encode", "together", "half of them", "above floor", "anew", "bytes"],
        rows,
    )
    assert max(medians.values()) <= TURN_MS


def _flush_twice(file: FileIO) -> None:
    """What the disk takes for two lines of that size, each flushed."""
    for size in (900, 800):
        file.write(b"x" * size)
        os.fsync(file.fileno())


def _from_nothing(encoder: Any, session: Session) -> bytes:
    fresh = (
        openai_request.RequestEncoder("openai", base_url=URL)
        if isinstance(encoder, openai_request.RequestEncoder)
        else anthropic_request.RequestEncoder("anthropic")
    )
    return fresh.encode(request_of(session, wire_turns(session.turns, state=session.wire_state)))


def test_mending_a_history_takes_time_in_proportion():
    sizes = (1_000, 2_000, 4_000)
    whole = {size: tuple(conversation(size)) for size in sizes}
    broken = {size: tuple(turn for at, turn in enumerate(turns) if at % 7 != 4) for size, turns in whole.items()}
    left_out = {size: WireState({f"call_{at}": "[left out]" for at in range(1, size // 2, 2)}) for size in sizes}
    works: dict[str, Callable[[int], Any]] = {
        "repair_pairing, nothing to mend": lambda size: repair_pairing(whole[size]),
        "repair_pairing, a turn in seven missing": lambda size: repair_pairing(broken[size]),
        "wire_turns, a turn in seven missing": lambda size: wire_turns(broken[size]),
        "wire_turns, half the results left out": lambda size: wire_turns(whole[size], state=left_out[size]),
    }
    rows, ratios = [], []
    for name, work in works.items():
        took = interleaved(
            {str(size): lambda work=work, size=size: timed(lambda: work(size), time.process_time) for size in sizes},
            rounds=15,
        )
        ms = [min(took[str(size)]) * 1e3 for size in sizes]
        ratios += [ms[1] / ms[0], ms[2] / ms[1]]
        rows.append([name, *ms, *ratios[-2:]])
    table(
        "Passes over a whole history, processor time, ms, the least of 15",
        ["", *(f"{size:,} turns" for size in sizes), "1,000→2,000", "2,000→4,000"],
        rows,
    )
    assert max(ratios) <= LINEAR


# --- what is looked at besides --------------------------------------------------------------------


def test_watching_the_cache_and_the_window(tmp_path, monkeypatch):
    provider = AnthropicProvider("none", transport=httpx.MockTransport(lambda _: httpx.Response(500)))
    never = Behavior(compaction=AutoCompact(window=10_000_000))  # nothing is to be done, only looked at
    took: dict[str, list[float]] = {
        "CacheWatch.observe": [],
        "Room.make, size counted": [],
        "Room.make, size estimated": [],
        "Room.tidy, once a run": [],
        "the window, from the catalogue": [],
    }

    async def measure(session: Session) -> None:
        agent = Agent(provider, model="claude-sonnet-4-5", tools=[add], system=SYSTEM, session=session, behavior=never)
        kit = agent._kit()
        caller = Caller(kit, agent.behavior, Ids("run"), agent._new_ledger(agent.behavior), SYSTEM)
        watch = CacheWatch()
        watch.observe(await caller.request(0), Usage(input=1, cache_read=60_000), ids=Ids("run"))
        for each in range(ROUNDS):
            number = TURNS + 2 * each + 1
            said = session.append(answer(number))
            session.append(results(number))
            request = await caller.request(0)
            gc.collect()
            for name, measured in (("counted", (said.id, 61_000)), ("estimated", None)):
                kit.continuity.measured = measured
                start = time.perf_counter()
                await caller.room.make(caller.target, lambda: caller.request(0))
                took[f"Room.make, size {name}"].append((time.perf_counter() - start) * 1e3)
            usage = Usage(input=100, output=50, cache_read=60_000 + 100 * each)
            start = time.perf_counter()
            watch.observe(request, usage, ids=Ids("run"))
            took["CacheWatch.observe"].append((time.perf_counter() - start) * 1e3)
            start = time.perf_counter()
            await caller.room.tidy()
            took["Room.tidy, once a run"].append((time.perf_counter() - start) * 1e3)
            took["the window, from the catalogue"].append(timed(lambda: window_of(caller.target)) * 1e3)
        await provider.aclose()

    with stored(tmp_path, monkeypatch) as session:
        asyncio.run(measure(session))
    table(
        f"Looked at besides, with {TURNS:,} turns, ms, medians of {ROUNDS}",
        ["", "ms", "half of them"],
        [[name, middle(values), spread(values)] for name, values in took.items()],
    )
    assert middle(took["CacheWatch.observe"]) <= SMALL_MS
    assert middle(took["Room.make, size counted"]) <= SMALL_MS


# --- beside pydantic-ai -----------------------------------------------------------------------------


class Service:
    """Answers with calls of ``add``, at last with a text; notes when it had answered and when it was asked again."""

    def __init__(self, calls: int) -> None:
        self._calls, self._number = calls, 0
        self.asked: list[float] = []
        self.answered: list[float] = []
        self.bodies: list[int] = []

    def message(self, body: bytes) -> dict[str, Any]:
        self.asked.append(time.perf_counter())
        self.bodies.append(len(body))
        self._number += 1
        if len(self.asked) > self._calls:
            return {"role": "assistant", "content": "Done."}
        call = {"name": "add", "arguments": json.dumps({"code": CODE})}
        asked = {"id": f"call_b{self._number}", "type": "function", "function": call}
        return {"role": "assistant", "content": LOOK, "tool_calls": [asked]}

    def gaps(self) -> list[float]:
        """Milliseconds from each answer to the next request."""
        return [(asked - answered) * 1e3 for answered, asked in zip(self.answered, self.asked[1:], strict=False)]


def chunks(message: dict[str, Any]) -> bytes:
    """The answer as a stream of one piece."""
    finish = "tool_calls" if "tool_calls" in message else "stop"
    delta = {**message, "tool_calls": [{"index": 0, **each} for each in message.get("tool_calls", ())]}
    pieces = [
        {"choices": [{"index": 0, "delta": delta}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
    ]
    usage = {"prompt_tokens": 60_000, "completion_tokens": 60, "total_tokens": 60_060}
    pieces.append({"choices": [], "usage": usage})
    return b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces) + b"data: [DONE]\n\n"


class OurRun:
    """One run of the whole loop on a session of 2,000 turns, on the disk or in memory."""

    def __init__(self, session: Session) -> None:
        self._service = Service(0)
        self._provider = OpenAIChatProvider("none", base_url=URL, transport=httpx.MockTransport(self._answer))
        self._agent = Agent(
            self._provider,
            model=MODEL,
            tools=[add],
            system=SYSTEM,
            session=session,
            behavior=Behavior(max_turns=None, compaction=AutoCompact(window=10_000_000)),
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        content = chunks(self._service.message(request.content))
        reply = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)
        self._service.answered.append(time.perf_counter())
        return reply

    async def __call__(self, calls: int) -> tuple[Service, float]:
        service = self._service = Service(calls)
        start = time.perf_counter()
        await self._agent.run("And now?")
        return service, (service.asked[0] - start) * 1e3


class PydanticRun:
    """pydantic-ai with the same conversation and a history processor that looks at it and changes nothing."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        import httpx2
        from openai import AsyncOpenAI
        from pydantic_ai import Agent as PydanticAgent
        from pydantic_ai.capabilities import ProcessHistory
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        self._service, self._http = Service(0), httpx2
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))
        self._client = AsyncOpenAI(base_url=URL, api_key="none", max_retries=0, http_client=client)
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=self._client))
        self._agent = PydanticAgent(
            model, instructions=SYSTEM, capabilities=[ProcessHistory(lambda messages: messages)]
        )
        self.history = pydantic_messages(turns)

        @self._agent.tool_plain
        async def add(code: str) -> str:
            """Add two numbers."""
            return FOUND

    def _answer(self, request: Any) -> Any:
        message = self._service.message(request.content)
        finish = "tool_calls" if "tool_calls" in message else "stop"
        reply = self._http.Response(
            200,
            json={
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": MODEL,
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {"prompt_tokens": 60_000, "completion_tokens": 60, "total_tokens": 60_060},
            },
        )
        self._service.answered.append(time.perf_counter())
        return reply

    async def __call__(self, calls: int) -> tuple[Service, float]:
        from pydantic_ai import UsageLimits

        service = self._service = Service(calls)
        start = time.perf_counter()
        limits = UsageLimits(request_limit=None)
        await self._agent.run("And now?", message_history=self.history, usage_limits=limits)
        return service, (service.asked[0] - start) * 1e3

    async def without_a_body(self, calls: int) -> list[float]:
        """Milliseconds from each answer to the history that the next request would be made of, and no further."""
        from pydantic_ai import UsageLimits
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel
        from pydantic_ai.usage import RequestUsage

        service = Service(calls)

        def answer(_messages: Any, _info: Any) -> Any:
            message = service.message(b"")
            asked = [ToolCallPart("add", {"code": CODE}, each["id"]) for each in message.get("tool_calls", ())]
            service.answered.append(time.perf_counter())
            used = RequestUsage(input_tokens=60_000, output_tokens=60)  # or it would go over the history to estimate
            return ModelResponse([TextPart(message["content"]), *asked], usage=used)

        limits = UsageLimits(request_limit=None)
        model = FunctionModel(answer)
        await self._agent.run("And now?", model=model, message_history=self.history, usage_limits=limits)
        return service.gaps()

    def dumped(self) -> bytes:
        from pydantic_ai import ModelMessagesTypeAdapter

        return ModelMessagesTypeAdapter.dump_json(self.history)

    def loaded(self, data: bytes) -> Any:
        from pydantic_ai import ModelMessagesTypeAdapter

        return ModelMessagesTypeAdapter.validate_json(data)


def pydantic_messages(turns: tuple[Turn, ...]) -> list[Any]:
    """The same conversation in its words, a message for a turn."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

    out: list[Any] = []
    for turn in turns:
        if turn.role == "assistant":
            calls = [ToolCallPart(call.name, dict(call.input), call.id) for call in turn.tool_calls]
            out.append(ModelResponse([TextPart(turn.text), *calls]))
        elif turn.tool_results:
            out.append(ModelRequest([ToolReturnPart("add", each.text, each.call_id) for each in turn.tool_results]))
        else:
            out.append(ModelRequest([UserPromptPart(turn.text)]))
    return out


def test_beside_pydantic_ai(tmp_path, monkeypatch):
    missing = [name for name in ("pydantic_ai", "openai", "httpx2") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; `pip install -e '.[bench]'` brings them")
    calls, rounds = 10, 5
    names = ("zidane_lab", "zidane_lab + session file", "pydantic-ai")
    next_body: dict[str, list[float]] = {name: [] for name in names}
    first_body: dict[str, list[float]] = {name: [] for name in names}
    no_body: list[float] = []

    async def race() -> tuple[dict[str, int], PydanticRun]:
        memory = Session.memory()
        for turn in conversation(TURNS):
            memory.append(turn)
        peer = PydanticRun(memory.turns)
        sizes: dict[str, int] = {}
        for number in range(-1, rounds):  # round -1 warms everybody up
            with stored(tmp_path / str(number), monkeypatch) as session:  # its own each round: it grows
                fresh = Session.memory()
                for turn in conversation(TURNS):
                    fresh.append(turn)
                runs = dict(zip(names, (OurRun(fresh), OurRun(session), peer), strict=True))
                for run in (runs[names[0]], runs[names[1]]):
                    await run(0)  # a notebook's session has been used before
                shift = number % len(names)
                for name in names[shift:] + names[:shift]:
                    gc.collect()
                    service, first = await runs[name](calls)
                    assert len(service.asked) == calls + 1, name
                    sizes[name] = service.bodies[0]
                    if number >= 0:
                        next_body[name] += service.gaps()
                        first_body[name].append(first)
                no_body.extend(await peer.without_a_body(calls))
        return sizes, peer

    sizes, peer = asyncio.run(race())
    assert 0.8 < sizes["zidane_lab"] / sizes["pydantic-ai"] < 1.25, "they do not send the same"
    data = peer.dumped()
    adapter = interleaved(
        {"dump": lambda: timed(peer.dumped), "load": lambda: timed(lambda: peer.loaded(data))}, rounds=7
    )
    base_next, base_first = middle(next_body["pydantic-ai"]), middle(first_body["pydantic-ai"])
    table(
        f"From one answer to the body of the next request, whole loops, {TURNS:,} turns before, ms, medians of "
        f"{calls * rounds} (and of {rounds} prompts)",
        ["", "next body", "times as fast", "half of them", "first body of a run", "times as fast", "bytes"],
        [
            [
                name,
                middle(next_body[name]),
                base_next / middle(next_body[name]),
                spread(next_body[name]),
                middle(first_body[name]),
                base_first / middle(first_body[name]),
                sizes[name],
            ]
            for name in names
        ],
    )
    print(
        f"  pydantic-ai's own part, up to the history and without a body: {middle(no_body):.1f} ms; the rest is its "
        "messages for the model and its client"
    )
    print(
        f"  pydantic-ai, to keep and read back its history (ModelMessagesTypeAdapter, {len(data) / 1e6:.1f} MB): "
        f"dump {middle(adapter['dump']) * 1e3:.1f} ms, load {middle(adapter['load']) * 1e3:.1f} ms"
    )
    assert middle(next_body["zidane_lab + session file"]) <= base_next

"""Long conversations in a small window: the thread is never lost, nothing is read twice unannounced, usage is true.

Three hundred answers, files and outputs of up to 60 KB, one session file, and a service that keeps prompts and counts
tokens as a real one does. What the agent decides is judged by rules written out here once more.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.agent.cached_service import CachedService
from tests.agent.long_scenario import SYSTEM, Watched, changes, entries, make_files, new_agent, steps, tools
from tests.wire.rules import check_anthropic
from zidane_lab.providers.anthropic_request import RequestEncoder
from zidane_lab.providers.base import Request
from zidane_lab.session.session import Session
from zidane_lab.turns import (
    CompactSummaryBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Usage,
    turn_from_json,
)
from zidane_lab.wire.build import wire_turns
from zidane_lab.wire.cutoff import SUMMARY_HEAD

ANSWERS = 300
MODEL = CachedService.default_model


# --- the rules, once more -------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """What is done before an answer: the results left out, and whether the conversation is summarised."""

    pruned: frozenset[str] | None = None
    compacted: bool = False


def estimated(text: str) -> int:
    return math.ceil(len(text.encode("utf-16-le")) / 2 / 4)


class Judge:
    """Reads a conversation turn by turn and says what must be decided before the next answer.

    The window is filled at 85 % of what is left of it beside 20,000 tokens for an answer, and again only after another
    10 %. Then outputs older than the newest 40,000 tokens are left out, if that saves 20,000; if it is not enough, or
    nothing is left out, the conversation is summarised.
    """

    def __init__(self, window: int) -> None:
        self.usable = window - 20_000
        self.turns: list[Turn] = []
        self.calls: dict[str, ToolCallBlock] = {}
        self.left_out: dict[str, str] = {}
        self.hidden: set[str] = set()
        self.summary = ""
        self.counted: tuple[int, int] | None = None  # how many turns, how many tokens
        self.baseline: int | None = None
        self.fresh = False  # summarised, and not counted since

    def add(self, turn: Turn, *, is_answer: bool) -> None:
        self.turns.append(turn)
        self.calls |= {call.id: call for call in turn.tool_calls}
        for block in turn.blocks:
            if isinstance(block, CompactSummaryBlock):
                self.hidden.update(block.replaces)
                self.summary = block.text
                self.counted, self.fresh = None, True
        if is_answer:
            self.counted = len(self.turns), turn.usage.context + turn.usage.output
            if self.fresh:
                self.baseline, self.fresh = turn.usage.context, False

    def elide(self, results: Mapping[str, str]) -> None:
        self.left_out |= results
        self.counted = None

    def decide(self) -> Decision:
        size = self._size()
        if not self._is_full(size):
            return Decision()
        pruned, saved = self._prunable()
        if pruned is None:
            return Decision(compacted=True)
        return Decision(pruned, self._is_full(size - saved))

    def _is_full(self, size: int) -> bool:
        grown = self.baseline is None or size - self.baseline >= 0.1 * self.usable
        return size >= 0.85 * self.usable and grown

    def _size(self) -> int:
        if self.counted is not None:
            known, tokens = self.counted
            return tokens + sum(self._block(block) for turn in self.turns[known:] for block in turn.blocks)
        shown = [turn for turn in self.turns if turn.id not in self.hidden]
        total = sum(self._block(block, as_sent=True) for turn in shown for block in turn.blocks)
        specs = [(each.name, each.description, json.dumps(each.parameters)) for each in tools()]
        return total + estimated(SYSTEM) + sum(estimated(text) for spec in specs for text in spec)

    def _block(self, block: Any, *, as_sent: bool = False) -> int:
        if isinstance(block, ToolCallBlock):
            return estimated(block.name) + estimated(json.dumps(block.input, ensure_ascii=False))
        if isinstance(block, ToolResultBlock):
            if as_sent and block.call_id in self.left_out:
                return estimated(self.left_out[block.call_id])
            return sum(estimated(part.text) for part in block.parts)
        if isinstance(block, CompactSummaryBlock):
            return estimated(f"{SUMMARY_HEAD}\n\n{block.text}") if as_sent else estimated(block.text)
        return estimated(block.text)

    def _prunable(self) -> tuple[frozenset[str] | None, int]:
        found: dict[str, int] = {}
        newer, answered, shown_later = 0, False, set()
        for turn in reversed(self.turns):
            for result in reversed(turn.tool_results):
                call, tokens = self.calls[result.call_id], self._block(result)
                subject, again = subject_of(call, result), False
                sent = turn.id not in self.hidden and result.call_id not in self.left_out
                if subject in shown_later:
                    again = True
                elif sent and subject is not None and not result.metadata.get("read", {}).get("partial"):
                    shown_later.add(subject)
                if not sent:
                    continue
                recent, newer = newer < 40_000, newer + tokens
                if not answered or tokens < 50:
                    continue
                if result.metadata.get("useless"):
                    found[call.id] = tokens - estimated("[Left out: nothing was found.]")
                elif again:
                    found[call.id] = tokens - estimated("[Left out: a later call shows the same, newer.]")
                elif not recent:
                    text = f'about {tokens:,} tokens; read_output(call_id="{call.id}") shows it'
                    found[call.id] = tokens - estimated(f"[Left out to save room: {text}.]")
            answered = answered or (turn.role == "assistant" and turn.injected is None)
        found = {call_id: saved for call_id, saved in found.items() if saved > 0}
        saved = sum(found.values())
        return (frozenset(found), saved) if saved >= 20_000 else (None, 0)


def subject_of(call: ToolCallBlock, result: ToolResultBlock) -> tuple[Any, ...] | None:
    """What a call looked at, if a later look at the same is worth as much."""
    if call.name == "read_file":
        read = result.metadata["read"]
        return call.name, read["path"], read["offset"], read["limit"]
    if call.name in {"glob", "inspect_variable"}:
        return call.name, json.dumps(call.input, sort_keys=True)
    return None


# --- three hundred answers ------------------------------------------------------------------------


@dataclass
class Long:
    """The long conversation, as it went."""

    service: CachedService
    watched: Watched
    turns: tuple[Turn, ...]
    path: Path
    cwd: Path


@pytest.fixture(scope="module", params=[100_000, 130_000])
def long(request, tmp_path_factory) -> Long:
    """In the smaller window it is mostly summaries that make room, in the larger one mostly old outputs left out."""
    folder = tmp_path_factory.mktemp("long")
    plan = steps(make_files(folder / "work"), ANSWERS)
    service = CachedService(lambda _: next(plan), request.param, inspect=check_anthropic)
    session = Session.create(folder / "sessions")
    agent = new_agent(service, session, folder / "work")
    watched = Watched(service)
    agent.hooks.on("*", watched)

    async def talk() -> None:
        while len(service.answered) < ANSWERS:
            number = len(session.runs) + 1
            await agent.run(
                f"Question {number}: what is in the tables, and what does it say about @frame_{number % 7}?"
            )
        await agent.aclose()

    asyncio.run(talk())
    return Long(service, watched, session.turns, session.path, folder / "work")


@pytest.mark.slow
def test_what_was_sent_is_sent_again_byte_for_byte_and_read_from_the_cache(long):
    repeated = read = prompts = 0
    pairs = list(pairwise(long.service.answered))
    undeclared = [(before, after) for before, after in pairs if not long.watched.declared(before, after)]
    for before, after in undeclared:
        assert after.pieces[: len(before.pieces)] == before.pieces
        repeated += before.tokens
        read += after.usage.cache_read
        prompts += after.tokens
    assert len(undeclared) > 0.8 * len(pairs)
    assert read >= 0.95 * repeated
    assert read == repeated  # with a service that rounds nothing
    assert read > 0.9 * prompts  # the rest had never been sent before
    assert not long.watched.of("cache:break")
    print(f"{long.service.window:,}: read {read / prompts:.3f} of all prompts, {read / repeated:.3f} of what was known")


@pytest.mark.slow
def test_a_summary_reads_the_conversation_from_the_cache(long):
    exchanges = long.service.exchanges
    for at, each in enumerate(exchanges):
        if not each.is_summary:
            continue
        before = exchanges[at - 1]
        if long.watched.declared(before, each):
            continue  # old outputs were left out first
        assert each.pieces[: len(before.pieces)] == before.pieces
        assert each.usage.cache_read == before.tokens


@pytest.mark.slow
def test_every_request_fits_and_is_one_the_service_takes(long):
    # `check_anthropic` has looked at each of them.
    assert len(long.service.answered) == ANSWERS
    assert not any(each.refused for each in long.service.exchanges)
    assert max(each.tokens for each in long.service.exchanges) <= long.service.window
    assert not long.watched.of("hook:failed")
    assert {event.reason for event in long.watched.of("compact:start")} <= {"auto"}
    assert {event.status for event in long.watched.of("agent:done")} == {"completed"}


@pytest.mark.slow
def test_room_is_made_exactly_when_the_rules_say(long):
    judge, wanted, found = Judge(long.service.window), [], []
    whys = [event.why for event in long.watched.of("context:pruned")]
    now = Decision()
    expected: Decision | None = None
    for line in entries(long.path, ("turn", "custom")):
        if line["type"] == "custom":
            if line["kind"] != "elide":
                continue
            if whys.pop(0) == "old tool outputs":
                expected = expected or judge.decide()
                now = replace(now, pruned=frozenset(line["data"]["results"]))
            judge.elide(line["data"]["results"])
            continue
        turn = turn_from_json(line["turn"])
        is_marker = any(isinstance(block, CompactSummaryBlock) for block in turn.blocks)
        is_answer = turn.role == "assistant" and turn.injected is None
        if is_marker:
            expected = expected or judge.decide()
            now = replace(now, compacted=True)
        elif is_answer:
            wanted.append(expected or judge.decide())
            found.append(now)
            now, expected = Decision(), None
        judge.add(turn, is_answer=is_answer)
    assert len(found) == ANSWERS
    assert found == wanted
    made = sum(each.compacted for each in found), sum(each.pruned is not None for each in found)
    assert made[0] == len(long.watched.of("compact:end"))
    assert made[0] >= 5
    assert made[1] >= (5 if long.service.window > 100_000 else 0)


@pytest.mark.slow
def test_nothing_that_was_said_is_missing_in_the_file(long):
    said: dict[str, Turn] = {}
    for _, event in long.watched.events:
        if event.name in {"turn:user", "turn:after"}:
            said[event.turn.id] = event.turn
        elif event.name == "turn:boundary" and event.results is not None:
            said[event.results.id] = event.results
        elif event.name == "compact:end":
            said[event.summary_turn.id] = event.summary_turn
    kept = [turn_from_json(line["turn"]) for line in entries(long.path)]
    by_id = {turn.id: turn for turn in kept}
    summaries = [event.summary_turn.id for event in long.watched.of("compact:end")]
    for turn_id, turn in said.items():
        # A summary is told as it was made, the others as they were stored.
        assert by_id[turn_id] == (replace(turn, parent_id=by_id[turn_id].parent_id) if turn_id in summaries else turn)
    restored = [turn for turn in kept if turn.injected == "restore"]
    assert len(said) + len(restored) == len(kept)
    assert 2 <= len(restored) <= 2 * len(summaries)  # as far as there is room for it
    results = {result.call_id: result.text for turn in kept for result in turn.tool_results}
    ran = long.watched.of("tool:after")
    assert len(ran) > ANSWERS
    assert all(results[event.ids.call_id] == event.result.text for event in ran)
    with Session.open(long.path) as again:
        assert again.turns == long.turns == tuple(kept)
        assert again.repairs == ()


@pytest.mark.slow
def test_the_usage_told_is_what_the_service_counted(long):
    counted = sum((each.usage for each in long.service.exchanges if each.usage is not None), Usage())
    told = sum((event.usage for event in long.watched.of("agent:done")), Usage())
    with Session.open(long.path) as again:
        assert told == counted == again.usage


@pytest.mark.slow
def test_another_process_makes_the_same_bytes_of_the_file(long):
    """Hashes of texts, and so the order of sets, differ from process to process."""
    code = f"from tests.agent.test_long_sessions import last_body; print(last_body({str(long.path)!r}))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == long.service.answered[-1].sha256


def last_body(path: str) -> str:
    """Hash of the request that the last answer of a session was the answer to."""
    with Session.open(Path(path)) as session:
        turns = wire_turns(session.turns[:-1], state=session.wire_state)
    specs = tuple(each.spec for each in tools())
    return hashlib.sha256(RequestEncoder("anthropic").encode(Request(MODEL, SYSTEM, turns, specs))).hexdigest()


@pytest.mark.slow
def test_a_new_agent_on_the_file_goes_on_from_the_cache(long, tmp_path):
    copied = tmp_path / "sessions" / long.path.name
    copied.parent.mkdir()
    shutil.copy(long.path, copied)
    service = CachedService(lambda _: ["Yes."], long.service.window, inspect=check_anthropic, like=long.service)
    agent = new_agent(service, Session.open(copied), long.cwd)
    watched = Watched(service)
    agent.hooks.on("*", watched)
    last = long.service.answered[-1]

    async def talk() -> None:
        await agent.run("And now?")
        await agent.aclose()

    asyncio.run(talk())
    assert not any(changes(event) for _, event in watched.events)
    assert service.answered[0].pieces[: len(last.pieces)] == last.pieces
    assert service.answered[0].usage.cache_read == last.tokens

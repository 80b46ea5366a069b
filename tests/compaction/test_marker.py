"""The turn that carries a summary."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from zidane_lab.compaction.marker import summary_turn
from zidane_lab.compaction.scope import Tail
from zidane_lab.session.session import Session
from zidane_lab.turns import CompactSummaryBlock, Turn, Usage, turn_from_json, turn_to_json

MOMENT = datetime(2026, 11, 30, 12, 0, 0, 500_000, tzinfo=UTC)
USAGE = Usage(input=100, output=10, cost=0.5)


def made(**options):
    return summary_turn(
        "What happened.",
        replaces=("t1", "t2"),
        model="anthropic/m",
        usage=USAGE,
        scope=Tail(4),
        before=9_000,
        after=900,
        compacted_at=MOMENT,
        turn_id="turn_s",
        **options,
    )


def test_one_block_in_a_user_turn():
    turn = made(run_id="run_1")
    (block,) = turn.blocks
    assert (turn.role, turn.id, turn.created_at, turn.run_id) == ("user", "turn_s", MOMENT, "run_1")
    assert (block.text, block.replaces) == ("What happened.", ("t1", "t2"))
    assert block.metadata == {
        "model": "anthropic/m",
        "scope": "tail 4",
        "usage": {"input": 100, "output": 10, "cache_read": 0, "cache_creation": 0, "reasoning": 0, "cost": 0.5},
        "before": 9_000,
        "after": 900,
        "compacted_at": "2026-11-30T12:00:00.500+00:00",
    }


def test_it_is_plain_json_and_reads_back():
    turn = made(details={"dropped": ["t0"]})
    assert turn_from_json(json.loads(json.dumps(turn_to_json(turn)))) == turn


def test_the_same_id_and_time_give_the_same_bytes():
    assert json.dumps(turn_to_json(made())) == json.dumps(turn_to_json(made()))


def test_without_them_each_is_its_own():
    one, two = (summary_turn("s", replaces=(), model="m", usage=USAGE) for _ in range(2))
    assert one.id != two.id
    assert one.created_at.tzinfo is not None


def test_what_a_summary_cost_is_part_of_what_the_session_cost():
    session = Session.memory()
    session.append(made(spent=USAGE + USAGE))
    assert session.usage == USAGE + USAGE
    assert session.turns[0].model == "anthropic/m"


def test_an_unknown_cost_is_left_out():
    turn: Turn = summary_turn("s", replaces=(), model="m", usage=Usage(input=1))
    block = turn.blocks[0]
    assert isinstance(block, CompactSummaryBlock)
    assert "cost" not in block.metadata["usage"]

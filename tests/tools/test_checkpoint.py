"""Which checkpoint is open, and what a detour did to the variables."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.checkpoint import CHECKPOINT, REWIND, Drift, behind, drift_in, open_checkpoint
from zidane_lab.turns import TextBlock, ToolResultBlock, Turn

SET = {CHECKPOINT: {"goal": "why"}}


def answered(turn_id, *metadata, run_id="run_1", is_error=False):
    blocks = tuple(ToolResultBlock(f"{turn_id}-{n}", (), is_error, each) for n, each in enumerate(metadata))
    return Turn("user", blocks, id=turn_id, run_id=run_id)


def test_one_is_open_from_its_result_until_the_run_goes_back():
    turns = [answered("a", SET), answered("b", {})]
    assert open_checkpoint(turns, "run_1").turn_id == "a"
    assert open_checkpoint(turns, "run_2") is None
    assert open_checkpoint([*turns, answered("c", {REWIND: {}})], "run_1") is None
    assert open_checkpoint([*turns, answered("c", {REWIND: {}}, is_error=True)], "run_1").goal == "why"
    assert open_checkpoint([*turns, answered("c", {REWIND: {}}), answered("d", SET)], "run_1").turn_id == "d"
    assert open_checkpoint([answered("a", SET, is_error=True)], "run_1") is None
    assert open_checkpoint([answered("a", {CHECKPOINT: "damaged"})], "run_1") is None


def test_behind_a_turn():
    turns = [answered("a"), answered("b"), answered("c")]
    assert [each.id for each in behind(turns, "a")] == ["b", "c"]
    assert behind(turns, "x") == ()


def ran(**names):
    return answered("t", {"execution": names})


names = st.sampled_from("abcd")


@given(
    st.dictionaries(names, st.integers(0, 3)),
    st.lists(st.dictionaries(names, st.none() | st.integers(0, 9)), max_size=6),
)
def test_the_evidence_adds_up_to_the_difference(before, pieces):
    """Each piece binds names to numbers or deletes them (``None``); every binding counts as a change."""
    now, turns, rebound = dict(before), [], set()
    for piece in pieces:
        old = dict(now)
        for name, value in piece.items():
            if value is None:
                now.pop(name, None)
            else:
                now[name] = value
        bound = {name for name, value in piece.items() if value is not None}
        rebound |= bound
        turns.append(ran(
            created=sorted(bound - set(old)), changed=sorted(bound & set(old)), deleted=sorted(set(old) - set(now)),
        ))  # fmt: skip
    drift = drift_in(turns)
    assert set(drift.made) == set(now) - set(before)
    assert set(drift.changed) == set(now) & set(before) & rebound
    assert set(drift.deleted) == set(before) - set(now)


def test_damaged_evidence_is_none():
    damaged = ["x", {"created": "abc", "changed": [1, None], "deleted": {"a": 1}}, None]
    turns = [answered("t", {"execution": each}) for each in damaged]
    assert drift_in([*turns, Turn("user", (TextBlock("hi"),))]) == Drift()

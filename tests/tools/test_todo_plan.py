"""A plan: what holds of its steps, the checklist it is written as, and where it is found again."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolInputError
from zidane_lab.session.session import Session
from zidane_lab.tools.todo_plan import (
    MOST_CHARACTERS,
    MOST_STEPS,
    TODOS,
    Todo,
    checked,
    edit_turn,
    from_markdown,
    plan_in,
    read_todos,
    to_json,
    to_markdown,
)
from zidane_lab.turns import CustomBlock, ToolCallBlock, ToolResultBlock, Turn, turn_from_json, turn_to_json

STATUSES = ("pending", "in_progress", "completed", "blocked", "dropped")


def steps(*found):
    """Steps written ``"status content"``, ``"status content @phase"``."""
    made = []
    for text in found:
        status, _, rest = text.partition(" ")
        content, _, phase = rest.partition(" @")
        made.append(Todo(content, status, phase))
    return tuple(made)


def test_one_step_is_in_progress_as_long_as_there_is_something_to_do():
    assert [each.status for each in checked(steps("completed a", "pending b", "pending c"))] == [
        "completed",
        "in_progress",
        "pending",
    ]
    assert [each.status for each in checked(steps("pending a", "in_progress b"))] == ["pending", "in_progress"]
    assert [each.status for each in checked(steps("blocked a", "dropped b"))] == ["blocked", "dropped"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (steps("in_progress a", "in_progress b"), "2 steps are in progress: a; b"),
        (steps("pending a", "pending  "), "Step 2 says nothing"),
        (steps("pending " + "a" * (MOST_CHARACTERS + 1)), "longer than"),
        (steps("pending a @" + "p" * (MOST_CHARACTERS + 1)), "longer than"),
        (steps(*["pending a"] * (MOST_STEPS + 1)), "at most"),
    ],
)
def test_what_makes_no_plan_is_refused(wrong, why):
    with pytest.raises(ToolInputError, match=why):
        checked(wrong)


def test_a_plan_is_written_as_a_checklist():
    plan = checked(steps("completed look", "in_progress clean @Data", "blocked ask @Data", "dropped plot @Show"))
    assert to_markdown(plan) == ("- [x] look\n\n## Data\n- [/] clean\n- [!] ask\n\n## Show\n- [-] plot")


def test_steps_of_a_phase_stand_together_those_of_none_first():
    plan = checked(steps("pending a @One", "pending b @Two", "pending c @One", "pending d"))
    assert [each.content for each in plan] == ["d", "a", "c", "b"]


texts = st.text(max_size=40)
any_step = st.builds(Todo, texts, st.sampled_from([each for each in STATUSES if each != "in_progress"]), texts)


@given(st.lists(any_step, max_size=8), st.integers(0, 9))
def test_a_checklist_reads_back_as_the_same_plan(found, working):
    found = [each for each in found if each.content.split()]
    if working < len(found):
        found[working] = dataclasses.replace(found[working], status="in_progress")
    plan = checked(found)
    assert from_markdown(to_markdown(plan)) == plan
    assert checked(plan) == plan
    assert read_todos(json.loads(json.dumps(to_json(plan)))) == plan


def test_a_persons_checklist_is_read_as_they_write_it():
    plan = from_markdown("# Data\n\n* [X] load\n  - [ ] clean\n")
    assert plan == (Todo("load", "completed", "Data"), Todo("clean", "in_progress", "Data"))


@pytest.mark.parametrize("line", ["just text", "- no box", "- [?] odd", "- [ ]", "1. [ ] numbered"])
def test_other_lines_are_refused_and_named(line):
    with pytest.raises(ToolInputError, match="no step of a checklist"):
        from_markdown(f"- [ ] fine\n{line}")


@pytest.mark.parametrize(
    "damaged",
    [None, "x", {"a": 1}, [1], [{"content": "a"}], [{"content": 1, "status": "pending"}], [{"content": "a", "status": "?"}],
     [{"content": "a", "status": "pending", "phase": 3}], [{"content": "a", "status": ["pending"]}]],
)  # fmt: skip
def test_damaged_steps_are_no_plan(damaged):
    assert read_todos(damaged) is None
    turn = Turn("user", (ToolResultBlock("c", metadata={TODOS: damaged}),))
    assert plan_in([turn]).todos == ()


def wrote(session, call_id, *found, is_error=False, run_id="run_1"):
    session.append(Turn("assistant", (ToolCallBlock(call_id, "todowrite"),), run_id=run_id))
    kept = {TODOS: to_json(checked(steps(*found)))}
    return session.append(Turn("user", (ToolResultBlock(call_id, is_error=is_error, metadata=kept),), run_id=run_id))


def contents(session):
    return [each.content for each in plan_in(session.turns).todos]


def test_the_plan_is_the_one_written_last_on_the_branch():
    session = Session.memory()
    first = wrote(session, "c1", "pending a")
    wrote(session, "c2", "completed a", "pending b")
    wrote(session, "c3", "pending wrong", is_error=True)
    assert contents(session) == ["a", "b"]
    session.move_to(first.id)
    assert contents(session) == ["a"]
    session.move_to(None)
    assert contents(session) == []


def test_the_last_of_several_in_one_answer_counts():
    results = tuple(ToolResultBlock(f"c{n}", metadata={TODOS: to_json(steps(f"pending {n}"))}) for n in range(3))
    assert [each.content for each in plan_in([Turn("user", results)]).todos] == ["2"]


def test_a_finished_plan_ends_with_the_run_that_wrote_it():
    session = Session.memory()
    wrote(session, "c1", "completed a", "dropped b", run_id="run_1")
    plan = plan_in(session.turns)
    assert not plan.is_open
    assert len(plan.in_run("run_1")) == 2
    assert plan.in_run("run_2") == ()
    wrote(session, "c2", "completed a", "blocked b", run_id="run_1")
    assert len(plan_in(session.turns).in_run("run_2")) == 2


def test_a_person_changes_the_plan_in_words_the_model_reads():
    session = Session.memory()
    wrote(session, "c1", "pending a")
    turn = session.append(edit_turn(checked(steps("dropped a", "pending b"))))
    assert "- [-] a\n- [/] b" in turn.text
    assert contents(session) == ["a", "b"]
    assert turn_from_json(turn_to_json(turn)) == turn
    session.append(edit_turn(()))
    assert contents(session) == []
    assert "dropped the plan" in session.turns[-1].text


def test_somebody_elses_block_is_no_plan():
    assert plan_in([Turn("user", (CustomBlock("other", {TODOS: to_json(steps("pending a"))}),))]).todos == ()

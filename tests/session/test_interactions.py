"""What was asked and what became of it is a fold over records: the first answer that fits wins."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ConfigurationError
from zidane_lab.session.interaction_answers import asked_questions
from zidane_lab.session.interactions import (
    INTERACTION,
    INTERACTION_ANSWER,
    Interaction,
    InteractionAnswer,
    answer_record,
    checked,
    interaction_record,
    interactions,
    interactions_in,
    new_interaction,
    pending_in,
)
from zidane_lab.session.session import Session
from zidane_lab.turns import TextBlock, ToolCallBlock, Turn

APPROVAL = Interaction("ask_1", "approval", {"tool": "shell", "choices": ["once", "session", "deny"], "hunks": 2})
QUESTIONS = Interaction(
    "ask_2",
    "question",
    {
        "questions": [
            {"id": "lib", "type": "choice", "question": "Which?", "options": [{"label": "a"}, {"label": "b"}]},
            {"id": "all", "type": "multi", "question": "All?", "options": [{"label": "x"}, {"label": "y"}]},
            {"id": "sure", "type": "confirm", "question": "Sure?"},
            {"id": "why", "type": "text", "question": "Why?"},
        ]
    },
)
PLAN = Interaction("ask_3", "plan", {"title": "t", "steps": [{"title": "one"}, {"title": "two"}]})
FULL = {"lib": "a", "all": {"selected": ["y", "x"]}, "sure": True, "why": " because "}


def answers(**changed):
    return {"answers": {**FULL, **changed}}


# --- what fits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interaction", "value", "full"),
    [
        (APPROVAL, {"decision": "deny", "reason": " no "}, {"decision": "deny", "reason": "no"}),
        (
            APPROVAL,
            {"decision": "once", "hunks": [True, False]},
            {"decision": "once", "reason": "", "hunks": [True, False]},
        ),
        (QUESTIONS, {"declined": True}, {"declined": True, "reason": ""}),
        (
            QUESTIONS,
            answers(),
            {"answers": {"lib": {"selected": ["a"]}, "all": {"selected": ["y", "x"]}, "sure": True, "why": "because"}},
        ),
        (
            QUESTIONS,
            answers(lib={"selected": [], "other": "c"}, all={"selected": []}),
            {
                "answers": {
                    "lib": {"selected": [], "other": "c"},
                    "all": {"selected": []},
                    "sure": True,
                    "why": "because",
                }
            },
        ),
        (PLAN, {"decision": "approve"}, {"decision": "approve", "reason": ""}),
        (
            PLAN,
            {"decision": "edit", "steps": ["one ", "", "three"]},
            {"decision": "edit", "reason": "", "steps": ["one", "three"]},
        ),
    ],
)
def test_answers_that_fit_are_put_in_full(interaction, value, full):
    assert checked(interaction, value) == full
    assert checked(interaction, full) == full


@pytest.mark.parametrize(
    ("interaction", "value"),
    [
        (APPROVAL, "yes"),
        (APPROVAL, {}),
        (APPROVAL, {"decision": "always"}),
        (APPROVAL, {"decision": "once", "hunks": [True]}),
        (APPROVAL, {"decision": "once", "hunks": [1, 0]}),
        (APPROVAL, {"decision": "deny", "reason": 3}),
        (QUESTIONS, {"answers": {}}),
        (QUESTIONS, answers(lib="c")),
        (QUESTIONS, answers(lib={"selected": ["a", "b"]})),
        (QUESTIONS, answers(lib={"selected": ["a"], "other": "c"})),
        (QUESTIONS, answers(all={"selected": [["x"]]})),
        (QUESTIONS, answers(sure="yes")),
        (QUESTIONS, answers(why="  ")),
        (QUESTIONS, answers(nobody="asked")),
        (PLAN, {"decision": "edit"}),
        (PLAN, {"decision": "edit", "steps": [" "]}),
        (PLAN, {"decision": "once"}),
        (PLAN, None),
    ],
)
def test_answers_that_do_not_fit_are_told_why(interaction, value):
    with pytest.raises(ConfigurationError, match="does not answer it"):
        checked(interaction, value)


def test_an_index_of_no_option_recommends_nothing():
    payload = {"questions": [{"id": "q", "type": "choice", "options": [{"label": "a"}], "recommended": n} for n in (1, -1, True, "0", 0)]}  # fmt: skip
    assert [question.recommended for question in asked_questions(payload)] == [None, None, None, None, 0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(["decision", "reason", "hunks", "answers", "declined", "steps"])


@given(st.sampled_from([APPROVAL, QUESTIONS, PLAN]), st.dictionaries(KEYS, JSON) | JSON)
def test_whatever_is_answered_either_fits_or_is_refused_in_words(interaction, value):
    try:
        full = checked(interaction, value)
    except ConfigurationError:
        return
    assert checked(interaction, json.loads(json.dumps(full))) == full


# --- the fold ---------------------------------------------------------------------------------------


def fold(*answers):
    asked = [interaction_record(each) for each in (APPROVAL, QUESTIONS, PLAN)]
    return interactions(asked, [answer_record(each) for each in answers])


def decided(decision, by="widget"):
    return InteractionAnswer("ask_1", {"decision": decision, "reason": ""}, by)


def test_the_first_valid_answer_wins_and_later_ones_are_late():
    state = fold(decided("always"), decided("deny", "panel"), decided("once", "stdin"))
    assert state.answers["ask_1"].by == "panel"
    assert [answer.value["decision"] for answer in state.late] == ["always", "once"]
    assert [each.id for each in state.pending] == ["ask_2", "ask_3"]
    assert [each.id for each, _ in state.answered] == ["ask_1"]


def test_what_ended_without_an_answer_is_neither_pending_nor_answered():
    state = fold(InteractionAnswer("ask_1", None, "stop"), decided("once"))
    assert state.closed == {"ask_1"}
    assert state.answers == {}
    assert [answer.by for answer in state.late] == ["widget"]


def test_damaged_and_foreign_records_are_passed_over():
    records = [{}, {"id": 3}, {"id": "x", "kind": "poll", "payload": {}}, {"id": "y", "kind": "plan", "payload": 1}]
    state = interactions([*records, interaction_record(PLAN)], [{}, {"id": "nobody"}, {"id": "ask_3", "value": "yes"}])
    assert list(state.asked) == ["ask_3"]
    assert state.pending == (PLAN,)


@given(st.lists(st.dictionaries(st.sampled_from(["id", "kind", "payload", "value", "by"]), JSON), max_size=5))
def test_no_record_upsets_the_fold(records):
    state = interactions(records, records)
    assert set(state.answers) <= set(state.asked)


def test_a_question_outlives_the_process_that_asked_it(tmp_path):
    with Session.create(tmp_path) as session:
        session.append(Turn("user", (TextBlock("go"),)))
        session.append(Turn("assistant", (ToolCallBlock("call_1", "shell", {"command": "rm x"}),)))
        asked = new_interaction("approval", APPROVAL.payload, run_id="run_1", call_id="call_1")
        session.record(INTERACTION, interaction_record(asked))
        session.record(INTERACTION, interaction_record(new_interaction("budget", {})))
        path = session.path
    with Session.open(path) as session:
        assert pending_in(session) == (asked,)
        session.record(INTERACTION_ANSWER, answer_record(InteractionAnswer(asked.id, {"decision": "once"}, "command")))
        assert pending_in(session) == ()
        assert interactions_in(session).answers[asked.id].by == "command"


def test_a_question_of_a_call_that_was_answered_otherwise_is_not_pending():
    session = Session.memory()
    session.append(Turn("user", (TextBlock("go"),)))
    session.append(Turn("assistant", (ToolCallBlock("call_1", "shell", {}),)))
    session.record(INTERACTION, interaction_record(new_interaction("plan", PLAN.payload, call_id="call_1")))
    assert len(pending_in(session)) == 1
    session.close_calls()
    assert pending_in(session) == ()

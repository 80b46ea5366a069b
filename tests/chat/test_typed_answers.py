"""What people type is read the same at an input box, in a terminal and behind ``/answer``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.approvals.decisions import Question
from zidane_lab.chat.interacting import question_payload
from zidane_lab.chat.typed_answers import ask_typed, described, how_to_answer, read_typed
from zidane_lab.errors import ConfigurationError
from zidane_lab.session.interactions import Interaction, checked

CHOICES = ("once", "session", "always", "deny")
SHELL = Question("shell", "clean up", "rm x", ("deletes x",), ("shell:rm:*",), choices=CHOICES)
APPROVAL = Interaction("ask_1", "approval", question_payload(SHELL))
PARTS = Interaction("ask_2", "approval", question_payload(Question("multi_edit", "", "a.py", hunks=3)))
CHOICE = {
    "id": "lib",
    "type": "choice",
    "question": "Which?",
    "options": [{"label": "pandas", "description": "known"}, {"label": "polars"}],
    "recommended": 1,
}
MULTI = {"id": "cols", "type": "multi", "question": "Columns?", "options": [{"label": "10"}, {"label": "b"}]}
TEXT = {"id": "why", "type": "text", "question": "Why?"}
CONFIRM = {"id": "sure", "type": "confirm", "question": "Sure?"}


def question(*questions):
    return Interaction("ask_3", "question", {"questions": list(questions)})


STEPS = [{"title": "Read", "details": "the file"}, {"title": "Drop"}]
PLAN = Interaction("ask_4", "plan", {"title": "Clean", "summary": "in two steps", "steps": STEPS})


def lines(*typed):
    """Read typed lines one after another, and keep the prompts."""
    waiting, prompts = list(typed), []

    async def read(prompt):
        prompts.append(prompt)
        return waiting.pop(0) if waiting else None

    return read, prompts


# --- behind /answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "decision", "reason"),
    [
        ("yes", "once", ""),
        ("Y", "once", ""),
        ("once", "once", ""),
        ("session", "session", ""),
        ("a", "always", ""),
        ("no", "deny", ""),
        ("no it is huge", "deny", "it is huge"),
        ("deny too early", "deny", "too early"),
        ("n, later", "deny", "later"),
    ],
)
def test_decisions(text, decision, reason):
    assert read_typed(APPROVAL, text) == {"decision": decision, "reason": reason}


@pytest.mark.parametrize("text", ["", "maybe", "yesterday", "of course"])
def test_what_decides_nothing_is_sent_back(text):
    with pytest.raises(ConfigurationError):
        read_typed(APPROVAL, text)


def test_more_than_was_offered_is_not_given():
    once = Interaction("ask_1", "approval", question_payload(Question("shell", "", "rm x")))
    assert read_typed(once, "always")["decision"] == "deny"


def test_parts_of_a_change_are_allowed_by_number():
    assert read_typed(PARTS, "1, 3")["hunks"] == [True, False, True]
    with pytest.raises(ConfigurationError):
        read_typed(PARTS, "4")
    assert "NUMBERS" in how_to_answer(PARTS)


@pytest.mark.parametrize(
    ("asked", "text", "answer"),
    [
        (CHOICE, "1", {"selected": ["pandas"]}),
        (CHOICE, "POLARS", {"selected": ["polars"]}),
        (CHOICE, "dask, if you can", {"selected": [], "other": "dask, if you can"}),
        (MULTI, "2, 10", {"selected": ["b", "10"]}),
        (MULTI, "1", {"selected": ["10"]}),
        (MULTI, "10", {"selected": ["10"]}),
        (TEXT, " a report ", "a report"),
        (CONFIRM, "Yes", True),
        (CONFIRM, "n", False),
    ],
)
def test_answers_to_one_question(asked, text, answer):
    assert read_typed(question(asked), text) == {"answers": {asked["id"]: answer}}


def test_a_number_of_no_option_is_sent_back():
    with pytest.raises(ConfigurationError, match="no option of lib"):
        read_typed(question(CHOICE), "7")
    with pytest.raises(ConfigurationError, match="neither yes nor no"):
        read_typed(question(CONFIRM), "perhaps")


@pytest.mark.parametrize(
    "text", ["lib: 2\nsure: yes\nwhy: to: see", "lib=2; sure=yes; why=to: see", '{"answers": {"lib": "polars", "sure": true, "why": "to: see"}}']
)  # fmt: skip
def test_several_questions_are_answered_by_their_ids(text):
    answers = read_typed(question(CHOICE, CONFIRM, TEXT), text)["answers"]
    assert answers == {"lib": {"selected": ["polars"]}, "sure": True, "why": "to: see"}


@pytest.mark.parametrize("text", ["polars", "lib 2", "lib: 2", "other: 3\nlib: 2", "{", "{}"])
def test_several_questions_need_all_their_answers(text):
    with pytest.raises(ConfigurationError):
        read_typed(question(CHOICE, CONFIRM), text)


def test_a_question_may_be_declined():
    assert read_typed(question(CHOICE), "/skip you decide") == {"declined": True, "reason": "you decide"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("approve", {"decision": "approve", "reason": ""}),
        ("ok, but hurry", {"decision": "approve", "reason": "but hurry"}),
        ("reject too early", {"decision": "reject", "reason": "too early"}),
        ("edit\n1. Read\n2. Count", {"decision": "edit", "reason": "", "steps": ["Read", "Count"]}),
        ("edit Read; Count", {"decision": "edit", "reason": "", "steps": ["Read", "Count"]}),
    ],
)
def test_plans(text, value):
    assert read_typed(PLAN, text) == value


@given(st.sampled_from([APPROVAL, PARTS, PLAN, question(CHOICE), question(CHOICE, TEXT)]), st.text(max_size=30))
def test_whatever_is_typed_is_an_answer_that_fits_or_is_sent_back(interaction, text):
    try:
        value = read_typed(interaction, text)
    except ConfigurationError:
        return
    assert checked(interaction, value) == value


# --- line by line -----------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize(("typed", "decision"), [("y", "once"), ("", "deny"), ("s", "session"), ("hm", "deny")])
async def test_a_decision_is_one_line_and_anything_else_is_a_no(typed, decision):
    read, prompts = lines(typed)
    assert (await ask_typed(APPROVAL, read))["decision"] == decision
    assert "deletes x" in prompts[0]
    assert "Session or always would allow" in prompts[0]


@pytest.mark.asyncio
async def test_questions_are_asked_one_by_one():
    read, prompts = lines("", "2", "no", "because")
    value = await ask_typed(question(CHOICE, MULTI, CONFIRM, TEXT), read)
    assert value["answers"] == {"lib": {"selected": ["polars"]}, "cols": {"selected": ["b"]}, "sure": False, "why": "because"}  # fmt: skip
    assert prompts[0].startswith("(1 of 4) Which?\n  1. pandas: known\n  2. polars (Recommended)\n")
    assert prompts[0].endswith("[2]: ")


@pytest.mark.asyncio
async def test_what_does_not_fit_is_asked_again_and_then_given_up():
    read, prompts = lines("9", "1")
    assert (await ask_typed(question(CHOICE), read))["answers"]["lib"] == {"selected": ["pandas"]}
    assert "9 is no option of lib" in prompts[1]
    read, prompts = lines("", "", "", "never read")
    assert await ask_typed(question(TEXT), read) is None
    assert len(prompts) == 3


@pytest.mark.asyncio
@pytest.mark.parametrize("interaction", [APPROVAL, question(TEXT), PLAN])
async def test_where_nobody_can_type_there_is_no_answer(interaction):
    read, _ = lines()
    assert await ask_typed(interaction, read) is None


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("typed", "value"),
    [
        (["y"], {"decision": "approve", "reason": ""}),
        (["n, too early"], {"decision": "reject", "reason": "too early"}),
        (["not like this"], {"decision": "reject", "reason": "not like this"}),
        (["e", "Read; Count"], {"decision": "edit", "reason": "", "steps": ["Read", "Count"]}),
        (["e", ""], {"decision": "reject", "reason": ""}),
    ],
)
async def test_a_plan_line_by_line(typed, value):
    read, prompts = lines(*typed)
    assert await ask_typed(PLAN, read) == value
    assert "  1. Read\n     the file\n  2. Drop" in prompts[0]


def test_what_a_model_wrote_cannot_repaint_the_question():
    evil = "fine\x1b[2Kreally\r"
    asked = [
        question({**TEXT, "question": evil}),
        Interaction("ask_5", "plan", {"title": evil, "steps": [{"title": evil}]}),
        Interaction("ask_6", "approval", question_payload(Question("shell", evil, evil, (evil,), diff=evil))),
    ]
    for interaction in asked:
        assert "\x1b" not in described(interaction)
        assert "\r" not in described(interaction)

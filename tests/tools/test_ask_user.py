"""``ask_user`` and ``present_plan``: what the model is told, by whoever answered, and when nobody can."""

from __future__ import annotations

import asyncio
import json

import pytest

from zidane_lab.errors import ToolInputError
from zidane_lab.events import Ids
from zidane_lab.session.interactions import InteractionAnswer, checked
from zidane_lab.tools.ask_user import ANSWERS, ask_user_tool
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.present_plan import PLAN, present_plan_tool

LIBRARY = {
    "id": "library",
    "question": "Which library?",
    "options": [{"label": "pandas", "description": "known"}, {"label": "polars (Recommended)"}, {"label": "Other"}],
    "recommended": 1,
}
COLUMNS = {"id": "cols", "question": "Which columns?", "type": "multi", "options": [{"label": "a"}, {"label": "b"}]}
SURE = {"id": "sure", "question": "Overwrite?", "type": "confirm"}
WHY = {"question": "What is it for?"}


class Person:
    """Answers with what it is given, and remembers what it was asked."""

    def __init__(self, value):
        self.value, self.asked = value, []

    async def __call__(self, interaction):
        self.asked.append(interaction)
        if self.value is None:
            return InteractionAnswer(interaction.id)
        return InteractionAnswer(interaction.id, checked(interaction, self.value), "widget")


async def ask(person, *questions, tool=None):
    context = ToolContext(Ids("run_1", call_id="call_1"), interact=person)
    return await (tool or ask_user_tool()).run(context, {"questions": list(questions)})


def said(output):
    return output.parts[0].text


@pytest.mark.asyncio
async def test_one_question_is_answered_in_words_and_as_json():
    person = Person({"answers": {"library": "polars"}})
    output = await ask(person, LIBRARY)
    assert said(output) == 'User selected: polars\n{"answers": {"library": {"selected": ["polars"]}}}'
    assert output.metadata[ANSWERS] == {
        "id": "library",
        "question": "Which library?",
        "options": ["pandas", "polars"],
        "multi": False,
        "selected": ["polars"],
    }
    (asked,) = person.asked
    assert (asked.kind, asked.run_id, asked.call_id) == ("question", "run_1", "call_1")
    assert asked.payload["questions"][0]["options"] == [
        {"label": "pandas", "description": "known"},
        {"label": "polars", "description": ""},
    ]
    assert asked.payload["questions"][0]["recommended"] == 1
    json.dumps(asked.payload)


@pytest.mark.asyncio
async def test_a_text_of_ones_own_is_kept_apart_from_the_options():
    output = await ask(Person({"answers": {"library": {"selected": [], "other": "dask"}}}), LIBRARY)
    assert said(output).startswith("User provided custom input: dask\n")
    assert output.metadata[ANSWERS]["custom"] == "dask"
    assert output.metadata[ANSWERS]["selected"] == []


@pytest.mark.asyncio
async def test_several_questions_are_answered_together_in_the_order_they_were_chosen():
    value = {"answers": {"library": "pandas", "cols": {"selected": ["b", "a"]}, "sure": False, "q4": "a report"}}
    output = await ask(Person(value), LIBRARY, COLUMNS, SURE, WHY)
    lines = said(output).split("\n")
    assert lines[:5] == ["User answers:", "library: pandas", "cols: b, a", "sure: no", "q4: a report"]
    assert json.loads(lines[5])["answers"]["cols"] == {"selected": ["b", "a"]}
    results = output.metadata[ANSWERS]["results"]
    assert [result["selected"] for result in results] == [["pandas"], ["b", "a"], ["no"], []]
    assert results[3]["custom"] == "a report"


@pytest.mark.asyncio
async def test_kinds_of_questions_that_are_not_told_are_clear_from_their_options():
    person = Person(None)
    await ask(person, LIBRARY, {**LIBRARY, "id": "many", "multi": True}, WHY)
    assert [question["type"] for question in person.asked[0].payload["questions"]] == ["choice", "multi", "text"]


@pytest.mark.asyncio
@pytest.mark.parametrize("person", [None, Person(None)])
async def test_without_anybody_the_model_goes_on_with_what_it_recommends(person):
    output = await ask(person, LIBRARY, SURE)
    assert not output.is_error
    assert output.metadata == {"answered": False}
    assert "Nobody can answer now" in said(output)
    assert "(library: polars)" in said(output)
    assert "assumption" in said(output)


@pytest.mark.asyncio
async def test_a_person_may_leave_it_unanswered():
    output = await ask(Person({"declined": True, "reason": "you decide"}), LIBRARY)
    assert "does not want to answer. They said: you decide." in said(output)


@pytest.mark.asyncio
async def test_no_questions_is_an_error_the_model_reads():
    output = await ask(Person(None))
    assert (output.is_error, said(output)) == (True, "Error: questions must not be empty")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([{"question": "?", "type": "choice"}], "no options"),
        ([{"question": "?", "type": "multi", "options": [{"label": "Other"}]}], "no options"),
        ([SURE, SURE], "comes twice"),
    ],
)
async def test_questions_that_cannot_be_asked_are_sent_back(questions, words):
    with pytest.raises(ToolInputError, match=words):
        await ask(Person(None), *questions)


@pytest.mark.asyncio
@pytest.mark.parametrize(("recommended", "chosen"), [(1, "polars"), (7, "pandas")])
async def test_in_time_nobody_answers_and_the_recommended_option_is_marked_as_chosen_for_them(recommended, chosen):
    async def never(_interaction):
        await asyncio.Event().wait()

    output = await ask(never, {**LIBRARY, "recommended": recommended}, tool=ask_user_tool(timeout=0.01))
    assert said(output).startswith(f"User selected: {chosen} (auto-selected after timeout)\n")
    assert output.metadata[ANSWERS]["timed_out"] is True


@pytest.mark.asyncio
async def test_what_is_to_be_written_has_no_timeout():
    async def slow(interaction):
        await asyncio.sleep(0.05)
        return InteractionAnswer(interaction.id, {"answers": {"q1": "x"}}, "widget")

    output = await ask(slow, WHY, tool=ask_user_tool(timeout=0.01))
    assert said(output).startswith("User provided custom input: x")


def test_asking_is_never_gated_and_runs_alone():
    for tool in (ask_user_tool(), present_plan_tool()):
        assert (tool.tier, tool.concurrency_of({})) == ("read", "exclusive")


# --- plans ------------------------------------------------------------------------------------------

STEPS = [{"title": "Read the file"}, {"title": "Drop rows", "details": "where price is missing"}]


async def present(person, steps=STEPS):
    context = ToolContext(Ids("run_1", call_id="call_1"), interact=person)
    return await present_plan_tool().run(context, {"title": "Clean up", "steps": steps})


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("value", "words", "envelope", "steps"),
    [
        ({"decision": "approve"}, "approved the plan", {"decision": "approve"}, ["Read the file", "Drop rows"]),
        (
            {"decision": "edit", "steps": ["Read the file"]},
            "with changes",
            {"decision": "edit", "steps": ["Read the file"]},
            ["Read the file"],
        ),
        (
            {"decision": "reject", "reason": "too early"},
            "They said: too early",
            {"decision": "reject", "reason": "too early"},
            [],
        ),
    ],
)
async def test_what_the_person_decides_about_a_plan(value, words, envelope, steps):
    person = Person(value)
    output = await present(person)
    text, whole = said(output).rsplit("\n", 1)
    assert words in text
    assert json.loads(whole) == envelope
    assert output.metadata[PLAN]["steps"] == steps
    assert person.asked[0].payload["steps"][1] == {"title": "Drop rows", "details": "where price is missing"}


@pytest.mark.asyncio
@pytest.mark.parametrize("person", [None, Person(None)])
async def test_a_plan_nobody_can_approve_is_not_carried_out(person):
    output = await present(person)
    assert "Nobody can approve the plan now" in said(output)
    assert not output.is_error


@pytest.mark.asyncio
async def test_a_plan_without_steps_is_an_error():
    output = await present(Person(None), [])
    assert (output.is_error, said(output)) == (True, "Error: steps must not be empty")


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([{"question": "Which?", "options": [{"label": str(n)} for n in range(10_000)]}], "10000 options"),
        ([{"question": "?"}] * 300, "300 questions"),
        ([{"question": "x" * 100_000}], "characters"),
        ([{"id": "a` <b>", "question": "?"}], "letters, digits"),
        ([{"id": "a: b", "question": "?"}], "letters, digits"),
    ],
)
@pytest.mark.asyncio
async def test_nobody_is_asked_more_than_a_person_can_read(questions, words):
    with pytest.raises(ToolInputError, match=words):
        await ask_user_tool().run(ToolContext(), {"questions": questions})


@pytest.mark.asyncio
async def test_nobody_is_shown_a_plan_without_end():
    for steps in ([{"title": "x"}] * 1_000, [{"title": "x" * 100_000}]):
        with pytest.raises(ToolInputError, match="Nobody reads a plan"):
            await present_plan_tool().run(ToolContext(), {"title": "T", "steps": steps})

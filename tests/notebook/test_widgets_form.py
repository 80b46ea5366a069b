"""Forms and what stays of them, without a page: pressed by hand."""

from __future__ import annotations

import json

import pytest

from zidane_lab.approvals.decisions import Question
from zidane_lab.chat.interacting import question_payload
from zidane_lab.notebook.bundles import MIME
from zidane_lab.notebook.interaction_bundles import asked_bundle, settled_bundle
from zidane_lab.notebook.interactions import CellFront
from zidane_lab.notebook.widgets_form import OTHER, Form
from zidane_lab.secrets.screen import Screen
from zidane_lab.secrets.vault import Vault
from zidane_lab.session.interactions import Interaction, InteractionAnswer

pytest.importorskip("ipywidgets")

EVIL = "<img src=x onerror=alert(1)>\x1b[2K"
CHOICES = ("once", "session", "always", "deny")
APPROVAL = Interaction(
    "ask_0123456789",
    "approval",
    question_payload(
        Question("multi_edit", EVIL, EVIL, (EVIL,), ("shell:rm:*",), f"-{EVIL}\n+b", choices=CHOICES, hunks=2)
    ),
)
QUESTIONS = Interaction(
    "ask_1",
    "question",
    {
        "questions": [
            {"id": "lib", "type": "choice", "question": EVIL, "options": [{"label": "a", "description": "x"}, {"label": "b"}], "recommended": 1},
            {"id": "all", "type": "multi", "question": "Which?", "options": [{"label": "x"}, {"label": "y"}]},
            {"id": "sure", "type": "confirm", "question": "Sure?"},
            {"id": "why", "type": "text", "question": "Why?"},
        ]
    },
)  # fmt: skip
PLAN = Interaction(
    "ask_2", "plan", {"title": EVIL, "summary": EVIL, "steps": [{"title": "one", "details": EVIL}, {"title": "two"}]}
)


class Made:
    """A form, and what was submitted."""

    def __init__(self, interaction):
        self.said = []
        self.form = Form(interaction, self.said.append)

    def all(self, kind, widget=None):
        widget = widget or self.form.widget
        found = [widget] if type(widget).__name__ == kind else []
        return found + [each for child in getattr(widget, "children", ()) for each in self.all(kind, child)]

    def press(self, label):
        next(each for each in self.all("Button") if each.description == label).click()

    @property
    def page(self):
        return "\n".join(each.value for each in self.all("HTML"))


@pytest.mark.parametrize(
    ("label", "decision"),
    [("Allow once", "once"), ("Allow this session", "session"), ("Always here", "always"), ("Deny", "deny")],
)
def test_each_button_decides(label, decision):
    made = Made(APPROVAL)
    made.press(label)
    (value,) = made.said
    assert value["decision"] == decision
    assert value.get("hunks") == (None if decision == "deny" else [True, True])


def test_only_what_is_offered_has_a_button():
    made = Made(Interaction("ask_1", "budget", question_payload(Question("budget", "go on", "limit"))))
    assert [button.description for button in made.all("Button")] == ["Allow once", "Deny"]
    assert made.all("Checkbox") == []


def test_parts_can_be_left_out_and_a_reason_given():
    made = Made(APPROVAL)
    made.all("Checkbox")[1].value = False
    made.all("Text")[0].value = " the second is wrong "
    made.press("Allow once")
    assert made.said == [{"decision": "once", "reason": "the second is wrong", "hunks": [True, False]}]


def test_what_always_would_allow_is_told():
    made = Made(APPROVAL)
    assert "Session and always allow: every `rm …` command" in made.page


@pytest.mark.parametrize("interaction", [APPROVAL, QUESTIONS, PLAN])
def test_foreign_text_stays_text(interaction):
    made = Made(interaction)
    assert "<img" not in made.page
    assert "\x1b" not in made.page
    answer = InteractionAnswer(interaction.id, None, "stop")
    for bundle in (asked_bundle(interaction, made.form.view()), settled_bundle(interaction, answer)):
        assert "<img" not in bundle.get("text/html", "")
        assert "\x1b" not in bundle["text/plain"] + bundle.get("text/html", "")
    json.dumps(asked_bundle(interaction, made.form.view()))


def test_questions_are_read_from_their_fields():
    made = Made(QUESTIONS)
    pick, sure = made.all("RadioButtons")
    assert pick.value == "b"
    assert [label for label, _ in pick.options] == ["a — x", "b (Recommended)", OTHER]
    y, x = made.all("Checkbox")[::-1]
    y.value = True
    x.value = True
    sure.value = False
    made.all("Textarea")[0].value = "because"
    made.press("Send")
    answers = {"lib": {"selected": ["b"]}, "all": {"selected": ["y", "x"]}, "sure": False, "why": "because"}
    assert made.said == [{"answers": answers}]


def test_what_is_missing_is_told_and_nothing_is_sent():
    made = Made(QUESTIONS)
    made.press("Send")
    assert made.said == []
    assert "sure is not decided" in made.page
    made.press("Leave unanswered")
    assert made.said == [{"declined": True, "reason": ""}]


def test_typing_an_answer_of_ones_own_chooses_it():
    made = Made(Interaction("ask_1", "question", {"questions": QUESTIONS.payload["questions"][:1]}))
    made.all("Text")[0].value = "c"
    assert made.all("RadioButtons")[0].value is None
    made.press("Send")
    assert made.said == [{"answers": {"lib": {"selected": [], "other": "c"}}}]


def test_a_plan_is_approved_changed_or_rejected():
    made = Made(PLAN)
    field = made.all("Textarea")[0]
    assert field.layout.display == "none"
    made.press("Approve")
    made.press("Edit…")
    assert field.layout.display == ""
    field.value = "one\n\nthree"
    made.press("Approve")
    made.all("Text")[0].value = "not now"
    made.press("Reject")
    assert [value["decision"] for value in made.said] == ["approve", "edit", "reject"]
    assert made.said[1]["steps"] == ["one", "three"]
    assert made.said[2]["reason"] == "not now"


def test_a_form_is_locked_and_leaves_no_widget_behind():
    from ipywidgets.widgets.widget import _instances

    before = set(_instances)
    made = Made(QUESTIONS)
    made.form.lock()
    assert all(each.disabled for each in (*made.all("Button"), *made.all("RadioButtons"), *made.all("Text")))
    made.form.close()
    assert set(_instances) == before


@pytest.mark.parametrize(
    ("interaction", "value", "words"),
    [
        (APPROVAL, {"decision": "once", "reason": "", "hunks": [True, False]}, ["Allowed once", "parts: 1"]),
        (APPROVAL, {"decision": "deny", "reason": "too early"}, ["Denied", "reason: too early"]),
        (
            QUESTIONS,
            {"answers": {"lib": {"selected": [], "other": "c"}, "all": {"selected": []}, "sure": True, "why": "w"}},
            ["“c”", "Which?: none of them", "Sure?: yes", "Why?: w"],
        ),
        (QUESTIONS, {"declined": True, "reason": ""}, ["Left unanswered"]),
        (PLAN, {"decision": "approve", "reason": ""}, ["Approved", "1: one", "2: two"]),
        (PLAN, {"decision": "edit", "steps": ["three"], "reason": ""}, ["Approved with changes", "1: three"]),
        (PLAN, {"decision": "reject", "reason": "no"}, ["Rejected", "reason: no"]),
        (PLAN, None, ["stopped"]),
    ],
)
def test_what_stays_tells_the_question_and_the_answer(interaction, value, words):
    bundle = settled_bundle(interaction, InteractionAnswer(interaction.id, value, "widget"), "stopped")
    for word in words:
        assert word in bundle["text/plain"]
        assert word.split(": ")[-1] in bundle["text/html"]
    assert bundle[MIME]["answered"] == (value is not None)
    assert set(bundle) == {"text/plain", "text/html", MIME}


def test_what_stays_of_a_form_holds_no_credential():
    key = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    front = CellFront(None, None, "auto", lambda: None, None, masked=Screen(Vault(b"k")).json)
    answer = InteractionAnswer("ask_2", {"decision": "edit", "steps": [f"use {key}"], "reason": key}, "widget")
    bundle = json.dumps(front._settled(PLAN, answer))
    assert key not in bundle
    assert "[secret:github-token:" in bundle

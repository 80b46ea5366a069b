"""What people are asked, and how they write the answer; what front ends can ask for."""

from __future__ import annotations

from parts.text import table


def how_to_answer() -> str:
    """Return what is written for each kind of thing that is asked."""
    from zidane_lab.approvals.decisions import Question
    from zidane_lab.chat.interacting import question_payload
    from zidane_lab.chat.typed_answers import how_to_answer as written
    from zidane_lab.session.interactions import new_interaction

    choices = ("once", "session", "always", "deny")
    parts = Question("multi_edit", "", "", choices=choices, hunks=3)
    options = [{"label": "Adelie"}, {"label": "Gentoo"}]

    def question(kind: str) -> dict[str, object]:
        offered = {"options": options} if kind in ("choice", "multi") else {}
        return {"questions": [{"id": "q1", "type": kind, "question": "?", **offered}]}

    asked = (
        ("permission", "approval", question_payload(Question("shell", "", "make", choices=choices))),
        ("permission for a change in parts", "approval", question_payload(parts)),
        ("a larger budget", "budget", question_payload(Question("budget", "", ""))),
        ("a text", "question", question("text")),
        ("yes or no", "question", question("confirm")),
        ("one of several", "question", question("choice")),
        ("some of several", "question", question("multi")),
        ("a plan", "plan", {"title": "", "steps": []}),
    )
    rows = ((what, f"`{written(new_interaction(kind, payload))}`") for what, kind, payload in asked)
    return table(("asked for", "write"), rows)


def rpc_methods() -> str:
    """Return the methods of the entry for front ends."""
    from zidane_lab.notebook.rpc_methods import METHODS

    rows = ((f"`{name}`", method.summary, method.params, method.result) for name, method in METHODS.items())
    return table(("method", "does", "takes", "returns"), rows)


def rpc_codes() -> str:
    """Return why a request of a front end is not done."""
    from zidane_lab.notebook.rpc_errors import CODES

    return table(("code", "means"), ((f"`{name}`", means) for name, means in CODES.items()))

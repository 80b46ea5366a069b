"""Mime bundles for interactions: what was asked and what became of it, without widgets.

A form is a widget only while it can be answered. What stays in the notebook is plain: it survives a reload, and reads
well where no widgets are drawn. Pure functions, as in :mod:`zidane_lab.notebook.bundles`; foreign text is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from zidane_lab.approvals.decisions import printable
from zidane_lab.chat.interacting import question_of
from zidane_lab.chat.typed_answers import described, how_to_answer
from zidane_lab.notebook.bundles import MIME, VERSION, Bundle, page_text
from zidane_lab.session.interaction_answers import asked_questions, plan_steps
from zidane_lab.session.interactions import Interaction, InteractionAnswer

__all__ = ["DECISIONS", "asked_bundle", "headline", "settled_bundle", "waiting_bundle"]

DECISIONS: Final[Mapping[str, str]] = {
    "once": "Allow once",
    "session": "Allow this session",
    "always": "Always here",
    "deny": "Deny",
}
"""What the buttons of an approval say."""

_DECIDED: Final[Mapping[str, str]] = {
    "once": "Allowed once",
    "session": "Allowed for this session",
    "always": "Always allowed here",
    "deny": "Denied",
    "approve": "Approved",
    "edit": "Approved with changes",
    "reject": "Rejected",
}
_QUIET: Final = "opacity:.75;font-size:90%"
_GOOD: Final = "var(--jp-success-color1,#2e7d32)"
_BAD: Final = "var(--jp-warn-color1,#b26a00)"


def headline(interaction: Interaction) -> str:
    """Say on one line what is to be decided."""
    payload = interaction.payload
    if interaction.kind == "plan":
        return f"Plan: {payload.get('title', '')}"
    if interaction.kind == "question":
        asked = asked_questions(payload)
        return asked[0].question if len(asked) == 1 else f"{len(asked)} questions"
    question = question_of(payload)
    name, _, path = question.target.partition("\n")[0].partition(": ")
    return question.intent or (f"{question.tool}: {path}" if name == "path" else question.tool)


def asked_bundle(interaction: Interaction, view: Mapping[str, Any]) -> Bundle:
    """Return the bundle of a form: the widget, and the question in words for whoever draws none."""
    short = interaction.id.removeprefix("ask_")[:6]
    text = f"{described(interaction)}\n\nAnswer it: %zidane /answer {short} {how_to_answer(interaction)}"
    return {**view, "text/plain": text}


def waiting_bundle(interaction: Interaction) -> Bundle:
    """Return what a cell shows while a front end beside the notebook is asked."""
    title, short = printable(headline(interaction)), interaction.id.removeprefix("ask_")[:6]
    page = (
        f'<div role="status"><span style="color:{_BAD}">?</span> {page_text(title)} <span style="{_QUIET}">waits for '
        f"you beside the notebook, or here: <code>%zidane /answer {short} …</code></span></div>"
    )
    return {**asked_bundle(interaction, {}), "text/html": page, MIME: _own(interaction, None)}


def settled_bundle(interaction: Interaction, answer: InteractionAnswer | None, why: str = "") -> Bundle:
    """Return what stays of a form: the question and the answer, or why there is none."""
    value = answer.value if answer is not None else None
    lines = _told(interaction, value) if value is not None else [("", why or "No longer open.")]
    lines = [(printable(label), "\n".join(map(printable, told.splitlines()))) for label, told in lines]
    good = value is not None and value.get("decision") not in ("deny", "reject") and not value.get("declined")
    mark, colour = ("✓", _GOOD) if good else ("⊘" if value is not None else "–", _BAD)
    title = printable(headline(interaction))
    (first, said), *more = lines
    short = f": {_answer(said)}" if not first else ""
    rows = "".join(
        f'<div style="margin-left:1.4em">{_labelled(label)}{_answer(said)}</div>'
        for label, said in (more if short else lines)
    )
    page = (
        f'<div role="status"><div><span style="color:{colour}">{mark}</span> '
        f'<span style="{_QUIET}">{page_text(title)}</span>{short}</div>{rows}</div>'
    )
    plain = [f"{mark} {title}" + (f": {said}" if short else "")]
    plain += [f"    {f'{label}: ' if label else ''}{said}" for label, said in (more if short else lines)]
    return {"text/plain": "\n".join(plain), "text/html": page, MIME: {**_own(interaction, answer), "open": False}}


def _own(interaction: Interaction, answer: InteractionAnswer | None) -> dict[str, Any]:
    value = answer.value if answer is not None else None
    return {
        "version": VERSION,
        "kind": "interaction",
        "id": interaction.id,
        "about": interaction.kind,
        "title": printable(headline(interaction)),
        "open": True,
        "answered": value is not None,
        "value": dict(value) if value is not None else None,
        "by": answer.by if answer is not None else "",
    }


def _answer(text: str) -> str:
    return f'<b style="white-space:pre-wrap">{page_text(text)}</b>'


def _labelled(label: str) -> str:
    return f'<span style="{_QUIET}">{page_text(label)}: </span>' if label else ""


def _told(interaction: Interaction, value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Say an answer in rows of a label and a text."""
    reason = [("reason", value["reason"])] if value.get("reason") else []
    if value.get("declined"):
        return [("", "Left unanswered"), *reason]
    if interaction.kind == "question":
        asked = asked_questions(interaction.payload)
        several = len(asked) > 1
        return [(each.question if several else "", _said(value["answers"].get(each.id))) for each in asked]
    decided = [("", _DECIDED.get(str(value.get("decision")), str(value.get("decision"))))]
    if interaction.kind == "plan":
        steps = value.get("steps") or [step.title for step in plan_steps(interaction.payload)]
        decided += [(str(number), step) for number, step in enumerate(steps, 1)] if decided[0][1] != "Rejected" else []
    hunks = value.get("hunks")
    if hunks is not None and not all(hunks):
        kept = ", ".join(str(number) for number, kept in enumerate(hunks, 1) if kept) or "none"
        decided.append(("parts", kept))
    return decided + reason


def _said(answer: object) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if not isinstance(answer, Mapping):
        return str(answer)
    parts = [*answer.get("selected", ()), *([f"“{answer['other']}”"] if answer.get("other") else [])]
    return ", ".join(parts) or "none of them"

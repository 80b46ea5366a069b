"""A form of widgets for one interaction: buttons for a decision, fields for questions, a list of steps for a plan.

Callbacks may run on the main thread or on a subshell's, so all they do is hand the answer on. Nothing here trusts what
it shows: text of a model is escaped, and labels of widgets are text by themselves.
"""

from __future__ import annotations

import html
import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from zidane_lab.approvals.decisions import printable
from zidane_lab.chat.interacting import question_of
from zidane_lab.errors import ConfigurationError
from zidane_lab.notebook.bundles import page_text
from zidane_lab.notebook.interaction_bundles import DECISIONS, headline
from zidane_lab.session.interaction_answers import AskedQuestion, asked_questions, plan_steps
from zidane_lab.session.interactions import Interaction, checked

__all__ = ["OTHER", "Form"]

OTHER: Final = "Other (type your own)"
"""Always the last option of a choice."""

_RECOMMENDED: Final = " (Recommended)"
_WIDE: Final = {"width": "auto"}
_FIELD: Final = {"width": "calc(100% - 8px)", "max_width": "46em"}
_QUIET: Final = "opacity:.75;font-size:90%"
_PRE: Final = (
    "margin:.3em 0;padding:.4em .6em;overflow:auto;max-height:18em;white-space:pre-wrap;line-height:1.35;"
    "font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px);"
    "background:var(--jp-layout-color2,rgba(128,128,128,.1));color:inherit;border-radius:3px"
)


class Form:
    """The widgets of one interaction.

    Parameters
    ----------
    interaction
        What is asked.
    submit
        Given each valid answer; called from whatever thread handles messages of the front end.

    Raises
    ------
    ImportError
        ipywidgets is not installed.
    """

    def __init__(self, interaction: Interaction, submit: Callable[[Mapping[str, Any]], object]) -> None:
        self._kit: Any = importlib.import_module("ipywidgets")
        self._interaction, self._submit = interaction, submit
        self._controls: list[Any] = []
        self._made: list[Any] = []
        self._problem = self._html("")
        build = {"question": self._questions, "plan": self._plan}.get(interaction.kind, self._approval)
        self.widget = self._box("VBox", [self._head(), *build(), self._problem])
        self.widget.layout.border_left = "4px solid var(--jp-info-color1,#1565c0)"
        self.widget.layout.padding = "2px 0 4px 10px"
        self.widget.layout.margin = "4px 0"

    def view(self) -> dict[str, Any]:
        """Return the part of a mime bundle that draws the form."""
        bundle = self.widget._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        return {kind: value for kind, value in data.items() if kind != "text/plain"}

    @property
    def is_open(self) -> bool:
        """Whether the front end has kept it."""
        comm = self.widget.comm
        return comm is not None and not getattr(comm, "_closed", False)

    def lock(self) -> None:
        """Let nothing be changed any more."""
        for each in self._controls:
            each.disabled = True

    def close(self) -> None:
        """Take it off the page, with all its parts."""
        for each in [self.widget, *self._made]:
            for part in (getattr(each, "style", None), each.layout):
                if part is not None:
                    part.close()
            each.close()

    # --- pieces -------------------------------------------------------------------------------------

    def _html(self, text: str) -> Any:
        made = self._kit.HTML(text)
        made.layout.margin = "0"
        self._made.append(made)
        return made

    def _box(self, kind: str, children: list[Any]) -> Any:
        made = getattr(self._kit, kind)(children)
        if kind == "HBox":
            made.layout.flex_flow = "row wrap"
            self._made.append(made)
        return made

    def _control(self, kind: str, **options: Any) -> Any:
        made = getattr(self._kit, kind)(**options)
        self._controls.append(made)
        self._made.append(made)
        return made

    def _button(self, label: str, answer: Callable[[], Mapping[str, Any]], *, style: str = "", tip: str = "") -> Any:
        button = self._control("Button", description=label, button_style=style, tooltip=tip, layout=dict(_WIDE))
        button.on_click(lambda _button: self._answer(answer))
        return button

    def _answer(self, answer: Callable[[], Mapping[str, Any]]) -> None:
        try:
            value = checked(self._interaction, answer())
        except ConfigurationError as error:
            colour = "var(--jp-error-color1,#c62828)"
            self._problem.value = f'<span role="alert" style="color:{colour}">{page_text(str(error))}</span>'
            return
        self._submit(value)

    def _head(self) -> Any:
        what = {"question": "zidane asks", "plan": "zidane proposes", "budget": "zidane needs more budget"}
        label = what.get(self._interaction.kind, "zidane needs permission")
        title = headline(self._interaction).removeprefix("Plan: ")
        asked = asked_questions(self._interaction.payload) if self._interaction.kind == "question" else ()
        text = f": {page_text(printable(title))}" if len(asked) != 1 else ""
        return self._html(f'<div style="line-height:1.5"><b>{label}</b>{text}</div>')

    def _reason(self, hint: str) -> Any:
        return self._control("Text", placeholder=hint, layout=dict(_FIELD))

    # --- kinds --------------------------------------------------------------------------------------

    def _approval(self) -> list[Any]:
        question = question_of(self._interaction.payload)
        parts = [f'<div style="line-height:1.4">{page_text(printable(reason))}</div>' for reason in question.reasons]
        if question.target:
            parts.append(f'<pre style="{_PRE}">{_lines(question.target)}</pre>')
        if question.diff:
            parts.append(f'<pre style="{_PRE}">{_coloured(question.diff)}</pre>')
        reason = self._reason("Why not, for the model (optional)")
        hunks = [
            self._control("Checkbox", value=True, description=f"part {number}", indent=False, layout=dict(_WIDE))
            for number in range(1, question.hunks + 1 if question.hunks > 1 else 1)
        ]

        def decide(choice: str) -> Callable[[], Mapping[str, Any]]:
            def value() -> Mapping[str, Any]:
                told: dict[str, Any] = {"decision": choice, "reason": reason.value}
                if hunks and choice != "deny":
                    told["hunks"] = [each.value for each in hunks]
                return told

            return value

        styles = {"once": "primary", "deny": "danger"}
        buttons = [
            self._button(
                DECISIONS[choice],
                decide(choice),
                style=styles.get(choice, ""),
                tip=question.remember_text if choice in ("session", "always") else "",
            )
            for choice in question.choices
        ]
        rows = [self._html("".join(parts))]
        if hunks:
            rows.append(self._box("HBox", [self._html("Allow of the change:&nbsp;"), *hunks]))
        rows.append(self._box("HBox", buttons))
        if question.remember:
            covered = page_text(question.remember_text)
            rows.append(self._html(f'<div style="{_QUIET};line-height:1.4">Session and always allow: {covered}</div>'))
        return [*rows, reason]

    def _questions(self) -> list[Any]:
        asked = asked_questions(self._interaction.payload)
        rows: list[Any] = []
        read: dict[str, Callable[[], object]] = {}
        for question in asked:
            widgets, read[question.id] = self._field(question)
            rows += [self._html(f'<div style="line-height:1.5">{page_text(printable(question.question))}</div>')]
            rows += widgets
        send = self._button(
            "Send", lambda: {"answers": {name: value() for name, value in read.items()}}, style="primary"
        )
        skip = self._button("Leave unanswered", lambda: {"declined": True})
        return [*rows, self._box("HBox", [send, skip])]

    def _field(self, question: AskedQuestion) -> tuple[list[Any], Callable[[], object]]:
        """Return the widgets of one question, and the function that reads them."""
        if question.type == "text":
            field = self._control("Textarea", rows=2, layout=dict(_FIELD))
            return [field], lambda: field.value
        if question.type == "confirm":
            field = self._control(
                "RadioButtons", options=[("Yes", True), ("No", False)], value=None, layout=dict(_WIDE)
            )
            return [field], lambda: field.value
        other = self._control("Text", placeholder=OTHER, layout=dict(_FIELD))
        shown = [(self._labelled(question, place), option.label) for place, option in enumerate(question.options)]
        if question.type == "choice":
            pick = self._control(
                "RadioButtons",
                options=[*shown, (OTHER, None)],
                index=question.recommended,
                layout={"width": "auto", "height": "auto"},
            )
            other.observe(lambda change: _choose_other(pick, change["new"]), names="value")
            return [pick, other], lambda: _chosen(pick, other)
        order: list[str] = []
        boxes = []
        for text, label in shown:
            box = self._control("Checkbox", value=False, description=text, indent=False, layout=dict(_WIDE))
            box.observe(lambda change, label=label: _toggle(order, label, on=change["new"]), names="value")
            boxes.append(box)
        if question.recommended is not None:
            boxes[question.recommended].value = True
        return [*boxes, other], lambda: {"selected": list(order), "other": other.value}

    @staticmethod
    def _labelled(question: AskedQuestion, place: int) -> str:
        option = question.options[place]
        mark = _RECOMMENDED if place == question.recommended else ""
        return printable(f"{option.label}{mark}" + (f" — {option.description}" if option.description else ""))

    def _plan(self) -> list[Any]:
        payload = self._interaction.payload
        steps = plan_steps(payload)
        listed = "".join(
            f"<li>{_lines(step.title)}"
            + (f'<div style="{_QUIET};white-space:pre-wrap">{_lines(step.details)}</div>' if step.details else "")
            + "</li>"
            for step in steps
        )
        summary = _lines(str(payload.get("summary", "")))
        shown = self._html(
            f'<div style="line-height:1.45;white-space:pre-wrap">{summary}</div>'
            f'<ol style="margin:.3em 0;line-height:1.45">{listed}</ol>'
        )
        before = "\n".join(" ".join(step.title.split()) for step in steps)
        edited = self._control("Textarea", value=before, rows=min(12, len(steps) + 1))
        edited.layout.width, edited.layout.max_width, edited.layout.display = *_FIELD.values(), "none"
        reason = self._reason("A word to it, for the model (optional)")

        def approve() -> Mapping[str, Any]:
            if edited.value == before:
                return {"decision": "approve", "reason": reason.value}
            return {"decision": "edit", "steps": edited.value.splitlines(), "reason": reason.value}

        def open_editor(button: Any) -> None:
            edited.layout.display = ""
            button.disabled = True

        edit = self._control("Button", description="Edit…", tooltip="Change the steps, one a line", layout=dict(_WIDE))
        edit.on_click(open_editor)
        buttons = [
            self._button("Approve", approve, style="primary", tip="As it stands, with the changes made below"),
            edit,
            self._button("Reject", lambda: {"decision": "reject", "reason": reason.value}, style="danger"),
        ]
        return [shown, edited, self._box("HBox", buttons), reason]


def _chosen(pick: Any, other: Any) -> Mapping[str, Any]:
    """Read one choice; a text of one's own counts when it is chosen, or when nothing is."""
    if pick.value is None:
        return {"selected": [], "other": other.value}
    return {"selected": [pick.value]}


def _choose_other(pick: Any, text: str) -> None:
    """Choose the last option as soon as something is typed beside it."""
    if text.strip():
        pick.index = len(pick.options) - 1


def _toggle(order: list[str], label: str, *, on: bool) -> None:
    """Keep the order in which options were chosen."""
    if label in order:
        order.remove(label)
    if on:
        order.append(label)


def _lines(text: str) -> str:
    return "\n".join(html.escape(printable(line.expandtabs(4))) for line in text.splitlines())


def _coloured(diff: str) -> str:
    """Draw a diff: what goes and what comes can be told apart without colours, too."""
    rows = []
    for line in diff.splitlines():
        colour = {"+": "var(--jp-success-color1,#2e7d32)", "-": "var(--jp-error-color1,#c62828)"}.get(
            line[:1], "inherit"
        )
        rows.append(f'<span style="color:{colour}">{html.escape(printable(line.expandtabs(4)))}</span>')
    return "\n".join(rows)

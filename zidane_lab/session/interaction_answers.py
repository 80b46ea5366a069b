"""The shapes of what is asked and of its answers, and whether an answer fits.

=========  ==========================================================  ==========================================
kind       payload                                                     value of the answer
=========  ==========================================================  ==========================================
approval   ``tool``, ``intent``, ``target``, ``reasons``, ``diff``,    ``decision`` (one of ``choices``),
           ``remember``, ``choices``, ``hunks``, ``reach``             ``reason``, perhaps ``hunks``
budget     as approval                                                 as approval
question   ``questions``: ``id``, ``type``, ``question``,              ``answers`` by id, or ``declined``
           ``options`` (``label``, ``description``), ``recommended``   with ``reason``
plan       ``title``, ``summary``, ``steps`` (``title``, ``details``)  ``decision``, ``steps`` of an ``edit``,
                                                                       ``reason``
=========  ==========================================================  ==========================================

The answer to one question is a text (``text``), true or false (``confirm``), or ``selected`` labels in the order they
were chosen and perhaps a text of the person's own, ``other`` (``choice``, ``multi``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from zidane_lab.errors import ConfigurationError

__all__ = ["AskedQuestion", "Choice", "PlanStep", "QuestionType", "asked_questions", "checked_value", "plan_steps"]

QuestionType: TypeAlias = Literal["text", "choice", "multi", "confirm"]

_DECISIONS: Final = ("once", "deny")


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of a question."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question. ``recommended`` is the place of an option, from 0; ``None`` where none is recommended."""

    id: str
    type: QuestionType
    question: str
    options: tuple[Choice, ...] = ()
    recommended: int | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its options."""
        return tuple(option.label for option in self.options)

    @property
    def recommended_label(self) -> str | None:
        """The label that is recommended."""
        return None if self.recommended is None else self.options[self.recommended].label


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan."""

    title: str
    details: str = ""


def asked_questions(payload: Mapping[str, Any]) -> tuple[AskedQuestion, ...]:
    """Read the questions of a payload; an index that points at no option recommends nothing."""
    return tuple(_question(each) for each in _mappings(payload.get("questions")))


def _question(raw: Mapping[str, Any]) -> AskedQuestion:
    options = tuple(
        Choice(str(each.get("label", "")), str(each.get("description", ""))) for each in _mappings(raw.get("options"))
    )
    kind = raw.get("type")
    recommended = raw.get("recommended")
    sound = type(recommended) is int and 0 <= recommended < len(options)
    return AskedQuestion(
        str(raw.get("id", "")),
        cast("QuestionType", kind) if kind in get_args(QuestionType) else "text",
        str(raw.get("question", "")),
        options,
        cast("int", recommended) if sound else None,
    )


def plan_steps(payload: Mapping[str, Any]) -> tuple[PlanStep, ...]:
    """Read the steps of a plan's payload."""
    return tuple(
        PlanStep(str(each.get("title", "")), str(each.get("details", ""))) for each in _mappings(payload.get("steps"))
    )


def _mappings(value: object) -> tuple[Mapping[str, Any], ...]:
    return tuple(each for each in value if isinstance(each, Mapping)) if isinstance(value, (list, tuple)) else ()


# --- answers --------------------------------------------------------------------------------------------


def checked_value(kind: str, payload: Mapping[str, Any], value: object) -> dict[str, Any]:
    """Return an answer in its full shape; ``payload`` is what was asked.

    Raises
    ------
    ConfigurationError
        It does not fit.
    """
    if not isinstance(value, Mapping):
        raise _misfit("an answer is an object", 'Such as {"decision": "deny", "reason": "too large"}.')
    match kind:
        case "question":
            return _answers(payload, value)
        case "plan":
            return _plan(value)
        case _:
            return _decision(payload, value)


def _misfit(problem: str, hint: str) -> ConfigurationError:
    return ConfigurationError(f"That does not answer it: {problem}.", hint=hint)


def _reason(value: Mapping[str, Any]) -> str:
    reason = value.get("reason", "")
    if not isinstance(reason, str):
        raise _misfit("the reason is not a text", "Say why in words, or leave it out.")
    return reason.strip()


def _decision(payload: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    raw = payload.get("choices")
    choices = tuple(map(str, raw)) if isinstance(raw, (list, tuple)) and raw else _DECISIONS
    decision = value.get("decision")
    if decision not in choices:
        raise _misfit(f"{decision!r} is not offered", f"Decide {', '.join(choices)}.")
    told: dict[str, Any] = {"decision": decision, "reason": _reason(value)}
    hunks = value.get("hunks")
    if hunks is None:
        return told
    parts = payload.get("hunks", 0)
    whole = isinstance(hunks, (list, tuple)) and all(isinstance(each, bool) for each in hunks)
    if not whole or len(hunks) != parts:
        raise _misfit(f"hunks must say true or false for each of {parts} parts", "Leave it out to decide for all.")
    return {**told, "hunks": list(hunks)}


def _plan(value: Mapping[str, Any]) -> dict[str, Any]:
    decision = value.get("decision")
    if decision not in ("approve", "edit", "reject"):
        raise _misfit(f"{decision!r} is not offered", "Decide approve, edit or reject.")
    told: dict[str, Any] = {"decision": decision, "reason": _reason(value)}
    if decision != "edit":
        return told
    steps = value.get("steps")
    if not isinstance(steps, (list, tuple)) or not all(isinstance(each, str) for each in steps):
        raise _misfit("an edited plan is a list of texts", "Write the steps, one after another.")
    kept = [each.strip() for each in steps if each.strip()]
    if not kept:
        raise _misfit("the edited plan has no steps", "Reject the plan if nothing of it should be done.")
    return {**told, "steps": kept}


def _answers(payload: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    if value.get("declined") is True:
        return {"declined": True, "reason": _reason(value)}
    raw = value.get("answers")
    if not isinstance(raw, Mapping):
        raise _misfit("the answers are missing", 'Such as {"answers": {"name": "text"}}.')
    asked = asked_questions(payload)
    unknown = [name for name in raw if name not in {question.id for question in asked}]
    if unknown:
        raise _misfit(f"nobody asked {unknown[0]!r}", f"Asked is: {', '.join(each.id for each in asked)}.")
    return {"answers": {question.id: _answer(question, raw.get(question.id)) for question in asked}}


def _answer(question: AskedQuestion, value: object) -> object:
    if question.type == "confirm":
        if not isinstance(value, bool):
            raise _misfit(f"{question.id} is not decided", "Answer yes or no.")
        return value
    if question.type == "text":
        if not isinstance(value, str) or not value.strip():
            raise _misfit(f"{question.id} is empty", "Write something, or decline to answer.")
        return value.strip()
    return _selection(question, value)


def _selection(question: AskedQuestion, value: object) -> dict[str, Any]:
    if isinstance(value, str):  # a label says enough
        value = {"selected": [value]}
    if not isinstance(value, Mapping):
        raise _misfit(f"{question.id} is not decided", f"Choose from: {', '.join(question.labels)}; or say your own.")
    selected, other = value.get("selected", ()), value.get("other", "")
    if not isinstance(selected, (list, tuple)) or not isinstance(other, str):
        raise _misfit(f"the selection of {question.id} is not a list of labels", f"Of: {', '.join(question.labels)}.")
    strange = [each for each in selected if each not in question.labels]
    if strange:
        raise _misfit(f"{strange[0]!r} is no option of {question.id}", f"Options: {', '.join(question.labels)}.")
    chosen = list(dict.fromkeys(selected))
    told: dict[str, Any] = {"selected": chosen}
    if other.strip():
        told["other"] = other.strip()
    if question.type == "choice" and len(chosen) + bool(other.strip()) != 1:
        raise _misfit(f"{question.id} takes one answer", f"One of: {', '.join(question.labels)}; or say your own.")
    return told

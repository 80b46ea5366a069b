"""Answers as people type them: at an input box, in a terminal, or behind ``/answer``.

One grammar for all three: a letter or a word for a decision, the number or the label of an option, a text of one's own,
JSON for whoever likes it whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from zidane_lab.approvals.decisions import Question, printable, read_answer
from zidane_lab.chat.interacting import question_of
from zidane_lab.errors import ConfigurationError
from zidane_lab.session.interaction_answers import AskedQuestion, asked_questions, plan_steps
from zidane_lab.session.interactions import Interaction, checked

__all__ = ["Read", "ask_typed", "described", "how_to_answer", "read_typed"]

Read: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Shows a prompt and returns the line that was typed; ``None`` where nobody can type."""

_TRIES: Final = 3
_DECIDED: Final = frozenset({"y", "yes", "once", "s", "session", "a", "always", "n", "no", "deny"})
_YES: Final = frozenset({"y", "yes", "ok", "true", "approve", "approved"})
_NO: Final = frozenset({"n", "no", "false", "reject", "rejected"})
_DECLINED: Final = frozenset({"/skip", "decline", "declined"})


def described(interaction: Interaction) -> str:
    """Return what is asked as plain text; what a model wrote in it cannot hide or repaint anything."""
    payload = interaction.payload
    if interaction.kind == "question":
        return "\n".join(_described(question, number=False) for question in asked_questions(payload))
    if interaction.kind == "plan":
        lines = [f"Plan: {payload.get('title', '')}", *str(payload.get("summary", "")).splitlines()]
        for number, step in enumerate(plan_steps(payload), 1):
            lines.append(f"  {number}. {step.title}")
            lines += (f"     {line}" for line in step.details.splitlines())
        return "\n".join(map(printable, lines))
    question = question_of(payload)
    shown = [] if question.tool == "run_python" else question.target.splitlines()
    code = [f"    {line}" for line in (question.target.splitlines() if question.tool == "run_python" else [])]
    diff = [line for line in question.diff.splitlines() if line not in shown]
    return "\n".join([question.text, *map(printable, code), *map(printable, diff)])


def how_to_answer(interaction: Interaction) -> str:
    """Say how ``/answer`` is written for it."""
    if interaction.kind == "plan":
        return "approve | reject REASON | edit, then the steps one a line"
    if interaction.kind == "question":
        asked = asked_questions(interaction.payload)
        if len(asked) > 1:
            names = ", ".join(printable(each.id).replace("`", "'") for each in asked)  # shown as code
            return f"one line each: ID: ANSWER ({names})"
        return {
            "text": "TEXT",
            "confirm": "yes | no",
            "choice": "NUMBER or LABEL, or a text of your own",
            "multi": "NUMBERS or LABELS with commas between them, or a text of your own",
        }[asked[0].type if asked else "text"]
    question = question_of(interaction.payload)
    words = {"once": "yes", "session": "session", "always": "always", "deny": "no REASON"}
    parts = [words[choice] for choice in question.choices if choice in words]
    return " | ".join([*parts, *(["NUMBERS of the parts to allow"] if question.hunks > 1 else [])])


# --- reading --------------------------------------------------------------------------------------------


def read_typed(interaction: Interaction, text: str) -> dict[str, Any]:
    """Read an answer that was typed behind ``/answer``.

    Raises
    ------
    ConfigurationError
        It cannot be read as an answer to this.
    """
    text = text.strip()
    if text.startswith("{"):
        try:
            return checked(interaction, json.loads(text))
        except ValueError as error:
            raise ConfigurationError(f"The answer is not JSON ({error}).", hint=_hint(interaction)) from error
    if not text:
        raise ConfigurationError("The answer is empty.", hint=_hint(interaction))
    if interaction.kind == "question":
        return checked(interaction, _read_questions(interaction, text))
    if interaction.kind == "plan":
        return checked(interaction, _read_plan(interaction, text))
    question = question_of(interaction.payload)
    word = re.split(r"[\s,:]", text, maxsplit=1)[0].lower()
    if word not in _DECIDED and _parts(text, question) is None:
        raise ConfigurationError(f"{word!r} does not decide it.", hint=_hint(interaction))
    return checked(interaction, _read_decision(question, text))


def _hint(interaction: Interaction) -> str:
    return f"Write: {how_to_answer(interaction)}."


def _read_decision(question: Question, text: str) -> dict[str, Any]:
    parts = _parts(text, question)
    if parts is not None:
        return {"decision": "once", "hunks": parts}
    words = text.strip().split(maxsplit=1)
    if words and words[0].lower().rstrip(",:") == "deny":
        text = f"no {words[1] if len(words) > 1 else ''}"
    if words and text.strip().lower() == "once":
        text = "yes"
    answer = read_answer(text, question)
    return {"decision": answer.decision, "reason": answer.reason}


def _parts(text: str, question: Question) -> list[bool] | None:
    """Read the numbers of the parts of a change that are allowed."""
    if question.hunks < 2 or not re.fullmatch(r"\d+(?:[\s,]+\d+)*", text.strip()):
        return None
    numbers = {int(each) for each in re.findall(r"\d+", text)}
    if any(not 1 <= number <= question.hunks for number in numbers):
        return None
    return [number in numbers for number in range(1, question.hunks + 1)]


def _read_questions(interaction: Interaction, text: str) -> dict[str, Any]:
    word, _, rest = text.partition(" ")
    if word.lower() in _DECLINED:
        return {"declined": True, "reason": rest.strip()}
    asked = asked_questions(interaction.payload)
    if len(asked) == 1:
        return {"answers": {asked[0].id: _read_one(asked[0], text)}}
    answers: dict[str, Any] = {}
    by_id = {question.id: question for question in asked}
    for line in filter(None, map(str.strip, re.split(r"[\n;]", text))):
        name, found, said = re.match(r"([^:=]*)([:=]?)(.*)", line, re.DOTALL).groups()  # type: ignore[union-attr]
        question = by_id.get(name.strip())
        if not found or question is None:
            raise ConfigurationError(f"{line!r} does not say which question it answers.", hint=_hint(interaction))
        answers[question.id] = _read_one(question, said)
    return {"answers": answers}


def _read_one(question: AskedQuestion, text: str) -> object:
    """Read the answer to one question.

    Raises
    ------
    ConfigurationError
        It is neither yes nor no, or the number of no option.
    """
    text = text.strip()
    if question.type == "text":
        return text
    if question.type == "confirm":
        if text.lower() in _YES | _NO:
            return text.lower() in _YES
        raise ConfigurationError(f"{text!r} is neither yes nor no.", hint="Answer yes or no.")
    if not text and question.recommended_label is not None:
        return {"selected": [question.recommended_label]}
    whole = _option(question, text)
    if whole is not None:
        return {"selected": [whole]}
    pieces = [each for each in map(str.strip, text.split(",")) if each]
    found = [_option(question, each) for each in pieces]
    if question.type == "multi" and pieces and all(each is not None for each in found):
        return {"selected": found}
    if pieces and all(each.isdecimal() for each in pieces):
        raise ConfigurationError(f"{text} is no option of {question.id}.", hint=f"1 to {len(question.options)}.")
    return {"selected": [], "other": text}


def _option(question: AskedQuestion, text: str) -> str | None:
    """Return the label that is meant by a label, or by a number from 1."""
    for label in question.labels:
        if label.casefold() == text.casefold():
            return label
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= len(question.options):
        return question.labels[int(text) - 1]
    return None


def _read_plan(interaction: Interaction, text: str) -> dict[str, Any]:
    word = re.split(r"[\s,:]", text, maxsplit=1)[0].lower()
    rest = text[len(word) :].lstrip(" ,:")
    if word in _YES:
        return {"decision": "approve", "reason": rest.strip()}
    if word in _NO:
        return {"decision": "reject", "reason": rest.strip()}
    if word in ("e", "edit"):
        lines = re.split(r"[\n;]", rest)
        return {"decision": "edit", "steps": [re.sub(r"^\s*(?:\d+[.)]|[-*])\s+", "", line) for line in lines]}
    raise ConfigurationError(f"{word!r} does not decide about the plan.", hint=_hint(interaction))


# --- asking ---------------------------------------------------------------------------------------------


async def ask_typed(interaction: Interaction, read: Read) -> Mapping[str, Any] | None:
    """Put an interaction line by line; ``None`` when nobody can type, or nothing that fits was typed."""
    if interaction.kind == "question":
        return await _ask_questions(interaction, read)
    if interaction.kind == "plan":
        return await _ask_plan(interaction, read)
    question = question_of(interaction.payload)
    more = f"(or the numbers of the parts to allow, 1 to {question.hunks}) " if question.hunks > 1 else ""
    diff = "".join(f"\n{printable(line)}" for line in question.diff.splitlines())
    typed = await read(f"{question.text}{diff}\n{question.prompt}{more}")
    return None if typed is None else checked(interaction, _read_decision(question, typed))


async def _ask_questions(interaction: Interaction, read: Read) -> Mapping[str, Any] | None:
    answers: dict[str, Any] = {}
    asked = asked_questions(interaction.payload)
    for place, question in enumerate(asked, 1):
        head = f"({place} of {len(asked)}) " if len(asked) > 1 else ""
        prompt = f"{head}{_described(question, number=True)}\n{_line(question)} "
        for _ in range(_TRIES):
            typed = await read(prompt)
            if typed is None:
                return None
            word, _, rest = typed.strip().partition(" ")
            if word.lower() in _DECLINED:
                return {"declined": True, "reason": rest.strip()}
            try:
                answers[question.id] = _read_one(question, typed)
                checked(
                    Interaction("", "question", {"questions": [_raw(interaction, question)]}),
                    {"answers": {question.id: answers[question.id]}},
                )
            except ConfigurationError as error:
                prompt = f"{error.message} {error.hint}\n{_line(question)} "
                continue
            break
        else:
            return None
    return checked(interaction, {"answers": answers})


def _raw(interaction: Interaction, question: AskedQuestion) -> Mapping[str, Any]:
    raw: Mapping[str, Any] = next(each for each in interaction.payload["questions"] if each["id"] == question.id)
    return raw


def _described(question: AskedQuestion, *, number: bool) -> str:
    lines = question.question.splitlines() if number else [f"{question.id}: {question.question}"]
    for place, option in enumerate(question.options, 1):
        mark = " (Recommended)" if place - 1 == question.recommended else ""
        lines.append(f"  {place}. {option.label}{mark}" + (f": {option.description}" if option.description else ""))
    return "\n".join(map(printable, lines))


def _line(question: AskedQuestion) -> str:
    default = "" if question.recommended is None else f" [{question.recommended + 1}]"
    return {
        "text": "Your answer (/skip to leave it open):",
        "confirm": "Yes or no (/skip to leave it open):",
        "choice": f"Number, or an answer of your own{default}:",
        "multi": f"Numbers with commas between them, or an answer of your own{default}:",
    }[question.type]


async def _ask_plan(interaction: Interaction, read: Read) -> Mapping[str, Any] | None:
    prompt = f"{described(interaction)}\nApprove it? [y]es, [e]dit, [N]o (and why): "
    typed = await read(prompt)
    if typed is None:
        return None
    word = re.split(r"[\s,:]", typed.strip(), maxsplit=1)[0].lower()
    if word in ("e", "edit") and len(typed.split()) == 1:
        steps = await read("The steps that are to be done, with ; between them: ")
        if not steps or not steps.strip():
            return {"decision": "reject", "reason": ""}
        return checked(interaction, _read_plan(interaction, f"edit {steps}"))
    if word in (*_YES, "e", "edit"):
        return checked(interaction, _read_plan(interaction, typed.strip()))
    reason = typed.strip()[len(word) :].lstrip(" ,:") if word in _NO else typed.strip()
    return checked(interaction, {"decision": "reject", "reason": reason})

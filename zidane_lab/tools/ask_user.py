"""The ``ask_user`` tool: questions only the person can answer, several at a time.

The form is the gate: nobody is asked for permission to ask. Without anybody to ask the result says so, and what to do
instead.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired

from zidane_lab.errors import ToolInputError
from zidane_lab.session.interaction_answers import AskedQuestion, QuestionType, asked_questions
from zidane_lab.session.interactions import Interaction, InteractionAnswer, new_interaction
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.turns import TextBlock

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # pydantic, which brings typing_extensions, reads only its TypedDict before Python 3.12
    from typing_extensions import TypedDict

__all__ = ["ANSWERS", "EMPTY", "TIMED_OUT", "AskedOption", "UserQuestion", "answered_by_nobody", "ask_user_tool"]

ANSWERS: Final = "answers"
"""Key of the metadata: what was answered, one entry per question."""

EMPTY: Final = "Error: questions must not be empty"
TIMED_OUT: Final = " (auto-selected after timeout)"
"""Stands behind an answer that nobody gave in time."""

_MOST_QUESTIONS: Final = 20
_MOST_OPTIONS: Final = 50
_LONGEST: Final = 20_000
"""What one person can be asked at once: questions, options of one, characters in all."""

_NAME: Final = re.compile(r"[^\W_][\w.-]{0,63}")
"""How the id of a question looks: it is typed before an answer."""

_RECOMMENDED: Final = re.compile(r"\s*\(recommended\)\s*$", re.IGNORECASE)
_OTHER: Final = frozenset({"other", "other (type your own)", "other…", "other..."})


class AskedOption(TypedDict):
    """One option."""

    label: str
    description: NotRequired[str]


class UserQuestion(TypedDict):
    """One question."""

    question: str
    id: NotRequired[str]
    type: NotRequired[QuestionType]
    options: NotRequired[list[AskedOption]]
    multi: NotRequired[bool]
    recommended: NotRequired[int]


@functools.cache
def ask_user_tool(timeout: float = 0) -> Tool:
    """Return the tool.

    Parameters
    ----------
    timeout
        Seconds after which what is recommended (the first option, where nothing is) counts as the answer; 0 for never.
        It never applies where the person is to write a text or to say yes or no.
    """
    from zidane_lab.tools.decorator import tool

    async def ask_user(
        context: ToolContext,
        questions: Annotated[
            list[UserQuestion],
            "Each with an id and a type: choice (one of 2-5 options), multi (any of them), confirm (yes or no), text. "
            "recommended is the index of an option, from 0. The person can always type an answer of their own: never "
            "list an 'Other' option.",
        ],
    ) -> ToolOutput:
        """Ask the user what only they can decide: intent, preferences, trade-offs, facts that are nowhere to be found.

        Find out by other tools what can be found out, and put all questions that belong together into one call.
        """
        if not questions:
            return ToolOutput((TextBlock(EMPTY),), is_error=True)
        asked = _asked(questions)
        if context.interact is None:
            return answered_by_nobody(asked)
        interaction = new_interaction(
            "question", _payload(asked), run_id=context.ids.run_id, call_id=context.ids.call_id
        )
        patient = timeout <= 0 or any(not question.options for question in asked)
        try:
            answer = await asyncio.wait_for(context.interact(interaction), None if patient else timeout)
        except TimeoutError:
            answer = _chosen_for_them(interaction, asked)
            return _answered(asked, answer, suffix=TIMED_OUT)
        return answered_by_nobody(asked) if answer.value is None else _answered(asked, answer)

    return tool(tier="read", concurrency="exclusive")(ask_user)


def _asked(questions: Sequence[Mapping[str, Any]]) -> tuple[AskedQuestion, ...]:
    """Return the questions in full, as they are shown.

    Raises
    ------
    ToolInputError
        Two have the same id, or one that offers a choice has no options.
    """
    shaped: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, raw in enumerate(questions, 1):
        name = str(raw.get("id") or f"q{number}").strip()
        all_options = raw.get("options") or []
        recommended = raw.get("recommended")
        wanted = all_options[recommended] if type(recommended) is int and 0 <= recommended < len(all_options) else None
        options: list[dict[str, str]] = []
        for option in all_options:
            label = _RECOMMENDED.sub("", str(option["label"])).strip()
            known = [each["label"] for each in options]
            if label and label.casefold() not in _OTHER and label not in known:
                if option is wanted:
                    recommended = len(options)
                options.append({"label": label, "description": str(option.get("description", ""))})
            elif option is wanted:
                recommended = None
        kind = raw.get("type") or ("text" if not options else "choice")
        if kind == "choice" and raw.get("multi"):
            kind = "multi"
        if kind in ("choice", "multi") and not options:
            problems.append(f"question {name!r} offers a choice, but no options")
        if any(each["id"] == name for each in shaped):
            problems.append(f"the id {name!r} comes twice")
        chosen = {"options": options, "recommended": recommended} if kind in ("choice", "multi") else {}
        shaped.append({"id": name, "type": kind, "question": str(raw["question"]), **chosen})
    problems += _excesses(shaped)
    if problems:
        raise ToolInputError(f"The questions cannot be asked: {'; '.join(problems)}.", hint="Send them again, mended.")
    return asked_questions({"questions": shaped})


def _excesses(shaped: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Tell what is more than a person can be asked at once, and which ids cannot be typed."""
    for each in shaped:
        if _NAME.fullmatch(each["id"]) is None:
            yield f"the id {each['id'][:80]!r} is not made of letters, digits, _, - and ."
        if len(options := each.get("options", ())) > _MOST_OPTIONS:
            yield f"question {each['id'][:80]!r} has {len(options)} options, which is more than {_MOST_OPTIONS}"
    if len(shaped) > _MOST_QUESTIONS:
        yield f"{len(shaped)} questions are more than {_MOST_QUESTIONS}"
    if len(str(shaped)) > _LONGEST:
        yield f"they are longer than {_LONGEST:,} characters"


def _payload(asked: Sequence[AskedQuestion]) -> dict[str, Any]:
    return {
        "questions": [
            {
                "id": question.id,
                "type": question.type,
                "question": question.question,
                "options": [{"label": each.label, "description": each.description} for each in question.options],
                "recommended": question.recommended,
            }
            for question in asked
        ]
    }


# --- results --------------------------------------------------------------------------------------------


def answered_by_nobody(asked: Sequence[AskedQuestion]) -> ToolOutput:
    """Return the result where nobody can answer: what is recommended stands in, else an assumption that is told."""
    recommended = [f"{each.id}: {each.recommended_label}" for each in asked if each.recommended is not None]
    lines = ["Nobody can answer now: this run is unattended. Do not ask again in it."]
    if recommended:
        lines.append(f"Go on with what you recommended ({'; '.join(recommended)}) and say that you did.")
    if len(recommended) < len(asked):
        lines.append(
            "Where nothing was recommended, take the most cautious reading, state it as your assumption, and leave out "
            "what cannot be undone."
        )
    return ToolOutput((TextBlock("\n".join(lines)),), metadata={"answered": False})


def _chosen_for_them(interaction: Interaction, asked: Sequence[AskedQuestion]) -> InteractionAnswer:
    chosen = {each.id: {"selected": [each.options[each.recommended or 0].label]} for each in asked}
    return InteractionAnswer(interaction.id, {"answers": chosen}, "timeout")


def _answered(asked: Sequence[AskedQuestion], answer: InteractionAnswer, *, suffix: str = "") -> ToolOutput:
    value: Mapping[str, Any] = answer.value or {}
    if value.get("declined"):
        why = f" They said: {value['reason']}." if value.get("reason") else ""
        text = f"The user does not want to answer.{why} Do not ask the same again; go on by your own judgement."
        return ToolOutput((TextBlock(text),), metadata={"answered": False, "by": answer.by})
    answers: Mapping[str, Any] = value["answers"]
    results = [_details(question, answers[question.id], timed_out=bool(suffix)) for question in asked]
    if len(asked) == 1:
        lines = [f"{line}{suffix}" for line in _words(answers[asked[0].id])]
    else:
        lines = ["User answers:"]
        lines += [f"{each.id}: {'; '.join(_words(answers[each.id], short=True))}{suffix}" for each in asked]
    whole = json.dumps({"answers": answers}, ensure_ascii=False)
    details = results[0] if len(results) == 1 else {"results": results}
    return ToolOutput(
        (TextBlock("\n".join([*lines, whole])),), metadata={"answered": True, "by": answer.by, ANSWERS: details}
    )


def _words(answer: object, *, short: bool = False) -> list[str]:
    """Say an answer in words, on one line each."""
    if isinstance(answer, bool):
        said = "yes" if answer else "no"
        return [said if short else f"User selected: {said}"]
    if isinstance(answer, str):
        said = " ".join(answer.split())
        return [said if short else f"User provided custom input: {said}"]
    assert isinstance(answer, Mapping)
    chosen, other = ", ".join(answer["selected"]), " ".join(str(answer.get("other", "")).split())
    lines = []
    if chosen or not other:
        lines.append((chosen or "(none)") if short else f"User selected: {chosen or '(none)'}")
    if other:
        lines.append(f'"{other}"' if short else f"User provided custom input: {other}")
    return lines


def _details(question: AskedQuestion, answer: object, *, timed_out: bool) -> dict[str, Any]:
    """Return what is kept beside the result: the question, the options in their order, and what was chosen."""
    details: dict[str, Any] = {
        "id": question.id,
        "question": question.question,
        "options": list(question.labels),
        "multi": question.type == "multi",
        "selected": list(answer["selected"]) if isinstance(answer, Mapping) else [],
    }
    if isinstance(answer, bool):
        details["selected"] = ["yes" if answer else "no"]
    custom = answer.get("other") if isinstance(answer, Mapping) else answer if isinstance(answer, str) else None
    if custom:
        details["custom"] = custom
    if timed_out:
        details["timed_out"] = True
    return details

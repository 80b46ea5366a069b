"""Interactions: what a person is asked, what they answered, and what is still open.

An approval, a question, a plan and a budget are asked in the same way: an :class:`Interaction` is recorded before
anybody is asked, its :class:`InteractionAnswer` as soon as there is one. Both are plain JSON, so a question outlives
the process that put it: whoever opens the session finds it pending, and may answer it a day later.

What counts is a fold over the records (:func:`interactions`): the first answer that fits wins, whatever comes after it
is late.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol, TypeAlias, cast, get_args

from zidane_lab.errors import ConfigurationError
from zidane_lab.session.interaction_answers import checked_value
from zidane_lab.turns import Turn, new_id, now
from zidane_lab.wire.tail import open_calls

__all__ = [
    "INTERACTION",
    "INTERACTION_ANSWER",
    "Interact",
    "Interaction",
    "InteractionAnswer",
    "InteractionKind",
    "Interactions",
    "answer_record",
    "checked",
    "interaction_record",
    "interactions",
    "interactions_in",
    "new_interaction",
    "pending_in",
]

INTERACTION: Final = "interaction"
"""Kind of the record of what is asked."""

INTERACTION_ANSWER: Final = "interaction-answer"
"""Kind of the record of an answer, or of the end of a question that was never answered (``value`` is null)."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")

InteractionKind: TypeAlias = Literal["approval", "question", "plan", "budget"]


@dataclass(frozen=True, slots=True)
class Interaction:
    """Something only a person can decide.

    Parameters
    ----------
    id
        Its name, as ``/answer`` takes it.
    kind
        What is decided; it says what ``payload`` and the answer's ``value`` hold
        (:mod:`zidane_lab.session.interaction_answers`).
    payload
        What to show, plain JSON.
    created_at
        When it was asked: ISO 8601, UTC.
    run_id, call_id
        The run that waits for it, and the tool call it is about.
    """

    id: str
    kind: InteractionKind
    payload: Mapping[str, Any]
    created_at: str = ""
    run_id: str | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class InteractionAnswer:
    """What became of an interaction.

    Parameters
    ----------
    id
        The interaction's.
    value
        The answer, in the shape of its kind; ``None`` when it ended without one.
    by
        Where it came from: ``widget``, ``stdin``, ``panel``, ``command``, or why there is none: ``policy`` (nobody
        could be asked), ``stop`` (the run was stopped).
    at
        When: ISO 8601, UTC.
    """

    id: str
    value: Mapping[str, Any] | None = None
    by: str = "policy"
    at: str = ""

    @property
    def is_answered(self) -> bool:
        """Whether somebody answered."""
        return self.value is not None


class Interact(Protocol):
    """Puts an interaction to whoever can answer it, and waits; without anybody the answer says so."""

    async def __call__(self, interaction: Interaction, /) -> InteractionAnswer:
        """Return the first valid answer."""
        ...


def new_interaction(
    kind: InteractionKind, payload: Mapping[str, Any], *, run_id: str | None = None, call_id: str | None = None
) -> Interaction:
    """Return an interaction that is asked now."""
    return Interaction(new_id("ask"), kind, dict(payload), now().isoformat(), run_id, call_id)


def checked(interaction: Interaction, value: object) -> dict[str, Any]:
    """Return an answer's value in its full shape.

    Raises
    ------
    ConfigurationError
        It is no answer to this interaction; the message says why.
    """
    return checked_value(interaction.kind, interaction.payload, value)


def interaction_record(interaction: Interaction) -> dict[str, Any]:
    """Return the record of what is asked."""
    return {
        "id": interaction.id,
        "kind": interaction.kind,
        "payload": dict(interaction.payload),
        "created_at": interaction.created_at,
        "run_id": interaction.run_id,
        "call_id": interaction.call_id,
    }


def answer_record(answer: InteractionAnswer) -> dict[str, Any]:
    """Return the record of what became of it."""
    value = None if answer.value is None else dict(answer.value)
    return {"id": answer.id, "value": value, "by": answer.by, "at": answer.at}


# --- the fold -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Interactions:
    """What was asked in a session and what became of it, by id, in the order it was asked.

    ``answers`` are those that count, ``closed`` what ended without one, ``late`` what came after either, or did not
    fit the question.
    """

    asked: Mapping[str, Interaction] = field(default_factory=dict)
    answers: Mapping[str, InteractionAnswer] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    late: tuple[InteractionAnswer, ...] = ()

    @property
    def pending(self) -> tuple[Interaction, ...]:
        """What nobody has answered yet."""
        return tuple(each for each in self.asked.values() if each.id not in self.answers and each.id not in self.closed)

    @property
    def answered(self) -> tuple[tuple[Interaction, InteractionAnswer], ...]:
        """What was answered, with the answers."""
        return tuple((self.asked[name], answer) for name, answer in self.answers.items())


def interactions(asked: Iterable[Mapping[str, Any]], answers: Iterable[Mapping[str, Any]]) -> Interactions:
    """Fold the records of a session; records that cannot be read are passed over."""
    known: dict[str, Interaction] = {}
    for record in asked:
        interaction = _read_interaction(record)
        if interaction is not None:
            known.setdefault(interaction.id, interaction)
    counted: dict[str, InteractionAnswer] = {}
    closed: set[str] = set()
    late: list[InteractionAnswer] = []
    for record in answers:
        answer = _read_answer(record)
        if answer is None or answer.id not in known:
            continue
        if answer.id in counted or answer.id in closed or not _fits(known[answer.id], answer):
            late.append(answer)
        elif answer.value is None:
            closed.add(answer.id)
        else:
            counted[answer.id] = answer
    return Interactions(known, counted, frozenset(closed), tuple(late))


class _Recorded(Protocol):
    """What is needed of a session."""

    @property
    def turns(self) -> tuple[Turn, ...]: ...

    def records(self, kind: str) -> tuple[Mapping[str, Any], ...]: ...


def interactions_in(session: _Recorded) -> Interactions:
    """Return what was asked in a session and what became of it."""
    return interactions(session.records(INTERACTION), session.records(INTERACTION_ANSWER))


def pending_in(session: _Recorded) -> tuple[Interaction, ...]:
    """Return what can still be answered: of calls that nothing has answered otherwise."""
    calls = {call.id for call in open_calls(session.turns)}
    return tuple(each for each in interactions_in(session).pending if each.call_id in calls)


def _fits(interaction: Interaction, answer: InteractionAnswer) -> bool:
    if answer.value is None:
        return True
    try:
        checked(interaction, answer.value)
    except ConfigurationError:
        return False
    return True


def _read_interaction(record: Mapping[str, Any]) -> Interaction | None:
    name, kind, payload = record.get("id"), record.get("kind"), record.get("payload")
    if not isinstance(name, str) or kind not in get_args(InteractionKind) or not isinstance(payload, Mapping):
        return None
    if _NAME.fullmatch(name) is None:  # it is shown, and typed
        return None
    return Interaction(
        name,
        cast("InteractionKind", kind),
        payload,
        _time(record.get("created_at")),
        _text(record.get("run_id")),
        _text(record.get("call_id")),
    )


def _read_answer(record: Mapping[str, Any]) -> InteractionAnswer | None:
    name, value = record.get("id"), record.get("value")
    if not isinstance(name, str) or not (value is None or isinstance(value, Mapping)):
        return None
    return InteractionAnswer(name, value, str(record.get("by", "")), str(record.get("at", "")))


def _time(value: object) -> str:
    try:
        return datetime.fromisoformat(str(value)).isoformat()
    except ValueError:
        return ""


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

"""The desk: puts interactions to people, takes the first valid answer from wherever it comes, and keeps both.

One desk serves one session (:func:`desk_of`), so that a question asked in a cell can be answered by a command, by the
side panel, or in the next process. A *front* shows an interaction to a person in one place; an :class:`Asker` joins
the two for one run: the gate, the budgets and the tools ask through it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary, ref

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.approvals.decisions import Answer, Question
from zidane_lab.chat.budget_asking import BUDGET_TOOL
from zidane_lab.errors import ConfigurationError, SessionError
from zidane_lab.events import Ids, ToolGate
from zidane_lab.session.interactions import (
    INTERACTION,
    INTERACTION_ANSWER,
    Interaction,
    InteractionAnswer,
    answer_record,
    checked,
    interaction_record,
    interactions_in,
    new_interaction,
    pending_in,
)
from zidane_lab.session.session import Session
from zidane_lab.turns import now

__all__ = ["Asker", "Desk", "Front", "answer_from", "desk_of", "nobody_there", "question_of", "question_payload"]

Front: TypeAlias = Callable[[Interaction], Awaitable[InteractionAnswer | None]]
"""Shows an interaction to a person; ``None`` when nobody can answer here. Cancelled when it was answered elsewhere."""

_HINT: Final = "%zidane /pending lists what is open."


async def nobody_there(_interaction: Interaction) -> InteractionAnswer | None:
    """Be the front where no person can be reached."""
    return None


@dataclass(slots=True)
class _Waiting:
    """One interaction that somebody waits for now."""

    interaction: Interaction
    answer: asyncio.Future[InteractionAnswer]


class Desk:
    """The interactions of one session, which must outlive it. :meth:`answer` may be called from any thread.

    Parameters
    ----------
    session
        Where they are recorded.
    """

    def __init__(self, session: Session) -> None:
        self._session_ref = ref(session)  # desks are kept by session, which they must not keep alive
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._taken: dict[str, tuple[Interaction, InteractionAnswer]] = {}
        self._ended: set[str] = set()

    @property
    def _session(self) -> Session:
        session = self._session_ref()
        if session is None:
            raise ConfigurationError("The session of these questions is gone.", hint="Open it again to go on.")
        return session

    @property
    def is_waited_at(self) -> bool:
        """Whether a run waits for a person at this moment."""
        with self._lock:
            return bool(self._waiting)

    @property
    def pending(self) -> tuple[Interaction, ...]:
        """What can be answered now: what a run waits for, and what a dead process has left open."""
        with self._lock:
            done = self._taken.keys() | self._ended  # their runs may have yet to wake up
            waiting = [each.interaction for name, each in self._waiting.items() if name not in done]
            known = {each.id for each in waiting} | done
        return (*waiting, *(each for each in pending_in(self._session) if each.id not in known))

    @property
    def is_ready_to_resume(self) -> bool:
        """Whether calls of a dead process are open and the person has decided about one of them."""
        if not self._session.interrupted:
            return False
        calls = {call.id for call in self._session.turns[-1].tool_calls}
        with self._lock:
            return any(interaction.call_id in calls for interaction, _ in self._taken.values())

    def answer(self, name: str, value: object, *, by: str) -> Interaction:
        """Answer a pending interaction.

        Parameters
        ----------
        name
            Its id, or the beginning of it; empty for the only one there is.
        value
            The answer.
        by
            Where it comes from.

        Raises
        ------
        ConfigurationError
            There is no such interaction, it was answered before, or the answer does not fit.
        """
        interaction = self.find(name)
        told = self._masked(interaction, checked(interaction, value))
        answer = InteractionAnswer(interaction.id, told, by, now().isoformat())
        if not self._settle(interaction, answer):
            raise ConfigurationError("That is answered already, or not open any more.", hint=_HINT)
        return interaction

    def find(self, name: str) -> Interaction:
        """Return a pending interaction by the beginning of its id; empty for the only one there is.

        Raises
        ------
        ConfigurationError
            There is none such, or several.
        """
        pending = self.pending
        short = name.removeprefix("ask_")
        found = [each for each in pending if each.id.removeprefix("ask_").startswith(short)]
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise ConfigurationError(f"{len(found)} questions are open; say which.", hint=_HINT)
        answered = interactions_in(self._session).answers
        if name and any(each.removeprefix("ask_").startswith(short) for each in answered):
            raise ConfigurationError(f"{name} was answered already; the first answer counts.", hint=_HINT)
        raise ConfigurationError(f"Nothing is open by the name {name}." if name else "Nothing is open.", hint=_HINT)

    async def put(
        self, interaction: Interaction, front: Front, *, before: Callable[[], object] = lambda: None
    ) -> InteractionAnswer:
        """Put an interaction to a person and wait for the first valid answer.

        One that a dead process asked, and that was answered since, is not asked again.

        Parameters
        ----------
        interaction
            What is asked.
        front
            Shows it.
        before
            Called before anybody is waited for.

        Returns
        -------
        InteractionAnswer
            Its ``value`` is ``None`` when nobody can answer.
        """
        given = self._given(interaction)
        if given is not None:
            return given
        interaction = self._asked_before(interaction) or interaction
        with self._lock:
            waiting = self._waiting[interaction.id] = _Waiting(interaction, asyncio.get_running_loop().create_future())
        if interaction.id not in interactions_in(self._session).asked:
            self._record(INTERACTION, interaction_record(interaction))
        before()
        shown = asyncio.ensure_future(self._shown(interaction, front))
        try:
            either: set[asyncio.Future[Any]] = {shown, waiting.answer}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if waiting.answer.done():
                return waiting.answer.result()
            return self._from_front(interaction, shown.result())
        except asyncio.CancelledError:
            self._close(interaction, "stop")
            raise
        except BaseException:
            self._close(interaction, "policy")
            raise
        finally:
            with self._lock:
                self._waiting.pop(interaction.id, None)
            if not shown.done():
                shown.cancel()
                await asyncio.wait({shown})  # it takes its form away
            if not shown.cancelled():
                shown.exception()  # of a front that failed when its answer was not needed any more

    async def _shown(self, interaction: Interaction, front: Front) -> InteractionAnswer | None:
        return await front(interaction)

    def _from_front(self, interaction: Interaction, answer: InteractionAnswer | None) -> InteractionAnswer:
        value = None
        if answer is not None and answer.value is not None:
            try:
                value = self._masked(interaction, checked(interaction, answer.value))
            except ConfigurationError:  # fail closed: what does not fit is no answer
                value = None
        if value is None or answer is None:
            return self._close(interaction, "policy") or InteractionAnswer(interaction.id)
        told = InteractionAnswer(interaction.id, value, answer.by, now().isoformat())
        if self._settle(interaction, told):
            return told
        with self._lock:
            return self._taken[interaction.id][1]  # another answer came first

    def _masked(self, interaction: Interaction, value: dict[str, Any]) -> dict[str, Any]:
        """Return an answer with placeholders for the credentials in it, if it is one to the question then, too."""
        screen = self._session.screen
        if screen is None:
            return value
        masked = screen.json(value)
        try:
            return value if masked is value else checked(interaction, masked)
        except ConfigurationError:  # the label of an option, which was shown as it is
            return value

    def _settle(self, interaction: Interaction, answer: InteractionAnswer) -> bool:
        """Let an answer count if it is the first."""
        with self._lock:
            if interaction.id in self._taken or interaction.id in self._ended:
                return False
            self._taken[interaction.id] = (interaction, answer)
            waiting = self._waiting.get(interaction.id)
        self._record(INTERACTION_ANSWER, answer_record(answer))
        if waiting is not None:
            waiting.answer.get_loop().call_soon_threadsafe(_tell, waiting.answer, answer)
        return True

    def _close(self, interaction: Interaction, why: str) -> InteractionAnswer | None:
        """End it without an answer, unless one came first: that is returned, and counts."""
        with self._lock:
            if interaction.id in self._taken:
                return self._taken[interaction.id][1]
            self._ended.add(interaction.id)
        self._record(INTERACTION_ANSWER, answer_record(InteractionAnswer(interaction.id, None, why, now().isoformat())))
        return None

    def _record(self, kind: str, data: Mapping[str, Any]) -> None:
        with contextlib.suppress(SessionError):  # memory has it; a disk that fails ends the run at its next turn
            self._session.record(kind, data)

    def _given(self, interaction: Interaction) -> InteractionAnswer | None:
        """Return the answer given meanwhile to what a dead process asked about the same call.

        Only answers given in this process count: a session's file may come from somebody else.
        """
        with self._lock:
            taken = list(self._taken.values())
        same = (answer for asked, answer in taken if _is_same(asked, interaction))
        return next(same, None)

    def _asked_before(self, interaction: Interaction) -> Interaction | None:
        return next((each for each in pending_in(self._session) if _is_same(each, interaction)), None)


def _tell(future: asyncio.Future[InteractionAnswer], answer: InteractionAnswer) -> None:
    if not future.done():
        future.set_result(answer)


def _is_same(before: Interaction, present: Interaction) -> bool:
    """Whether an answer to the one answers the other: the same call, and nothing worse than was shown then."""
    if not present.call_id or before.call_id != present.call_id or before.kind != present.kind:
        return False
    then, today = dict(before.payload), dict(present.payload)
    if present.kind in ("question", "plan"):
        return then == today
    if any(then.get(key) != today.get(key) for key in ("tool", "target", "diff", "hunks")):
        return False
    return all(_texts(today.get(key)) <= _texts(then.get(key)) for key in ("reasons", "remember"))


def _texts(value: object) -> set[str]:
    return {each for each in value if isinstance(each, str)} if isinstance(value, (list, tuple)) else set()


_DESKS: WeakKeyDictionary[Session, Desk] = WeakKeyDictionary()


def desk_of(session: Session) -> Desk:
    """Return the one desk of a session."""
    return _DESKS.setdefault(session, Desk(session))  # threads meet here


# --- approvals as interactions --------------------------------------------------------------------------


def question_payload(question: Question) -> dict[str, Any]:
    """Return what an approval shows, as plain JSON."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(question).items()}


def question_of(payload: Mapping[str, Any]) -> Question:
    """Return the question behind the payload of an approval; what is not known of it, or of no use, is left out.

    A session's file may come from anywhere.
    """
    plain = Question("", "", "")
    known: dict[str, Any] = {"tool": "", "intent": "", "target": ""}
    for spec in fields(Question):
        value, usual = payload.get(spec.name), getattr(plain, spec.name)
        if isinstance(usual, tuple) and isinstance(value, (list, tuple)):
            known[spec.name] = tuple(map(str, value))
        elif type(value) is type(usual) and not isinstance(usual, tuple):
            known[spec.name] = value
    return Question(**known)


def answer_from(value: Mapping[str, Any]) -> Answer:
    """Return the answer behind the value of an approval that was answered."""
    hunks = value.get("hunks")
    return Answer(value["decision"], value.get("reason", ""), None if hunks is None else tuple(hunks))


_CALL: ContextVar[Ids | None] = ContextVar("zidane_lab_gated_call", default=None)
"""The call whose gate this task is at: what is asked about does not name it."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks for one run: a hook bundle, to be installed before the gate.

    Parameters
    ----------
    desk
        Of the session.
    front
        Where the person is.
    before
        Called before anybody is waited for.
    """

    desk: Desk
    front: Front = field(default=nobody_there)
    before: Callable[[], object] = lambda: None

    def install(self, hooks: HookBus) -> Uninstall:
        """Take note of which call is at the gate."""
        return hooks.on(ToolGate, self._at_gate)

    def _at_gate(self, event: ToolGate) -> None:
        _CALL.set(event.ids)

    async def interact(self, interaction: Interaction, /) -> InteractionAnswer:
        """Put what a tool asks (:class:`~zidane_lab.session.interactions.Interact`)."""
        return await self.desk.put(interaction, self.front, before=self.before)

    async def approve(self, question: Question) -> bool | Answer | None:
        """Put what the gate or a budget asks (:data:`~zidane_lab.approvals.decisions.Ask`)."""
        payload = question_payload(question)
        if question.tool == BUDGET_TOOL:
            answer = await self.interact(new_interaction("budget", payload))
            return None if answer.value is None else answer.value["decision"] != "deny"
        ids = _CALL.get()
        interaction = new_interaction(
            "approval", payload, run_id=ids.run_id if ids else None, call_id=ids.call_id if ids else None
        )
        answer = await self.interact(interaction)
        return None if answer.value is None else answer_from(answer.value)

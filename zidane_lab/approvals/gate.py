"""The gate: decides for each tool call whether it runs, is asked about, or is refused.

It judges the call, looks it up in the table of modes, and puts what asks to a person, once. It fails closed: what
cannot be judged asks, what cannot be asked is refused, and an answer that cannot be read is a no.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from zidane_lab.approvals.assess import Assessment, Foreseen, Surroundings
from zidane_lab.approvals.decisions import Answer, Ask, Choice, Grants, Question, as_answer
from zidane_lab.approvals.judging import assess
from zidane_lab.approvals.modes import BYPASS_BANNER, MODES, Case, Decision, Mode, decide
from zidane_lab.approvals.project import Project
from zidane_lab.approvals.safelist import PYTHON_TOOL, SHELL_TOOL, SHELL_TOOLS, covers
from zidane_lab.approvals.secret_files import Looks, UnseenError
from zidane_lab.approvals.sending import as_sending
from zidane_lab.errors import AbortedError, ConfigurationError
from zidane_lab.events import ToolGate
from zidane_lab.tools.base import Tier

__all__ = ["BYPASS_TOOL", "NOTICE", "STATE", "Ask", "Gate", "Mode", "Question"]

BYPASS_TOOL: Final = "bypass"
"""Stands in the question that confirms the mode, where otherwise the tool is named."""
STATE: Final = "approvals"
"""Name under which the gate keeps its decision with a call that may be resumed."""
NOTICE: Final = "notice"
"""Name under which something to tell the person stands beside a decision."""

_IN_A_DIFF: Final = frozenset({"old_string", "new_string", "edits", "patch", "content"})
"""Arguments that tell what a diff shows better."""

_SHOWN_ARGUMENT: Final = 300
_SHOWN_REASONS: Final = 20


def _no_names() -> Mapping[str, str]:
    return {}


def _no_entries() -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Gate:
    """A handler of the ``tool:gate`` event.

    Parameters
    ----------
    ask
        Puts a question to a person.
    mode
        See :mod:`zidane_lab.approvals.modes`.
    tiers
        The tier of each tool; one that is not listed counts as executing.
    protected
        Names of the user's own variables, at the time of the call.
    known
        What names in the namespace stand for, at the time of the call
        (:func:`zidane_lab.approvals.names.known_names`).
    project
        Which files belong to the project, at the time of the call; ``None`` where nobody knows.
    here
        The same for code, which runs in the kernel wherever files and commands are; ``project`` if left out.
    grants
        What was allowed for this session; pass the same one to every run of it.
    safelist, denied
        Entries of the project that allow and that deny, at the time of the call. What is denied wins.
    remember
        Stores entries for *always here*; without it that is not offered.
    foresee
        Returns what only the tools can tell about a call: the files it writes, the command it runs.
    preview
        Returns the unified diff of what a call would change, to be shown with the question.
    hunks_of
        How many parts of a call's change can be allowed one by one.
    keep_hunks
        Leaves only the allowed parts in the arguments of a call; called with the arguments, the mask and the reason.
    allow_bypass
        Whether the person has enabled the mode ``bypass``; it is confirmed once a session all the same.

    Raises
    ------
    ConfigurationError
        The mode does not exist, or is not enabled.
    """

    ask: Ask
    mode: str = "auto"
    tiers: Mapping[str, Tier] = field(default_factory=dict)
    protected: Callable[[], frozenset[str]] = frozenset
    known: Callable[[], Mapping[str, str]] = _no_names
    project: Callable[[], Project | None] = lambda: None
    here: Callable[[], Project | None] | None = None
    grants: Grants = field(default_factory=Grants)
    safelist: Callable[[], Sequence[str]] = _no_entries
    denied: Callable[[], Sequence[str]] = _no_entries
    remember: Callable[[Sequence[str]], None] | None = None
    foresee: Callable[[str, Mapping[str, Any]], Awaitable[Foreseen | None]] | None = None
    preview: Callable[[str, Mapping[str, Any]], Awaitable[str]] | None = None
    hunks_of: Callable[[str, Mapping[str, Any]], int] | None = None
    keep_hunks: Callable[[dict[str, Any], tuple[bool, ...], str], dict[str, Any]] | None = None
    allow_bypass: bool = False
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _accepted: set[tuple[str, ...]] = field(default_factory=set)
    _declined: list[bool] = field(default_factory=list)
    """Whether the mode ``bypass`` was not confirmed in this run: it is asked for once."""

    def __post_init__(self) -> None:
        hint = f"Modes: {', '.join(MODES)}."
        if self.mode not in MODES:
            raise ConfigurationError(f"There is no approval mode {self.mode!r}.", hint=hint)
        if self.mode == "bypass" and not self.allow_bypass:
            raise ConfigurationError(
                "Running everything unasked is off.",
                hint="Enable it with %zidane /config allow_bypass on; each session asks for it once more.",
            )

    @property
    def banner(self) -> str:
        """What to show as long as the mode runs everything unasked; empty otherwise."""
        return BYPASS_BANNER if self.mode == "bypass" and self.grants.bypass else ""

    async def __call__(self, event: ToolGate) -> None:
        """Decide about one call; a refusal says why and what the model can do instead."""
        if event.block is not None or event.result is not None:
            return
        if event.resumed:
            await self._restore(event)
            return
        foreseen: Foreseen | None = None
        try:
            foreseen = await self._foreseen(event)
            assessment = await self._assess(event, foreseen)
            decision = self._decide(event, assessment)
        except AbortedError:
            raise
        except Exception as error:  # noqa: BLE001 - fail closed: what upsets the judge is asked about
            why = f"it cannot be judged ({type(error).__name__})"
            assessment = Assessment("execute", "execute", (why,), (why,), touches_own=True, is_coverable=False)
            decision = decide(self.mode, Case("execute", "execute", is_critical=True, touches_own=True))
        if decision.kind == "allow":
            return
        if decision.kind == "deny":
            event.block = decision.reason
            return
        async with self._turn:  # one question at a time; the answer to one may settle the next
            if _act(event) in self._accepted or self._settled(event, assessment):
                return
            await self._put(event, assessment)
            await self._look_again(event, foreseen)

    # --- judging ------------------------------------------------------------------------------------------

    async def _foreseen(self, event: ToolGate) -> Foreseen | None:
        return await self.foresee(event.tool, event.input) if self.foresee is not None else None

    async def _look_again(self, event: ToolGate, foreseen: Foreseen | None) -> None:
        """Refuse a call that would do something else now than what was asked about: a person took their time."""
        if self.foresee is None or event.block is not None:
            return
        try:
            same = await self._foreseen(event) == foreseen
        except AbortedError:
            raise
        except Exception:  # noqa: BLE001 - fail closed: nobody knows what it would do now
            same = False
        if not same:
            event.block = "refused: what this call would do changed while it was asked about. Look again and repeat it."

    async def _assess(self, event: ToolGate, foreseen: Foreseen | None = None) -> Assessment:
        """Judge a call; folders are looked at in a thread, so that a large one does not hold up the event loop."""
        tier = self.tiers.get(event.tool, "execute")
        project = self.here if self.here is not None and event.tool == PYTHON_TOOL else self.project
        around = Surroundings(project(), self.protected(), self.known(), Looks(deferred=True))
        while True:
            try:
                return as_sending(event.tool, event.input, assess(event.tool, event.input, tier, around, foreseen))
            except UnseenError as unseen:
                look = unseen.look
            await asyncio.to_thread(look)

    def _decide(self, event: ToolGate, assessment: Assessment) -> Decision:
        case = Case(
            assessment.tier,
            assessment.reach,
            is_critical=bool(assessment.critical) and not self._is_allowed_exactly(assessment),
            touches_own=assessment.touches_own,
            is_allowed=self._is_allowed(event.tool, assessment),
            is_denied=self._is_denied(event.tool, assessment),
            in_project=assessment.in_project,
            advice=assessment.advice,
        )
        mode = "auto" if self.mode == "bypass" and not self.grants.bypass else self.mode
        return decide(mode, case)

    def _is_allowed(self, tool: str, assessment: Assessment) -> bool:
        if not assessment.is_coverable:
            return False
        entries = (*self.grants.entries, *self.safelist())
        return covers(entries, _listed(tool, assessment), self._needed(assessment), host=assessment.host)

    def _is_allowed_exactly(self, assessment: Assessment) -> bool:
        """Whether entries allow just this code, to the letter: then what is critical in it was seen."""
        if not (assessment.is_exact and assessment.is_coverable):
            return False
        entries = {*self.grants.entries, *self.safelist()}
        return bool(assessment.suggested) and entries.issuperset(assessment.suggested)

    def _needed(self, assessment: Assessment) -> tuple[str, ...]:
        """Return the tokens that need an entry: in mode ``ask`` all of them."""
        if self.mode == "ask":
            return assessment.tokens
        return tuple(token for token in assessment.tokens if token not in assessment.harmless)

    def _is_denied(self, tool: str, assessment: Assessment) -> bool:
        entries = tuple(self.denied())
        if not entries:
            return False
        words = {*assessment.tokens, *assessment.said}
        names = {word.rpartition("/")[2] for word in words}  # /bin/rm is rm
        listed = {tool, _listed(tool, assessment)}
        hit = any(covers(entries, each, [word]) for word in (words | names) for each in listed)
        return hit or any(covers(entries, each, (), host=assessment.host) for each in listed)

    def _settled(self, event: ToolGate, assessment: Assessment) -> bool:
        """Whether an answer given meanwhile decides about this call, too."""
        try:
            decision = self._decide(event, assessment)
        except Exception:  # noqa: BLE001 - fail closed: it is asked about
            return False
        if decision.kind == "deny":
            event.block = decision.reason
        return decision.kind != "ask"

    # --- asking -------------------------------------------------------------------------------------------

    async def _put(self, event: ToolGate, assessment: Assessment) -> None:
        """Ask, and refuse unless the answer is yes."""
        asks_bypass = self.mode == "bypass" and not self.grants.bypass and not self._declined
        if asks_bypass and await self._confirm_bypass():
            event.resume_state[STATE] = {"decision": "bypass", NOTICE: BYPASS_BANNER}
            if self._settled(event, assessment):
                return
        question = await self._question(event, assessment)
        said = "; ".join(assessment.reasons[:_SHOWN_REASONS])
        try:
            answer = as_answer(await self.ask(question), question)
        except AbortedError:
            raise
        except Exception as error:  # noqa: BLE001 - fail closed: a question that cannot be put is not a yes
            said = f"{said}; asking failed ({type(error).__name__})"
            answer = None
        if answer is None:
            event.block = (
                f"refused: {said}. This needs permission and nobody is here to give it. "
                "Work without it, or tell the user what you would do."
            )
        elif answer.decision == "deny":
            event.block = _refusal(said, answer.reason)
        else:
            self._accept(event, question, answer)

    def _accept(self, event: ToolGate, question: Question, answer: Answer) -> None:
        """Let a call run as it was allowed, and remember what was allowed beyond it."""
        kept: dict[str, Any] = {**event.resume_state.get(STATE, {}), "decision": answer.decision}
        if answer.hunks is not None and not all(answer.hunks):
            kept |= {"hunks": list(answer.hunks), "reason": answer.reason}
        act = _act(event)
        if not self._keep(event, kept):
            return
        event.resume_state[STATE] = kept
        if act:
            self._accepted.add(act)
        if answer.decision == "once":
            return
        self.grants.allow(question.remember)
        if answer.decision == "always" and self.remember is not None:
            try:
                self.remember(question.remember)
            except Exception as error:  # noqa: BLE001 - the call was allowed; only the remembering failed
                kept[NOTICE] = (
                    f"What you allowed here from now on could not be stored, so it holds for this session only: {error}"
                )

    def _keep(self, event: ToolGate, kept: Mapping[str, Any]) -> bool:
        """Leave only what was allowed of a change; ``False``, and a block, where that cannot be done."""
        if "hunks" not in kept:
            return True
        if self.keep_hunks is None:
            event.block = (
                "refused: only parts of this change were allowed, and it cannot be taken apart. Send them one by one."
            )
            return False
        try:
            event.input = self.keep_hunks(
                dict(event.input), tuple(map(bool, kept["hunks"])), str(kept.get("reason", ""))
            )
        except Exception as error:  # noqa: BLE001 - fail closed: what was not allowed must not run
            event.block = f"refused: the parts that were allowed could not be told apart ({type(error).__name__})."
            return False
        return True

    async def _restore(self, event: ToolGate) -> None:
        """Let a call go on that was decided about in a process that died."""
        kept = event.resume_state.get(STATE)
        if isinstance(kept, Mapping):
            self._keep(event, kept)
        if event.block is None and await self._is_denied_now(event):
            event.block = decide(self.mode, Case("execute", "execute", is_denied=True)).reason

    async def _is_denied_now(self, event: ToolGate) -> bool:
        try:
            return bool(self.denied()) and self._is_denied(event.tool, await self._assess(event))
        except Exception:  # noqa: BLE001 - fail closed
            return True

    async def _question(self, event: ToolGate, assessment: Assessment) -> Question:
        remember = self._offered(event.tool, assessment)
        choices: tuple[Choice, ...] = ("once", "deny")
        if remember:
            choices = ("once", "session", "deny") if self.remember is None else ("once", "session", "always", "deny")
        diff = await self._diff(event)
        return Question(
            event.tool,
            _text(event.input.get("intent")),
            "\n".join([_target(event, is_drawn=bool(diff)), *assessment.shown]),
            assessment.reasons,
            remember,
            diff,
            choices,
            self._hunks(event),
            assessment.reach,
        )

    def _offered(self, tool: str, assessment: Assessment) -> tuple[str, ...]:
        """Return the entries to offer: those still needed, if with them the call would pass."""
        if not assessment.is_coverable or self.mode == "plan" or (assessment.critical and not assessment.is_exact):
            return ()
        had, listed = (*self.grants.entries, *self.safelist()), _listed(tool, assessment)
        needed = self._needed(assessment)
        offered = tuple(
            entry
            for entry in assessment.suggested
            if not any(covers([entry], listed, [token]) for token in assessment.tokens if token not in needed)
            and entry not in had
        )
        return offered if offered and covers((*had, *offered), listed, needed, host=assessment.host) else ()

    def _hunks(self, event: ToolGate) -> int:
        try:
            return self.hunks_of(event.tool, event.input) if self.hunks_of is not None else 0
        except Exception:  # noqa: BLE001 - then it is all or nothing
            return 0

    async def _diff(self, event: ToolGate) -> str:
        if self.preview is None:
            return ""
        try:
            return await self.preview(event.tool, event.input)
        except AbortedError:
            raise
        except Exception:  # noqa: BLE001 - the arguments are shown all the same
            return ""

    async def _confirm_bypass(self) -> bool:
        """Ask once a session whether everything may run unasked."""
        question = Question(
            BYPASS_TOOL,
            "run everything unasked until this session ends",
            BYPASS_BANNER,
            ("nothing will be asked any more",),
        )
        try:
            answer = as_answer(await self.ask(question), question)
        except AbortedError:
            raise
        except Exception:  # noqa: BLE001 - fail closed: not confirmed
            answer = None
        self.grants.bypass = answer is not None and answer.decision != "deny"
        if not self.grants.bypass:
            self._declined.append(True)
        return self.grants.bypass


def _act(event: ToolGate) -> tuple[str, ...]:
    """Return what tells one act from another, however often its call is put to the gate; empty if nothing does."""
    return (repr(event.ids), event.tool, repr(event.input)) if event.ids.call_id else ()


def _listed(tool: str, assessment: Assessment) -> str:
    """Return the name under which a call is on the safelist: all that run commands share one, as all that fetch do."""
    return SHELL_TOOL if tool in SHELL_TOOLS else assessment.listed or tool


def _refusal(said: str, reason: str) -> str:
    told = f" They said: {' '.join(reason.split())}." if reason.strip() else ""
    return (
        f"refused by the user: {said}.{told} Do not try the same another way; work without it, or ask what they want."
    )


def _target(event: ToolGate, *, is_drawn: bool = False) -> str:
    """Return the code, the command, or the arguments one a line, as a person can check them.

    What a diff draws anyway is left out of the arguments.
    """
    is_shell = event.tool in SHELL_TOOLS
    whole = event.input.get("command" if is_shell else "code")
    if isinstance(whole, str) and (is_shell or event.tool == PYTHON_TOOL):
        others = [f"{key}: {_text(value)}" for key, value in event.input.items() if key in {"cwd", "env"} and value]
        return "\n".join([whole, *others]) if is_shell else whole
    shown = {key: value for key, value in event.input.items() if key != "intent"}
    if is_drawn:
        shown = {key: value for key, value in shown.items() if key not in _IN_A_DIFF and value not in (None, False)}
    return "\n".join(f"{key}: {_text(value)}" for key, value in shown.items())


def _text(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else repr(value)
    if len(text) > _SHOWN_ARGUMENT:
        text = f"{text[:_SHOWN_ARGUMENT]}… ({len(text) - _SHOWN_ARGUMENT:,} more characters)"
    return text

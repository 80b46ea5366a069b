"""How a run goes on by itself after an answer that ended abnormally.

An answer cut at the output limit is continued, a refused one is asked for once more, a paused one goes on. Each time
a user turn is added whose ``injected`` tells it from a person's. Where that is used up, the run ends, and
:func:`stop_notice` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from zidane_lab.errors import ConfigurationError, LengthResumeExhaustedError
from zidane_lab.events import FinishReason, Injection, RunStatus
from zidane_lab.turns import Turn

__all__ = ["CONTINUE_LENGTH", "CONTINUE_PAUSE", "RETRY_REFUSAL", "ResumePolicy", "Resumes", "StopNotice", "stop_notice"]

CONTINUE_LENGTH: Final = "Please continue."
"""Said after an answer that reached the output limit."""

CONTINUE_PAUSE: Final = "Continue."
"""Said after an answer that the provider paused."""

RETRY_REFUSAL: Final = (
    "The last answer was declined. Please look at the request once more: answer what can be answered, "
    "and say briefly what cannot and why."
)
"""Said once after a refusal; it asks for nothing that was not asked before."""


@dataclass(frozen=True, slots=True)
class ResumePolicy:
    """When a run goes on by itself.

    Parameters
    ----------
    on_length
        Whether an answer that reached the output limit is continued at all.
    most_length_resumes
        Most continuations in a row of answers that showed text; then the run ends with what there is.
    most_empty
        Answers in a row without text or calls after which the run fails: each restarts its reasoning from nothing.
    refusal_retries
        How often in a row a refused request is put again.
    pause_resumes
        Most continuations in a row of paused answers.

    Raises
    ------
    ConfigurationError
        A number is negative, or ``most_empty`` is not at least 1.
    """

    on_length: bool = True
    most_length_resumes: int = 20
    most_empty: int = 3
    refusal_retries: int = 1
    pause_resumes: int = 10

    def __post_init__(self) -> None:
        for name, least in (
            ("most_length_resumes", 0),
            ("most_empty", 1),
            ("refusal_retries", 0),
            ("pause_resumes", 0),
        ):
            value = getattr(self, name)
            if value < least:
                raise ConfigurationError(f"{name} is {value}.", hint=f"Give a whole number of at least {least}.")


_DEFAULT: Final = ResumePolicy()


@dataclass(slots=True)
class Resumes:
    """How often a run went on by itself since it last got anywhere. One object a run."""

    policy: ResumePolicy = field(default=_DEFAULT)
    _lengths: int = 0
    _empty: int = 0
    _refusals: int = 0
    _pauses: int = 0

    def after(self, turn: Turn, finish: FinishReason) -> Injection | None:
        """Say how the run goes on after an answer; ask once for each.

        Returns
        -------
        Injection or None
            What to tell the model; ``None`` when there is nothing to add: calls are answered by their results
            (one that was cut off by an error), and anything else ends the run.

        Raises
        ------
        LengthResumeExhaustedError
            Too many answers in a row reached the output limit with nothing to show.
        """
        if turn.tool_calls or finish not in ("length", "refusal", "pause"):
            self._lengths = self._empty = self._refusals = self._pauses = 0
            return None
        if finish == "length":
            return self._length(shown=bool(turn.text.strip()))
        self._empty = 0
        if finish == "refusal":
            self._refusals += 1
            allowed = self._refusals <= self.policy.refusal_retries
            return Injection("refusal-retry", RETRY_REFUSAL) if allowed else None
        self._pauses += 1
        return Injection("pause-resume", CONTINUE_PAUSE) if self._pauses <= self.policy.pause_resumes else None

    def _length(self, *, shown: bool) -> Injection | None:
        if not self.policy.on_length:
            return None
        if shown:
            self._empty = 0
            self._lengths += 1
            if self._lengths > self.policy.most_length_resumes:
                return None
        else:
            self._empty += 1
            if self._empty >= self.policy.most_empty:
                raise LengthResumeExhaustedError(self._empty)
        return Injection("length-resume", CONTINUE_LENGTH)


# --- what a person is told ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StopNotice:
    """Why a run that did not fail ended abnormally: a title, and what to do next."""

    finish: FinishReason
    title: str
    text: str


_NOTICES: Final = {
    "length": ("The answer reached the model's output limit.", "Ask it to continue to get the rest."),
    "refusal": ("The model declined to answer.", "Rephrase the request, or ask another model with --model."),
    "pause": ("The provider paused the answer.", "Prompt again to let it go on."),
    "other": ("The answer ended for a reason the provider did not name.", "Prompt again if it looks incomplete."),
}


def stop_notice(status: RunStatus, finish: FinishReason | None) -> StopNotice | None:
    """Return the notice of an abnormal end.

    ``None`` for a normal one (also after a continuation that worked: the run then ends on ``stop``), for a run that a
    person stopped, and for a failed one, whose error was told already.
    """
    if status != "completed" or finish is None or finish not in _NOTICES:
        return None
    return StopNotice(finish, *_NOTICES[finish])

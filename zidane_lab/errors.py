"""One tree of exceptions, grouped by cause.

Every error carries a *hint*: what the reader, a person or a model, can do next. ``str(error)`` is the
message followed by the hint, so a bare traceback already says how to recover.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

__all__ = [
    "AbortedError",
    "AuthError",
    "BadRequestError",
    "BudgetExceededError",
    "CompactInvalidInputError",
    "CompactPromptTooLongError",
    "CompactionError",
    "ConfigurationError",
    "ContextExceededError",
    "KernelLostError",
    "LengthResumeExhaustedError",
    "NetworkError",
    "OperationTimeoutError",
    "OverloadedError",
    "ProviderError",
    "QuotaError",
    "RateLimitError",
    "SessionError",
    "SessionLockedError",
    "StreamInterruptedError",
    "ToolError",
    "ToolInputError",
    "ToolNotAllowedError",
    "ToolPairingError",
    "ZidaneError",
]


class ZidaneError(Exception):
    """Root of the tree.

    Parameters
    ----------
    message
        What happened, one sentence.
    hint
        What to do next; falls back to the class's ``default_hint``.
    """

    code: ClassVar[str] = "error"
    default_hint: ClassVar[str] = "Run `%zidane /doctor` to see the state of the agent."

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint if hint is not None else self.default_hint
        super().__init__(f"{message} {self.hint}".strip())

    def add_hint(self, text: str) -> None:
        """Add a sentence to the hint; the message stays as it is."""
        self.hint = f"{self.hint} {text}".strip()
        self.args = (f"{self.message} {self.hint}".strip(),)


class AbortedError(ZidaneError):
    """The run was stopped by a person, a signal or its parent. Never retried, never wrapped."""

    code = "aborted"
    default_hint = "Nothing is lost: send another prompt to go on from here."


class ConfigurationError(ZidaneError):
    """A setting, an option or a model name cannot be used."""

    code = "configuration"
    default_hint = "Run `%zidane /config` to see the settings in force and where each comes from."


class BudgetExceededError(ZidaneError):
    """A limit on turns, tokens, money or time was reached.

    Parameters
    ----------
    kind
        Which budget: ``"turns"``, ``"tokens"``, ``"cost"`` or ``"time"``.
    limit, used
        The limit and what was used, in the budget's own unit (turns, tokens, US dollars, seconds).
    scope
        Whose budget: this ``"run"``'s, the ``"session"``'s or the ``"notebook"``'s.
    """

    code = "budget_exceeded"
    default_hint = "The work so far is kept: raise the limit and prompt again to go on."

    def __init__(
        self,
        kind: Literal["turns", "tokens", "cost", "time"],
        limit: float,
        used: float,
        *,
        scope: Literal["run", "session", "notebook"] = "run",
        hint: str | None = None,
    ) -> None:
        self.kind, self.limit, self.used, self.scope = kind, limit, used, scope
        text = {
            "turns": f"{used:g} of {limit:g} turns used.",
            "tokens": f"{used:,.0f} of {limit:,.0f} tokens used.",
            "cost": f"${used:.4f} of ${limit:.4f} spent.",
            "time": f"{used:,.0f} of {limit:,.0f} seconds used.",
        }[kind]
        super().__init__(f"The {kind} budget of this {scope} is used up: {text}", hint=hint)


class LengthResumeExhaustedError(ZidaneError):
    """The model kept reaching its output limit without saying or doing anything.

    Parameters
    ----------
    consecutive_empty_turns
        Answers in a row that held neither text nor calls.
    """

    code = "length_resume_exhausted"
    default_hint = "It spends its whole output on reasoning: lower the thinking level, or raise the output limit."

    def __init__(self, consecutive_empty_turns: int, *, hint: str | None = None) -> None:
        self.consecutive_empty_turns = consecutive_empty_turns
        super().__init__(
            f"The model reached its output limit {consecutive_empty_turns} times in a row with nothing to show.",
            hint=hint,
        )


class CompactionError(ZidaneError):
    """The conversation could not be compacted."""

    code = "compaction"
    default_hint = (
        "Nothing was changed. Try again, name another model for summaries, or start afresh with `%zidane /new`."
    )


class CompactInvalidInputError(CompactionError):
    """There is nothing to compact in what was asked for."""

    code = "compact_invalid_input"
    default_hint = "Nothing was changed: choose another scope, or go on and compact later."


class CompactPromptTooLongError(CompactionError):
    """Even a shortened conversation does not fit into the summarising model.

    Parameters
    ----------
    ptl_retries
        How often it had been shortened.
    """

    code = "compact_prompt_too_long"
    default_hint = (
        "Nothing was changed: summarise with a model of a larger window, or start afresh with `%zidane /new`."
    )

    def __init__(self, message: str, *, ptl_retries: int = 0, hint: str | None = None) -> None:
        self.ptl_retries = ptl_retries
        super().__init__(message, hint=hint)


class OperationTimeoutError(ZidaneError):
    """Something did not answer in the time allowed."""

    code = "timeout"
    default_hint = "Try again; if it stays silent, raise the limit or look at the service."


# --- providers ------------------------------------------------------------------------------------


LONGEST_RETRY_WAIT: Final = 60.0
"""Seconds; a limit that resets later than this is not waited for."""


class ProviderError(ZidaneError):
    """The model's service failed or refused.

    Parameters
    ----------
    provider
        Name of the provider, as in a model name.
    status
        HTTP status, if there was one.
    retry_after
        Seconds the service asked to wait, if it said so.
    resets_at
        When that wait is over, in seconds since 1970.
    product
        What people call the service: ``Claude``, ``OpenAI``, ``Gemini``…
    native_code
        The service's own code or type of the failure, for programs.
    said
        The service's own words.
    final
        Whether the service itself said that asking again is of no use.
    """

    code = "provider"
    transient: ClassVar[bool] = False
    """Whether errors of this kind pass by themselves."""

    default_hint = "Try again, or pick another model with `--model provider/name`."

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        resets_at: float | None = None,
        product: str = "",
        native_code: str | None = None,
        said: str = "",
        final: bool = False,
        hint: str | None = None,
    ) -> None:
        self.provider, self.status, self.product = provider, status, product
        self.retry_after, self.resets_at = retry_after, resets_at
        self.native_code, self.said, self.final = native_code, said, final
        super().__init__(message, hint=hint)

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed within a minute.

        Not when the service said that it will not, or asked for a longer wait; else as the kind of error has it.
        """
        soon = self.retry_after is None or self.retry_after <= LONGEST_RETRY_WAIT
        return self.transient and soon and not self.final


class AuthError(ProviderError):
    """No credential, or the service refused it."""

    code = "auth"
    default_hint = "Set the provider's key in the environment, or use `--model offline` to work without one."


class RateLimitError(ProviderError):
    """Too many requests for the moment."""

    code = "rate_limit"
    transient = True
    default_hint = "Wait a moment and try again."


class QuotaError(ProviderError):
    """The account's allowance is spent."""

    code = "quota"
    default_hint = "Check the account's billing, or pick another model."

    @property
    def retryable(self) -> bool:
        """Whether the allowance is renewed within a minute; no waiting refills one that states no reset."""
        return self.retry_after is not None and self.retry_after <= LONGEST_RETRY_WAIT and not self.final


class OverloadedError(ProviderError):
    """The service is up but too busy."""

    code = "overloaded"
    transient = True
    default_hint = "Try again shortly, or pick another model."


class NetworkError(ProviderError):
    """The service could not be reached, or the connection broke."""

    code = "network"
    transient = True
    default_hint = "Check the connection and the base URL, then try again."


class StreamInterruptedError(NetworkError):
    """The answer stopped before its end was announced."""

    code = "stream_interrupted"
    default_hint = "What had arrived is kept in the session; prompt again to go on."


class BadRequestError(ProviderError):
    """The service refused the request as malformed."""

    code = "bad_request"
    default_hint = "The service's own words are above; check the model name and its abilities."


class ContextExceededError(ProviderError):
    """The conversation no longer fits in the model's window."""

    code = "context_exceeded"
    default_hint = "Start afresh with `%zidane /new`, or pick a model with a larger window."


# --- tools ----------------------------------------------------------------------------------------


class ToolError(ZidaneError):
    """A tool could not do its work. The text goes to the model as an error result."""

    code = "tool"
    default_hint = "Change the arguments or choose another way."


class ToolInputError(ToolError):
    """The arguments of a call do not fit the tool's schema."""

    code = "tool_input"
    default_hint = "Correct the arguments and call again; the tool has not run."


class ToolNotAllowedError(ToolError):
    """A call was refused by policy or by a person."""

    code = "tool_not_allowed"
    default_hint = "The tool has not run; find a way that needs no permission, or ask the user."


class ToolPairingError(ZidaneError):
    """A history has calls without results, or results without calls, where none are tolerated."""

    code = "tool_pairing"
    default_hint = "Repair the history (zidane_lab.wire.pairing) before sending it."


# --- kernel and session ---------------------------------------------------------------------------


class KernelLostError(ZidaneError):
    """The kernel that ran the code is gone; its variables are gone with it."""

    code = "kernel_lost"
    default_hint = "The variables are lost: start the kernel again and load the data anew."


class SessionError(ZidaneError):
    """A session file cannot be read or written."""

    code = "session"
    default_hint = "The conversation in memory is kept; free some space or choose another folder, then go on."


class SessionLockedError(SessionError):
    """Another process is writing this session."""

    code = "session_locked"
    default_hint = "Go on there, or take a copy of it here with `%zidane /branch`."

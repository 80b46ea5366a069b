"""Why a request of a front end was not done."""

from __future__ import annotations

from typing import Final

from zidane_lab.errors import ConfigurationError

__all__ = ["CODES", "RpcError"]

CODES: Final = {
    "malformed": "the request is not JSON, or no object",
    "too_large": "the request or its reply is too long",
    "version": "the kernel speaks another version of the protocol",
    "unknown_method": "there is no such method",
    "invalid_params": "a parameter is missing or of the wrong kind",
    "not_loaded": "the extension is not loaded in this kernel",
    "not_running": "no run is under way",
    "not_found": "nothing was asked by that id",
    "invalid_answer": "the answer does not fit what was asked, which stays open",
    "answered": "another answer came first",
    "closed": "it ended without an answer: the run was stopped, or nobody was there",
    "busy": "the agent does not answer in time; try again",
    "internal": "a fault of zidane_lab",
}
"""What an error's ``code`` may be, beside the codes of :mod:`zidane_lab.errors`, and what it means."""


class RpcError(ConfigurationError):
    """A request that cannot be done.

    Parameters
    ----------
    why
        One of :data:`CODES`.
    message, hint
        What happened, and what to do.
    """

    def __init__(self, why: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.why = why

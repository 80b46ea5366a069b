"""How a conversation is compacted, as one frozen value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from zidane_lab.errors import ConfigurationError

__all__ = ["AutoCompact", "AutoCompactSetting", "auto_compact_of"]


@dataclass(frozen=True, slots=True)
class AutoCompact:
    """When a conversation is summarised by itself, and how every summary is made.

    Parameters
    ----------
    threshold
        Share of the effective window (the window less what an answer needs) that a prompt must reach. Outside the
        open interval from 0 to 1 nothing fires by itself, with the reason ``"invalid-threshold"``.
    keep_turns
        Turns at the end that stay word for word.
    max_failures
        Failures in a row after which a run stops trying; a prompt the service refuses as too long is still
        compacted.
    min_growth
        Share of the effective window by which a conversation must have grown since it was last compacted.
    restore
        Whether files, skills and variables in use are put back behind the summary.
    release
        Whether memory lets go of the large results a summary replaces, once they are kept in files.
    window
        The conversation's window in tokens, where the catalogue does not know it or is wrong.
    model
        Who writes the summary: a full name (``provider/model``); the model of the conversation if left out.
    max_output_tokens
        Most tokens of a summary.
    max_ptl_retries
        How often the conversation is shortened when it is too long for the summarising model; 0 to fail at once.
    silence_seconds
        How long the summarising model may say nothing, its first word included; 0 for no limit.
    instructions
        What summaries should pay attention to, in the user's words.

    Raises
    ------
    ConfigurationError
        A value cannot be used.
    """

    threshold: float = 0.85
    keep_turns: int = 4
    max_failures: int = 2
    min_growth: float = 0.1
    restore: bool = True
    release: bool = False
    window: int | None = None
    model: str | None = None
    max_output_tokens: int = 20_000
    max_ptl_retries: int = 3
    silence_seconds: float = 300.0
    instructions: str = ""

    def __post_init__(self) -> None:
        for name, least in (
            ("keep_turns", 0),
            ("max_failures", 1),
            ("window", 1),
            ("max_output_tokens", 1),
            ("max_ptl_retries", 0),
        ):
            value = getattr(self, name)
            if value is None and name == "window":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ConfigurationError(
                    f"{name} is {value!r}.", hint=f"Give a whole number of at least {least}{_or_none(name)}."
                )
        if not _is_number(self.threshold):
            raise ConfigurationError(f"threshold is {self.threshold!r}.", hint="Give a share between 0 and 1: 0.85.")
        if not (_is_number(self.min_growth) and 0 <= self.min_growth < 1):
            raise ConfigurationError(f"min_growth is {self.min_growth!r}.", hint="Give a share from 0 to below 1: 0.1.")
        if not (_is_number(self.silence_seconds) and 0 <= self.silence_seconds < math.inf):
            raise ConfigurationError(
                f"silence_seconds is {self.silence_seconds!r}.", hint="Give seconds, or 0 for no limit."
            )
        if self.model is not None and not self.model.strip():
            raise ConfigurationError(f"model is {self.model!r}.", hint="Name a model as in provider/model, or None.")


AutoCompactSetting: TypeAlias = bool | AutoCompact | None
"""``True`` for the defaults, ``False`` or ``None`` for off, or the values themselves."""


def auto_compact_of(setting: AutoCompactSetting) -> AutoCompact | None:
    """Return what a setting stands for; ``None`` when compaction does not start by itself."""
    if isinstance(setting, AutoCompact):
        return setting
    return AutoCompact() if setting else None


def _or_none(name: str) -> str:
    return ", or None" if name == "window" else ""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

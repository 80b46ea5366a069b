"""Whether the window has filled so far that the conversation should be compacted now.

Pure: numbers go in, a decision with its reason comes out. The checks go from the cheapest to the one that only
matters while a compaction is under way, so that the reason given is the most basic one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from zidane_lab.providers.catalog import effective_window

__all__ = ["Decision", "Fire", "Skip", "SkipReason", "effective_window", "should_auto_compact"]

SkipReason: TypeAlias = Literal[
    "disabled",
    "unknown-window",
    "invalid-threshold",
    "invalid-input-tokens",
    "under-threshold",
    "cooldown",
    "already-compacting",
]
"""Why nothing is done, in the order of the checks."""


@dataclass(frozen=True, slots=True)
class Fire:
    """Compact: the prompt takes up ``used_fraction`` of ``effective_window`` tokens."""

    used_fraction: float
    effective_window: int


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave the conversation as it is, and why."""

    reason: SkipReason


Decision: TypeAlias = Fire | Skip


def should_auto_compact(
    *,
    enabled: bool,
    window: float | None,
    threshold: float,
    input_tokens: float,
    baseline_tokens: float | None = None,
    min_growth: float = 0.0,
    already_compacting: bool = False,
) -> Decision:
    """Decide whether a conversation should be compacted.

    Parameters
    ----------
    enabled
        Whether the user wants it at all.
    window
        Window of the model that leads the conversation, in tokens, whoever writes summaries; ``None``: not known.
    threshold
        Share of the effective window to reach, strictly between 0 and 1.
    input_tokens
        Size of the last prompt, as the provider counted it.
    baseline_tokens
        Size of the first prompt after the last compaction; ``None`` when there has been none.
    min_growth
        Share of the effective window by which the prompt must have grown over ``baseline_tokens``. Without it a
        conversation that stays large would be summarised again at every turn.
    already_compacting
        Whether a compaction of this conversation is under way.
    """
    if not enabled:
        return Skip("disabled")
    if window is None or not math.isfinite(window) or window <= 0:
        return Skip("unknown-window")
    if not 0 < threshold < 1:
        return Skip("invalid-threshold")
    if not math.isfinite(input_tokens) or input_tokens < 0:
        return Skip("invalid-input-tokens")
    usable = effective_window(window)
    used = input_tokens / usable
    if used < threshold:
        return Skip("under-threshold")
    if baseline_tokens is not None and input_tokens - baseline_tokens < min_growth * usable:
        return Skip("cooldown")
    if already_compacting:
        return Skip("already-compacting")
    return Fire(used, usable)

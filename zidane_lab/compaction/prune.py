"""Leave old tool outputs out of what is sent: the cheapest way to make room, and no model is asked.

Turns stay as they were said, and a result that was left out can be read back with ``read_output``. Both functions
here are pure: they decide, the caller records the decision (see :mod:`zidane_lab.wire.state`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zidane_lab.compaction.past_results import Elision, PastResult, elision_of, past_results
from zidane_lab.compaction.useless import (
    FAILED_NOTICE,
    SUPERSEDED_NOTICE,
    USELESS_NOTICE,
    superseded_calls,
    useless_calls,
)
from zidane_lab.turns import Turn
from zidane_lab.wire.state import WireState

__all__ = ["PROTECTED_TOOLS", "PrunePolicy", "elide_tail", "placeholder", "prune_outputs"]

PROTECTED_TOOLS: Final = frozenset({"skills_use", "skills_read", "present_plan"})
"""Tools whose results are instructions or agreements, not evidence."""


@dataclass(frozen=True, slots=True)
class PrunePolicy:
    """What may be left out.

    Parameters
    ----------
    protect
        Tokens of the newest tool outputs that stay.
    minimum
        Tokens to be saved at least; for less it is not worth reading the conversation anew.
    smallest
        Results of fewer tokens stay: a placeholder is hardly shorter.
    protected_tools
        Tools whose results always stay.
    reader
        Tool that reads a result back, named in the placeholder; ``None`` where the agent has none.
    """

    protect: int = 40_000
    minimum: int = 20_000
    smallest: int = 50
    protected_tools: frozenset[str] = PROTECTED_TOOLS
    reader: str | None = "read_output"


def prune_outputs(
    turns: Sequence[Turn], state: WireState, policy: PrunePolicy | None = None, *, cwd: Path | None = None
) -> Elision | None:
    """Decide which old outputs to leave out; ``None`` if that would not save enough.

    Going back from the newest result, those that begin within the protected tokens stay, except the ones that hold
    nothing or that a later call shows again. Results the model has not seen yet always stay, and so do the stubs
    of results kept in a file: they are the way to it.

    Parameters
    ----------
    cwd
        See :func:`~zidane_lab.compaction.useless.file_key`.
    """
    policy = policy or PrunePolicy()
    past = past_results(turns, state)
    useless, superseded = useless_calls(turns, state), superseded_calls(past, cwd)
    chosen: list[tuple[PastResult, str]] = []
    newer = 0
    for each in reversed(past):
        if not each.sent:
            continue
        recent = newer < policy.protect
        newer += each.tokens
        if not _may_go(each, policy):
            continue
        if each.call.id in useless:
            chosen.append((each, FAILED_NOTICE if each.result.is_error else USELESS_NOTICE))
        elif each.call.id in superseded:
            chosen.append((each, SUPERSEDED_NOTICE))
        elif not recent:
            chosen.append((each, placeholder(each, policy.reader)))
    elision = elision_of(chosen[::-1], "old tool outputs")
    return elision if elision is not None and elision.tokens >= policy.minimum else None


def elide_tail(
    turns: Sequence[Turn],
    state: WireState,
    *,
    threshold: int,
    keep_turns: int = 4,
    policy: PrunePolicy | None = None,
) -> Elision | None:
    """Decide to leave out all outputs older than the last few turns, once there are too many of them.

    Parameters
    ----------
    threshold
        UTF-8 bytes of tool text that may be sent; up to it nothing is done.
    keep_turns
        Newest turns whose results stay.
    policy
        Of it count the smallest result, the protected tools and the reader.
    """
    policy = policy or PrunePolicy()
    past = [each for each in past_results(turns, state) if each.sent]
    total = sum(len(each.result.text.encode("utf-8", "surrogatepass")) for each in past)
    if total <= threshold:
        return None
    border = len(turns) - max(0, keep_turns)
    old = [each for each in past if each.turn < border and _may_go(each, policy)]
    return elision_of([(each, placeholder(each, policy.reader)) for each in old], "tool outputs of earlier turns")


def placeholder(past: PastResult, reader: str | None = "read_output") -> str:
    """Return what is sent in place of an old output: how large it was, and how to have it back."""
    call = past.call
    again = f'{reader}(call_id="{call.id}") shows it' if reader else f"call {call.name} again if you need it"
    return f"[Left out to save room: about {past.tokens:,} tokens; {again}.]"


def _may_go(past: PastResult, policy: PrunePolicy) -> bool:
    return (
        past.seen
        and past.tokens >= policy.smallest
        and past.call.name not in policy.protected_tools
        and not past.is_stub
    )

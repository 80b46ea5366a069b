"""Modes: what runs, what asks, what is refused. One pure table, and nothing else decides.

=============  =======  ==========  =====================  ===============
mode           looking  computing   files in the project   everything else
=============  =======  ==========  =====================  ===============
ask            runs     asks        asks                   asks
auto           runs     runs        asks                   asks
accept-edits   runs     runs        runs                   asks
plan           runs     refused     refused                refused
bypass         runs     runs        runs                   runs
=============  =======  ==========  =====================  ===============

What a rule of the person's denies is refused in every mode. What is *critical* (secrets, files outside the project,
whatever deletes everything) asks in every mode but ``bypass``, and the agent's own files ask even there. What would
show secrets by the way, as a search through everything does, goes back to the model with how to leave them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from zidane_lab.tools.base import Tier

__all__ = ["BYPASS_BANNER", "MODES", "Case", "Decision", "Mode", "Reach", "decide"]

Mode: TypeAlias = Literal["ask", "auto", "accept-edits", "plan", "bypass"]
MODES: Final[tuple[str, ...]] = get_args(Mode)

Reach: TypeAlias = Literal["read", "compute", "write", "network", "execute"]
"""What a call does; ``compute`` works on the namespace only."""

BYPASS_BANNER: Final = (
    "Mode bypass: everything runs unasked in this session, code, commands and changes of files. "
    "%zidane /config mode auto ends it."
)


@dataclass(frozen=True, slots=True)
class Case:
    """A call as the table sees it.

    Parameters
    ----------
    tier
        What its tool can do at most.
    reach
        What this call does, as far as it was judged.
    is_critical
        Asked about whatever was allowed before.
    touches_own
        It changes the agent's own settings or what it remembers.
    is_allowed
        The person allowed such calls, here or for the session.
    is_denied
        The person denied such calls.
    in_project
        All it writes is known, and lies in the project.
    advice
        What the model should do instead, without anybody being asked.
    """

    tier: Tier
    reach: Reach
    is_critical: bool = False
    touches_own: bool = False
    is_allowed: bool = False
    is_denied: bool = False
    in_project: bool = False
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a call runs; ``reason`` says why it is refused, for the model."""

    kind: Literal["allow", "ask", "deny"]
    reason: str = ""


_ALLOW: Final = Decision("allow")
_ASK: Final = Decision("ask")
_DENIED: Final = Decision(
    "deny",
    "refused: the user's rules deny this. Do not try the same another way; work without it, or ask what they want.",
)
_PLAN: Final = Decision("deny", "refused: plan mode only looks, it runs nothing. Put this step into your plan instead.")


def decide(mode: str, case: Case) -> Decision:
    """Decide about a call. A mode that does not exist asks."""
    if case.is_denied:
        return _DENIED
    if mode == "plan" and case.reach != "read":
        return _PLAN
    if case.touches_own:
        return _ASK
    if mode == "bypass":
        return _ALLOW
    if case.is_critical:
        return _ASK
    if case.advice:
        return Decision("deny", f"refused: {case.advice}.")
    if case.is_allowed and mode in MODES:
        return _ALLOW
    return _ALLOW if _runs(mode, case) else _ASK


def _runs(mode: str, case: Case) -> bool:
    looks = case.reach == "read"
    if case.tier == "read" or mode == "plan":
        return looks
    if mode == "accept-edits" and case.reach == "write" and case.in_project:
        return True
    return mode in {"auto", "accept-edits"} and case.reach in {"read", "compute"}

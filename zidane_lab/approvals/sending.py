"""Credentials that a call would take to the network: it is asked about each time, whatever was allowed of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from zidane_lab.approvals.assess import Assessment
from zidane_lab.secrets.masking import placeholders_in

__all__ = ["as_sending"]

_KEPT: Final = frozenset({"web_search"})
"""Tools whose placeholders stay: strangers get no more than those."""


def as_sending(tool: str, arguments: Mapping[str, Any], found: Assessment) -> Assessment:
    """Return what was found of a call, as critical if it uses the network and placeholders are in its arguments."""
    goes_out = found.reach == "network" or any("network" in reason for reason in found.reasons)
    sent = sorted(placeholders_in(arguments)) if goes_out and tool not in _KEPT else []
    if not sent:
        return found
    why = f"sends {sent[0]}" + (f" and {len(sent) - 1} more" if len(sent) > 1 else "")
    return replace(
        found,
        reasons=(why, *found.reasons),
        critical=(why, *found.critical),
        is_coverable=False,
        is_exact=False,
        suggested=(),
    )

"""Settings for small models behind fragile OpenAI-compatible servers: one thing at a time, and less of it.

Opt-in: no profile uses them. Local servers mix up parallel calls, have short windows, and their models fall into
loops sooner than large ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from zidane_lab.agent.guards.repeat_guard import RepeatGuard
from zidane_lab.agent.guards.settings import GuardSettings
from zidane_lab.errors import ConfigurationError
from zidane_lab.tools.base import Tool

__all__ = ["READ_DEFAULTS", "local_reliability", "with_defaults"]

READ_DEFAULTS: Final = "read_file_defaults"
"""The one setting that is merged key by key: values of ``read_file``'s arguments where the model gives none."""

_LINES: Final = 120
_OUTPUT_BYTES: Final = 32 * 1024
"""About 8,000 tokens: a quarter of the window that such servers commonly run with."""


def local_reliability(overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return settings by name, for ``Behavior(**…)`` or :func:`dataclasses.replace` of one.

    Parameters
    ----------
    overrides
        Settings that replace these or are added to them; those under ``read_file_defaults`` are merged key by key.
    """
    given = dict(overrides or {})
    guards = GuardSettings(
        repeat_guard=RepeatGuard(note_at=2, block_at=4, abort_at=6), tool_output_budget=_OUTPUT_BYTES
    )
    settings = {"tool_execution": "sequential", "thinking": "off", "guards": guards}
    return settings | given | {READ_DEFAULTS: {"limit": _LINES, **(given.get(READ_DEFAULTS) or {})}}


def with_defaults(tool: Tool, defaults: Mapping[str, Any]) -> Tool:
    """Return ``tool`` with other values for arguments that a call leaves out; the very same one for none.

    Raises
    ------
    ConfigurationError
        The tool has no such argument.
    """
    if not defaults:
        return tool
    known = tool.parameters.get("properties", {})
    if unknown := sorted(name for name in defaults if name not in known):
        raise ConfigurationError(
            f"{tool.name} has no argument {unknown[0]!r} to give a default.",
            hint=f"It has: {', '.join(sorted(known))}.",
        )
    changed = {name: {**spec, "default": defaults[name]} if name in defaults else spec for name, spec in known.items()}
    return replace(
        tool,
        parameters={**tool.parameters, "properties": changed},
        validate=lambda arguments: tool.validate({**defaults, **arguments}),
    )

"""The judge: which kind of call it is, and what it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zidane_lab.approvals.assess import Assessment, Foreseen, Surroundings, assess_files
from zidane_lab.approvals.assess_python import assess_python
from zidane_lab.approvals.assess_shell import assess_shell
from zidane_lab.approvals.safelist import PYTHON_TOOL, RECIPE_TOOL, SHELL_TOOLS
from zidane_lab.tools.base import Tier

__all__ = ["assess"]


def assess(
    tool: str, arguments: Mapping[str, Any], tier: Tier, around: Surroundings, foreseen: Foreseen | None = None
) -> Assessment:
    """Judge one call."""
    if tool == PYTHON_TOOL:
        return assess_python(arguments, around)
    if tool == "monitor" and arguments.get("command") is None:
        return Assessment("execute", "read", ("it watches a task",), is_coverable=False)
    if tool == RECIPE_TOOL:
        return _recipe(around, foreseen)
    if tool in SHELL_TOOLS:
        return assess_shell(arguments, around)
    return assess_files(tool, arguments, tier, around, foreseen)


def _recipe(around: Surroundings, foreseen: Foreseen | None) -> Assessment:
    """Judge a task of the project by the command that it is."""
    if foreseen is None:
        return Assessment("execute", "execute", ("it runs a task of the project",), is_coverable=False)
    if foreseen.command is None:
        return Assessment("read", "read", is_coverable=False)
    found = assess_shell({"command": foreseen.command, "cwd": foreseen.cwd}, around)
    where = f" in {foreseen.cwd}" if foreseen.cwd else ""
    return replace(found, shown=(f"runs {foreseen.command}{where}",))

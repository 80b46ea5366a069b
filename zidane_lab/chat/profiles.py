"""Profiles: what kind of work a prompt is for, as a set of tools and a system prompt."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from zidane_lab.chat.prompt import system_prompt
from zidane_lab.errors import ConfigurationError
from zidane_lab.tools.base import Tool

__all__ = ["PROFILES", "Profile", "default_tools", "profile_named", "read_tools"]


def read_tools() -> tuple[Tool, ...]:
    """Return the tools that only look: variables and files."""
    from zidane_lab.tools.glob import glob_tool
    from zidane_lab.tools.list_files import list_files_tool
    from zidane_lab.tools.read_file import read_file_tool
    from zidane_lab.tools.read_output import read_output_tool
    from zidane_lab.tools.variables import inspect_variable_tool, list_variables_tool

    return (
        list_variables_tool(),
        inspect_variable_tool(),
        list_files_tool(),
        glob_tool(),
        read_file_tool(),
        read_output_tool(),
    )


def default_tools() -> tuple[Tool, ...]:
    """Return the tools of the ``build`` profile: run Python, look at variables and files."""
    from zidane_lab.tools.run_python import RUN_PYTHON

    return (RUN_PYTHON, *read_tools())


@dataclass(frozen=True, slots=True)
class Profile:
    """A named way of working."""

    name: str
    summary: str
    tools: Callable[[], tuple[Tool, ...]]

    @property
    def system(self) -> str:
        """Its system prompt."""
        return system_prompt(self.name)


PROFILES: Final[Mapping[str, Profile]] = {
    "build": Profile("build", "explore and work: run code in the kernel, look at variables and files", default_tools),
    "plan": Profile("plan", "look only: read variables and files, run nothing, end with a plan", read_tools),
}


def profile_named(name: str) -> Profile:
    """Return a profile.

    Raises
    ------
    ConfigurationError
        There is none of that name.
    """
    if name in PROFILES:
        return PROFILES[name]
    near = difflib.get_close_matches(name, PROFILES, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Profiles: {', '.join(PROFILES)}."
    raise ConfigurationError(f"There is no profile {name!r}.", hint=hint)

"""Profiles: what kind of work a prompt is for, as a set of tools and a system prompt."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from zidane_lab.chat.prompt import system_prompt
from zidane_lab.chat.toolbox import Toolbox, build_tools, plan_tools
from zidane_lab.errors import ConfigurationError
from zidane_lab.tools.base import Tool

__all__ = ["PROFILES", "Profile", "default_tools", "profile_named"]


def default_tools() -> tuple[Tool, ...]:
    """Return the tools of the ``build`` profile, without background tasks."""
    return build_tools(Toolbox())


@dataclass(frozen=True, slots=True)
class Profile:
    """A named way of working."""

    name: str
    summary: str
    tools: Callable[[Toolbox], tuple[Tool, ...]]

    def system(self, *, secrets: bool = True) -> str:
        """Return its system prompt; ``secrets`` says that credentials are kept from the model."""
        return system_prompt(self.name, secrets=secrets)


PROFILES: Final[Mapping[str, Profile]] = {
    "build": Profile(
        "build",
        "explore and work: run code and commands, look at variables, read and change files",
        build_tools,
    ),
    "plan": Profile("plan", "look only: read variables and files, run nothing, end with a plan", plan_tools),
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

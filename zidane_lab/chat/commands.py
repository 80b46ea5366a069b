"""Slash commands: ``%zidane /name arguments``. Each is a function from a context to a Markdown reply."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from zidane_lab.agent.hooks import HookBundle
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.settings import load_settings
from zidane_lab.errors import ConfigurationError
from zidane_lab.kernel.execution import Executor

__all__ = ["COMMANDS", "Command", "CommandContext", "Reply", "run_command"]


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What a command may use.

    ``facts`` are lines the host adds to ``/doctor`` and ``/status``; ``bundles`` gives the subscribers that draw what
    a command does, ``executor`` the kernel it works on.
    """

    chat: Chat
    facts: Callable[[], Mapping[str, str]] = field(default=dict)
    namespace: Mapping[str, object] = field(default_factory=dict)
    bundles: Callable[[], Iterable[HookBundle]] = tuple
    executor: Executor | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What to show: Markdown, and whether to repaint the conversation below it.

    ``html`` is the same, drawn richer and without scripts, for pages that show HTML; foreign text in it is escaped.
    """

    text: str
    repaint: bool = False
    html: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, how it is written, what it does, and the function."""

    name: str
    usage: str
    summary: str
    run: Callable[[CommandContext, str], Awaitable[Reply]]


COMMANDS: Final[dict[str, Command]] = {}
"""Commands by name; extensions add theirs."""


def command(name: str, usage: str, summary: str) -> Callable[[Callable[..., Awaitable[Reply]]], Command]:
    """Register a command."""

    def register(function: Callable[[CommandContext, str], Awaitable[Reply]]) -> Command:
        entry = Command(name, usage, summary, function)
        COMMANDS[name] = entry
        return entry

    return register


async def run_command(text: str, context: CommandContext) -> Reply:
    """Run ``/name arguments``.

    Raises
    ------
    ConfigurationError
        There is no such command (the nearest are named), or its arguments do not fit.
    """
    import zidane_lab.chat.builtin_commands  # noqa: F401 - registers the built-in commands on first use

    name, *rest = text.removeprefix("/").split(maxsplit=1)
    arguments = rest[0] if rest else ""
    entry = COMMANDS.get(name)
    if entry is None:
        near = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join('/' + each for each in near)}?" if near else "List them with %zidane /help."
        raise ConfigurationError(f"There is no command /{name}.", hint=hint)
    context.chat.settings = load_settings(context.chat.env)  # as they are now, whoever changed them
    return await entry.run(context, arguments.strip())

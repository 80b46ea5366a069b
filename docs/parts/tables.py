"""Tables: commands, settings, options, events, fields."""

from __future__ import annotations

import argparse
import math
from typing import Final

from parts.text import fenced, fields_of, first_paragraph, table

WINDOWS: Final = (16_384, 32_768, 128_000, 200_000, 272_000, 1_000_000)
"""Windows, in tokens, that ``docs/compaction.md`` gives figures for."""


def commands() -> str:
    """Return the slash commands."""
    import zidane_lab.chat.builtin_commands  # noqa: F401 - registers them
    from zidane_lab.chat.commands import COMMANDS

    entries = sorted(COMMANDS.values(), key=lambda entry: entry.name)
    return table(("command", "does"), ((f"`%zidane {each.usage}`", each.summary) for each in entries))


def providers() -> str:
    """Return the built-in providers and their default models."""
    from zidane_lab.providers.registry import create_provider

    keys = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"}
    needs = {
        "anthropic": ("Anthropic's Messages API", "`ANTHROPIC_API_KEY`, or `ANTHROPIC_BASE_URL`"),
        "openai": (
            "OpenAI's Chat Completions API and every server that speaks it",
            "`OPENAI_API_KEY`, or `OPENAI_BASE_URL`",
        ),
        "offline": ("a planner with fixed rules, see below", "nothing"),
        "scripted": (
            "answers from a file, see [Testing with scripts](testing-with-scripts.md)",
            "the file's path as model",
        ),
    }
    rows = ((f"`{name}`", *what, f"`{create_provider(name, env=keys).default_model}`") for name, what in needs.items())
    return table(("provider", "speaks", "needs", "default model"), rows)


def settings() -> str:
    """Return the settings, their defaults and the variables that overrule them."""
    from zidane_lab.chat.settings import _VARIABLES, KEYS, Settings, shown

    defaults = {key: shown(Settings(), key) for key in KEYS}
    rows = (
        (
            f"`{key}`",
            "none" if defaults[key] == "none" else f"`{defaults[key]}`",
            f"`{_VARIABLES[key]}`" if key in _VARIABLES else "",
        )
        for key in KEYS
    )
    return table(("setting", "default", "overruled by"), rows)


def run_options() -> str:
    """Return the options of ``jupyter zidane run``."""
    return _options("run")


def usage_options() -> str:
    """Return the options of ``jupyter zidane usage``."""
    return _options("usage")


def _options(command: str) -> str:
    from zidane_lab.cli.main import parser

    subcommands = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001 - argparse shows its options no other way
    rows = []
    for action in subcommands.choices[command]._actions:  # noqa: SLF001 - same
        if action.dest == "help":
            continue
        written = action.option_strings[-1] if action.option_strings else "PROMPT"
        value = f" {action.metavar}" if action.option_strings and action.metavar else ""
        rows.append((f"`{written}{value}`", action.help or ""))
    return table(("option", "does"), rows)


def exit_codes() -> str:
    """Return the exit codes."""
    from zidane_lab.cli.run import EXIT_CODES

    return table(("code", "means"), EXIT_CODES.items())


def events() -> str:
    """Return the events of the bus."""
    from zidane_lab.events import EVENTS

    rows = ((f"`{name}`", f"`{cls.__name__}`", first_paragraph(cls)) for name, cls in EVENTS.items())
    return table(("event", "class", "when"), rows)


def windows() -> str:
    """Return at how many tokens a conversation is compacted, for some windows."""
    from zidane_lab.compaction.config import AutoCompact
    from zidane_lab.compaction.decision import effective_window

    config = AutoCompact()
    rows = []
    for window in WINDOWS:
        usable = effective_window(window)
        at, growth = math.ceil(usable * config.threshold), math.ceil(usable * config.min_growth)
        rows.append([f"{number:,}" for number in (window, usable, at, growth)])
    return table(("window", "of it for the prompt", "compacted from", "and again after growing by"), rows)


def budget_question() -> str:
    """Return what a person is asked when a budget is used up."""
    from zidane_lab.chat.budget_asking import budget_question as question
    from zidane_lab.events import BudgetReached, Ids

    asked = question(BudgetReached(Ids(), "tokens", "run", 200_000, 203_417), 400_000)
    return fenced(f"{asked.text}\nAllow it? [y/N]")


def behavior() -> str:
    """Return the fields of ``Behavior``."""
    from zidane_lab.agent.behavior import Behavior

    return fields_of(Behavior)


def auto_compact() -> str:
    """Return the fields of ``AutoCompact``."""
    from zidane_lab.compaction.config import AutoCompact

    return fields_of(AutoCompact)


def retry_policy() -> str:
    """Return the fields of ``RetryPolicy``."""
    from zidane_lab.agent.retry import RetryPolicy

    return fields_of(RetryPolicy)


def resume_policy() -> str:
    """Return the fields of ``ResumePolicy``."""
    from zidane_lab.agent.resume import ResumePolicy

    return fields_of(ResumePolicy)


def guards() -> str:
    """Return the fields of ``GuardSettings``."""
    from zidane_lab.agent.guards.settings import GuardSettings

    return fields_of(GuardSettings)


def container() -> str:
    """Return the fields of ``ContainerSpec``."""
    from zidane_lab.contexts.container import ContainerSpec

    return fields_of(ContainerSpec)


def ssh_host() -> str:
    """Return the fields of ``SshHost``."""
    from zidane_lab.contexts.ssh import SshHost

    return fields_of(SshHost)


def search_services() -> str:
    """Return the search services in the order they are tried, and what each needs."""
    from zidane_lab.tools.web.searching import PROVIDERS

    rows = (
        (each.label, f"`{each.name}`", ", ".join(f"`{name}`" for name in each.needs) or "nothing") for each in PROVIDERS
    )
    return table(("service", "name", "needs"), rows)

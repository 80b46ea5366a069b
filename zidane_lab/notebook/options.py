"""The options of ``%%zidane`` and ``%zidane``: read from the front of the line; the rest is prompt, untouched."""

from __future__ import annotations

import difflib
import keyword
import re
from dataclasses import dataclass, field
from typing import Any, Final

from zidane_lab.chat.amounts import LIMIT_NAMES, read_amount
from zidane_lab.chat.chat import AskOptions
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import BudgetKind

__all__ = ["MagicOptions", "parse"]

_FLAGS: Final = ("--bg", "--new")
_BUDGETS: Final[dict[str, BudgetKind]] = {
    "--max-cost": "cost",
    "--max-turns": "turns",
    "--max-tokens": "tokens",
    "--max-time": "time",
}
_VALUES: Final = ("--model", "--profile", *_BUDGETS, "--to", "--notebook")
_WORD: Final = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|\S+)")


@dataclass(frozen=True, slots=True)
class MagicOptions:
    """What the line asked for: options for the run, and what the notebook does with it."""

    ask: AskOptions = field(default_factory=AskOptions)
    to: str | None = None
    background: bool = False
    notebook: str | None = None


def parse(line: str) -> tuple[MagicOptions, str]:
    """Split a line into options and the prompt that follows them.

    Options end at the first word that is not one; ``--`` ends them explicitly. A prompt may contain anything.

    Raises
    ------
    ConfigurationError
        An unknown option, a missing or unfit value. Nothing has been sent.
    """
    values: dict[str, str] = {}
    flags: set[str] = set()
    rest = line
    while match := _WORD.match(rest):
        word = match[1]
        if word == "--":
            rest = rest[match.end() :]
            break
        if not re.match(r"--[A-Za-z]", word):
            break
        rest = rest[match.end() :]
        name, equals, value = word.partition("=")
        if name in _FLAGS and not equals:
            flags.add(name)
            continue
        if name not in _VALUES:
            raise _unknown(name)
        if not equals:
            match = _WORD.match(rest)
            if match is None:
                raise ConfigurationError(f"{name} needs a value.", hint=f"Write {name} VALUE before the prompt.")
            value, rest = match[1], rest[match.end() :]
        values[name] = value.strip("\"'")
    to = values.get("--to")
    if to is not None and (not to.isidentifier() or keyword.iskeyword(to) or to == "get_ipython"):
        raise ConfigurationError(f"--to {to!r} is not a variable name.", hint="Nothing was sent; choose another name.")
    options = MagicOptions(
        AskOptions(
            model=values.get("--model"),
            profile=values.get("--profile"),
            new="--new" in flags,
            **_budgets(values),
        ),
        to,
        "--bg" in flags,
        values.get("--notebook"),
    )
    return options, rest.strip()


def _budgets(values: dict[str, str]) -> dict[str, Any]:
    """Return the limits of the run that are given, by their names in the options of a prompt."""
    found: dict[str, Any] = {}
    for name, kind in _BUDGETS.items():
        if name in values:
            try:
                found[LIMIT_NAMES[kind]] = read_amount(kind, values[name])
            except ValueError as error:
                raise ConfigurationError(
                    f"{name} {values[name]!r} does not fit: {error}.", hint=f"Write {name} AMOUNT before the prompt."
                ) from error
    return found


def _unknown(name: str) -> ConfigurationError:
    near = difflib.get_close_matches(name, (*_FLAGS, *_VALUES), n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Options: {', '.join((*_VALUES, *_FLAGS))}."
    return ConfigurationError(f"There is no option {name}.", hint=f"{hint} Put -- before a prompt that starts so.")

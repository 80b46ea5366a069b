"""The options of ``%%zidane`` and ``%zidane``: read from the front of the line; the rest is prompt, untouched."""

from __future__ import annotations

import difflib
import keyword
import re
from dataclasses import dataclass, field
from typing import Final

from zidane_lab.chat.chat import AskOptions
from zidane_lab.errors import ConfigurationError

__all__ = ["MagicOptions", "parse"]

_FLAGS: Final = ("--bg", "--new")
_VALUES: Final = ("--model", "--profile", "--max-cost", "--max-turns", "--to", "--notebook")
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
            max_cost=_dollars(values),
            max_turns=_turns(values),
            new="--new" in flags,
        ),
        to,
        "--bg" in flags,
        values.get("--notebook"),
    )
    return options, rest.strip()


def _dollars(values: dict[str, str]) -> float | None:
    text = values.get("--max-cost")
    if text is None:
        return None
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise ConfigurationError(f"--max-cost {text!r} does not fit.", hint="Give an amount in dollars above 0.")
    return amount


def _turns(values: dict[str, str]) -> int | None:
    text = values.get("--max-turns")
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ConfigurationError(f"--max-turns {text!r} does not fit.", hint="Give a whole number of at least 1.")
    return int(text)


def _unknown(name: str) -> ConfigurationError:
    near = difflib.get_close_matches(name, (*_FLAGS, *_VALUES), n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Options: {', '.join((*_VALUES, *_FLAGS))}."
    return ConfigurationError(f"There is no option {name}.", hint=f"{hint} Put -- before a prompt that starts so.")

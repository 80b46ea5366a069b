"""Settings: a small JSON file in the user folder, overruled by the environment.

``ZIDANE_HOME`` names the user folder (the platform's usual place for configuration otherwise). A missing
file means defaults; a damaged one, or a damaged value in it, is reported by ``%zidane /doctor`` and
``%zidane /config`` and otherwise ignored: a notebook must open whatever is broken.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from zidane_lab.approvals.modes import MODES
from zidane_lab.chat.amounts import read_amount
from zidane_lab.contexts.registry import ISOLATION, Isolation, check_contexts
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import BudgetKind
from zidane_lab.providers.base import CacheTtl, ThinkingLevel
from zidane_lab.session.persisted import DEFAULT_THRESHOLD

__all__ = [
    "DRAWINGS",
    "INTERACTIONS",
    "KEYS",
    "NO_CONTEXT",
    "Settings",
    "home",
    "load_settings",
    "save_setting",
    "shown",
]

INTERACTIONS: Final = ("auto", "stdin", "widget", "panel", "none")
"""Who is asked: whatever front end announced itself first, else standard input; only one of them; or nobody."""


DRAWINGS: Final = ("auto", "live", "static")
"""How a notebook is drawn: as it happens, each display once, or whichever suits the front end."""


def home(env: Mapping[str, str] | None = None) -> Path:
    """Return the user folder (it need not exist)."""
    env = os.environ if env is None else env
    if env.get("ZIDANE_HOME"):
        return Path(env["ZIDANE_HOME"]).expanduser()
    from platformdirs import user_config_path

    return user_config_path("zidane", appauthor=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force. ``sources`` says for each where it comes from; ``problems`` what was ignored.

    Parameters
    ----------
    max_turns, max_cost, max_tokens, max_minutes
        Budgets of a run: answers, US dollars, tokens in and out of all its calls (not those of one answer), and
        minutes at work. ``None`` for no limit.
    session_max_cost, session_max_tokens, notebook_max_cost, notebook_max_tokens
        The same for all runs of a session, and for all sessions of a notebook.
    auto_compact
        ``"on"``, ``"off"``, or the share of the window at which a conversation is summarised by itself.
    compact_model
        Who writes the summaries; the model of the conversation if left out.
    cache_ttl
        How long providers should keep a prompt, where they can be told.
    persist_threshold
        Bytes of a result above which it is kept in a file and only its head is sent; ``None`` sends all.
    fallbacks
        Models that take over, in this order, when the one before has failed for good.
    thinking
        How much the model may reason before it answers.
    max_retries
        How often a call that failed in passing is made again.
    allow_bypass
        Whether the approval mode ``bypass`` may be chosen, which asks nothing; each session confirms it.
    secrets
        Whether credentials are replaced by placeholders in all that models, sessions, outputs and logs get.
    secret_names, secret_values, secret_patterns
        Environment variables that hold credentials although their names do not say so, more credentials, and regular
        expressions that find more within a line (whole, or their group ``secret``).
    rewind
        Whether the model may set checkpoints and go back to them, so that a report stands for a detour.
    context
        Where files and commands are: ``process`` (this machine), ``docker:IMAGE``, ``ssh:HOST``, or a name of
        ``contexts``.
    contexts
        Places by name (:func:`zidane_lab.contexts.registry.check_contexts`).
    isolation, allow_write, allow_network
        Whether commands on this machine are kept inside, the folders they may write besides the project, and whether
        they may use the network.
    """

    model: str | None = None
    mode: str = "auto"
    interaction: str = "auto"
    drawing: str = "auto"
    profile: str = "build"
    max_turns: int | None = 100
    max_cost: float | None = None
    max_tokens: int | None = None
    max_minutes: float | None = None
    session_max_cost: float | None = None
    session_max_tokens: int | None = None
    notebook_max_cost: float | None = None
    notebook_max_tokens: int | None = None
    auto_compact: Literal["on", "off"] | float = "on"
    compact_model: str | None = None
    cache_ttl: CacheTtl = "5m"
    persist_threshold: int | None = DEFAULT_THRESHOLD
    fallbacks: tuple[str, ...] = ()
    thinking: ThinkingLevel = "off"
    max_retries: int = 3
    allow_bypass: bool = False
    secrets: bool = True
    secret_names: tuple[str, ...] = ()
    secret_values: tuple[str, ...] = ()
    secret_patterns: tuple[str, ...] = ()
    rewind: bool = False
    context: str = "process"
    contexts: Mapping[str, Any] = field(default_factory=dict)
    isolation: Isolation = "off"
    allow_write: tuple[str, ...] = ()
    allow_network: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


_NONE: Final = (None, "none", "None", "")
"""What is written for *no limit* and *no model*."""


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected a text")
    return value.strip()


def _one_of(choices: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return str(value)

    return read


def _limit(kind: type[int | float]) -> Callable[[object], int | float | None]:
    def read(value: object) -> int | float | None:
        if value in _NONE:
            return None
        try:
            number = kind(str(value))
        except ValueError:
            number = 0
        if not 0 < number < float("inf"):
            raise ValueError("expected a number above 0, or none")
        return number

    return read


def _budget(kind: BudgetKind) -> Callable[[object], float | None]:
    def read(value: object) -> float | None:
        return None if value in _NONE else read_amount(kind, str(value))

    return read


def _switch(value: object) -> bool:
    if value in (True, "on", "true", "yes"):
        return True
    if value in (False, "off", "false", "no"):
        return False
    raise ValueError("expected on or off")


def _share(value: object) -> Literal["on", "off"] | float:
    if isinstance(value, bool):
        return "on" if value else "off"
    if value in ("on", "off"):
        return value
    try:
        share = float(str(value))
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise ValueError("expected on, off or a share of the window between 0 and 1, such as 0.85")
    return share


def _optional(value: object) -> str | None:
    return None if value in _NONE else _text(value)


def _count(value: object) -> int:
    if value in _NONE:
        return 0
    text = str(value)
    if not text.isascii() or not text.isdecimal() or len(text) > 3:
        raise ValueError("expected a whole number from 0 to 999")
    return int(text)


def _names(value: object) -> tuple[str, ...]:
    """Read a list of names, or a text with commas between them; each counts once."""
    if value in _NONE:
        return ()
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)):
        raise ValueError("expected names with commas between them")  # noqa: TRY004 - readers raise ValueError
    return tuple(dict.fromkeys(map(_text, names)))


def _context(value: object) -> str:
    return "process" if value in _NONE else _text(value)


def _contexts(value: object) -> Mapping[str, Any]:
    """Read places by name: an object, or one written as JSON."""
    if value in _NONE:
        return {}
    if isinstance(value, str):
        value = json.loads(value)
    try:
        return check_contexts(value)
    except ConfigurationError as error:
        raise ValueError(error.message) from error


def _texts(value: object) -> tuple[str, ...]:
    """Read a list of texts; one text is a list of one, commas and all."""
    if value in _NONE:
        return ()
    return _names([value] if isinstance(value, str) else value)


def _patterns(value: object) -> tuple[str, ...]:
    """Read regular expressions; one that finds nothing at all everywhere is refused."""
    patterns = _texts(value)
    for pattern in patterns:
        try:
            if re.compile(pattern).search("") is not None:
                raise ValueError(f"{pattern!r} fits an empty text")
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression ({error})") from None
    return patterns


KEYS: Final[Mapping[str, Callable[[object], Any]]] = {
    "model": _text,
    "mode": _one_of(MODES),
    "interaction": _one_of(INTERACTIONS),
    "drawing": _one_of(DRAWINGS),
    "profile": _text,
    "max_turns": _limit(int),
    "max_cost": _limit(float),
    "max_tokens": _budget("tokens"),
    "max_minutes": _limit(float),
    "session_max_cost": _limit(float),
    "session_max_tokens": _budget("tokens"),
    "notebook_max_cost": _limit(float),
    "notebook_max_tokens": _budget("tokens"),
    "auto_compact": _share,
    "compact_model": _optional,
    "cache_ttl": _one_of(get_args(CacheTtl)),
    "persist_threshold": _limit(int),
    "fallbacks": _names,
    "thinking": _one_of(get_args(ThinkingLevel)),
    "max_retries": _count,
    "allow_bypass": _switch,
    "secrets": _switch,
    "secret_names": _names,
    "secret_values": _texts,
    "secret_patterns": _patterns,
    "rewind": _switch,
    "context": _context,
    "contexts": _contexts,
    "isolation": _one_of(ISOLATION),
    "allow_write": _names,
    "allow_network": _switch,
}
"""Every setting and the function that reads (and checks) its value."""

NO_CONTEXT: Final = "?"
"""Stands for a context that cannot be read: nothing runs anywhere until it is mended, or one is chosen."""

_CAUTIOUS: Final[Mapping[str, Any]] = {
    "mode": "ask",
    "interaction": "none",
    "context": NO_CONTEXT,
    "isolation": "required",
}
"""What stands in for a value that cannot be read, where the default would allow more."""

_VARIABLES: Final = {"model": "ZIDANE_MODEL", "mode": "ZIDANE_MODE", "interaction": "ZIDANE_INTERACTION"}


def load_settings(env: Mapping[str, str] | None = None) -> Settings:
    """Read the file and the environment; never raises."""
    env = os.environ if env is None else env
    path = home(env) / "settings.json"
    settings, problems, sources = Settings(), [], dict.fromkeys(KEYS, "default")
    stored, problem = _stored(path)
    if problem:
        problems.append(problem)
    given = [(key, value, str(path)) for key, value in stored.items()]
    given += [(key, env[name], name) for key, name in _VARIABLES.items() if env.get(name)]
    for key, value, origin in given:
        if key not in KEYS:
            problems.append(f"{origin}: there is no setting {key!r}")
            continue
        try:
            settings = replace(settings, **{key: KEYS[key](value)})
            sources[key] = origin
        except ValueError as error:
            problems.append(f"{origin}: {key} = {value!r}: {error}")
            if key in _CAUTIOUS:  # a mistyped wish for caution must not end in less of it
                settings = replace(settings, **{key: _CAUTIOUS[key]})
                sources[key] = f"{origin} cannot be read"
    return replace(settings, sources=sources, problems=tuple(problems))


def _stored(path: Path) -> tuple[dict[str, Any], str | None]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError) as error:
        return {}, f"{path}: cannot be read ({error})"
    return (raw, None) if isinstance(raw, dict) else ({}, f"{path}: not a JSON object")


def shown(settings: Settings, key: str) -> str:
    """Return a setting's value as a person writes it; ``none`` where there is none."""
    value = getattr(settings, key)
    if key == "secret_values" and value:
        return f"({len(value)}, not shown)"
    if isinstance(value, tuple):
        value = ", ".join(value)
    if isinstance(value, Mapping):  # what is in them may be private
        value = ", ".join(f"{name} ({given['kind']})" for name, given in value.items())
    return "none" if value in _NONE else str(value)


def save_setting(key: str, value: str, env: Mapping[str, str] | None = None) -> Path:
    """Store one setting in the user's file and return the file.

    Raises
    ------
    ConfigurationError
        There is no such setting, the value does not fit, or the file is damaged (it is left alone).
    """
    if key not in KEYS:
        raise ConfigurationError(f"There is no setting {key!r}.", hint=f"Settings: {', '.join(KEYS)}.")
    try:
        checked = KEYS[key](value)
    except ValueError as error:
        raise ConfigurationError(f"{key} cannot be {value!r}: {error}.", hint="Nothing was changed.") from error
    path = home(env) / "settings.json"
    stored, problem = _stored(path)
    if problem:
        raise ConfigurationError(f"{problem}.", hint="Mend or remove the file first; nothing was changed.")
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".json.new")
    fresh.write_text(json.dumps({**stored, key: checked}, indent=2) + "\n", encoding="utf-8")
    fresh.replace(path)
    return path

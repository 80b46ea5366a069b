"""Providers by name: the built-in ones, and those that installed packages add.

A model is named ``provider/model``; the model's own name may hold further slashes. A package adds a provider
by an entry point of the group ``zidane_lab.providers``, whose name is the provider's and whose object is a
function without arguments that returns a :class:`~zidane_lab.providers.base.Provider`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from zidane_lab.errors import AuthError, ConfigurationError
from zidane_lab.providers.base import Provider
from zidane_lab.providers.limits import product_name
from zidane_lab.providers.signin import KEY_VARIABLES, sign_in_help

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["ENTRY_POINTS", "create_provider", "known_providers", "split_model", "usable_providers"]

ENTRY_POINTS: Final = "zidane_lab.providers"
"""The entry point group that other packages use."""

_Env: TypeAlias = Mapping[str, str]


def split_model(name: str) -> tuple[str, str | None]:
    """Split ``provider/model`` at its first slash.

    Returns
    -------
    tuple
        The provider's name, and the model's or ``None``: then the provider's ``default_model`` is meant.

    Raises
    ------
    ConfigurationError
        There is no provider's name in it.
    """
    provider, _, model = name.strip().partition("/")
    if not provider:
        raise ConfigurationError(f"{name!r} names no provider.", hint="Write `provider/model`, as in `anthropic/…`.")
    return provider, model or None


def create_provider(name: str, *, env: _Env | None = None) -> Provider:
    """Make a provider.

    Parameters
    ----------
    name
        ``anthropic``, ``openai``, ``scripted``, ``offline`` or one that an installed package adds. Of a full
        model name only the part before the first slash counts.
    env
        Where keys and base URLs are looked up: ``ANTHROPIC_API_KEY``, ``ANTHROPIC_BASE_URL``,
        ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``. The process's environment by default.

    Raises
    ------
    ConfigurationError
        No provider has that name, or the package that adds it fails.
    AuthError
        Its key is missing.
    """
    provider, _ = split_model(name)
    if provider in _BUILT_IN:
        return _BUILT_IN[provider](os.environ if env is None else env)
    added = _added()
    if provider in added:
        return _load(added[provider])
    known = known_providers()
    raise ConfigurationError(f"There is no provider named {provider!r}.", hint=_suggestion(name, provider, known))


def known_providers() -> tuple[str, ...]:
    """Return every provider's name: the built-in ones first, then those that packages add."""
    return (*_BUILT_IN, *sorted(_added()))


def usable_providers(env: _Env | None = None) -> tuple[str, ...]:
    """Return the providers that ``env`` holds a key for, or the base URL of another server, best first."""
    env = os.environ if env is None else env
    return tuple(name for name in KEY_VARIABLES if _is_usable(name, env))


def _is_usable(name: str, env: _Env) -> bool:
    if env.get(KEY_VARIABLES[name], "").strip():
        return True
    base_url = env.get(KEY_VARIABLES[name].replace("_API_KEY", "_BASE_URL"), "").strip()
    # The vendor's own address needs a key, also when it is spelled out.
    return bool(base_url) and product_name(name, base_url) != product_name(name)


def _anthropic(env: _Env) -> Provider:
    from zidane_lab.providers.anthropic import BASE_URL, AnthropicProvider

    base_url = env.get("ANTHROPIC_BASE_URL", "").strip() or BASE_URL
    key = _key(env, "anthropic", needed=base_url.rstrip("/") == BASE_URL)
    return AnthropicProvider(key, base_url=base_url)


def _openai(env: _Env) -> Provider:
    from zidane_lab.providers.openai_chat import BASE_URL, OpenAIChatProvider

    base_url = env.get("OPENAI_BASE_URL", "").strip() or BASE_URL
    key = _key(env, "openai", needed=base_url.rstrip("/") == BASE_URL)
    return OpenAIChatProvider(key, base_url=base_url)


def _scripted(_: _Env) -> Provider:
    from zidane_lab.providers.scripted import ScriptedProvider

    return ScriptedProvider()


def _offline(_: _Env) -> Provider:
    from zidane_lab.providers.offline import OfflineProvider

    return OfflineProvider()


_BUILT_IN: Final[Mapping[str, Callable[[_Env], Provider]]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "scripted": _scripted,
    "offline": _offline,
}


def _key(env: _Env, provider: str, *, needed: bool) -> str | None:
    variable = KEY_VARIABLES[provider]
    key = env.get(variable, "").strip()
    if not key and needed:
        raise AuthError(
            f"{variable} is not set, and {provider} needs it.",
            provider=provider,
            hint=sign_in_help(provider, missing=True),
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise AuthError(
            f"{variable} holds characters that no key has.",
            provider=provider,
            hint="It was probably copied with a line break or quotation marks; set it again.",
        )
    return key or None


def _added() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    # Built-in names stay ours, whatever is installed.
    return {point.name: point for point in entry_points(group=ENTRY_POINTS) if point.name not in _BUILT_IN}


def _load(point: EntryPoint) -> Provider:
    try:
        provider = point.load()()
    except Exception as error:
        raise ConfigurationError(
            f"The provider {point.name!r} of {point.value!r} cannot be made: {type(error).__name__}: {error}.",
            hint="Update or remove the package that adds it.",
        ) from error
    if not isinstance(provider, Provider):
        raise ConfigurationError(
            f"The entry point {point.name!r} ({point.value!r}) gives no provider but {type(provider).__name__}.",
            hint="Update or remove the package that adds it.",
        )
    return provider


def _suggestion(name: str, provider: str, known: tuple[str, ...]) -> str:
    listed = f"Known providers: {', '.join(known)}."
    if re.match(r"claude", provider, re.IGNORECASE):
        return f"Did you mean `anthropic/{name}`? {listed}"
    if re.match(r"(?:gpt|chatgpt|o\d)", provider, re.IGNORECASE):
        return f"Did you mean `openai/{name}`? {listed}"
    from difflib import get_close_matches

    near = get_close_matches(provider.lower(), known, n=2, cutoff=0.5)
    return f"Did you mean {' or '.join(f'`{other}`' for other in near)}? {listed}" if near else listed

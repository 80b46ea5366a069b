"""Which model answers.

The first of: ``--model``, the one picked in the session, ``ZIDANE_MODEL``, the settings, the first usable key, and
at last the offline planner, which needs none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from zidane_lab.chat.settings import Settings

__all__ = ["ModelChoice", "choose_model"]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A full model name and why it was chosen, in words for a person."""

    name: str
    why: str


def choose_model(
    explicit: str | None, session: str | None, settings: Settings, env: Mapping[str, str] | None = None
) -> ModelChoice:
    """Choose; ``session`` is the model last picked in this conversation.

    Notes
    -----
    A choice is a name; whether it works is found out when its provider is made.
    """
    env = os.environ if env is None else env
    if explicit:
        return ModelChoice(explicit, "--model")
    if session:
        return ModelChoice(session, "picked in this session")
    if settings.model:
        return ModelChoice(settings.model, settings.sources.get("model", "settings"))
    from zidane_lab.providers.registry import usable_providers

    for provider in usable_providers(env):
        return ModelChoice(provider, "the first key found in the environment")
    return ModelChoice("offline", "no key is set")

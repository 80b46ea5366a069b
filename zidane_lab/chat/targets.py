"""The models of a chat: who answers, who takes over, who writes summaries; and how the settings say an agent runs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping

from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.budgets import Budgets
from zidane_lab.agent.persistence import PersistenceSettings
from zidane_lab.agent.retry import RetryPolicy
from zidane_lab.chat.settings import Settings
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.errors import ZidaneError
from zidane_lab.providers.base import Provider
from zidane_lab.providers.registry import create_provider, split_model
from zidane_lab.providers.targets import ModelTarget, filter_chain

__all__ = ["Providers", "behavior_of", "persistence_of"]


class Providers:
    """The providers of a chat, made when first needed and kept, so that their connections are.

    Parameters
    ----------
    env
        Environment variables, with keys and addresses.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._made: dict[str, Provider] = {}

    def target(self, name: str) -> ModelTarget:
        """Return the model of a full name, or a provider's default one.

        Raises
        ------
        ZidaneError
            There is no such provider, or it cannot be used.
        """
        kind, model = split_model(name)
        if kind not in self._made:
            self._made[kind] = create_provider(kind, env=self._env)
        provider = self._made[kind]
        return ModelTarget(provider, model or provider.default_model)

    def fallbacks(self, primary: ModelTarget, names: tuple[str, ...]) -> tuple[ModelTarget, ...]:
        """Return the models that can take over from ``primary``, in order; those without a key are left out."""
        return tuple(self.target(name) for name in filter_chain(primary.name, self._usable(names)))

    def _usable(self, names: tuple[str, ...]) -> list[str]:
        """Return the full names of the models that can be asked at all."""
        full = []
        for name in names:
            with contextlib.suppress(ZidaneError):  # no key, say: another one of the chain may have one
                full.append(self.target(name).name)
        return full

    async def aclose(self) -> None:
        """Release the connections; the next use makes new ones."""
        made, self._made = list(self._made.values()), {}
        for provider in made:
            await provider.aclose()


def behavior_of(settings: Settings, budgets: Budgets) -> Behavior:
    """Return how an agent runs under these settings and limits."""
    share = settings.auto_compact
    compaction = None if share == "off" else AutoCompact() if share == "on" else AutoCompact(threshold=float(share))
    return Behavior(
        max_turns=None,  # it is among the budgets
        budgets=budgets,
        thinking=settings.thinking,
        compaction=compaction,
        retry=RetryPolicy(max_retries=settings.max_retries),
        cache_ttl=settings.cache_ttl,
    )


def persistence_of(settings: Settings) -> PersistenceSettings:
    """Return which results are kept in files."""
    threshold = settings.persist_threshold
    return PersistenceSettings(threshold=math.inf if threshold is None else threshold)

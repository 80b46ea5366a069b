"""What a provider knows of its models: windows and prices, where it knows more than their names tell.

A provider may offer ``model_info(model)`` and ``cost(model, usage)``; those that ask at an address of the user's
choice do, because the same name has another window and price there.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from zidane_lab.providers.base import Provider
from zidane_lab.providers.catalog import ModelInfo, model_info
from zidane_lab.turns import Usage

__all__ = ["KnowsModels", "cost_at", "info_at"]


@runtime_checkable
class KnowsModels(Protocol):
    """A provider that answers for its own address."""

    def model_info(self, model: str) -> ModelInfo:
        """Return what is known of a model there."""
        ...

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return what tokens of a model cost there, in US dollars; ``None`` where no price is known."""
        ...


def info_at(provider: Provider, model: str) -> ModelInfo:
    """Return what is known of a model where ``provider`` asks it."""
    return provider.model_info(model) if isinstance(provider, KnowsModels) else model_info(provider.name, model)


def cost_at(provider: Provider, model: str, usage: Usage) -> float | None:
    """Return what tokens cost where ``provider`` asks; ``None`` for flat-rate traffic and unknown prices."""
    metered = provider.capabilities.metered
    return provider.cost(model, usage) if metered and isinstance(provider, KnowsModels) else None

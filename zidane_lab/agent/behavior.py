"""How an agent runs: limits and policies, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zidane_lab.errors import ConfigurationError
from zidane_lab.providers.base import ThinkingLevel

__all__ = ["Behavior"]


@dataclass(frozen=True, slots=True)
class Behavior:
    """Limits and policies of a run.

    Parameters
    ----------
    max_turns
        Most model calls in one run; ``None`` for no limit.
    max_cost
        Most US dollars in one run; needs a model whose price is known.
    max_tokens
        Most tokens of one answer; ``None`` leaves it to the provider.
    thinking
        How much the model may reason before it answers.
    tool_execution
        ``"parallel"`` lets neighbouring shared calls of a batch overlap; ``"sequential"`` never.
    cascade_tools
        Tools whose failure cancels the calls of the same batch that come after or beside it.
    """

    max_turns: int | None = 100
    max_cost: float | None = None
    max_tokens: int | None = None
    thinking: ThinkingLevel = "off"
    tool_execution: Literal["parallel", "sequential"] = "parallel"
    cascade_tools: frozenset[str] = frozenset({"shell"})

    def __post_init__(self) -> None:
        for name in ("max_turns", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is {value}.", hint="Give a whole number of at least 1, or None.")
        if self.max_cost is not None and not self.max_cost > 0:
            raise ConfigurationError(f"max_cost is {self.max_cost}.", hint="Give an amount above 0 dollars, or None.")

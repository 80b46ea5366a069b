"""How an agent runs: limits and policies, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from zidane_lab.agent.budgets import Budgets
from zidane_lab.agent.guards.settings import GuardSettings
from zidane_lab.agent.resume import ResumePolicy
from zidane_lab.agent.retry import RetryPolicy
from zidane_lab.agent.thinking_decay import ThinkingDecay
from zidane_lab.compaction.config import AutoCompact
from zidane_lab.errors import ConfigurationError
from zidane_lab.providers.base import CacheTtl, ThinkingLevel

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
    budgets
        Further limits: on tokens and time, and on what the session and the notebook may spend.
    max_tokens
        Most tokens of one answer; ``None`` leaves it to the provider.
    thinking
        How much the model may reason before it answers.
    thinking_budget
        Tokens it may reason with, for models that take a number; ``None`` leaves it to the level.
    thinking_decay
        How that number falls from one answer of a run to the next.
    compaction
        When the conversation is summarised by itself, and how; ``None`` for never by itself.
    stale_reads
        ``"stub"`` leaves out what was read of a file that was changed since. To have only a line added to the result
        that changed it, install :class:`~zidane_lab.agent.stale_notices.StaleNotices`, as a chat does.
    trim_outputs_over
        Bytes of tool text that may be sent; past it the outputs of earlier turns are left out, whatever the window.
        ``None`` for no such limit.
    trim_keep_turns
        Newest turns whose outputs stay then.
    retry
        How calls that fail in passing are made again.
    resume
        How a run goes on after an answer that ended abnormally.
    cache_ttl
        How long providers that can be told should keep the prompt.
    tool_execution
        ``"parallel"`` lets neighbouring shared calls of a batch overlap; ``"sequential"`` never.
    cascade_tools
        Tools whose failure cancels the calls of the same batch that come after or beside it.
    strict_pairing
        Whether calls and results that do not match end the run instead of being mended.
    guards
        Guards against repetition and waste that the agent installs itself, behind the handlers that are on its bus
        already; ``None`` where they were installed there, as a chat does.
    read_file_defaults
        Arguments of ``read_file`` that count where the model gives none.
    """

    max_turns: int | None = 100
    max_cost: float | None = None
    budgets: Budgets = field(default=Budgets())
    max_tokens: int | None = None
    thinking: ThinkingLevel = "off"
    thinking_budget: int | None = None
    thinking_decay: ThinkingDecay | None = None
    compaction: AutoCompact | None = field(default=AutoCompact())
    stale_reads: Literal["stub"] | None = None
    trim_outputs_over: int | None = None
    trim_keep_turns: int = 4
    retry: RetryPolicy = field(default=RetryPolicy())
    resume: ResumePolicy = field(default=ResumePolicy())
    cache_ttl: CacheTtl = "5m"
    tool_execution: Literal["parallel", "sequential"] = "parallel"
    cascade_tools: frozenset[str] = frozenset({"shell"})
    strict_pairing: bool = False
    guards: GuardSettings | None = None
    read_file_defaults: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("max_turns", "max_tokens", "thinking_budget"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is {value}.", hint="Give a whole number of at least 1, or None.")
        if self.max_cost is not None and not self.max_cost > 0:
            raise ConfigurationError(f"max_cost is {self.max_cost}.", hint="Give an amount above 0 dollars, or None.")

    @property
    def limits(self) -> Budgets:
        """All limits: those of ``budgets``, and ``max_turns`` and ``max_cost`` of the run."""
        budgets = self.budgets
        if self.max_turns is not None:
            budgets = budgets.with_limit("turns", "run", self.max_turns)
        return budgets if self.max_cost is None else budgets.with_limit("cost", "run", self.max_cost)

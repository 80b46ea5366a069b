"""Events of what is done to the context and around a call: compaction, caching, budgets, retries, guards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from zidane_lab.events.ids import Ids
from zidane_lab.turns import Turn, Usage

__all__ = [
    "BudgetKind",
    "BudgetReached",
    "BudgetScope",
    "BudgetWarning",
    "CacheBreak",
    "CompactEnd",
    "CompactProgress",
    "CompactReason",
    "CompactStart",
    "CompactSummarize",
    "ContextPruned",
    "FallbackSwitch",
    "GuardHit",
    "ResultPersisted",
    "RetryWait",
]

CompactReason: TypeAlias = Literal["auto", "manual", "overflow", "rewind"]
"""The window filled; a person asked; the service refused the request as too long; the model went back to a checkpoint
and wrote the report itself."""

BudgetKind: TypeAlias = Literal["turns", "tokens", "cost", "time"]
BudgetScope: TypeAlias = Literal["run", "session", "notebook"]


@dataclass(frozen=True, slots=True)
class CompactStart:
    """A compaction begins: ``turns`` turns are to be summarised by ``model``; the context was ``tokens``."""

    name: ClassVar[str] = "compact:start"
    ids: Ids
    reason: CompactReason
    scope: str
    model: str
    turns: int
    kept: int
    tokens: int


@dataclass(slots=True)
class CompactSummarize:
    """Mutable: a handler may give the summary itself (``summary``) and spare the call of a model."""

    name: ClassVar[str] = "compact:summarize"
    ids: Ids
    reason: CompactReason
    turns: tuple[Turn, ...]
    instructions: str = ""
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class CompactProgress:
    """The summary is being written: about ``tokens`` so far, in the ``attempt``-th call of this kind."""

    name: ClassVar[str] = "compact:progress"
    ids: Ids
    tokens: int
    attempt: int
    kind: Literal["initial", "prefix-fallback", "ptl-retry", "transient-retry"]


@dataclass(frozen=True, slots=True)
class CompactEnd:
    """A compaction ended. Fires exactly once per ``compact:start``.

    ``status`` is ``"compacted"``, ``"aborted"`` or ``"failed"`` (``error`` says why). ``summary_turn`` is the turn that
    now stands for ``replaced`` others; ``before`` and ``after`` are the context's size in tokens, ``after`` estimated.
    ``files``, ``skills`` and
    ``variables`` were put back; ``missing`` are variables the conversation used that are gone.
    """

    name: ClassVar[str] = "compact:end"
    ids: Ids
    reason: CompactReason
    status: Literal["compacted", "aborted", "failed"]
    model: str
    seconds: float
    summary_turn: Turn | None = None
    replaced: int = 0
    before: int = 0
    after: int = 0
    files: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    usage: Usage | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ContextPruned:
    """Old results were left out of what is sent: ``calls`` results, about ``tokens`` tokens, for ``why``."""

    name: ClassVar[str] = "context:pruned"
    ids: Ids
    calls: tuple[str, ...]
    tokens: int
    why: str


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """The provider read again what it could have had from its cache.

    ``tokens`` were read anew at about ``cost`` US dollars (``None``: not known). ``culprit`` names what changed, in
    words (empty when the cache had just expired), ``likely`` what probably did it.
    """

    name: ClassVar[str] = "cache:break"
    ids: Ids
    tokens: int
    cost: float | None
    culprit: str = ""
    likely: str = ""


@dataclass(frozen=True, slots=True)
class BudgetWarning:
    """A budget is nearly used up: ``spent`` of ``limit``, in its own unit (turns, tokens, US dollars, seconds)."""

    name: ClassVar[str] = "budget:warning"
    ids: Ids
    kind: BudgetKind
    scope: BudgetScope
    limit: float
    spent: float


@dataclass(slots=True)
class BudgetReached:
    """Mutable: a budget is used up. A handler may set ``extend_to``, a higher limit, for the run to go on."""

    name: ClassVar[str] = "budget:reached"
    ids: Ids
    kind: BudgetKind
    scope: BudgetScope
    limit: float
    spent: float
    extend_to: float | None = None


@dataclass(frozen=True, slots=True)
class RetryWait:
    """A call failed in passing and is made again after ``seconds``: retry ``attempt`` of ``most``."""

    name: ClassVar[str] = "retry:wait"
    ids: Ids
    attempt: int
    most: int
    seconds: float
    error: str
    error_code: str


@dataclass(frozen=True, slots=True)
class FallbackSwitch:
    """A model failed for good and the next one of the chain takes over."""

    name: ClassVar[str] = "fallback:switch"
    ids: Ids
    from_model: str
    to_model: str
    error: str


@dataclass(frozen=True, slots=True)
class ResultPersisted:
    """A large result went to a file and the model got its head: ``size`` bytes at ``path``, or an ``error``."""

    name: ClassVar[str] = "result:persisted"
    ids: Ids
    tool: str
    size: int
    path: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class GuardHit:
    """A guard stepped in: which (``guard``), for which tool, and what it did, in words."""

    name: ClassVar[str] = "guard:hit"
    ids: Ids
    guard: str
    tool: str
    text: str

"""What a run works with, and what the runs of one conversation hand on to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zidane_lab.agent.cache import CacheWatch
from zidane_lab.agent.call_journal import CallJournal
from zidane_lab.agent.fallback import FallbackState
from zidane_lab.agent.guards.tool_state import ToolStateController
from zidane_lab.agent.hooks import HookBus
from zidane_lab.compaction.state import CompactionState
from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.kernel.execution import Executor
from zidane_lab.providers.targets import ModelTarget
from zidane_lab.session.interactions import Interact
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool
from zidane_lab.wire.incremental import WireBuilder

__all__ = ["Continuity", "Kit"]


@dataclass(slots=True)
class Continuity:
    """What outlives a run besides the session: memory only, rebuilt when it is lost.

    Parameters
    ----------
    wire
        Builds what is sent from the session's turns, working on new ones only.
    cache
        Watches the provider's prompt cache.
    fallback
        Which models are resting, and until when.
    compaction
        Failures, and the size after the last compaction; ``None`` until read from the session.
    measured
        The newest answer and the size of the context behind it, as the provider counted it; ``None`` when what is
        sent has changed since.
    """

    wire: WireBuilder = field(default_factory=WireBuilder)
    cache: CacheWatch = field(default_factory=CacheWatch)
    fallback: FallbackState = field(default_factory=FallbackState)
    compaction: CompactionState | None = None
    measured: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Kit:
    """What a run works with.

    Parameters
    ----------
    targets
        The models that may answer: the first does, the others take over when it fails.
    summarizer
        Who writes summaries, if not the model that answers.
    promotion
        A model with a larger window that takes over when the window is full, before anything is summarised.
    system_boundary
        Length of the part of the system prompt that is the same from day to day and place to place.
    tool_state
        What tools keep from call to call.
    place
        Where files and commands live; this machine, from ``cwd``, if left out.
    interact
        How tools ask the person; nobody can be asked if left out.
    journal
        Keeps how far batches of calls come.
    """

    session: Session
    hooks: HookBus
    tools: Mapping[str, Tool]
    executor: Executor | None
    cwd: Path
    targets: tuple[ModelTarget, ...]
    continuity: Continuity
    summarizer: ModelTarget | None = None
    promotion: ModelTarget | None = None
    system_boundary: int | None = None
    tool_state: ToolStateController | None = None
    place: ExecutionContext | None = None
    interact: Interact | None = None
    journal: CallJournal | None = None

"""What compaction remembers from turn to turn: failures in a row, and how large the conversation was afterwards.

A frozen value with pure transitions; the half that must outlive the process is read back from the session.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from zidane_lab.turns import CompactSummaryBlock, Turn

__all__ = ["CompactionState", "baseline_of"]


@dataclass(frozen=True, slots=True)
class CompactionState:
    """Failures in a row, and the size of the conversation after it was last compacted.

    Parameters
    ----------
    failures
        Automatic compactions that failed in a row in this run.
    baseline_tokens
        Size of the prompt after the last compaction; ``None`` when there has been none.
    is_estimate
        Whether the size is an estimate, which the next count of a provider replaces.
    """

    failures: int = 0
    baseline_tokens: int | None = None
    is_estimate: bool = False

    @classmethod
    def of(cls, turns: Sequence[Turn], undone: Collection[str] = frozenset()) -> CompactionState:
        """Read the state of a conversation back from its turns, as after a restart."""
        return cls(0, *baseline_of(turns, undone))

    def is_open(self, max_failures: int) -> bool:
        """Whether so much has failed that this run should stop trying."""
        return self.failures >= max_failures

    def run_started(self) -> CompactionState:
        """Forget the failures: each run gets its own chance."""
        return replace(self, failures=0) if self.failures else self

    def failed(self) -> CompactionState:
        """Count one more failure."""
        return replace(self, failures=self.failures + 1)

    def compacted(self, tokens: int) -> CompactionState:
        """Take note of a compaction that left about ``tokens`` tokens."""
        return CompactionState(0, tokens, is_estimate=True)

    def counted(self, tokens: int) -> CompactionState:
        """Take note of a prompt's size as a provider counted it; the first one after a compaction is the baseline."""
        if not self.is_estimate or tokens <= 0:
            return self
        return replace(self, baseline_tokens=tokens, is_estimate=False)


def baseline_of(turns: Sequence[Turn], undone: Collection[str] = frozenset()) -> tuple[int | None, bool]:
    """Return the size of the prompt after the last compaction that still counts, and whether it is an estimate.

    It is what the provider counted for the first answer after the summary; until there is one, what the summary's
    own metadata say.
    """
    for index in range(len(turns) - 1, -1, -1):
        summary = next((block for block in turns[index].blocks if isinstance(block, CompactSummaryBlock)), None)
        if summary is None or turns[index].id in undone:
            continue
        for turn in turns[index + 1 :]:
            if turn.role == "assistant" and turn.usage is not None and turn.usage.context > 0:
                return turn.usage.context, False
        after = summary.metadata.get("after")
        known = isinstance(after, int) and not isinstance(after, bool) and after > 0
        return (after if known else None), known
    return None, False

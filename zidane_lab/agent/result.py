"""What a run leaves in the caller's hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zidane_lab.events import FinishReason, RunStatus
from zidane_lab.turns import ImageBlock, Turn, Usage

__all__ = ["RunResult"]


@dataclass(frozen=True, slots=True)
class RunResult:
    """The outcome of one run.

    ``turns`` are the turns this run added, the prompt first. ``text`` is the last thing the model said.
    ``status`` is ``"aborted"`` when the run was stopped; a run that failed raises instead, and the error's
    ``result`` attribute is this object with status ``"error"``. ``stopped_because`` says why a run was stopped where no
    person did it: by a tool, or by a guard.
    """

    run_id: str
    status: RunStatus
    finish: FinishReason | None
    model: str
    turns: tuple[Turn, ...]
    usage: Usage
    seconds: float
    session: Path | None = None
    stopped_because: str = ""

    @property
    def text(self) -> str:
        """The last text the model wrote in this run; empty when it wrote none."""
        for turn in reversed(self.turns):
            if turn.role == "assistant" and turn.text:
                return turn.text
        return ""

    @property
    def figures(self) -> tuple[bytes, ...]:
        """The images the run's tools produced, as the model saw them (PNG or JPEG bytes)."""
        return tuple(
            part.data
            for turn in self.turns
            for result in turn.tool_results
            for part in result.parts
            if isinstance(part, ImageBlock)
        )

    @property
    def code(self) -> tuple[str, ...]:
        """The Python the agent ran, piece by piece, in order."""
        calls = [call for turn in self.turns for call in turn.tool_calls if call.name == "run_python"]
        return tuple(str(call.input.get("code", "")) for call in calls)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        calls = sum(len(turn.tool_calls) for turn in self.turns)
        return (
            f"<RunResult {self.run_id} {self.status}: {len(self.text)} characters of text, {calls} tool calls, "
            f"{self.seconds:.1f} s, {self.model}>"
        )

    def _repr_markdown_(self) -> str:
        return self.text or f"*{self!r}*"

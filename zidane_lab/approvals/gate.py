"""The gate: decides for each tool call whether it runs, is asked about, or is refused.

A simple one until modes and remembered decisions come: tools that only look run; Python that only computes
runs; anything else is put to a person, and refused when nobody can answer. It fails closed everywhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.approvals.python_code import classify
from zidane_lab.approvals.secrets import looks_secret
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import ToolGate
from zidane_lab.tools.base import Tier

__all__ = ["Ask", "Gate", "Mode", "Question"]

Mode: TypeAlias = Literal["ask", "auto", "plan"]

_MODES: Final = ("ask", "auto", "plan")


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked: may this call run?

    ``reasons`` say what in it needs permission, ``target`` is the code or the arguments, whole.
    """

    tool: str
    intent: str
    target: str
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The question as plain text: the tool, what for, and each line that needs permission."""
        head = f"zidane wants to use {self.tool}" + (f": {self.intent}" if self.intent else "")
        return "\n".join([head, *(f"  - {reason}" for reason in self.reasons)])


Ask: TypeAlias = Callable[[Question], Awaitable[bool | None]]
"""Puts a question to a person; ``None`` when nobody can answer."""


def _no_names() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Gate:
    """A handler of the ``tool:gate`` event.

    Parameters
    ----------
    ask
        Puts a question to a person.
    mode
        ``auto``: looking and pure computation run, the rest is asked. ``ask``: only looking runs unasked.
        ``plan``: only looking runs, the rest is refused.
    tiers
        The tier of each tool; one that is not listed counts as executing.
    protected
        Names of the user's own variables, at the time of the call.
    known
        What names in the namespace stand for, at the time of the call.

    Raises
    ------
    ConfigurationError
        The mode does not exist, or not yet.
    """

    ask: Ask
    mode: str = "auto"
    tiers: Mapping[str, Tier] = field(default_factory=dict)
    protected: Callable[[], frozenset[str]] = frozenset
    known: Callable[[], Mapping[str, str]] = _no_names

    def __post_init__(self) -> None:
        if self.mode not in _MODES:
            hint = f"Modes: {', '.join(_MODES)}."
            raise ConfigurationError(f"There is no approval mode {self.mode!r}.", hint=hint)

    async def __call__(self, event: ToolGate) -> None:
        """Decide about one call; a refusal says why and what the model can do instead."""
        if event.block is not None or event.result is not None:
            return
        reasons = self._reasons(event)
        if not reasons:
            return
        if self.mode == "plan":
            event.block = "plan mode only looks: it runs nothing. Put this step into your plan instead."
            return
        target = str(event.input.get("code", "")) or "\n".join(f"{key}: {value}" for key, value in event.input.items())
        question = Question(event.tool, str(event.input.get("intent", "")), target, reasons)
        answer = await self.ask(question)
        if answer is True:
            return
        said = "; ".join(reasons)
        if answer is None:
            event.block = (
                f"{said}. This needs permission and nobody is here to give it. "
                "Do without, or tell the user what you would have done."
            )
        else:
            event.block = f"the user refused: {said}. Do not try it another way; do without, or ask what they prefer."

    def _reasons(self, event: ToolGate) -> tuple[str, ...]:
        """Return why this call needs permission; empty when it does not."""
        if event.tool == "run_python":
            verdict = classify(str(event.input.get("code", "")), protected=self.protected(), known=self.known())
            if verdict.risk != "pure":
                return tuple(str(reason) for reason in verdict.reasons) or ("it cannot be judged",)
            return () if self.mode == "auto" else ("it runs code",)
        tier = self.tiers.get(event.tool, "execute")
        if tier != "read":
            return (f"it may {_VERBS[tier]}",)
        return tuple(f"{value} looks like a file of secrets" for value in _paths(event.input) if looks_secret(value))


_VERBS: Final[Mapping[Tier, str]] = {
    "read": "look",
    "write": "change files",
    "execute": "run something",
    "network": "use the network",
}


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    return [value for key, value in arguments.items() if isinstance(value, str) and key in ("path", "pattern", "file")]

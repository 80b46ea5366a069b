"""The gate: decides for each tool call whether it runs, is asked about, or is refused.

A simple one until remembered decisions come: tools that only look run, Python that only computes runs, and
anything else is put to a person, and refused when nobody can answer. It fails closed: what cannot be judged
asks, what cannot be asked is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from zidane_lab.approvals.python_code import classify
from zidane_lab.approvals.secrets import looks_secret
from zidane_lab.errors import AbortedError, ConfigurationError
from zidane_lab.events import ToolGate
from zidane_lab.tools.base import Tier

__all__ = ["Ask", "Gate", "Mode", "Question"]

Mode: TypeAlias = Literal["ask", "auto", "plan"]
"""``auto`` lets looking and pure computation run and asks for the rest, ``ask`` lets only looking run, ``plan`` refuses
all but looking."""

_CODE_TOOL: Final = "run_python"
_MAY: Final[Mapping[str, str]] = {
    "write": "may change files",
    "execute": "may do anything its author wrote",
    "network": "may use the network",
}
_SHOWN_ARGUMENT: Final = 300
_SHOWN_REASONS: Final = 20


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked before a call runs.

    ``reasons`` say what in it needs permission; ``target`` is the code or the arguments, whole.
    """

    tool: str
    intent: str
    target: str
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The question as plain text: the tool, what for, and each line that needs permission.

        The words come from a model: control characters, which could hide or repaint lines, are written out.
        """
        lines = [f"zidane wants to use {self.tool}" + (f": {self.intent}" if self.intent else "")]
        lines += (f"  - {reason}" for reason in self.reasons[:_SHOWN_REASONS])
        if len(self.reasons) > _SHOWN_REASONS:
            lines.append(f"  - and for {len(self.reasons) - _SHOWN_REASONS} more reasons")
        if self.tool != _CODE_TOOL:
            lines += (f"    {line}" for line in self.target.splitlines())
        return "\n".join(map(_printable, lines))


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
        See :data:`Mode`.
    tiers
        The tier of each tool; one that is not listed counts as executing.
    protected
        Names of the user's own variables, at the time of the call.
    known
        What names in the namespace stand for, at the time of the call
        (:func:`zidane_lab.approvals.names.known_names`).

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
        hint = f"Modes: {', '.join(get_args(Mode))}."
        if self.mode == "bypass":
            raise ConfigurationError("Running everything unasked is not available yet.", hint=hint)
        if self.mode not in get_args(Mode):
            raise ConfigurationError(f"There is no approval mode {self.mode!r}.", hint=hint)

    async def __call__(self, event: ToolGate) -> None:
        """Decide about one call; a refusal says why and what the model can do instead."""
        if event.block is not None or event.result is not None:
            return
        try:
            reasons = self._reasons(event)
        except Exception as error:  # noqa: BLE001 - fail closed: what upsets the judge is asked about
            reasons = (f"it cannot be judged ({type(error).__name__})",)
        if not reasons:
            return
        if self.mode == "plan" and self.tiers.get(event.tool, "execute") != "read":
            event.block = "refused: plan mode only looks, it runs nothing. Put this step into your plan instead."
            return
        await self._put(event, reasons)

    async def _put(self, event: ToolGate, reasons: tuple[str, ...]) -> None:
        """Ask, and refuse unless the answer is yes."""
        question = Question(event.tool, _text(event.input.get("intent")), _target(event), reasons)
        said = "; ".join(reasons[:_SHOWN_REASONS])
        try:
            answer = await self.ask(question)
        except AbortedError:
            raise
        except Exception as error:  # noqa: BLE001 - fail closed: a question that cannot be put is not a yes
            said = f"{said}; asking failed ({type(error).__name__})"
            answer = None
        if answer is True:
            return
        if answer is None:
            event.block = (
                f"refused: {said}. This needs permission and nobody is here to give it. "
                "Work without it, or tell the user what you would do."
            )
        else:
            event.block = (
                f"refused by the user: {said}. Do not try the same another way; work without it, or ask what they want."
            )

    def _reasons(self, event: ToolGate) -> tuple[str, ...]:
        """Return why this call needs permission; empty when it does not."""
        secrets = tuple(f"{path!r} commonly holds secrets" for path in _paths(event.input) if looks_secret(path))
        tier = self.tiers.get(event.tool, "execute")
        if event.tool == _CODE_TOOL:
            code = event.input.get("code")
            if not isinstance(code, str):
                return ("its code is not a text",)
            verdict = classify(code, protected=self.protected(), known=self.known())
            if verdict.risk != "pure":
                return tuple(map(str, verdict.reasons)) or ("it cannot be judged",)
            return () if self.mode == "auto" else ("it runs code",)
        if tier == "read":
            return secrets
        return (f"it {_MAY.get(tier, _MAY['execute'])}", *secrets)


def _target(event: ToolGate) -> str:
    """Return the code, or the arguments one a line, as a person can check them."""
    code = event.input.get("code")
    if event.tool == _CODE_TOOL and isinstance(code, str):
        return code
    return "\n".join(f"{key}: {_text(value)}" for key, value in event.input.items() if key != "intent")


def _text(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else repr(value)
    if len(text) > _SHOWN_ARGUMENT:
        text = f"{text[:_SHOWN_ARGUMENT]}… ({len(text) - _SHOWN_ARGUMENT:,} more characters)"
    return text


def _paths(value: object, key: str = "") -> Iterator[str]:
    """Yield the arguments that name files, at any depth."""
    if isinstance(value, str):
        if any(word in key for word in ("path", "file", "source", "target", "url")):
            yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _paths(each, str(name).lower())
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _paths(each, key)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text.replace("\t", " "))

"""What a request is made of, hashed part by part, so that two requests can be compared long after they were sent.

The parts are those that decide whether a provider finds a prompt in its cache: the model, the thinking asked for,
each tool, the system prompt and each message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.providers.base import Request, ToolSpec
from zidane_lab.providers.encoded import TurnMemo
from zidane_lab.turns import (
    Block,
    CommandBlock,
    CompactSummaryBlock,
    CustomBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
)

__all__ = ["Dimension", "DimensionChange", "Dimensions", "Fingerprint", "diff_dimensions", "fnv1a_32"]

Dimension: TypeAlias = Literal["model", "thinking", "tools", "system", "messages"]

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193


def fnv1a_32(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash of ``data`` (Fowler, Noll and Vo)."""
    value = _OFFSET
    for byte in data:
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value


@dataclass(frozen=True, slots=True)
class Dimensions:
    """A request's parts: its model and thinking in words, the hashes of the rest.

    ``system`` is the part of the system prompt that stays the same from day to day, ``environment`` what follows.
    """

    model: str
    thinking: str
    tools: Mapping[str, int]
    system: int
    environment: int
    messages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DimensionChange:
    """A part that differs between two requests, and how, in words."""

    dimension: Dimension
    detail: str


class Fingerprint:
    """Takes the dimensions of requests, hashing each turn once."""

    def __init__(self) -> None:
        self._messages = TurnMemo(_turn_hash)

    def __call__(self, request: Request, *, provider: str = "") -> Dimensions:
        """Return the dimensions of a request to ``provider``."""
        at = len(request.system) if request.system_boundary is None else request.system_boundary
        budget = "" if request.thinking_budget is None else f", {request.thinking_budget} tokens"
        return Dimensions(
            model=f"{provider}/{request.model}" if provider else request.model,
            thinking=f"{request.thinking}{budget}",
            tools={tool.name: _tool_hash(tool) for tool in request.tools},
            system=_text_hash(request.system[:at]),
            environment=_text_hash(request.system[at:]),
            messages=tuple(self._messages.of(request.turns)),
        )


def diff_dimensions(before: Dimensions, after: Dimensions) -> tuple[DimensionChange, ...]:
    """Say what ``after`` changes of what ``before`` sent; messages added at the end change nothing."""
    changes = [
        *_named("model", "model", before.model, after.model),
        *_named("thinking", "thinking", before.thinking, after.thinking),
        *(DimensionChange("tools", detail) for detail in _tool_changes(before.tools, after.tools)),
    ]
    if before.system != after.system:
        changes.append(DimensionChange("system", "system prompt changed"))
    if before.environment != after.environment:
        changes.append(DimensionChange("system", "environment block of the system prompt changed"))
    changes += [DimensionChange("messages", detail) for detail in _message_changes(before.messages, after.messages)]
    return tuple(changes)


def _named(dimension: Dimension, what: str, before: str, after: str) -> list[DimensionChange]:
    return [] if before == after else [DimensionChange(dimension, f"{what} {before} → {after}")]


def _tool_changes(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    details = [f"tool {name} removed" for name in before if name not in after]
    details += [f"tool {name} added" for name in after if name not in before]
    details += [f"tool {name} changed" for name in after if name in before and before[name] != after[name]]
    if not details and list(before) != list(after):
        details.append("tools reordered")
    return details


def _message_changes(before: Sequence[int], after: Sequence[int]) -> list[str]:
    sizes = f"{len(before)}→{len(after)}" if len(before) != len(after) else f"{len(before)}"
    same = next((at for at, old, new in zip(count(), before, after, strict=False) if old != new), None)
    if same is not None:
        return [f"message {same + 1} of {sizes} rewritten"]
    dropped = len(before) - len(after)
    return [f"last {dropped} of {sizes} messages dropped"] if dropped > 0 else []


# --- hashes ---------------------------------------------------------------------------------------


def _hash(*parts: bytes) -> int:
    """Hash some parts. A loop in Python takes a second for ten megabytes, so FNV-1a gets a digest made in C."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return fnv1a_32(digest.digest())


def _text_hash(text: str) -> int:
    return _hash(_encoded(text))


def _tool_hash(tool: ToolSpec) -> int:
    return _hash(_encoded(tool.name), _encoded(tool.description), _json(tool.parameters))


def _turn_hash(turn: Turn, _before: Turn | None) -> int:
    return _hash(turn.role.encode(), *(part for block in turn.blocks for part in _parts(block)))


def _parts(block: Block) -> list[bytes]:
    """Return what a model may see of a block."""
    kind = block.kind.encode()
    match block:
        case TextBlock() | CompactSummaryBlock():
            return [kind, _encoded(block.text)]
        case ThinkingBlock():
            return [kind, _encoded(block.text), _encoded(block.signature or "")]
        case ToolCallBlock():
            return [kind, _encoded(block.id), _encoded(block.name), _json(block.input)]
        case ToolResultBlock():
            inner = [piece for part in block.parts for piece in _parts(part)]
            return [kind, _encoded(block.call_id), b"error" if block.is_error else b"", *inner]
        case CommandBlock() | CustomBlock():
            return []
        case _:
            return [kind, _encoded(block.media_type), _encoded(block.name or ""), block.data]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _json(value: Mapping[str, Any]) -> bytes:
    return _encoded(json.dumps(value, ensure_ascii=False, default=str))

"""From a :class:`~zidane_lab.providers.base.Request` to the body of Anthropic's Messages API.

Pure functions: the same request gives the same bytes, so that the provider's prompt cache can hit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from zidane_lab.providers.base import Request, ThinkingLevel, ToolSpec
from zidane_lab.providers.catalog import claude_version, model_info
from zidane_lab.providers.payload import IMAGE_TYPES, base64_text, document_text, left_out, visible_text, wire_id
from zidane_lab.turns import (
    AudioBlock,
    Block,
    CompactSummaryBlock,
    DocumentBlock,
    ImageBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    VideoBlock,
)

__all__ = ["DEFAULT_MAX_TOKENS", "build_request", "signatures"]

DEFAULT_MAX_TOKENS: Final = 8192
"""Limit of an answer for models whose own limit is unknown; the service insists on one."""

MIN_BUDGET: Final = 1024
"""Least thinking budget the service accepts, in tokens."""

_CACHED: Final[Mapping[str, str]] = {"type": "ephemeral"}

# Thinking budgets, in tokens, for models before 4.6; later ones decide themselves and take an effort instead.
_BUDGETS: Final[Mapping[str, int]] = {
    "minimal": 1024,
    "low": 4096,
    "medium": 10_000,
    "high": 20_000,
    "xhigh": 32_000,
    "max": 48_000,
    "adaptive": 10_000,
}

# Models that think unless told not to, and can be told.
_THINKS_BY_DEFAULT: Final = frozenset({("opus", (5, 0)), ("haiku", (5, 5))})


def build_request(
    request: Request, *, producer: str, base_url: str | None = None, refused: Collection[str] = ()
) -> dict[str, Any]:
    """Return the JSON body that asks for a streamed answer.

    Parameters
    ----------
    request
        What to ask; valid on any wire.
    producer
        The provider's name; reasoning is replayed only if it carries this name and a signature.
    base_url
        Where the request goes, if not to the vendor.
    refused
        Signatures the service has refused before; their reasoning is left out.
    """
    info = model_info("anthropic", request.model, base_url=base_url)
    max_tokens = request.max_tokens or info.default_max_tokens or DEFAULT_MAX_TOKENS
    messages = _messages(request.turns, producer, refused)
    body: dict[str, Any] = {"model": request.model, "max_tokens": max_tokens, "stream": True}
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tools"][-1]["cache_control"] = _CACHED
    _mark_last_user(messages)
    body["messages"] = messages
    body.update(_thinking(request.model, request.thinking, max_tokens, messages))
    return body


def signatures(request: Request, producer: str) -> set[str]:
    """Return the signatures of the reasoning that a request replays."""
    return {
        block.signature
        for turn in request.turns
        for block in turn.blocks
        if isinstance(block, ThinkingBlock) and block.signature and _is_replayed(block, producer, ())
    }


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


# --- messages -------------------------------------------------------------------------------------


def _messages(turns: Iterable[Turn], producer: str, refused: Collection[str]) -> list[dict[str, Any]]:
    """Return the messages: roles alternate, none is empty, results stand before everything else."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        content = [spelled for block in turn.blocks for spelled in _spell(block, producer, refused)]
        content.sort(key=lambda block: block["type"] != "tool_result")
        if not content:
            continue
        if messages and messages[-1]["role"] == turn.role:
            messages[-1]["content"] += content
        else:
            messages.append({"role": turn.role, "content": content})
    return messages


def _spell(block: Block, producer: str, refused: Collection[str]) -> list[dict[str, Any]]:
    match block:
        case TextBlock() | CompactSummaryBlock():
            text = visible_text(block)
            return [{"type": "text", "text": text}] if text else []
        case ThinkingBlock():
            return [_reasoning(block)] if _is_replayed(block, producer, refused) else []
        case ToolCallBlock():
            return [{"type": "tool_use", "id": wire_id(block.id), "name": block.name, "input": dict(block.input)}]
        case ToolResultBlock():
            return [_result(block)]
        case ImageBlock() | DocumentBlock() | AudioBlock() | VideoBlock():
            return [_part(block)]
        case _:
            # Commands and extensions' own blocks are for people.
            return []


def _is_replayed(block: ThinkingBlock, producer: str, refused: Collection[str]) -> bool:
    """Whether the service would take this reasoning back: only its own, only with its seal."""
    own = block.producer == producer or (block.redacted and block.producer is None)
    return own and bool(block.signature) and block.signature not in refused


def _reasoning(block: ThinkingBlock) -> dict[str, Any]:
    if block.redacted:
        return {"type": "redacted_thinking", "data": block.signature}
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _result(block: ToolResultBlock) -> dict[str, Any]:
    content = [_part(part) for part in block.parts if not isinstance(part, TextBlock) or visible_text(part)]
    out: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": wire_id(block.call_id),
        "content": content or [{"type": "text", "text": "(no output)"}],
    }
    if block.is_error:
        out["is_error"] = True
    return out


def _part(part: ResultPart) -> dict[str, Any]:
    if isinstance(part, TextBlock):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImageBlock) and part.media_type in IMAGE_TYPES:
        return {"type": "image", "source": _base64(part.media_type, part.data)}
    if isinstance(part, DocumentBlock):
        text = document_text(part)
        if part.media_type == "application/pdf":
            source = _base64(part.media_type, part.data)
        elif text is not None:
            source = {"type": "text", "media_type": "text/plain", "data": text}
        else:
            return {"type": "text", "text": left_out(part)}
        return {"type": "document", "source": source, **({"title": part.name} if part.name else {})}
    return {"type": "text", "text": left_out(part)}


def _base64(media_type: str, data: bytes) -> dict[str, str]:
    return {"type": "base64", "media_type": media_type, "data": base64_text(data)}


def _mark_last_user(messages: list[dict[str, Any]]) -> None:
    """Put a cache breakpoint at the end of the conversation: the next request starts with the same bytes."""
    for message in reversed(messages):
        if message["role"] == "user":
            message["content"][-1]["cache_control"] = _CACHED
            return


# --- thinking -------------------------------------------------------------------------------------


def _thinking(model: str, level: ThinkingLevel, max_tokens: int, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields that ask for reasoning.

    From 4.6 on models decide themselves how long to think and take an effort; the newest refuse a budget and
    being told not to think. Before, they take a budget in tokens; before 3.7 they do not think.
    """
    family, version = claude_version(model) or ("", (0, 0))
    if level == "off":
        return {"thinking": {"type": "disabled"}} if (family, version) in _THINKS_BY_DEFAULT else {}
    if version >= (4, 6):
        out: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
        if level != "adaptive":
            out["output_config"] = {"effort": _effort(level, family, version)}
        return out
    if family and version < (3, 7):
        return {}
    budget = min(_BUDGETS[level], max_tokens - MIN_BUDGET)
    if budget < MIN_BUDGET or _resumes_without_reasoning(messages):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _effort(level: ThinkingLevel, family: str, version: tuple[int, int]) -> str:
    if level == "minimal":
        return "low"
    if version < (4, 7) and (level == "xhigh" or (level == "max" and family != "opus")):
        return "high"
    return level


def _resumes_without_reasoning(messages: list[dict[str, Any]]) -> bool:
    """Whether the answer goes on from a call made without reasoning.

    Models that take a budget then refuse to think: the reasoning before the call would be missing.
    """
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    if last is None or messages[-1]["content"][0]["type"] != "tool_result":
        return False
    return last["content"][0]["type"] not in {"thinking", "redacted_thinking"}

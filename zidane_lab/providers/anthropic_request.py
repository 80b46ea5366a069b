"""From a :class:`~zidane_lab.providers.base.Request` to the body of Anthropic's Messages API.

The same request gives the same bytes, so that the provider's prompt cache can hit. The service reads a request in
the order tools, system prompt, messages, and keeps what stands before a *breakpoint*, of which it takes four; a
later request finds it again if one of its own breakpoints stands at that place or at most 20 blocks after it
(Anthropic, "Prompt caching"). Ours stand behind

1. the last tool,
2. the part of the system prompt that stays the same from day to day,
3. the last message but one of the user, where the request before ended: however many calls and results a single
   step added since, it is found,
4. the last message of the user, for the request to come.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from zidane_lab.providers.base import CacheTtl, Request, ToolSpec
from zidane_lab.providers.catalog import claude_version, model_info
from zidane_lab.providers.encoded import TurnMemo
from zidane_lab.providers.payload import (
    IMAGE_TYPES,
    base64_text,
    document_text,
    encode_body,
    left_out,
    visible_text,
    wire_id,
)
from zidane_lab.providers.reasoning import reasoning_action
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

__all__ = ["BUDGETS", "DEFAULT_MAX_TOKENS", "RequestEncoder", "build_request", "signatures"]

DEFAULT_MAX_TOKENS: Final = 8192
"""Limit of an answer for models whose own limit is unknown; the service insists on one."""

MIN_BUDGET: Final = 1024
"""Least thinking budget the service accepts, in tokens."""

BUDGETS: Final[Mapping[str, int]] = {
    "minimal": 1024,
    "low": 4096,
    "medium": 10_000,
    "high": 20_000,
    "xhigh": 32_000,
    "max": 48_000,
    "adaptive": 10_000,
}
"""Thinking budgets, in tokens, for models before 4.6; later ones decide themselves and take an effort instead."""

_CACHED: Final[Mapping[CacheTtl, Mapping[str, str]]] = {
    "5m": {"type": "ephemeral"},
    "1h": {"type": "ephemeral", "ttl": "1h"},
}
_OPENING: Final = {role: f'{{"role":"{role}","content":['.encode() for role in ("user", "assistant")}

# Models that think unless told not to, and can be told.
_THINKS_BY_DEFAULT: Final = frozenset({("opus", (5, 0)), ("haiku", (5, 5))})


def build_request(
    request: Request, *, producer: str, base_url: str | None = None, refused: Collection[str] = ()
) -> dict[str, Any]:
    """Return the body that asks for a streamed answer, to look at; see :class:`RequestEncoder`."""
    body: dict[str, Any] = json.loads(RequestEncoder(producer, base_url=base_url, refused=refused).encode(request))
    return body


class RequestEncoder:
    """Writes the bodies of requests; a turn that comes again is not written again.

    Parameters
    ----------
    producer
        The provider's name; reasoning is replayed only if it carries this name and a signature.
    base_url
        Where the requests go, if not to the vendor.
    refused
        Signatures the service has refused before; their reasoning is left out.
    """

    def __init__(self, producer: str, *, base_url: str | None = None, refused: Collection[str] = ()) -> None:
        self._producer, self._base_url = producer, base_url
        self._refused = frozenset(refused)
        self._memo = TurnMemo(self._spell)

    def encode(self, request: Request) -> bytes:
        """Return the JSON body that asks for a streamed answer.

        Raises
        ------
        BadRequestError
            A number in it cannot be written as JSON.
        """
        info = model_info("anthropic", request.model, base_url=self._base_url)
        max_tokens = request.max_tokens or info.default_max_tokens or DEFAULT_MAX_TOKENS
        cached = _CACHED[request.cache_ttl]
        spelled = [each for each in self._memo.of(request.turns) if each.content]
        head: dict[str, Any] = {"model": request.model, "max_tokens": max_tokens, "stream": True}
        head |= _thinking(request, max_tokens, spelled)
        if request.tools:
            head["tools"] = [_tool(tool) for tool in request.tools]
            head["tools"][-1]["cache_control"] = cached
        if system := _system(request, cached):
            head["system"] = system
        mark = b"," + encode_body({"cache_control": cached}, provider=self._producer)[1:]
        opening = encode_body(head, provider=self._producer)[:-1]
        return b"".join((opening, b',"messages":[', *_messages(spelled, mark), b"]}"))

    def new_signatures(self, request: Request) -> set[str]:
        """Return the signatures of the reasoning that the body of ``request`` replays."""
        return signatures(request, self._producer) - self._refused

    def refuse(self, refused: Collection[str]) -> None:
        """Leave the reasoning with these signatures out from now on."""
        self._refused |= frozenset(refused)
        self._memo = TurnMemo(self._spell)

    def _spell(self, turn: Turn, _before: Turn | None) -> _Spelled:
        content = [spelled for block in turn.blocks for spelled in _spell(block, self._producer, self._refused)]
        content.sort(key=lambda block: block["type"] != "tool_result")
        text = b",".join(encode_body(block, provider=self._producer) for block in content)
        return _Spelled(turn.role, text, content[0]["type"] if content else "")


@dataclass(frozen=True, slots=True)
class _Spelled:
    """A turn's blocks as JSON, separated by commas; empty when a model may see none of them."""

    role: str
    content: bytes
    first: str


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


def _system(request: Request, cached: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the system prompt as blocks; what changes from day to day stands behind the breakpoint."""
    at = len(request.system) if request.system_boundary is None else request.system_boundary
    parts = [part for part in (request.system[:at], request.system[at:].lstrip("\n")) if part.strip()]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": part} for part in parts]
    if blocks:
        blocks[0]["cache_control"] = cached
    return blocks


# --- messages -------------------------------------------------------------------------------------


def _messages(spelled: Iterable[_Spelled], mark: bytes) -> list[bytes]:
    """Return the pieces of the messages: roles alternate, and breakpoints follow the last two of the user.

    ``mark`` is what the last block of a message ends with instead of its brace.
    """
    pieces: list[bytes] = []
    ends: list[int] = []  # of each message of the user, where its last piece is
    role = ""
    for each in spelled:
        if each.role == role:
            pieces.append(b",")
        else:
            pieces.append(b"]}," + _OPENING[each.role] if role else _OPENING[each.role])
            role = each.role
            ends += [0] if role == "user" else []
        pieces.append(each.content)
        if role == "user":
            ends[-1] = len(pieces) - 1
    for end in ends[-2:]:
        pieces[end] = pieces[end][:-1] + mark
    return [*pieces, b"]}"] if pieces else []


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
    """Whether the service would take this reasoning back: what others made, or what has no seal, it would not."""
    return reasoning_action(block, producer, wire="anthropic") == "keep" and block.signature not in refused


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


# --- thinking -------------------------------------------------------------------------------------


def _thinking(request: Request, max_tokens: int, spelled: list[_Spelled]) -> dict[str, Any]:
    """Return the fields that ask for reasoning.

    From 4.6 on models decide themselves how long to think and take an effort; the newest refuse a budget and
    being told not to think. Before, they take a budget in tokens; before 3.7 they do not think.
    """
    level = request.thinking
    family, version = claude_version(request.model) or ("", (0, 0))
    if level == "off":
        return {"thinking": {"type": "disabled"}} if (family, version) in _THINKS_BY_DEFAULT else {}
    if version >= (4, 6):
        out: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
        if level != "adaptive":
            out["output_config"] = {"effort": _effort(level, family, version)}
        return out
    if family and version < (3, 7):
        return {}
    wanted = BUDGETS[level] if request.thinking_budget is None else request.thinking_budget
    budget = min(max(wanted, MIN_BUDGET), max_tokens - MIN_BUDGET)
    if wanted <= 0 or budget < MIN_BUDGET or _resumes_without_reasoning(spelled):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _effort(level: str, family: str, version: tuple[int, int]) -> str:
    if level == "minimal":
        return "low"
    if version < (4, 7) and (level == "xhigh" or (level == "max" and family != "opus")):
        return "high"
    return level


def _resumes_without_reasoning(spelled: list[_Spelled]) -> bool:
    """Whether the answer goes on from a call made without reasoning.

    Models that take a budget then refuse to think: the reasoning before the call would be missing.
    """
    last = answer = None  # what the last message and the answer before it begin with
    for each in reversed(spelled):
        if each.role == "assistant":
            answer = each.first
        elif answer is None:
            last = each.first
        else:
            break
    return last == "tool_result" and answer not in {None, "thinking", "redacted_thinking"}

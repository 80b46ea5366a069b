"""Turns to and from the message lists of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zidane_lab.providers.anthropic_request import build_request
from zidane_lab.providers.base import Request
from zidane_lab.turns import (
    Block,
    DocumentBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
)
from zidane_lab.wire.imported import (
    Collector,
    Imported,
    Note,
    as_text,
    blocks_of,
    keep_as_text,
    left_elsewhere,
    media_block,
    note_leftovers,
    read_base64,
)

__all__ = ["from_anthropic", "to_anthropic"]


def to_anthropic(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """Return ``turns`` as the messages a request carries, without marks for the cache.

    The history is not mended: pass it through :func:`~zidane_lab.wire.build.wire_turns` first if it is to be sent.
    """
    messages: list[dict[str, Any]] = build_request(Request("", "", tuple(turns)), producer="anthropic")["messages"]
    for message in messages:
        for block in message["content"]:
            block.pop("cache_control", None)
    return messages


def from_anthropic(messages: object, *, system: object = None) -> Imported:
    """Read a list of messages, from whatever program.

    Parameters
    ----------
    messages
        The list; content may be a text or a list of blocks.
    system
        The request's ``system``, which stands beside the messages: a text or a list of blocks of text.
    """
    into = Collector()
    into.system(system)
    for message in into.messages(messages):
        note_leftovers(message, {"role", "content", "model", "usage", "stop_reason", "stop_sequence"}, into.note)
        role, content = message.get("role"), message.get("content")
        if role == "system":
            into.system(content)
            continue
        if role not in ("user", "assistant"):
            into.note("unknown-role", f"The role {role!r} is none of ours; taken as the user's.")
        blocks = tuple(_block(block, into.note) for block in blocks_of(content))
        into.add("assistant" if role == "assistant" else "user", blocks)
    return into.done()


def _block(block: Any, note: Note) -> Block:
    match block:
        case {"type": "thinking", "thinking": str(text), "signature": str(signature)}:
            note_leftovers(block, {"thinking", "signature"}, note)
            return ThinkingBlock(text, signature or None, "anthropic")
        case {"type": "thinking", "thinking": str(text)}:
            note_leftovers(block, {"thinking"}, note)
            return ThinkingBlock(text, None, "anthropic")
        case {"type": "redacted_thinking", "data": str(data)}:
            note_leftovers(block, {"data"}, note)
            return ThinkingBlock("", data, "anthropic", redacted=True)
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            note_leftovers(block, {"name", "input"}, note)
            given = block.get("input")
            if isinstance(given, Mapping):
                return ToolCallBlock(call_id, name, dict(given))
            return ToolCallBlock(call_id, name, {}, raw=None if given is None else as_text(given))
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            note_leftovers(block, {"tool_use_id", "content", "is_error"}, note)
            parts = tuple(_part(part, note) for part in blocks_of(block.get("content")))
            return ToolResultBlock(call_id, parts, is_error=bool(block.get("is_error")))
        case _:
            return _part(block, note)


def _part(block: Any, note: Note) -> ResultPart:
    match block:
        case str(text):
            return TextBlock(text)
        case {"type": "text", "text": str(text)}:
            note_leftovers(block, {"text"}, note)
            return TextBlock(text)
        case {"type": "image" | "document", "source": Mapping() as source}:
            note_leftovers(block, {"source", "title"}, note)
            return _media(block, source, note)
        case _:
            return keep_as_text(block, note)


def _media(block: Mapping[str, Any], source: Mapping[str, Any], note: Note) -> ResultPart:
    title = block.get("title")
    name = title if isinstance(title, str) and title else None
    match source:
        case {"type": "base64", "media_type": str(media_type), "data": data}:
            content = read_base64(data)
            if content is not None:
                return media_block(media_type, content, name)
            note("damaged", f"The data of a {block['type']!r} are not base64; kept as text.")
            return TextBlock(as_text(block))
        case {"type": "text", "data": str(text)}:
            return DocumentBlock(str(source.get("media_type") or "text/plain"), text.encode("utf-8", "replace"), name)
        case {"type": "url", "url": str(where)} | {"type": "file", "file_id": str(where)}:
            return left_elsewhere(block, where, note)
        case _:
            return keep_as_text(block, note)

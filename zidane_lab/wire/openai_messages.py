"""Turns to and from the message lists of OpenAI's Chat Completions, which most other services speak too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from zidane_lab.providers.base import Request
from zidane_lab.providers.openai_request import build_request
from zidane_lab.providers.payload import parse_arguments
from zidane_lab.turns import Block, ResultPart, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn
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
    read_data_url,
)

__all__ = ["from_openai", "to_openai"]

ERROR_PREFIX: Final = "Error: "
"""How the format, which has no field for it, tells that a call failed: our own requests do so too."""

_BASE_URL: Final = "https://api.openai.com/v1"


def to_openai(turns: Iterable[Turn], *, system: str = "") -> list[dict[str, Any]]:
    """Return ``turns`` as the messages a request carries, the system message first if there is one.

    The history is not mended: pass it through :func:`~zidane_lab.wire.build.wire_turns` first if it is to be sent.
    """
    messages: list[dict[str, Any]] = build_request(Request("", system, tuple(turns)), base_url=_BASE_URL)["messages"]
    return messages


def from_openai(messages: object) -> Imported:
    """Read a list of messages, from whatever program; results that follow each other become one turn."""
    into = Collector()
    results: list[Block] = []
    calls = _Calls()
    for message in into.messages(messages):
        role, content = message.get("role"), message.get("content")
        if role in ("tool", "function"):
            results.append(_result(message, calls, into.note))
            continue
        into.add("user", tuple(results))
        results.clear()
        if role in ("system", "developer"):
            note_leftovers(message, {"role", "content"}, into.note)
            into.system(content)
        elif role == "assistant":
            into.add("assistant", tuple(_assistant(message, calls, into.note)))
        else:
            if role != "user":
                into.note("unknown-role", f"The role {role!r} is none of ours; taken as the user's.")
            note_leftovers(message, {"role", "content"}, into.note)
            into.add("user", tuple(_part(part, into.note) for part in blocks_of(content)))
    into.add("user", tuple(results))
    return into.done()


class _Calls:
    """The calls met so far: their names, and which of the old kind, which have no ids, still wait for results."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._count = 0
        self._open: dict[str, list[str]] = {}

    def add_old(self, name: str) -> str:
        """Return an id for a call of the old kind."""
        self._count += 1
        call_id = f"call_function_{self._count}"
        self._open.setdefault(name, []).append(call_id)
        return call_id

    def answered(self, message: Mapping[str, Any]) -> str | None:
        """Return the id of the call a result belongs to; results of the old kind name the function."""
        call_id, name = message.get("tool_call_id"), message.get("name")
        if isinstance(call_id, str):
            return call_id
        waiting = self._open.get(name) if isinstance(name, str) else None
        return waiting.pop(0) if waiting else None


def _assistant(message: Mapping[str, Any], calls: _Calls, note: Note) -> Iterator[Block]:
    known = {"role", "content", "refusal", "tool_calls", "function_call", "reasoning_content", "reasoning", "audio"}
    note_leftovers(message, known, note)
    yield from _reasoning(message, note)
    for part in blocks_of(message.get("content")):
        yield _part(part, note)
    if refusal := message.get("refusal"):
        yield TextBlock(refusal if isinstance(refusal, str) else as_text(refusal))
    match message.get("audio"):
        case {"transcript": str(said)}:
            note("remote-media", "Of spoken words only the transcript is kept.")
            yield TextBlock(said)
        case None:
            pass
        case other:
            yield keep_as_text(other, note)
    for block in _made_calls(message, calls, note):
        if isinstance(block, ToolCallBlock):
            calls.names[block.id] = block.name
        yield block


def _reasoning(message: Mapping[str, Any], note: Note) -> Iterator[Block]:
    """Read the reasoning, which has no place in OpenAI's own format; servers that add it use either name, or both."""
    texts = [value for name in ("reasoning_content", "reasoning") if (value := message.get(name))]
    for text in texts[:1] if texts[:1] == texts[1:] else texts:
        yield ThinkingBlock(text, None, "openai") if isinstance(text, str) else keep_as_text(text, note)


def _made_calls(message: Mapping[str, Any], calls: _Calls, note: Note) -> Iterator[Block]:
    for call in blocks_of(message.get("tool_calls")):
        yield _call(call, note)
    old = message.get("function_call")
    if isinstance(old, Mapping) and isinstance(name := old.get("name"), str):
        note_leftovers(old, {"name", "arguments"}, note)
        yield _called(calls.add_old(name), name, old.get("arguments"))
    elif old is not None:
        yield keep_as_text(old, note)


def _call(call: Any, note: Note) -> Block:
    match call:
        case {"id": str(call_id), "function": {"name": str(name)} as function}:
            note_leftovers(call, {"function"}, note)
            note_leftovers(function, {"name", "arguments"}, note)
            return _called(call_id, name, function.get("arguments"))
        case {"id": str(call_id), "custom": {"name": str(name), "input": str(text)}}:
            note("field-left-out", f"The call {call_id!r} takes plain text, not an object; kept as it came.")
            return ToolCallBlock(call_id, name, {}, raw=text)
        case _:
            return keep_as_text(call, note)


def _called(call_id: str, name: str, arguments: object) -> ToolCallBlock:
    if isinstance(arguments, Mapping):
        return ToolCallBlock(call_id, name, dict(arguments))
    text = arguments if isinstance(arguments, str) else "" if arguments is None else as_text(arguments)
    given, raw = parse_arguments(text)
    return ToolCallBlock(call_id, name, given, raw)


def _result(message: Mapping[str, Any], calls: _Calls, note: Note) -> Block:
    call_id = calls.answered(message)
    if call_id is None:
        note("damaged", "A result that names no call; kept as text.")
        return TextBlock(as_text(message))
    repeated = {"name"} if message.get("name") == calls.names.get(call_id) else set()
    note_leftovers(message, {"role", "content", "tool_call_id"} | repeated, note)
    parts = [_part(part, note) for part in blocks_of(message.get("content"))]
    is_error = bool(parts) and isinstance(parts[0], TextBlock) and parts[0].text.startswith(ERROR_PREFIX)
    if is_error and isinstance(parts[0], TextBlock):
        parts[0] = TextBlock(parts[0].text.removeprefix(ERROR_PREFIX))
    return ToolResultBlock(call_id, tuple(parts), is_error=is_error)


def _part(part: Any, note: Note) -> ResultPart:
    match part:
        case str(text):
            return TextBlock(text)
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            note_leftovers(part, {"text"}, note)
            return TextBlock(text)
        case {"type": "refusal", "refusal": str(text)}:
            note_leftovers(part, {"refusal"}, note)
            return TextBlock(text)
        case {"type": "image_url", "image_url": {"url": str(url)} as image}:
            note_leftovers(part, {"image_url"}, note)
            note_leftovers(image, {"url", "detail"}, note)
            if (read := read_data_url(url)) is not None:
                return media_block(*read)
            return _elsewhere(part, url, note)
        case {"type": "input_audio", "input_audio": {"data": data, "format": str(kind)}}:
            content = read_base64(data)
            return keep_as_text(part, note) if content is None else media_block(f"audio/{kind}", content)
        case {"type": "file", "file": Mapping() as file}:
            name, where = file.get("filename"), file.get("file_id")
            note_leftovers(file, {"filename", "file_id", "file_data"}, note)
            if (read := read_data_url(file.get("file_data"))) is not None:
                return media_block(*read, name if isinstance(name, str) else None)
            return left_elsewhere(part, where, note) if isinstance(where, str) else keep_as_text(part, note)
        case _:
            return keep_as_text(part, note)


def _elsewhere(part: Mapping[str, Any], url: str, note: Note) -> ResultPart:
    """Keep the address of an image; a damaged ``data:`` URL is no address."""
    return keep_as_text(part, note) if url.startswith("data:") else left_elsewhere(part, url, note)

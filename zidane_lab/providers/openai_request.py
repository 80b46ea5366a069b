"""From a :class:`~zidane_lab.providers.base.Request` to the body of a Chat Completions request.

The same request gives the same bytes, so that the service's prompt cache can hit. OpenAI caches by itself whatever
two prompts begin with; requests that name the same ``prompt_cache_key`` are sent to the same machine, which knows the
prompt already.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from zidane_lab.providers.base import Request, ThinkingLevel, ToolSpec
from zidane_lab.providers.encoded import TurnMemo, json_inner
from zidane_lab.providers.payload import (
    IMAGE_TYPES,
    MediaBlock,
    base64_text,
    document_text,
    encode_arguments,
    encode_body,
    left_out,
    visible_text,
    wire_id,
)
from zidane_lab.turns import (
    AudioBlock,
    CompactSummaryBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    Turn,
    VideoBlock,
)

__all__ = ["RequestEncoder", "build_request", "is_openai"]

# Hosts whose chat format carries PDF files; others refuse the request.
_TAKES_FILES: Final = frozenset({"api.openai.com", "openrouter.ai"})


_MAX_CACHE_KEY: Final = 64
"""Longest cache key OpenAI accepts; a longer one is refused with ``string_above_max_length``."""


def build_request(request: Request, *, base_url: str) -> dict[str, Any]:
    """Return the body that asks the server at ``base_url`` for a streamed answer, to look at."""
    body: dict[str, Any] = json.loads(RequestEncoder("openai", base_url=base_url).encode(request))
    return body


class RequestEncoder:
    """Writes the bodies of requests; a turn that comes again is not written again.

    Parameters
    ----------
    provider
        Name of the provider, for messages.
    base_url
        Where the requests go.
    """

    def __init__(self, provider: str, *, base_url: str) -> None:
        self._provider, self._base_url = provider, base_url
        self._files = urlsplit(base_url).hostname in _TAKES_FILES
        self._memo = TurnMemo(self._spell)

    def encode(self, request: Request) -> bytes:
        """Return the JSON body that asks for a streamed answer.

        Raises
        ------
        BadRequestError
            A number in it cannot be written as JSON.
        """
        openai = is_openai(self._base_url)
        head: dict[str, Any] = {"model": request.model, "stream": True, "stream_options": {"include_usage": True}}
        if request.tools:
            head["tools"] = [_tool(tool) for tool in request.tools]
        if request.max_tokens is not None:
            # OpenAI has renamed the field and refuses the old name for its newer models; others know only that.
            head["max_completion_tokens" if openai else "max_tokens"] = request.max_tokens
        effort = _effort(request.model, request.thinking, has_tools=bool(request.tools), openai=openai)
        if effort is not None:
            head["reasoning_effort"] = effort
        if openai and request.cache_key:
            # Elsewhere the field is unknown, and some servers refuse what they do not know.
            head["prompt_cache_key"] = _cache_key(request.cache_key)
        opening = encode_body(head, provider=self._provider)[:-1] + b',"messages":['
        messages = [*self._system(request.system), *_messages(self._memo.of(request.turns))]
        return b"".join((opening, b",".join(messages), b"]}"))

    def _system(self, text: str) -> list[bytes]:
        return [self._json({"role": "system", "content": text})] if text.strip() else []

    def _spell(self, turn: Turn, before: Turn | None) -> _Spelled:
        if turn.role == "assistant":
            return _Spelled(b",".join(map(self._json, _assistant(turn))))
        names = {call.id: call.name for call in before.tool_calls} if before is not None else {}
        results, parts = _user(turn, names, files=self._files)
        texts = tuple(json_inner(part["text"]) for part in parts if part["type"] == "text")
        media = b",".join(map(self._json, parts)) if len(texts) < len(parts) else b""
        return _Spelled(b",".join(map(self._json, results)), () if media else texts, media)

    def _json(self, value: dict[str, Any]) -> bytes:
        return encode_body(value, provider=self._provider)


@dataclass(frozen=True, slots=True)
class _Spelled:
    """A turn as JSON: complete messages, then what the user says in it.

    That is either ``texts``, each the inside of a JSON string, or ``parts``, separated by commas, if there are
    media among them.
    """

    messages: bytes
    texts: tuple[bytes, ...] = ()
    parts: bytes = b""


def is_openai(base_url: str) -> bool:
    """Tell whether requests go to OpenAI itself."""
    return urlsplit(base_url).hostname == "api.openai.com"


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _effort(model: str, level: ThinkingLevel, *, has_tools: bool, openai: bool) -> str | None:
    """Return the effort to ask for.

    OpenAI's own chat endpoint refuses functions together with reasoning: from GPT-5.2 on the field must be
    absent, from 5.6 on it must say ``none``. Its models before o1 and GPT-5 do not know the field.
    """
    wanted = None if level in {"off", "adaptive"} else level
    if not openai:
        return wanted
    found = re.match(r"gpt-(\d+)(?:\.(\d+))?", model)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    if has_tools and version >= (5, 6):
        return "none"
    if has_tools and version >= (5, 2):
        return None
    return wanted if version >= (5, 0) or re.match(r"o\d", model) else None


def _cache_key(key: str) -> str:
    return key if len(key) <= _MAX_CACHE_KEY else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


# --- messages -------------------------------------------------------------------------------------


def _messages(spelled: Iterable[_Spelled]) -> list[bytes]:
    """Return the messages; what the user says in neighbouring turns is one message."""
    out: list[bytes] = []
    said: list[_Spelled] = []
    for each in spelled:
        if each.messages:
            if said:
                out.append(_said(said))
                said = []
            out.append(each.messages)
        if each.texts or each.parts:
            said.append(each)
    return [*out, _said(said)] if said else out


def _said(spelled: list[_Spelled]) -> bytes:
    """Return a message of the user: plain text, which every server reads, unless there are media in it."""
    if any(each.parts for each in spelled):
        texts = (
            b'{"type":"text","text":"' + b'"},{"type":"text","text":"'.join(each.texts) + b'"}' for each in spelled
        )
        parts = (each.parts or text for each, text in zip(spelled, texts, strict=True))
        return b'{"role":"user","content":[' + b",".join(parts) + b"]}"
    texts = (text for each in spelled for text in each.texts)
    return b'{"role":"user","content":"' + rb"\n\n".join(texts) + b'"}'


def _text_parts(texts: Iterable[bytes]) -> bytes:
    return b",".join(b'{"type":"text","text":"' + text + b'"}' for text in texts)


def _assistant(turn: Turn) -> list[dict[str, Any]]:
    text = turn.text if turn.text.strip() else None
    calls = [
        {
            "id": wire_id(call.id),
            "type": "function",
            "function": {"name": call.name, "arguments": encode_arguments(call.input)},
        }
        for call in turn.tool_calls
    ]
    if not (text or calls):
        return []
    return [{"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}]


def _user(turn: Turn, names: Mapping[str, str], *, files: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the results, each its own message, and the parts of what the person said, after the results' media."""
    messages: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for result in turn.tool_results:
        texts = [part.text for part in result.parts if isinstance(part, TextBlock) and visible_text(part)]
        media = [part for part in result.parts if not isinstance(part, TextBlock)]
        shown = [_part(part, files=files) for part in media]
        if any(part["type"] != "text" for part in shown):
            # The format has no room for media in a result, so they follow as if the person had sent them.
            source = f"the call {wire_id(result.call_id)} ({names.get(result.call_id, 'a tool')})"
            texts.append(f"({len(media)} attachment(s) follow in the next message)")
            parts += [_text(f"Attached by {source}:"), *shown]
        else:
            texts += [part["text"] for part in shown]
        content = "\n".join(texts) or "(no output)"
        if result.is_error:
            content = f"Error: {content}"
        messages.append({"role": "tool", "tool_call_id": wire_id(result.call_id), "content": content})
    for block in turn.blocks:
        if isinstance(block, (TextBlock, CompactSummaryBlock)):
            parts += [_text(block.text)] if visible_text(block) else []
        elif isinstance(block, (ImageBlock, DocumentBlock, AudioBlock, VideoBlock)):
            parts.append(_part(block, files=files))
    return messages, parts


def _part(part: MediaBlock, *, files: bool) -> dict[str, Any]:
    if isinstance(part, ImageBlock) and part.media_type in IMAGE_TYPES:
        return {"type": "image_url", "image_url": {"url": _data_url(part)}}
    if isinstance(part, DocumentBlock):
        text = document_text(part)
        if text is not None:
            return _text(f"{part.name}:\n\n{text}" if part.name else text)
        if files and part.media_type == "application/pdf":
            return {"type": "file", "file": {"filename": part.name or "document.pdf", "file_data": _data_url(part)}}
    return _text(left_out(part))


def _data_url(part: MediaBlock) -> str:
    return f"data:{part.media_type};base64,{base64_text(part.data)}"


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}

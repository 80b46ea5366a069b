"""From a :class:`~zidane_lab.providers.base.Request` to the body of a Chat Completions request.

Pure functions: the same request gives the same bytes, so that the service's prompt cache can hit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from zidane_lab.providers.base import Request, ThinkingLevel, ToolSpec
from zidane_lab.providers.payload import (
    IMAGE_TYPES,
    MediaBlock,
    base64_text,
    document_text,
    encode_arguments,
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

__all__ = ["build_request", "is_openai"]

# Hosts whose chat format carries PDF files; others refuse the request.
_TAKES_FILES: Final = frozenset({"api.openai.com", "openrouter.ai"})


def build_request(request: Request, *, base_url: str) -> dict[str, Any]:
    """Return the JSON body that asks the server at ``base_url`` for a streamed answer."""
    files = urlsplit(base_url).hostname in _TAKES_FILES
    messages: list[dict[str, Any]] = []
    if request.system.strip():
        messages.append({"role": "system", "content": request.system})
    messages += _messages(request.turns, files=files)
    body: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.max_tokens is not None:
        # OpenAI has renamed the field and refuses the old name for its newer models; other servers know only that.
        body["max_completion_tokens" if is_openai(base_url) else "max_tokens"] = request.max_tokens
    effort = _effort(request.model, request.thinking, has_tools=bool(request.tools), openai=is_openai(base_url))
    if effort is not None:
        body["reasoning_effort"] = effort
    return body


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


# --- messages -------------------------------------------------------------------------------------


def _messages(turns: Iterable[Turn], *, files: bool) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for turn in turns:
        if turn.role == "assistant":
            names.update({call.id: call.name for call in turn.tool_calls})
            messages += _assistant(turn)
        else:
            messages += _user(turn, names, files=files)
    return _merged(messages)


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


def _user(turn: Turn, names: Mapping[str, str], *, files: bool) -> list[dict[str, Any]]:
    """Return the results, each its own message, then what the person said together with the results' media."""
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
    if parts:
        messages.append({"role": "user", "content": parts})
    return messages


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


def _merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join neighbouring user messages, and write those of text alone as plain text, which every server reads."""
    out: list[dict[str, Any]] = []
    for message in messages:
        if out and message["role"] == "user" == out[-1]["role"]:
            out[-1]["content"] += message["content"]
        else:
            out.append(message)
    for message in out:
        if message["role"] == "user" and all(part["type"] == "text" for part in message["content"]):
            message["content"] = "\n\n".join(part["text"] for part in message["content"])
    return out

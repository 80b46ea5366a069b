"""Pieces of requests and answers that every wire format spells the same way."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from zidane_lab.errors import BadRequestError
from zidane_lab.turns import AudioBlock, CompactSummaryBlock, DocumentBlock, ImageBlock, TextBlock, VideoBlock

__all__ = [
    "IMAGE_TYPES",
    "MediaBlock",
    "base64_text",
    "document_text",
    "encode_arguments",
    "encode_body",
    "left_out",
    "parse_arguments",
    "visible_text",
    "wire_id",
]

MediaBlock: TypeAlias = ImageBlock | DocumentBlock | AudioBlock | VideoBlock

IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Image types that Anthropic and OpenAI both accept."""

_WIRE_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_MAX_ID: Final = 40


def encode_body(body: Mapping[str, Any], *, provider: str) -> bytes:
    """Return ``body`` as JSON in UTF-8; equal bodies give equal bytes.

    Lone surrogates, which no service accepts, become question marks.

    Raises
    ------
    BadRequestError
        A number in it is infinite or not a number, which JSON cannot carry.
    """
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise BadRequestError(
            f"The request cannot be written as JSON: {error}.",
            provider=provider,
            hint="A tool call in the history holds an infinite or undefined number; start afresh with `%zidane /new`.",
        ) from error
    return text.encode("utf-8", "replace")


def wire_id(call_id: str) -> str:
    """Return an id every service accepts: letters, digits, ``_`` and ``-``, at most 40 characters.

    Other ids, which some servers mint, are replaced by one derived from them, the same one each time.
    Sources: Anthropic's pattern for ``tool_use.id``; OpenAI's length limit for ``tool_call_id``.
    """
    if len(call_id) <= _MAX_ID and _WIRE_ID.fullmatch(call_id):
        return call_id
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:32]


def base64_text(data: bytes) -> str:
    """Return ``data`` as base64 text."""
    return base64.b64encode(data).decode("ascii")


def visible_text(block: TextBlock | CompactSummaryBlock) -> str:
    """Return the text of a block, or nothing when it is blank: services refuse blank text."""
    return block.text if block.text.strip() else ""


def document_text(block: DocumentBlock) -> str | None:
    """Return the text of a document that is text (Markdown, CSV, JSON …), never blank; of others ``None``."""
    kind = block.media_type.partition(";")[0].strip().lower()
    if kind.startswith("text/") or kind in {"application/json", "application/xml", "application/yaml"}:
        text = block.data.decode("utf-8", "replace")
        return text if text.strip() else "(empty)"
    return None


def left_out(block: MediaBlock) -> str:
    """Return the sentence that stands for content the service cannot take in, so that nothing vanishes silently."""
    name = f" {block.name!r}" if block.name else ""
    return f"[{block.kind}{name} of type {block.media_type} left out: this model's interface cannot carry it]"


def encode_arguments(arguments: Mapping[str, Any]) -> str:
    """Return a call's arguments as JSON text, always the same for equal arguments."""
    return json.dumps(arguments, ensure_ascii=False)


def parse_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Read a call's argument text: ``(arguments, None)``, or ``({}, text)`` when it is not a JSON object.

    No text, or ``null``, means no arguments. Infinite and undefined numbers are not JSON.
    """
    if text.strip() in ("", "null"):
        return {}, None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return {}, text
    return (value, None) if isinstance(value, dict) else ({}, text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")

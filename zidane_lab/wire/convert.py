"""Histories of other programs, whatever format they are in.

The formats are read and written in :mod:`~zidane_lab.wire.anthropic_messages` and
:mod:`~zidane_lab.wire.openai_messages`; here the format is found out. Our own is that of
:func:`~zidane_lab.turns.turn_to_json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.errors import SessionError
from zidane_lab.turns import turn_from_json
from zidane_lab.wire.anthropic_messages import from_anthropic, to_anthropic
from zidane_lab.wire.imported import Imported, ImportNote, blocks_of
from zidane_lab.wire.openai_messages import from_openai, to_openai

__all__ = [
    "HistoryFormat",
    "ImportNote",
    "Imported",
    "detect_and_convert",
    "detect_format",
    "from_anthropic",
    "from_openai",
    "to_anthropic",
    "to_openai",
]

HistoryFormat: TypeAlias = Literal["anthropic", "openai", "zidane"]

_OPENAI_FIELDS: Final = frozenset({"tool_calls", "function_call", "tool_call_id", "reasoning_content", "refusal"})
_OPENAI_PARTS: Final = frozenset({"image_url", "input_audio", "file", "refusal"})
_ANTHROPIC_BLOCKS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use"}
)


def detect_and_convert(history: object) -> Imported:
    """Read a history: a list of messages, or the body of a request with ``messages`` (and ``system``) in it.

    Raises
    ------
    SessionError
        It is neither, or holds turns of our own format that this version cannot read.
    """
    system: object = None
    if isinstance(history, Mapping):
        system, history = history.get("system"), history.get("messages", history.get("turns"))
    if not isinstance(history, (list, tuple)):
        raise SessionError(
            f"A history is a list of messages, and this is {type(history).__name__}.",
            hint="Give the list itself, or the body of a request with its `messages`.",
        )
    match detect_format(history):
        case "zidane":
            return Imported(tuple(turn_from_json(turn) for turn in history))
        case "openai":
            head = [] if system is None else [{"role": "system", "content": system}]
            return _moved(from_openai([*head, *history]), -len(head))
        case _:
            return from_anthropic(history, system=system)


def detect_format(messages: object) -> HistoryFormat:
    """Say which format a list of messages is in, by what most of it speaks for; plain texts read alike in both."""
    ours = openai = anthropic = 0
    for message in blocks_of(messages):
        if not isinstance(message, Mapping):
            continue
        kinds = set(_kinds(message.get("content")))
        ours += "blocks" in message and "content" not in message
        openai += message.get("role") in ("tool", "function", "developer") or any(
            message.get(name) for name in _OPENAI_FIELDS
        )
        openai += bool(kinds & _OPENAI_PARTS)
        anthropic += bool(kinds & _ANTHROPIC_BLOCKS)
    if ours and not (openai or anthropic):
        return "zidane"
    return "openai" if openai > anthropic else "anthropic"


def _kinds(content: object) -> Iterator[Any]:
    for block in blocks_of(content):
        if isinstance(block, Mapping) and isinstance(kind := block.get("type"), str):
            yield kind


def _moved(imported: Imported, by: int) -> Imported:
    notes = tuple(ImportNote(note.index + by, note.kind, note.text) for note in imported.notes)
    return Imported(imported.turns, imported.system, notes)

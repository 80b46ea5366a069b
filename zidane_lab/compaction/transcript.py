"""A conversation as one text, for a model that is to describe it and not to go on with it.

One text needs no tools to be declared (some services refuse calls and results without), keeps the roles apart
from those of the request, and marks everything inside as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Final

from zidane_lab.providers.payload import encode_arguments
from zidane_lab.turns import (
    AudioBlock,
    Block,
    CompactSummaryBlock,
    DocumentBlock,
    ImageBlock,
    ResultPart,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    VideoBlock,
)

__all__ = ["transcript"]

_OWN_TAGS: Final = re.compile(r"<(?=\s*+/?\s*+(?:conversation|message)\b)", re.IGNORECASE)
_ESCAPED: Final = r"<\\"


def transcript(turns: Iterable[Turn]) -> str:
    r"""Return ``turns`` as messages inside ``<conversation>`` tags.

    Reasoning and what only people see are left out; what is attached is named. A message cannot pass for another
    one, nor end the conversation: the tags used here lose their meaning inside it (``<message`` becomes
    ``<\message``).
    """
    names: dict[str, str] = {}
    messages: list[str] = []
    for turn in turns:
        names.update({call.id: call.name for call in turn.tool_calls})
        messages += [told for block in turn.blocks if (told := _told(block, turn, names))]
    return "\n".join(["<conversation>", *messages, "</conversation>"])


def _told(block: Block, turn: Turn, names: Mapping[str, str]) -> str:
    match block:
        case TextBlock(text):
            return _message(text, role=turn.role) if text.strip() else ""
        case CompactSummaryBlock():
            return _message(block.text, role="summary of an earlier part")
        case ToolCallBlock():
            arguments = block.raw if block.raw is not None else encode_arguments(block.input)
            return _message(arguments, role=turn.role, calls=block.name)
        case ToolResultBlock():
            words = "\n".join(_part(part) for part in block.parts).strip() or "(no output)"
            outcome = "failed" if block.is_error else "returned"
            return _message(words, role="tool", name=names.get(block.call_id, "unknown"), outcome=outcome)
        case ImageBlock() | DocumentBlock() | AudioBlock() | VideoBlock():
            return _message(_part(block), role=turn.role)
        case _:
            return ""


def _message(text: str, **attributes: str) -> str:
    named = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    return f"<message {named}>\n{_OWN_TAGS.sub(_ESCAPED, text.strip())}\n</message>"


def _part(part: ResultPart) -> str:
    if isinstance(part, TextBlock):
        return part.text
    return f"[{part.kind}: {part.name or part.media_type}, not shown here]"

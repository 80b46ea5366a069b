"""What tools bring in travels in an envelope, so that a model can tell it from what people and we say.

::

    <tool-output id="k3f9q2">
    …
    </tool-output k3f9q2>

The tag is drawn once for each result, after it is known, so that nothing in it can have guessed the tag; it is kept in
the result's metadata, so that the same bytes are sent again. The session and the page show the result without it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from zidane_lab.turns import TextBlock, ToolResultBlock

__all__ = [
    "ATTACHED",
    "ENVELOPE",
    "NOTEBOOK_TEXT",
    "TOOL_OUTPUT",
    "draw_tag",
    "enveloped",
    "neutralised",
    "open_envelope",
    "put_in_envelope",
]

ENVELOPE: Final = "envelope"
"""Key of a result's metadata: the tag of its envelope. A result without it is sent as it is."""

TOOL_OUTPUT: Final = "tool-output"
NOTEBOOK_TEXT: Final = "notebook-text"
"""What is in an envelope: the answer of a tool, or text of a notebook, a file or a variable that was attached."""

ATTACHED: Final = f"<{NOTEBOOK_TEXT} id="
"""How a text begins that nobody wrote: it was attached to a prompt."""


def _spelled(name: str) -> str:
    """Return an expression for a name in letters of any width, with nothing that is seen between them."""
    wide = {"-": r"[-_\u2010-\u2015\u2212\ufe63\uff0d]"}
    return _UNSEEN.join(wide.get(each) or f"[{each}{chr(ord(each) + 0xFEE0)}]" for each in name)


_LETTERS: Final = "abcdefghijkmnpqrstuvwxyz23456789"
_TAG: Final = re.compile(rf"[{_LETTERS}]{{6}}")
_UNSEEN: Final = r"[\s\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]*"
_CLOSING: Final = re.compile(
    rf"[<\uff1c\ufe64]({_UNSEEN})[/\uff0f\u2044\u2215](?={_UNSEEN}(?:{_spelled(TOOL_OUTPUT)}|{_spelled(NOTEBOOK_TEXT)}))",
    re.IGNORECASE,
)
"""How one may be closed to the eyes of a model: by signs that look alike, with others between that are not seen."""


def draw_tag() -> str:
    """Draw a tag: six letters and digits, 30 bits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(6))


def enveloped(text: str, tag: str, kind: str = TOOL_OUTPUT, /, **attributes: str) -> str:
    """Return a text in its envelope, unable to close it.

    Parameters
    ----------
    attributes
        Said about it in the opening tag (``name="df"``).
    """
    told = "".join(f' {name}="{_attribute(value)}"' for name, value in attributes.items())
    return f'<{kind} id="{tag}"{told}>\n{neutralised(text)}\n</{kind} {tag}>'


def neutralised(text: str) -> str:
    """Return a text that closes no envelope."""
    return _CLOSING.sub(r"<\1\\/", text)


def put_in_envelope(result: ToolResultBlock) -> ToolResultBlock:
    """Return a result as it is sent: each of its texts in the envelope whose tag it carries; the same object if none.

    What comes back carries no tag any more, so doing it twice is doing it once.
    """
    tag = result.metadata.get(ENVELOPE)
    if not isinstance(tag, str) or not _TAG.fullmatch(tag):
        return result
    parts = tuple(
        TextBlock(enveloped(part.text, tag)) if isinstance(part, TextBlock) else part for part in result.parts
    )
    return replace(result, parts=parts, metadata=open_envelope(result.metadata))


def open_envelope(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a result's metadata without its tag: what stands in its place now is our own text."""
    return {key: value for key, value in metadata.items() if key != ENVELOPE} if ENVELOPE in metadata else metadata


def _attribute(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return "".join(char if char.isprintable() else " " for char in escaped)[:200]

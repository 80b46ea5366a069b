"""What the readers of foreign histories share: the result, its notes, and how odd content is kept.

Foreign data may have any shape. What has no counterpart here is kept as text, and what cannot be kept at all is
noted: nothing is lost without a word.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.turns import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    ResultPart,
    Role,
    TextBlock,
    Turn,
    VideoBlock,
)

__all__ = [
    "Collector",
    "ImportKind",
    "ImportNote",
    "Imported",
    "MediaBlock",
    "Note",
    "as_text",
    "blocks_of",
    "keep_as_text",
    "media_block",
    "note_leftovers",
    "read_base64",
    "read_data_url",
]

MediaBlock: TypeAlias = ImageBlock | AudioBlock | VideoBlock | DocumentBlock
ImportKind: TypeAlias = Literal["unknown-block", "unknown-role", "remote-media", "damaged", "field-left-out"]
Note: TypeAlias = Callable[[ImportKind, str], None]

# Fields that say nothing about the conversation itself.
_SILENT: Final = frozenset({"cache_control", "type", "id", "index", "created_at", "object", "status"})


@dataclass(frozen=True, slots=True)
class ImportNote:
    """Something that could not be taken over as it was.

    ``index`` is the place of its message in the list handed in, ``text`` says what it was and what became of it.
    """

    index: int
    kind: ImportKind
    text: str


@dataclass(frozen=True, slots=True)
class Imported:
    """A foreign history as turns.

    ``system`` is the text of its system messages. The turns may still hold calls without results; sending mends that.
    """

    turns: tuple[Turn, ...]
    system: str = ""
    notes: tuple[ImportNote, ...] = ()


@dataclass(slots=True)
class Collector:
    """Gathers turns, system texts and notes, message by message."""

    turns: list[Turn] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    notes: list[ImportNote] = field(default_factory=list)
    index: int = 0

    def note(self, kind: ImportKind, text: str) -> None:
        """Note something about the message at ``index``."""
        self.notes.append(ImportNote(self.index, kind, text))

    def add(self, role: Role, blocks: tuple[Block, ...]) -> None:
        """Add a turn, if it holds anything."""
        if blocks:
            self.turns.append(Turn(role, blocks))

    def messages(self, messages: object) -> Iterator[Mapping[str, Any]]:
        """Go through the messages of a list; what is none becomes a user turn of its text."""
        for self.index, message in enumerate(messages if isinstance(messages, (list, tuple)) else [messages]):
            if isinstance(message, Mapping) and "role" in message:
                yield message
            elif message is not None:
                self.note("damaged", "Not a message; kept as text.")
                self.add("user", (TextBlock(message if isinstance(message, str) else as_text(message)),))

    def system(self, content: object) -> None:
        """Add the content of a system message: a text, or a list of blocks of text."""
        for block in blocks_of(content):
            text = block.get("text") if isinstance(block, Mapping) else block
            if isinstance(block, Mapping) and isinstance(text, str):
                note_leftovers(block, {"text"}, self.note)
            self.systems.append(text if isinstance(text, str) else as_text(block))

    def done(self) -> Imported:
        """Return what was gathered."""
        return Imported(tuple(self.turns), "\n\n".join(filter(str.strip, self.systems)), tuple(self.notes))


def blocks_of(content: object) -> list[Any]:
    """Return the blocks of a message's content, which may be a list, a single block, a text or nothing."""
    if content is None:
        return []
    return list(content) if isinstance(content, (list, tuple)) else [content]


def as_text(value: object) -> str:
    """Return a value as JSON text, as far as it can be written."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return f"[unreadable {type(value).__name__}]"


def keep_as_text(block: object, note: Note) -> TextBlock:
    """Keep a block nothing here corresponds to."""
    kind = block.get("type") if isinstance(block, Mapping) else type(block).__name__
    note("unknown-block", f"A block of type {kind!r} has no counterpart; kept as text.")
    return TextBlock(as_text(block))


def note_leftovers(block: Mapping[str, Any], known: Collection[str], note: Note) -> None:
    """Note the fields of ``block`` that are not among the ``known`` ones and say something."""
    for name, value in block.items():
        if name not in known and name not in _SILENT and value not in (None, "", [], {}, False):
            note(
                "field-left-out",
                f"{name!r} of a {block.get('type') or block.get('role')!r} is not kept: {as_text(value)}",
            )


def read_base64(data: object) -> bytes | None:
    """Return the bytes of base64 text; ``None`` when it is none."""
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else None
    except (binascii.Error, ValueError):
        return None


def read_data_url(url: object) -> tuple[str, bytes] | None:
    """Return media type and bytes of a ``data:`` URL in base64; ``None`` when it is none."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, _, data = url.removeprefix("data:").partition(",")
    media_type, _, encoding = head.rpartition(";")
    content = read_base64(data)
    return (media_type, content) if encoding == "base64" and media_type and content is not None else None


def media_block(media_type: str, data: bytes, name: str | None = None) -> MediaBlock:
    """Return the block that fits a media type; what is no picture, sound or film is a document."""
    kinds: Mapping[str, type[MediaBlock]] = {"image": ImageBlock, "audio": AudioBlock, "video": VideoBlock}
    return kinds.get(media_type.partition("/")[0].lower(), DocumentBlock)(media_type, data, name)


def left_elsewhere(block: Mapping[str, Any], where: str, note: Note) -> ResultPart:
    """Keep the address of media whose bytes are not in the history; nothing is fetched."""
    note("remote-media", f"The bytes of a {block.get('type')!r} are not in the history; its address is kept as text.")
    return TextBlock(f"[{block.get('type')}: {where}]")

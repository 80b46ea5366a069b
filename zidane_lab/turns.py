"""Turn, content blocks, Usage: the vocabulary everybody shares.

A *turn* is one message of the conversation: what a person said, what the model answered, or the results
of the tools it called. A turn holds *blocks*. Both are frozen values: two turns are equal when they hold
the same content, and the JSON form of a turn whose data is plain JSON reads back as an equal turn. They know
nothing of providers (see :mod:`zidane_lab.wire`), of files (:mod:`zidane_lab.session`) or of drawing
(:mod:`zidane_lab.notebook`).
"""

from __future__ import annotations

import base64
import dataclasses
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Literal, TypeAlias, cast

from zidane_lab.errors import SessionError

__all__ = [
    "FORMAT_VERSION",
    "AudioBlock",
    "Block",
    "CommandBlock",
    "CompactSummaryBlock",
    "CustomBlock",
    "DocumentBlock",
    "ImageBlock",
    "InjectedReason",
    "ResultPart",
    "Role",
    "TextBlock",
    "ThinkingBlock",
    "ToolCallBlock",
    "ToolResultBlock",
    "Turn",
    "Usage",
    "VideoBlock",
    "block_from_json",
    "block_to_json",
    "new_id",
    "turn_from_json",
    "turn_to_json",
]

MOST_TOKENS: Final = 2**53
"""A count above this is no count; also the largest that every reader of JSON agrees on."""

FORMAT_VERSION: Final = 1
"""Version of the JSON form; written once per file or message by whoever stores turns."""

Role: TypeAlias = Literal["user", "assistant"]
InjectedReason: TypeAlias = Literal[
    "refusal-retry",
    "length-resume",
    "pause-resume",
    "tool-output-budget",
    "progress-nudge",
    "validation",
    "restore",
    "task-notification",
]
"""Why the loop, not a person at the prompt, added a turn; ``restore``: what a compaction put back."""


def new_id(prefix: str) -> str:
    """Mint an identifier such as ``turn_3f9c…`` (64 random bits)."""
    return f"{prefix}_{secrets.token_hex(8)}"


def now() -> datetime:
    """Return the present moment, in UTC, to the millisecond (what the JSON form keeps)."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _count(value: object) -> int:
    """Read a token count; missing, negative or non-finite means zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MOST_TOKENS:
        return 0
    return int(value)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, or a sum of several.

    ``input`` excludes what the cache answered (``cache_read``) or stored (``cache_creation``);
    ``output`` includes ``reasoning``. ``cost`` is US dollars, or ``None`` where no price is known to
    apply: it is never a false zero.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0
    reasoning: int = 0
    cost: float | None = None

    @property
    def context(self) -> int:
        """Size of the prompt as the model saw it: input + cache read + cache creation."""
        return self.input + self.cache_read + self.cache_creation

    @property
    def is_empty(self) -> bool:
        """Whether nothing was counted (a stream that died before its usage arrived)."""
        return self.context == 0 and self.output == 0

    def __add__(self, other: Usage) -> Usage:
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_creation + other.cache_creation,
            self.reasoning + other.reasoning,
            sum(known) if known else None,
        )

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Usage:
        """Build from untrusted numbers; whatever is not a plausible count becomes zero."""
        cost = raw.get("cost")
        plausible = isinstance(cost, (int, float)) and not isinstance(cost, bool) and math.isfinite(cost) and cost >= 0
        return cls(
            input=_count(raw.get("input")),
            output=_count(raw.get("output")),
            cache_read=_count(raw.get("cache_read")),
            cache_creation=_count(raw.get("cache_creation")),
            reasoning=_count(raw.get("reasoning")),
            cost=float(cast("float", cost)) if plausible else None,
        )


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Plain or Markdown text."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """Reasoning shown by a model. ``signature`` may be replayed only to its ``producer``."""

    kind: ClassVar[str] = "thinking"
    text: str
    signature: str | None = None
    producer: str | None = None
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallBlock:
    """A request to run a tool. ``raw`` keeps the argument text when it was not a JSON object."""

    kind: ClassVar[str] = "tool_call"
    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image, as bytes of its ``media_type``."""

    kind: ClassVar[str] = "image"
    media_type: str
    data: bytes = field(repr=False)
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentBlock:
    """A document (PDF, say), as bytes of its ``media_type``."""

    kind: ClassVar[str] = "document"
    media_type: str
    data: bytes = field(repr=False)
    name: str | None = None


@dataclass(frozen=True, slots=True)
class AudioBlock:
    """Sound, as bytes of its ``media_type``."""

    kind: ClassVar[str] = "audio"
    media_type: str
    data: bytes = field(repr=False)
    name: str | None = None


@dataclass(frozen=True, slots=True)
class VideoBlock:
    """Moving pictures, as bytes of its ``media_type``."""

    kind: ClassVar[str] = "video"
    media_type: str
    data: bytes = field(repr=False)
    name: str | None = None


ResultPart: TypeAlias = TextBlock | ImageBlock | DocumentBlock | AudioBlock | VideoBlock


@dataclass(frozen=True, slots=True)
class ToolResultBlock:
    """What a tool answered. ``metadata`` is for us (evidence, timings); it never reaches a model."""

    kind: ClassVar[str] = "tool_result"
    call_id: str
    parts: tuple[ResultPart, ...] = ()
    is_error: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextBlock))


@dataclass(frozen=True, slots=True)
class CompactSummaryBlock:
    """A summary that stands for earlier turns on the wire; the turns themselves stay in the session.

    ``replaces`` are the ids of the turns it stands for; ``metadata`` tells how it came about (model, scope, sizes).
    """

    kind: ClassVar[str] = "compact-summary"
    text: str
    replaces: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommandBlock:
    """A slash command and what it printed; shown in the transcript, never sent to a model."""

    kind: ClassVar[str] = "command"
    name: str
    arguments: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class CustomBlock:
    """An extension's own content, named by ``type``; never sent to a model."""

    kind: ClassVar[str] = "custom"
    type: str
    data: Mapping[str, Any] = field(default_factory=dict)


Block: TypeAlias = (
    TextBlock
    | ThinkingBlock
    | ToolCallBlock
    | ToolResultBlock
    | ImageBlock
    | DocumentBlock
    | AudioBlock
    | VideoBlock
    | CompactSummaryBlock
    | CommandBlock
    | CustomBlock
)

_BLOCKS: Final[Mapping[str, type[Any]]] = {
    cls.kind: cls
    for cls in (
        TextBlock,
        ThinkingBlock,
        ToolCallBlock,
        ToolResultBlock,
        ImageBlock,
        DocumentBlock,
        AudioBlock,
        VideoBlock,
        CompactSummaryBlock,
        CommandBlock,
        CustomBlock,
    )
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation.

    ``parent_id`` is the turn it follows (``None`` for the first), so a conversation can branch.
    ``injected`` says the loop added this turn, and why.
    """

    role: Role
    blocks: tuple[Block, ...]
    id: str = field(default_factory=lambda: new_id("turn"))
    created_at: datetime = field(default_factory=now)
    run_id: str | None = None
    parent_id: str | None = None
    usage: Usage | None = None
    model: str | None = None
    injected: InjectedReason | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def tool_calls(self) -> tuple[ToolCallBlock, ...]:
        """The tool calls, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolCallBlock))

    @property
    def tool_results(self) -> tuple[ToolResultBlock, ...]:
        """The tool results, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolResultBlock))


# --- JSON -----------------------------------------------------------------------------------------


def block_to_json(block: Block) -> dict[str, Any]:
    """Return the block as JSON-ready data: ``kind`` and its fields; defaults are left out."""
    out: dict[str, Any] = {"kind": block.kind}
    for spec in dataclasses.fields(block):
        value = getattr(block, spec.name)
        if spec.default is not dataclasses.MISSING and value == spec.default:
            continue
        if spec.default_factory is not dataclasses.MISSING and value == spec.default_factory():
            continue
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode("ascii")
        elif isinstance(value, tuple):
            value = [part if isinstance(part, str) else block_to_json(part) for part in value]
        elif isinstance(value, Mapping):
            value = dict(value)
        out[spec.name] = value
    return out


_FIELDS: Final = {cls: tuple(spec.name for spec in dataclasses.fields(cls)) for cls in _BLOCKS.values()}


def block_from_json(raw: Mapping[str, Any]) -> Block:
    """Rebuild a block.

    Raises
    ------
    SessionError
        The data is not a block this version can read.
    """
    kind = raw.get("kind")
    cls = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise SessionError(
            f"Unknown block kind {kind!r}.", hint="It may come from a newer version; upgrade to read it."
        )
    values: dict[str, Any] = {}
    for name in _FIELDS[cls]:
        if name not in raw:
            continue
        value = raw[name]
        if name == "data" and cls is not CustomBlock:
            try:
                value = base64.b64decode(value, validate=True)
            except (TypeError, ValueError) as error:
                raise SessionError(
                    f"The data of a {kind} block are not base64.", hint="The entry is damaged."
                ) from error
        elif name == "parts":
            value = tuple(block_from_json(part) for part in value)
        elif name == "replaces":
            value = tuple(value)
        values[name] = value
    try:
        return cast("Block", cls(**values))
    except TypeError as error:
        raise SessionError(f"A {kind} block lacks a field: {error}.", hint="The entry is damaged.") from error


def turn_to_json(turn: Turn) -> dict[str, Any]:
    """Return the turn as JSON-ready data."""
    out: dict[str, Any] = {
        "id": turn.id,
        "role": turn.role,
        "created_at": turn.created_at.isoformat(timespec="milliseconds"),
        "blocks": [block_to_json(block) for block in turn.blocks],
    }
    for name in ("run_id", "parent_id", "model", "injected"):
        if (value := getattr(turn, name)) is not None:
            out[name] = value
    if turn.usage is not None:
        out["usage"] = {k: v for k, v in dataclasses.asdict(turn.usage).items() if v is not None}
    return out


def turn_from_json(raw: Mapping[str, Any]) -> Turn:
    """Rebuild a turn.

    Raises
    ------
    SessionError
        The data is not a turn this version can read.
    """
    try:
        role = raw["role"]
        if role not in ("user", "assistant"):
            raise SessionError(f"Unknown role {role!r} in a turn.", hint="The entry is damaged.")
        usage = raw.get("usage")
        return Turn(
            role=role,
            blocks=tuple(block_from_json(block) for block in raw["blocks"]),
            id=raw["id"],
            created_at=datetime.fromisoformat(raw["created_at"]),
            run_id=raw.get("run_id"),
            parent_id=raw.get("parent_id"),
            usage=Usage.of(usage) if isinstance(usage, Mapping) else None,
            model=raw.get("model"),
            injected=raw.get("injected"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SessionError(f"Not a readable turn: {error!r}.", hint="The entry is damaged.") from error

"""What fills the window in the next request: by kind, each number exact or an estimate.

Texts are estimated one by one. A provider's own counts replace what they cover; the size it counted for the last
request shows how far the estimates are off, and they are scaled by that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from zidane_lab.providers.base import ToolSpec
from zidane_lab.providers.catalog import OUTPUT_RESERVE
from zidane_lab.turns import (
    CompactSummaryBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Usage,
)
from zidane_lab.wire.envelope import ATTACHED, NOTEBOOK_TEXT
from zidane_lab.wire.tokens import estimate_block, estimate_tokens

__all__ = [
    "CATEGORIES",
    "ContextBreakdown",
    "ContextCategory",
    "ContextItem",
    "ContextSegment",
    "ExactCounts",
    "context_breakdown",
]

ContextCategory: TypeAlias = Literal[
    "system",
    "tools",
    "mcp",
    "skills",
    "instructions",
    "variables",
    "files",
    "results",
    "user",
    "assistant",
    "calls",
    "thinking",
    "media",
    "summaries",
    "other",
]

CATEGORIES: Final[Mapping[ContextCategory, str]] = {
    "system": "system prompt",
    "tools": "tools",
    "mcp": "MCP servers",
    "skills": "skills",
    "instructions": "instruction files",
    "variables": "variables",
    "files": "files",
    "results": "other tool results",
    "user": "what you said",
    "assistant": "answers",
    "calls": "tool calls",
    "thinking": "reasoning",
    "media": "images and media",
    "summaries": "summaries",
    "other": "other",
}
"""The kinds of content, in the order they are shown, and what they are called."""

VARIABLE_TOOLS: Final = frozenset({"list_variables", "inspect_variable"})
FILE_TOOLS: Final = frozenset({"read_file"})
_MCP_TOOL: Final = re.compile(r"mcp_([^_]+)_.+")
_ATTACHMENT: Final = re.compile(
    rf'{ATTACHED}"(?P<tag>\w+)" kind="(?P<kind>[^"]*)" name="(?P<name>[^"]*)">.*?</{NOTEBOOK_TEXT} (?P=tag)>', re.DOTALL
)

_LONGEST_LABEL: Final = 120

_PLAUSIBLE: Final = (0.25, 4.0)
"""How far an estimate may be off; beyond it the count was of another prompt."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One thing of a segment, by name: a tool, a file, a variable, a server."""

    label: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ContextSegment:
    """One part of the window. ``is_exact`` says that ``tokens`` is a provider's count; ``items`` are largest first."""

    category: ContextCategory
    label: str
    tokens: int
    is_exact: bool = False
    items: tuple[ContextItem, ...] = ()


@dataclass(frozen=True, slots=True)
class ExactCounts:
    """A provider's own counts of the next request; ``None`` for what it was not asked."""

    total: int | None = None
    system: int | None = None
    tools: int | None = None


@dataclass(frozen=True, slots=True)
class ContextBreakdown:
    """The next request, part by part.

    Parameters
    ----------
    segments
        What is sent; none is empty.
    is_exact
        Whether :attr:`total` is a provider's count.
    last
        Size of the last request as its provider counted it; 0 if none did.
    window
        Longest prompt of the model in tokens; ``None`` where it is not known.
    reserve
        Tokens of the window kept free for the answer.
    """

    segments: tuple[ContextSegment, ...]
    is_exact: bool = False
    last: int = 0
    window: int | None = None
    reserve: int = 0

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return sum(segment.tokens for segment in self.segments)

    @property
    def free(self) -> int | None:
        """Tokens left before the reserve; 0 when there are none, ``None`` where the window is not known."""
        return None if self.window is None else max(0, self.window - self.reserve - self.total)

    @property
    def over(self) -> int:
        """Tokens by which the request is too long for the window less the reserve."""
        return 0 if self.window is None else max(0, self.total - (self.window - self.reserve))


@dataclass(slots=True)
class _Count:
    """A segment being counted."""

    tokens: int = 0
    items: dict[str, int] = field(default_factory=dict)

    def add(self, tokens: int, item: str | None = None) -> None:
        self.tokens += tokens
        if item is not None:
            self.items[item] = self.items.get(item, 0) + tokens


_Counts: TypeAlias = dict[tuple[ContextCategory, str], _Count]


def context_breakdown(
    system: str,
    tools: Iterable[ToolSpec],
    turns: Sequence[Turn],
    *,
    measured: Usage | None = None,
    window: int | None = None,
    exact: ExactCounts | None = None,
    sections: Mapping[str, str] | None = None,
    summaries: Iterable[str] = (),
    extra: Iterable[ContextSegment] = (),
    reserve: int = OUTPUT_RESERVE,
) -> ContextBreakdown:
    """Say what the next request holds.

    Parameters
    ----------
    system, tools, turns
        Of the next request.
    measured
        What the newest answer used. It is looked for among ``turns``: what came before that answer is the prompt
        it counted. Leave it out when the prompt has changed since. A count of a prompt that cannot be this one,
        because a summary came in later or the numbers are too far apart, is not used.
    window
        Longest prompt of the model in tokens, the reserve included.
    exact
        The provider's own counts, where it gives any.
    sections
        Parts of the system prompt by name: ``"skills"``, ``"instructions"``, ``"mcp"`` or any other, with their text.
        A text that is not in ``system`` counts on top.
    summaries
        Ids of the turns that hold a summary, for turns in which it has become plain text.
    extra
        Further segments of what is sent, counted by others.
    reserve
        Tokens of the window kept free for the answer.
    """
    specs, marked = tuple(tools), frozenset(summaries)
    counted = _index_of(turns, measured, marked)
    calls = {call.id: call for turn in turns for call in turn.tool_calls}
    fixed: _Counts = {}
    _count_system(fixed, system, sections or {})
    for spec in specs:
        _count_tool(fixed, spec)
    before, rest = _copy(fixed), _copy(fixed)
    for index, turn in enumerate(turns):
        for category, label, tokens in _parts(turn, calls, is_summary=turn.id in marked):
            if counted is not None and index < counted:
                before.setdefault((category, ""), _Count()).add(tokens)
            rest.setdefault((category, ""), _Count()).add(tokens, label)
    segments = [_segment(key, count) for key, count in rest.items() if count.tokens]
    added = [segment for segment in extra if segment.tokens > 0]
    ratio = 1.0
    last = 0
    if counted is not None and measured is not None:
        estimate = sum(count.tokens for count in before.values())
        if estimate and _PLAUSIBLE[0] <= measured.context / estimate <= _PLAUSIBLE[1]:
            ratio, last = measured.context / estimate, measured.context
    fitted = _fitted(segments, ratio, exact or ExactCounts(), sum(segment.tokens for segment in added))
    order = list(CATEGORIES)
    out = sorted((each for each in (*fitted, *added) if each.tokens), key=lambda segment: order.index(segment.category))
    is_exact = exact is not None and exact.total is not None and sum(s.tokens for s in out) == exact.total
    kept = 0 if window is None else min(reserve, max(0, window - 1))
    return ContextBreakdown(tuple(out), is_exact, last, window, kept)


# --- what belongs where ---------------------------------------------------------------------------


def _count_system(counts: _Counts, system: str, sections: Mapping[str, str]) -> None:
    rest = system
    for name, text in sections.items():
        if not text.strip():
            continue
        rest = rest.replace(text, "", 1)
        known = name in ("skills", "instructions", "mcp")
        category: ContextCategory = name if known else "other"  # type: ignore[assignment]  # one of the three
        counts.setdefault((category, "" if known else name), _Count()).add(estimate_tokens(text))
    if rest.strip():
        counts.setdefault(("system", ""), _Count()).add(estimate_tokens(rest))


def _count_tool(counts: _Counts, spec: ToolSpec) -> None:
    schema = json.dumps(dict(spec.parameters), ensure_ascii=False, default=str)
    tokens = estimate_tokens(f"{spec.name} {spec.description} {schema}")
    server = _MCP_TOOL.fullmatch(spec.name)
    if server is not None:
        counts.setdefault(("mcp", ""), _Count()).add(tokens, server[1])
    else:
        counts.setdefault(("tools", ""), _Count()).add(tokens, spec.name)


def _parts(
    turn: Turn, calls: Mapping[str, ToolCallBlock], *, is_summary: bool
) -> Iterator[tuple[ContextCategory, str | None, int]]:
    """Yield the kind, name and estimate of everything in a turn that is sent."""
    for block in turn.blocks:
        if isinstance(block, CompactSummaryBlock) or (is_summary and isinstance(block, TextBlock)):
            yield "summaries", None, estimate_block(block)
        elif isinstance(block, ToolResultBlock):
            yield from _result_parts(block, calls.get(block.call_id))
        elif isinstance(block, ToolCallBlock):
            yield "calls", block.name, estimate_block(block)
        elif isinstance(block, ThinkingBlock):
            if block.signature:  # without its seal it is not sent again
                yield "thinking", None, estimate_block(block)
        elif isinstance(block, TextBlock):
            yield from _text_parts(block, turn)
        else:
            yield "media", block.kind, estimate_block(block)


def _result_parts(
    block: ToolResultBlock, call: ToolCallBlock | None
) -> Iterator[tuple[ContextCategory, str | None, int]]:
    category: ContextCategory = "results"
    label = call.name if call is not None else None
    if call is not None and call.name in VARIABLE_TOOLS:
        category, label = "variables", _named(call, "name")
    elif call is not None and call.name in FILE_TOOLS:
        category, label = "files", _named(call, "path")
    for part in block.parts:
        yield category if isinstance(part, TextBlock) else "media", label, estimate_block(part)


def _named(call: ToolCallBlock, argument: str) -> str:
    value = call.input.get(argument)
    return value[:_LONGEST_LABEL] if isinstance(value, str) and value else call.name


def _text_parts(block: TextBlock, turn: Turn) -> Iterator[tuple[ContextCategory, str | None, int]]:
    """Tell what a person wrote from what was attached to it."""
    if turn.role == "assistant":
        yield "assistant", None, estimate_block(block)
        return
    if turn.injected == "restore":
        yield "files", "put back after a compaction", estimate_block(block)
        return
    rest = block.text
    if rest.startswith(ATTACHED):
        for match in _ATTACHMENT.finditer(block.text):
            category: ContextCategory = "variables" if match["kind"] == "variable" else "files"
            yield category, f"@{match['name'][:_LONGEST_LABEL]}", estimate_tokens(match[0])
        rest = _ATTACHMENT.sub("", block.text).strip()
    if rest:
        yield "user", None, estimate_tokens(rest)


# --- numbers --------------------------------------------------------------------------------------


def _index_of(turns: Sequence[Turn], measured: Usage | None, marked: Collection[str]) -> int | None:
    """Return where the answer is that counted its prompt, if what stands before it is still that prompt."""
    if measured is None or not measured.context:
        return None
    for index in reversed(range(len(turns))):
        turn = turns[index]
        if turn.role == "assistant" and turn.usage == measured:
            later = [each for each in turns[:index] if each.created_at > turn.created_at]
            return None if any(each.id in marked or _holds_summary(each) for each in later) else index
    return None


def _holds_summary(turn: Turn) -> bool:
    return any(isinstance(block, CompactSummaryBlock) for block in turn.blocks)


def _copy(counts: _Counts) -> _Counts:
    return {key: _Count(count.tokens, dict(count.items)) for key, count in counts.items()}


def _segment(key: tuple[ContextCategory, str], count: _Count) -> ContextSegment:
    category, label = key
    items = sorted(count.items.items(), key=lambda item: (-item[1], item[0]))
    return ContextSegment(
        category, label or CATEGORIES[category], count.tokens, items=tuple(ContextItem(*item) for item in items)
    )


def _fitted(
    segments: Sequence[ContextSegment], ratio: float, exact: ExactCounts, added: int
) -> tuple[ContextSegment, ...]:
    """Put exact counts where there are any and scale the estimates: to the rest of an exact total, else by ratio."""
    known = {"system": exact.system, "tools": exact.tools}
    groups: dict[str, list[ContextSegment]] = {"system": [], "tools": [], "turns": []}
    for segment in segments:
        groups[_group(segment.category)].append(segment)
    out: list[ContextSegment] = []
    for name in ("system", "tools"):
        target = known[name]
        is_one = target is not None and len(groups[name]) == 1
        out += [replace(segment, is_exact=is_one) for segment in _scaled(groups[name], target, ratio)]
    left = None
    if exact.total is not None:
        left = exact.total - added - sum(segment.tokens for segment in out)
    if left is not None and left < 0:  # the estimates of what stands before are too high: scale all of it
        return _scaled(segments, max(0, (exact.total or 0) - added), ratio)
    return (*out, *_scaled(groups["turns"], left, ratio))


def _group(category: ContextCategory) -> str:
    if category in ("system", "skills", "instructions", "other"):
        return "system"
    return "tools" if category in ("tools", "mcp") else "turns"


def _scaled(segments: Sequence[ContextSegment], target: int | None, ratio: float) -> tuple[ContextSegment, ...]:
    """Scale estimates so that they add up to ``target``, or by ``ratio`` where there is none."""
    estimate = sum(segment.tokens for segment in segments)
    if not estimate:
        return tuple(segments)
    goal = round(estimate * ratio) if target is None else target
    out: list[ContextSegment] = []
    seen = given = 0
    for segment in segments:
        seen += segment.tokens
        share = goal * seen // estimate - given  # the last one ends exactly at the goal
        given += share
        items = tuple(replace(item, tokens=round(item.tokens * goal / estimate)) for item in segment.items)
        out.append(replace(segment, tokens=share, items=items))
    return tuple(out)

"""Summarise a conversation by rule: what was asked, run, made, found and what failed, in the order it happened.

Asked for a summary, a model writes one; the planner lists what it can read off the conversation and says so. The
request may hold the conversation itself, with the wish for a summary behind it, or one text that tells it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from zidane_lab.providers.base import Request
from zidane_lab.providers.offline.prose import clip
from zidane_lab.providers.offline.results import outcome_of
from zidane_lab.providers.payload import encode_arguments
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn

__all__ = ["REQUEST_LINE", "SUMMARY_MARK", "TRAILER", "VARIABLES_LINE", "asks_for_summary", "line_of", "summarise"]

TRAILER: Final = "Provide your <analysis> and <summary> now."
"""How every request for a summary ends."""

SUMMARY_MARK: Final = "[Summary of an earlier part of this conversation."
"""How a user turn begins that is no person's but a summary."""

REQUEST_LINE: Final = "Request under way: "
VARIABLES_LINE: Final = "Variables made: "
"""Lines by which the planner finds its way on in a summary of its own."""

_NOT_SAID: Final = (SUMMARY_MARK, "<notebook-text ")
"""How texts of user turns begin that nobody wrote: summaries, and what was attached."""

_MOST: Final = 40
_CLIP: Final = 300
_MESSAGE: Final = re.compile(r"^<message ([^>]*)>\n(.*?)\n</message>$", re.MULTILINE | re.DOTALL)
_ATTRIBUTE: Final = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class _Said:
    """One thing that happened: who said it, what, and for calls and results the tool and whether it failed."""

    role: str
    text: str
    tool: str = ""
    failed: bool = False


def asks_for_summary(request: Request) -> bool:
    """Whether the last thing said is the wish for a summary."""
    last = request.turns[-1] if request.turns else None
    return last is not None and last.role == "user" and last.text.rstrip().endswith(TRAILER)


def summarise(request: Request) -> str:
    """Return the summary, in the sections that were asked for."""
    told = _MESSAGE.findall(request.turns[-1].text) if len(request.turns) == 1 else []
    events = list(_told(told) if told else _happened(request.turns[:-1]))
    asked = [each.text for each in events if each.role == "user" and not each.text.startswith(_NOT_SAID)]
    earlier = [each.text for each in events if each.role.startswith("summary") or each.text.startswith(SUMMARY_MARK)]
    before = next((found for text in reversed(earlier) if (found := line_of(text, REQUEST_LINE))), "")
    under_way = asked[-1] if asked else before
    steps = [each for each in events if each.role == "assistant" and each.tool]
    results = [each for each in events if each.role == "tool"]
    made = _made(results, earlier)
    answers = [each.text for each in events if each.role == "assistant" and not each.tool]
    sections = (
        ("Primary request and intent", [clip(under_way, _CLIP)] if under_way else []),
        ("Key concepts", ["This account was put together by rule: it lists, it does not interpret."]),
        (
            "Files, cells, code and variables",
            [*(clip(f"{step.tool}: {step.text}", _CLIP) for step in steps), f"{VARIABLES_LINE}{', '.join(made)}"],
        ),
        ("Errors and fixes", [clip(f"{each.tool}: {each.text}", _CLIP) for each in results if each.failed]),
        ("Problem solving", [clip(text, _CLIP) for text in answers]),
        ("All user messages", [clip(text, _CLIP) for text in asked]),
        ("Pending tasks", [f"{REQUEST_LINE}{clip(under_way, _CLIP)}"] if under_way else []),
        ("Current work", [clip(f"{steps[-1].tool}: {steps[-1].text}", _CLIP)] if steps else []),
        ("Next step", ["Go on with the request under way, unless its answer is among those above."]),
    )
    body = [_section(number, title, lines) for number, (title, lines) in enumerate(sections, 1)]
    kept = [_own_words(text) for text in earlier]
    return "<summary>\n" + "\n\n".join([*body, *kept]) + "\n</summary>"


def _section(number: int, title: str, lines: list[str]) -> str:
    lines = [line for line in lines if line.strip() and line != VARIABLES_LINE]
    left = len(lines) - _MOST
    shown = [f"- {' '.join(line.split())}" for line in (lines[-_MOST:] if left > 0 else lines)]
    if left > 0:
        shown.insert(0, f"- ({left} earlier ones are left out here)")
    return f"{number}. {title}:" + ("\n" + "\n".join(shown) if shown else " none")


def _own_words(text: str) -> str:
    """Return an earlier summary, to be carried along."""
    head, _, rest = text.partition("\n\n") if text.startswith(SUMMARY_MARK) else ("", "", text)
    return f"Before that:\n{(rest or head).strip()}"


def _made(results: Iterable[_Said], earlier: Iterable[str]) -> list[str]:
    names: dict[str, None] = {}
    for text in earlier:
        names.update(dict.fromkeys(filter(None, (line_of(text, VARIABLES_LINE)).split(", "))))
    for each in results:
        outcome = outcome_of(ToolResultBlock("", (TextBlock(each.text),), each.failed))
        names.update(dict.fromkeys(sorted(outcome.created)))
    return list(names)


def line_of(text: str, beginning: str) -> str:
    """Return what follows ``beginning`` on the line of a summary that starts with it; empty if there is none."""
    found = re.search(rf"^(?:- )?{re.escape(beginning)}(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _happened(turns: Iterable[Turn]) -> Iterator[_Said]:
    names: dict[str, str] = {}
    for turn in turns:
        first = True
        for block in turn.blocks:
            match block:
                case TextBlock(text):
                    if turn.role == "assistant" or (first and turn.injected is None):
                        yield _Said(turn.role, text)
                    first = False
                case ToolCallBlock():
                    names[block.id] = block.name
                    yield _Said("assistant", _call(block), block.name)
                case ToolResultBlock():
                    yield _Said("tool", block.text, names.get(block.call_id, "tool"), block.is_error)
                case _:
                    continue


def _call(block: ToolCallBlock) -> str:
    intent, code = block.input.get("intent"), block.input.get("code")
    if isinstance(code, str):
        return f"{intent}: `{code}`" if intent else f"`{code}`"
    return encode_arguments(block.input)


def _told(messages: Iterable[tuple[str, str]]) -> Iterator[_Said]:
    for attributes, text in messages:
        named = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}
        tool = named.get("calls") or named.get("name") or ""
        yield _Said(named.get("role", "user"), text, tool, named.get("outcome") == "failed")

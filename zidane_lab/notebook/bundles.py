"""Mime bundles for everything the agent draws: pure functions from a model to a bundle.

Each bundle is complete in itself: ``text/plain`` that reads well, Markdown or script-free HTML for everyone,
and our own type for a front end that knows it. Nothing here trusts its input: text from models, tools and
data is escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.notebook.markdown import plain_markdown, safe_markdown
from zidane_lab.session.usage_stats import format_cost

__all__ = [
    "MIME",
    "VERSION",
    "Bundle",
    "CallStatus",
    "ToolCard",
    "UsageLine",
    "banner",
    "command_reply",
    "markdown",
    "outcome",
    "page_text",
    "prompt",
    "streaming",
    "thinking",
    "tool_card",
    "traceback",
    "usage_line",
]

MIME: Final = "application/vnd.zidane.v1+json"
VERSION: Final = 1
Bundle: TypeAlias = dict[str, Any]
CallStatus: TypeAlias = Literal[
    "waiting", "started", "running", "ok", "error", "blocked", "skipped", "cancelled", "interrupted"
]

_MARKS: Final[Mapping[CallStatus, str]] = {
    "waiting": "…",
    "started": "▸",
    "running": "▸",
    "ok": "✓",
    "error": "✗",
    "blocked": "⊘",
    "skipped": "–",
    "cancelled": "–",
    "interrupted": "■",
}
_WORDS: Final[Mapping[CallStatus, str]] = {"ok": "", "started": "", "error": "failed"}
PREVIEW: Final = 4_000
"""Characters of a tool's result shown in its card; the model got all of it, and the session keeps it."""

_GOOD: Final = "var(--jp-success-color1,#2e7d32)"
_BAD: Final = "var(--jp-error-color1,#c62828)"
_WARN: Final = "var(--jp-warn-color1,#b26a00)"
_INFO: Final = "var(--jp-info-color1,#1565c0)"
_COLOURS: Final[Mapping[CallStatus, str]] = {"ok": _GOOD, "error": _BAD, "blocked": _WARN, "interrupted": _WARN}
_PRE: Final = (
    "margin:.3em 0 .3em 1.2em;padding:.4em .6em;overflow:auto;max-height:24em;white-space:pre;"
    "background:var(--jp-layout-color2,rgba(128,128,128,.1));color:inherit;border-radius:3px"
)
_WRAPPED: Final = "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
_QUIET: Final = "opacity:.7"
_SIGNS: Final[Mapping[str, str]] = {
    "+": "background:rgba(46,160,67,.22)",
    "-": "background:rgba(248,81,73,.2)",
    "@": "opacity:.7",
}
"""How the lines of a diff are told apart, beside their signs: grounds, so that the text is as legible as any other."""
_FORMULA: Final = re.compile(r"[$\\]")
_HEADS: Final = (["--- ", "+++ ", "@@ -"],)


def _ink(colour: str) -> str:
    """Return a theme's colour for text: nearer to the page's own ink, since themes mean it for grounds and borders."""
    return f"color:color-mix(in srgb,{colour} 65%,currentColor)"


def page_text(text: str) -> str:
    r"""Escape foreign text for a page outside of ``<pre>``: pages take ``$…$`` and ``\(…\)`` in HTML for formulas.

    What opens a formula stands in an element of its own, across which none is looked for.
    """
    return _FORMULA.sub(r"<span>\g<0></span>", html.escape(text))


def _own(kind: str, **fields: Any) -> dict[str, Any]:
    return {"version": VERSION, "kind": kind, **fields}


def streaming(text: str) -> Bundle:
    """Text that is still arriving: plain only, so that sending it often stays cheap."""
    return {"text/plain": text}


def markdown(text: str, *, block: str = "", part: int = 0) -> Bundle:
    """Finished text of the model. Our own type refers to the Markdown beside it instead of repeating it."""
    return {
        "text/plain": text,
        "text/markdown": safe_markdown(text),
        MIME: _own("text", block=block, part=part),
    }


def thinking(text: str, *, done: bool) -> Bundle:
    """Reasoning, folded; while it arrives only its length is shown."""
    if not done:
        label = f"thinking… ({len(text):,} characters)"
        return {"text/plain": label, "text/html": f'<div style="{_QUIET}">{label}</div>'}
    label = f"thinking ({len(text):,} characters)"
    body = page_text(text)
    return {
        "text/plain": f"[{label}]\n{text}",
        "text/html": f'<details style="{_QUIET}"><summary>{label}</summary>'
        f'<div style="white-space:pre-wrap;margin-left:1.2em">{body}</div></details>',
        MIME: _own("thinking", characters=len(text)),
    }


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool call as it is drawn.

    Parameters
    ----------
    call_id, tool, status
        Which call it is, of what, and how it stands.
    intent
        What it is for, in its author's words.
    body
        What it does: code, a command, a change, else what its title does not tell.
    result
        What came of it, as a text.
    seconds
        How long it has taken.
    note
        What came of it, in a few words.
    title
        What it does to what, on one line; without one the intent, or the tool.
    is_diff
        The body is a change: its lines are drawn by their signs.
    """

    call_id: str
    tool: str
    status: CallStatus
    intent: str = ""
    body: str = ""
    result: str = ""
    seconds: float | None = None
    note: str = ""
    title: str = ""
    is_diff: bool = False


def tool_card(card: ToolCard) -> Bundle:
    """Draw a call: one line (mark, title, tool, outcome, time), with what it does and the result folded below."""
    mark, word = _MARKS[card.status], _WORDS.get(card.status, card.status)
    title = card.title or card.intent or card.tool
    named = card.tool if title != card.tool else ""
    facts = [each for each in (named, word, card.note, _duration(card.seconds)) if each]
    head = f"{mark} {title}" + (f"  ({' · '.join(facts)})" if facts else "")
    plain = [head]
    if card.body:
        plain.append(_indented(card.body))
    shown, left = card.result[:PREVIEW], len(card.result) - PREVIEW
    if shown:
        plain.append(_indented("→ " + shown.replace("\n", "\n  ")))
    if left > 0:
        plain.append(f"    [{left:,} more characters in the session]")
    line = (
        f'{_mark(card.status)} <b style="overflow-wrap:anywhere">{page_text(title)}</b> '
        f'<span style="{_QUIET}">{page_text(" · ".join(facts))}</span>'
    )
    inner = ""
    if card.body:
        style = _PRE if card.is_diff or card.tool == "run_python" else f"{_PRE};{_WRAPPED}"
        inner += f'<pre style="{style}">{_diff_html(card.body) if card.is_diff else html.escape(card.body)}</pre>'
    if shown:
        more = f"\n[{left:,} more characters in the session]" if left > 0 else ""
        inner += f'<pre style="{_PRE};{_WRAPPED}">{html.escape(shown + more)}</pre>'
    opened = " open" if card.status in ("error", "blocked") and card.tool != "run_python" else ""
    drawn = f"<details{opened}><summary>{line}</summary>{inner}</details>" if inner else f"<div>{line}</div>"
    own = _own(
        "tool",
        call_id=card.call_id,
        tool=card.tool,
        status=card.status,
        intent=card.intent,
        title=title,
        seconds=card.seconds,
        note=card.note,
    )
    return {"text/plain": "\n".join(plain), "text/html": drawn, MIME: own}


def _mark(status: CallStatus) -> str:
    colour = _COLOURS.get(status)
    return f'<span style="{_ink(colour)}">{_MARKS[status]}</span>' if colour else _MARKS[status]


def _diff_html(text: str) -> str:
    """Escape a diff; what goes and what comes has a ground of its own and keeps its sign, names of files stand out."""
    lines = text.split("\n")
    drawn = []
    for place, line in enumerate(lines):
        # Alone, ``--- x`` is the line ``-- x`` that goes: the head of a file is two such lines before its first hunk.
        is_head = any(
            [each[:4] for each in lines[first : first + 3]] in _HEADS for first in (place, place - 1) if first >= 0
        )
        style = "font-weight:bold" if is_head or line.startswith("*** ") else _SIGNS.get(line[:1], "")
        shown = html.escape(line)
        drawn.append(f'<span style="{style}">{shown}</span>' if style else shown)
    return "\n".join(drawn)


def outcome(card: ToolCard) -> Bundle:
    """Draw how a call ended, below its outputs, where its card was drawn before and is not updated."""
    mark, word = _MARKS[card.status], _WORDS.get(card.status, card.status)
    text = " · ".join(each for each in (word, card.note) if each)
    line = f'{_mark(card.status)} <span style="{_QUIET}">{page_text(text)}</span>'
    own = _own(
        "outcome", call_id=card.call_id, tool=card.tool, status=card.status, seconds=card.seconds, note=card.note
    )
    return {"text/plain": f"{mark} {text}", "text/html": f"<div>{line}</div>", MIME: own}


def traceback(name: str, message: str, text: str) -> Bundle:
    """An error of the agent's code: a plain output, so that the cell itself does not count as failed."""
    style = f"{_PRE};{_WRAPPED};border-left:3px solid {_BAD};background:rgba(248,81,73,.12)"
    where, last, said = text.rstrip("\n").rpartition(f"{name}:") if name else ("", "", text)
    return {
        "text/plain": text,
        "text/html": f'<pre style="{style}">{html.escape(where)}<b>{html.escape(last + said)}</b></pre>',
        MIME: _own("error", name=name, message=message),
    }


def banner(level: Literal["info", "warning", "error"], title: str, text: str = "") -> Bundle:
    """A notice that must not be overlooked: how a run ended when it did not end by itself."""
    colour = {"info": _INFO, "warning": _WARN, "error": _BAD}[level]
    mark = {"info": "ℹ", "warning": "⚠", "error": "✗"}[level]
    style = f"border-left:4px solid {colour};padding:.3em .8em;margin:.3em 0"
    body = f"<br>{page_text(text)}" if text else ""
    return {
        "text/plain": f"{mark} {title}" + (f"\n  {text}" if text else ""),
        "text/html": f'<div role="status" style="{style}">{mark} <b>{page_text(title)}</b>{body}</div>',
        MIME: _own("banner", level=level, title=title, text=text),
    }


@dataclass(frozen=True, slots=True)
class UsageLine:
    """The line a run ends with. ``window`` is the effective context window, if known."""

    model: str
    context: int
    input: int
    cache_read: int
    output: int
    cost: float | None
    window: int | None
    turns: int
    calls: int
    seconds: float | None


def usage_line(line: UsageLine) -> Bundle:
    """Draw ``in N (cache N) / N out``, the cost only if it is really known, the context gauge, the time."""
    parts = [line.model]
    if line.input or line.output:
        cache = f" (cache {line.cache_read:,})" if line.cache_read else ""
        parts.append(f"in {line.input:,}{cache} / {line.output:,} out")
    if cost := format_cost(line.cost):
        parts.append(cost)
    if line.window and line.context:
        parts.append(f"context {100 * line.context / line.window:.0f}% of {_thousands(line.window)}")
    parts += [_count(line.turns, "turn"), _count(line.calls, "tool call"), _duration(line.seconds)]
    text = " · ".join(part for part in parts if part)
    fields = {name: getattr(line, name) for name in line.__slots__}
    return {
        "text/plain": text,
        "text/html": f'<div style="{_QUIET};font-size:90%">{page_text(text)}</div>',
        MIME: _own("usage", **fields),
    }


def prompt(text: str, how: str = "prompt") -> Bundle:
    """What a person said, when it is repainted or arrives while the agent runs."""
    label = {"prompt": "You", "steer": "You, meanwhile", "follow-up": "You, next"}.get(how, "Added by zidane")
    quoted = "\n".join(f"> {line}" for line in safe_markdown(text).split("\n"))
    return {
        "text/plain": f"{label}: {text}",
        "text/markdown": f"**{label}**\n\n{quoted}",
        MIME: _own("prompt", how=how),
    }


def command_reply(text: str, drawing: str | None = None) -> Bundle:
    """Markdown a command answers (our own words; what it quotes has been escaped), and perhaps a drawing in HTML."""
    html_form = {} if drawing is None else {"text/html": drawing}
    return {"text/plain": _unmarked(text), "text/markdown": text, **html_form, MIME: _own("command")}


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip().split("\n"))


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _thousands(number: int) -> str:
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1e6:.1f}M"


def _unmarked(text: str) -> str:
    """Take the table and emphasis marks out of our own Markdown for pages that show plain text only."""
    lines = [line for line in text.split("\n") if not line.startswith("| ---")]
    plain = "\n".join(line.strip("| ").replace(" | ", "  —  ") if line.startswith("| ") else line for line in lines)
    return plain.replace("**", "").replace("`", "").replace("\\|", "|").replace("\\", "")


def escaped(text: str) -> str:
    """Escape foreign text for use inside our own Markdown."""
    return plain_markdown(text)

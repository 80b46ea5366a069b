"""Mime bundles for everything the agent draws: pure functions from a model to a bundle.

Each bundle is complete in itself: ``text/plain`` that reads well, Markdown or script-free HTML for everyone,
and our own type for a front end that knows it. Nothing here trusts its input: text from models, tools and
data is escaped.
"""

from __future__ import annotations

import html
import json
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

_COLOURS: Final[Mapping[CallStatus, str]] = {
    "ok": "var(--jp-success-color1,#2e7d32)",
    "error": "var(--jp-error-color1,#c62828)",
    "blocked": "var(--jp-warn-color1,#b26a00)",
    "interrupted": "var(--jp-warn-color1,#b26a00)",
}
_PRE: Final = (
    "margin:.3em 0 .3em 1.2em;padding:.4em .6em;overflow:auto;max-height:24em;white-space:pre;"
    "background:var(--jp-layout-color2,rgba(128,128,128,.1));color:inherit;border-radius:3px"
)
_QUIET: Final = "opacity:.7"
_SIGNS: Final[Mapping[str, str]] = {
    "+": "var(--jp-success-color1,#2e7d32)",
    "-": "var(--jp-error-color1,#c62828)",
    "@": "var(--jp-info-color1,#1565c0)",
}


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
    body = html.escape(text)
    return {
        "text/plain": f"[{label}]\n{text}",
        "text/html": f'<details style="{_QUIET}"><summary>{label}</summary>'
        f'<div style="white-space:pre-wrap;margin-left:1.2em">{body}</div></details>',
        MIME: _own("thinking", characters=len(text)),
    }


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool call as it is drawn. ``body`` is code for ``run_python``, the arguments otherwise."""

    call_id: str
    tool: str
    status: CallStatus
    intent: str = ""
    body: str = ""
    result: str = ""
    seconds: float | None = None
    note: str = ""


def tool_card(card: ToolCard) -> Bundle:
    """Draw a call: one line (mark, intent, tool, time), with the code and the result folded below."""
    mark, word = _MARKS[card.status], _WORDS.get(card.status, card.status)
    title = card.intent or card.tool
    facts = [each for each in (card.tool if card.intent else "", word, card.note, _duration(card.seconds)) if each]
    head = f"{mark} {title}" + (f"  ({' · '.join(facts)})" if facts else "")
    plain = [head]
    if card.body:
        plain.append(_indented(card.body))
    shown, left = card.result[:PREVIEW], len(card.result) - PREVIEW
    if shown:
        plain.append(_indented("→ " + shown.replace("\n", "\n  ")))
    if left > 0:
        plain.append(f"    [{left:,} more characters in the session]")
    colour = _COLOURS.get(card.status, "inherit")
    line = (
        f'<span style="color:{colour}">{mark}</span> <b>{html.escape(title)}</b> '
        f'<span style="{_QUIET}">{html.escape(" · ".join(facts))}</span>'
    )
    inner = ""
    if card.body:
        inner += f'<pre style="{_PRE}">{_code_html(card.body)}</pre>'
    if shown:
        more = f"\n[{left:,} more characters in the session]" if left > 0 else ""
        inner += f'<pre style="{_PRE};white-space:pre-wrap">{html.escape(shown + more)}</pre>'
    opened = " open" if card.status in ("error", "blocked") and card.tool != "run_python" else ""
    drawn = f"<details{opened}><summary>{line}</summary>{inner}</details>" if inner else f"<div>{line}</div>"
    own = _own(
        "tool",
        call_id=card.call_id,
        tool=card.tool,
        status=card.status,
        intent=card.intent,
        seconds=card.seconds,
        note=card.note,
    )
    return {"text/plain": "\n".join(plain), "text/html": drawn, MIME: own}


def _code_html(text: str) -> str:
    """Escape code; in a unified diff the lines that go and come are coloured, and keep their signs."""
    if not text.startswith("--- "):
        return html.escape(text)
    return "\n".join(
        f'<span style="color:{_SIGNS[line[0]]}">{html.escape(line)}</span>' if line[:1] in _SIGNS else html.escape(line)
        for line in text.split("\n")
    )


def outcome(card: ToolCard) -> Bundle:
    """Draw how a call ended, below its outputs, where its card was drawn before and is not updated."""
    mark, word = _MARKS[card.status], _WORDS.get(card.status, card.status)
    text = " · ".join(each for each in (word, card.note) if each)
    colour = _COLOURS.get(card.status, "inherit")
    line = f'<span style="color:{colour}">{mark}</span> <span style="{_QUIET}">{html.escape(text)}</span>'
    own = _own(
        "outcome", call_id=card.call_id, tool=card.tool, status=card.status, seconds=card.seconds, note=card.note
    )
    return {"text/plain": f"{mark} {text}", "text/html": f"<div>{line}</div>", MIME: own}


def traceback(name: str, message: str, text: str) -> Bundle:
    """An error of the agent's code: a plain output, so that the cell itself does not count as failed."""
    style = f"{_PRE};color:var(--jp-error-color1,#c62828);white-space:pre-wrap"
    return {
        "text/plain": text,
        "text/html": f'<pre style="{style}">{html.escape(text)}</pre>',
        MIME: _own("error", name=name, message=message),
    }


def banner(level: Literal["info", "warning", "error"], title: str, text: str = "") -> Bundle:
    """A notice that must not be overlooked: how a run ended when it did not end by itself."""
    colour = {
        "info": "var(--jp-info-color1,#1565c0)",
        "warning": "var(--jp-warn-color1,#b26a00)",
        "error": "var(--jp-error-color1,#c62828)",
    }[level]
    mark = {"info": "ℹ", "warning": "⚠", "error": "✗"}[level]
    style = f"border-left:4px solid {colour};padding:.3em .8em;margin:.3em 0"
    body = f"<br>{html.escape(text)}" if text else ""
    return {
        "text/plain": f"{mark} {title}" + (f"\n  {text}" if text else ""),
        "text/html": f'<div role="status" style="{style}">{mark} <b>{html.escape(title)}</b>{body}</div>',
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
        "text/html": f'<div style="{_QUIET};font-size:90%">{html.escape(text)}</div>',
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


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Show a call's arguments on a few lines, values as JSON."""
    return "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())


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

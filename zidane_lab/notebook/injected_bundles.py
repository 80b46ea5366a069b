"""Mime bundles for what was said to the model in nobody's name: ends of background tasks, and other notes.

A person sees what happened, not the envelope it was told in; the note itself stays one click away.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any, Final

from zidane_lab.approvals.decisions import printable
from zidane_lab.contexts.task_notices import TAG
from zidane_lab.notebook.bundles import MIME, VERSION, Bundle, page_text

__all__ = ["added"]

_TASK: Final = re.compile(rf"<{TAG}>\n(.*?)\n</{TAG}>", re.DOTALL)
_FACT: Final = re.compile(r"^<([a-z-]+)>(.*?)</\1>$", re.DOTALL | re.MULTILINE)
_LINE: Final = 100
_QUIET: Final = "opacity:.75;font-size:90%"
_OUTPUT: Final = "white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0 .3em 1.4em;max-height:24em;overflow:auto"


def added(kind: str, text: str) -> Bundle:
    """Draw a note that was put into the conversation.

    Parameters
    ----------
    kind
        What it is, as the turn says that holds it.
    text
        The note, as the model reads it.
    """
    notices = [_facts(each[1]) for each in _TASK.finditer(text)]
    if kind == TAG and notices:
        drawn = [_task(facts) for facts in notices]
    else:
        whole = text.strip()
        first = _short(whole.split("\n", 1)[0])
        drawn = [(f"• zidane told the model: {first}", "" if first == whole else whole)]
    plain = "\n".join(head + "".join(f"\n    {line}" for line in body.split("\n") if body) for head, body in drawn)
    own = {"version": VERSION, "kind": "injected", "about": kind, "tasks": notices}
    return {"text/plain": plain, "text/html": "".join(_html(head, body) for head, body in drawn), MIME: own}


def _facts(element: str) -> dict[str, Any]:
    """Read a notification: its facts by name; the lines of a monitor as a list."""
    facts: dict[str, Any] = {}
    for name, value in _FACT.findall(element):
        if name == "line":
            facts.setdefault("lines", []).append(html.unescape(value))
        else:
            facts[name] = html.unescape(value)
    return facts


def _task(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Say in a line what became of a task, and what it printed."""
    name = f"{_short(str(facts.get('task', 'a background task')))} ({facts.get('task-id', '?')})"
    if "monitor" in facts:
        return f"◦ {name} saw: {_short(str(facts['monitor']))}", "\n".join(facts.get("lines", ()))
    mark = "✓" if facts.get("status") == "completed" and facts.get("exit-code", "0") == "0" else "✗"
    return f"{mark} {name}: {facts.get('summary', facts.get('status', 'ended'))}", str(facts.get("output-tail", ""))


def _short(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


def _html(head: str, body: str) -> str:
    if not body:
        return f'<div role="status" style="{_QUIET}">{page_text(head)}</div>'
    return (
        f'<details style="{_QUIET}"><summary>{page_text(head)}</summary>'
        f'<pre style="{_OUTPUT}">{html.escape(body)}</pre></details>'
    )

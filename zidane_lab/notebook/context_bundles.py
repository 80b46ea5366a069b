"""Mime bundles for what happens to the context: the divider of a compaction, and one-line notices.

Pure functions, as in :mod:`zidane_lab.notebook.bundles`; nothing here trusts its input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from zidane_lab.notebook.bundles import MIME, VERSION, Bundle, page_text

__all__ = ["Divider", "NoticeKind", "compacting", "divider", "money", "notice", "tokens"]

NoticeKind: TypeAlias = Literal["cache", "pruned", "retry", "fallback", "budget", "guard", "persisted"]

_QUIET: Final = "opacity:.75;font-size:90%"
_RULE: Final = "border-top:2px dashed var(--jp-border-color1,rgba(128,128,128,.5));margin:.8em 0;padding-top:.3em"
_WHY: Final = {
    "manual": "asked for",
    "overflow": "the request was too long",
    "rewind": "the model went back to its checkpoint",
}
_MARKS: Final[dict[NoticeKind, str]] = {
    "cache": "⟳",
    "pruned": "✂",
    "retry": "↻",
    "fallback": "⇄",
    "budget": "⚠",
    "guard": "⊘",
    "persisted": "⤓",
}


def tokens(count: int) -> str:
    """Write a number of tokens the way gauges do: ``950``, ``116.9k``, ``1.2M``."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.1f}M"


def money(cost: float | None) -> str:
    """Write US dollars, or nothing where the cost is not known or nothing."""
    if not cost:
        return ""
    return f"${cost:.4f}" if cost < 0.01 else f"${cost:.2f}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Divider:
    """A compaction as it is drawn. Sizes are tokens; ``after`` is an estimate, ``before`` may be."""

    turn_id: str
    summary: str
    replaced: int
    before: int = 0
    after: int = 0
    reason: str = "auto"
    model: str = ""
    files: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    cost: float | None = None
    undone: bool = False

    @property
    def headline(self) -> str:
        """One line: what became of how much."""
        why = _WHY.get(self.reason, "the window was full")
        parts = [f"compacted ({why}): {_plural(self.replaced, 'turn')} → a summary"]
        if self.before and self.after:
            parts.append(f"{tokens(self.before)} → ~{tokens(self.after)} tokens")
        back = [
            _plural(len(names), noun)
            for names, noun in ((self.files, "file"), (self.skills, "skill"), (self.variables, "variable"))
            if names
        ]
        if back:
            parts.append(f"{', '.join(back)} put back")
        if self.cost:
            parts.append(money(self.cost))
        if self.undone:
            parts.append("undone")
        return " · ".join(parts)

    @property
    def story(self) -> str:
        """The summary as people read it: without the lists at its end, which :attr:`details` tells."""
        return _parted(self.summary)[0]

    @property
    def details(self) -> str:
        """What the turns touched, what was put back and how to take the compaction back, on a few lines."""
        touched = _parted(self.summary)[1]
        lines = [touched] if touched else []
        for label, names in (("Files", self.files), ("Skills", self.skills), ("Variables", self.variables)):
            if names:
                lines.append(f"{label} put back: {', '.join(names)}")
        if self.missing:
            lines.append(f"Variables that are gone: {', '.join(self.missing)}")
        if self.model:
            lines.append(f"Summary by {self.model}.")
        lines.append(
            "This compaction was undone: the turns above are sent again."
            if self.undone
            else "Every turn is still in the session. Take it back with %zidane /compact undo."
        )
        return "\n".join(lines)


def _parted(summary: str) -> tuple[str, str]:
    """Part a summary from the lists of files and variables at its end, which carry marks for the model."""
    text = summary.strip()
    story, opened, lists = text.removesuffix("</touched>").rpartition("<touched>")
    if not opened or not text.endswith("</touched>"):
        return text, ""
    return story.strip(), lists.strip().replace("&lt;", "<")


def divider(mark: Divider) -> Bundle:
    """Draw a compaction: a rule with its numbers, the summary folded below it."""
    text = f"{mark.story}\n\n{mark.details}"
    body = (
        f'<div style="white-space:pre-wrap;margin:.4em 1.2em .6em">{page_text(mark.story)}'
        f'<div style="margin-top:.6em;{_QUIET}">{page_text(mark.details)}</div></div>'
    )
    own: dict[str, Any] = {
        "version": VERSION,
        "kind": "compaction",
        "turn_id": mark.turn_id,
        "reason": mark.reason,
        "replaced": mark.replaced,
        "before": mark.before,
        "after": mark.after,
        "model": mark.model,
        "files": list(mark.files),
        "skills": list(mark.skills),
        "variables": list(mark.variables),
        "cost": mark.cost,
        "undone": mark.undone,
    }
    indented = "\n".join(f"    {line}" for line in text.split("\n"))
    return {
        "text/plain": f"──── {mark.headline} ────\n{indented}",
        "text/html": f'<details style="{_RULE}"><summary style="{_QUIET}">✂ {page_text(mark.headline)}</summary>'
        f"{body}</details>",
        MIME: own,
    }


def compacting(turns: int, written: int = 0) -> Bundle:
    """Draw a compaction under way: how many turns, and roughly how many tokens of the summary are written."""
    text = f"Compacting {_plural(turns, 'turn')}…" + (f" ~{tokens(written)} tokens" if written else "")
    return {"text/plain": text, "text/html": f'<div style="{_RULE};{_QUIET}">✂ {page_text(text)}</div>'}


def notice(kind: NoticeKind, title: str, details: str = "") -> Bundle:
    """Draw a one-line notice, its details folded."""
    mark = _MARKS[kind]
    line = f"{mark} {page_text(title)}"
    folded = (
        f'<details style="{_QUIET}"><summary>{line}</summary>'
        f'<div style="white-space:pre-wrap;margin-left:1.2em">{page_text(details)}</div></details>'
        if details
        else f'<div role="status" style="{_QUIET}">{line}</div>'
    )
    plain = f"{mark} {title}" + "".join(f"\n    {each}" for each in details.split("\n") if details)
    return {
        "text/plain": plain,
        "text/html": folded,
        MIME: {"version": VERSION, "kind": "notice", "about": kind, "title": title, "text": details},
    }

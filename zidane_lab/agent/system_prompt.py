"""The system prompt as a value: what never changes first, what changes from day to day and place to place last.

Between the two is a *boundary*, the place a provider's cache may break without losing what stands before it. The order
is: who the agent is, how it works, guidance, the person's instructions, catalogs of skills and tools; boundary; the
environment. Moving a section costs every conversation under way one reading of its prompt.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

__all__ = ["ENV", "Section", "SystemPrompt", "env_block"]

ENV: Final = "env"
"""Kind of the section that tells where and when the agent works; it stands below the boundary."""

_BETWEEN: Final = "\n\n"
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029<>]|^\s|\s$")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the prompt that has a life of its own: its ``kind`` (``"skills"``, ``"env"``) and its text."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """A system prompt before it is sent.

    Parameters
    ----------
    base
        What the agent is and how it works.
    static
        Sections above the boundary.
    dynamic
        Sections below it.
    """

    base: str
    static: tuple[Section, ...] = ()
    dynamic: tuple[Section, ...] = ()

    def with_static(self, kind: str, text: str) -> Self:
        """Put a section above the boundary: in the place of its predecessor, else last; an empty one goes."""
        return replace(self, static=_with(self.static, kind, text))

    def with_dynamic(self, kind: str, text: str) -> Self:
        """Put a section below the boundary: in the place of its predecessor, else last; an empty one goes."""
        return replace(self, dynamic=_with(self.dynamic, kind, text))

    @property
    def text(self) -> str:
        """The whole prompt, as it is sent."""
        return _BETWEEN.join(filter(None, self.halves))

    @property
    def boundary(self) -> int | None:
        """The length of the part of ``text`` above the boundary; ``None`` unless there is something on either side."""
        above, below = self.halves
        return len(above) if above and below else None

    @property
    def halves(self) -> tuple[str, str]:
        """The texts above and below the boundary."""
        return _joined(Section("", self.base), *self.static), _joined(*self.dynamic)

    @property
    def sections(self) -> Mapping[str, str]:
        """The texts of the sections by kind, in the order they are sent."""
        texts = {section.kind: section.text.strip("\n") for section in (*self.static, *self.dynamic)}
        return {kind: text for kind, text in texts.items() if text}


def env_block(
    *,
    cwd: Path | str,
    today: date,
    project_root: Path | str | None = None,
    platform: str = sys.platform,
    kernel: str = "",
    language: str = "",
    notebook: Path | str | None = None,
) -> str:
    """Return the section that tells where and when the agent works; the same facts give the same bytes.

    Nothing else belongs here: what a person wants the agent to know stands in an instruction file.

    Parameters
    ----------
    cwd, project_root, notebook
        Paths; the root is left out when it is the working directory, the notebook when there is none.
    today
        The date; without the time, which would change every request.
    platform, kernel, language
        The operating system, the kernel's name and its language, such as ``"python 3.12"``.
    """
    root = None if project_root is None or str(project_root) == str(cwd) else project_root
    facts = {
        "Working directory": cwd,
        "Project root": root,
        "Date": today.isoformat(),
        "Platform": platform,
        "Kernel": kernel,
        "Language": language,
        "Notebook": notebook,
    }
    lines = (f"{name}: {_plain(str(value))}" for name, value in facts.items() if value)
    return "\n".join(("<env>", *lines, "</env>"))


def _plain(value: str) -> str:
    """Return a value that stays on its line and in its block; a folder may have any name."""
    if not _UNSAFE.search(value):
        return value
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e")


def _joined(*sections: Section) -> str:
    return _BETWEEN.join(filter(None, (section.text.strip("\n") for section in sections)))


def _with(sections: tuple[Section, ...], kind: str, text: str) -> tuple[Section, ...]:
    new = (Section(kind, text),) if text.strip() else ()
    at = next((place for place, section in enumerate(sections) if section.kind == kind), len(sections))
    return (*sections[:at], *new, *sections[at + 1 :])

"""The documentation as tests see it: its pages, the parts taken from the code, and the snippets."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^(?P<fence>`{3,})(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^(?P=fence)`*$",
    re.DOTALL | re.MULTILINE,
)


def pages() -> list[Path]:
    return sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)


def regenerate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_regenerate", DOCS / "regenerate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Snippet:
    """A fenced block: its language, its text, and the mark in the comment above it (``runnable``, ``kernel`` …)."""

    mark: str
    language: str
    text: str
    line: int


def snippets(page: str) -> list[Snippet]:
    """Fenced blocks of a page, in order, without those taken from the code."""
    own = re.sub(r"<!-- exact: .*?<!-- /exact -->", lambda match: "\n" * match[0].count("\n"), page, flags=re.DOTALL)
    return [
        Snippet(match["mark"] or "", match["language"], match["text"], own.count("\n", 0, match.start("fence")) + 1)
        for match in FENCE.finditer(own)
    ]

"""A page that keeps what is drawn on it."""

from __future__ import annotations

import html.parser
from collections.abc import Mapping
from typing import Any


class Page:
    """A publisher that remembers every send; ``final`` is what a reader ends up seeing."""

    def __init__(self) -> None:
        self.sends: list[tuple[str, str, dict[str, Any]]] = []

    def show(self, bundle: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> str:
        display_id = f"d{len(self.sends)}"
        self.sends.append(("show", display_id, dict(bundle)))
        return display_id

    def update(self, display_id: str, bundle: Mapping[str, Any]) -> None:
        assert any(kind == "show" and key == display_id for kind, key, _ in self.sends)
        self.sends.append(("update", display_id, dict(bundle)))

    @property
    def final(self) -> list[dict[str, Any]]:
        shown: dict[str, dict[str, Any]] = {}
        for _, display_id, bundle in self.sends:
            shown[display_id] = bundle
        return list(shown.values())

    @property
    def text(self) -> str:
        return "\n".join(bundle["text/plain"] for bundle in self.final)


class _Stripper(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def stripped(source: str) -> _Stripper:
    """Parse HTML: its text without tags, and which tags and attributes it uses."""
    parser = _Stripper()
    parser.feed(source)
    return parser

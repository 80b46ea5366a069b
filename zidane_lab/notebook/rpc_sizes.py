"""Keep what is listed for a front end within bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["LONGEST_LISTED", "LONGEST_TEXT", "MOST_LISTED", "clipped", "shortened"]

MOST_LISTED: Final = 100
"""Things in a list."""

LONGEST_LISTED: Final = 30_000
"""Characters of JSON of one thing in a list; what is longer is shortened."""

LONGEST_TEXT: Final = 4_000
"""Characters of a text in it then."""

_STEPS: Final = ((LONGEST_TEXT, 50), (300, 20), (100, 5))
"""Longest text and most members, each tried where the one before does not do."""


def shortened(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object as it is, or cut to size and marked ``"shortened": true``."""
    if len(json.dumps(record)) <= LONGEST_LISTED:
        return dict(record)
    for text, members in _STEPS:
        cut = {name: _cut(value, text, members) for name, value in record.items()}
        if len(json.dumps(cut)) <= LONGEST_LISTED:
            break
    else:
        cut = {name: value for name, value in cut.items() if not isinstance(value, (dict, list))}
    return {**cut, "shortened": True}


def clipped(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text, or its beginning and how much is missing."""
    return text if len(text) <= longest else f"{text[:longest]} … {len(text) - longest:,} more characters"


def _cut(value: Any, text: int, members: int) -> Any:
    match value:
        case str():
            return clipped(value, text)
        case Mapping():
            return {clipped(name, text): _cut(each, text, members) for name, each in list(value.items())[:members]}
        case list() | tuple():
            return [_cut(each, text, members) for each in value[:members]]
        case _:
            return value

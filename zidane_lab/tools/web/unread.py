"""What of a page is not for its readers: programs, navigation, what is shown to nobody."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["NEVER", "is_dropped", "is_hidden"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER: Final = _names("script style noscript template svg canvas iframe object select textarea")
"""Left out always: for programs, or nothing that can be read."""
_DROPPED: Final = NEVER | {"button", "dialog", "nav"}
_DROPPED_OUTSIDE: Final = frozenset({"aside", "footer"})
"""Left out unless they stand in the content itself."""
_DROPPED_ROLES: Final = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "dialog"})
_UNSEEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def is_dropped(tag: str, values: dict[str, str], *, in_content: bool, drops: bool) -> bool:
    """Whether an element is left out.

    Parameters
    ----------
    in_content
        It stands in what the page says is its content.
    drops
        Leave out more than what can never be read.
    """
    if tag == "template" and values.get("shadowrootmode"):  # shown, as what its element looks like inside
        return False
    if not drops:
        return tag in NEVER
    return (
        tag in _DROPPED
        or (tag in _DROPPED_OUTSIDE and not in_content)
        or values.get("role") in _DROPPED_ROLES
        or is_hidden(values)
    )


def is_hidden(values: dict[str, str]) -> bool:
    """Whether an element is shown to nobody."""
    return (
        values.get("aria-hidden") == "true"
        or values.get("hidden", "until-found").lower() != "until-found"
        or _UNSEEN.search(values.get("style", "")) is not None
    )

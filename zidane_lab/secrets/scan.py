"""Find credentials in a text by their format and by the name they are written under, in one pass.

One expression finds where any could begin; only there are the formats in question tried.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from zidane_lab.secrets.assigned import NAME_ANCHORS, assigned
from zidane_lab.secrets.patterns import KINDS, Kind

__all__ = ["NAMELESS", "Found", "begun_at", "kind_of", "scan"]

Found: TypeAlias = tuple[int, int, str]
"""Start, end and kind of a credential."""

NAMELESS: Final = "value"
"""Kind of a credential that does not look like any."""


def _any_of(words: Iterable[str]) -> str:
    """Return an expression that matches the longest of the words without trying one after the other."""
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for char in word:
            node = node.setdefault(char, {})
        node[""] = {}  # a word ends here
    return _branches(tree)


def _branches(node: dict[str, Any]) -> str:
    inner = [re.escape(char) + _branches(below) for char, below in sorted(node.items()) if char]
    body = inner[0] if len(inner) == 1 else f"(?:{'|'.join(inner)})"
    return (f"(?:{body})?" if "" in node else body) if inner else ""


def _by_anchor() -> dict[str, tuple[tuple[Kind, str], ...]]:
    """Return for each anchor the kinds to try, each with its own; what begins with a shorter one may be its kind."""
    own: defaultdict[str, list[Kind]] = defaultdict(list)
    for kind in KINDS:
        for anchor in kind.anchors:
            own[anchor].append(kind)
    return {
        anchor: tuple(
            (kind, anchor[:size]) for size in range(len(anchor), 0, -1) for kind in own.get(anchor[:size], ())
        )
        for anchor in (*own, *NAME_ANCHORS)
    }


_KINDS: Final = _by_anchor()
_WORDS: Final = [each for each in _KINDS if each[0].isalnum()]
_SIGNS: Final = [each for each in _KINDS if not each[0].isalnum()]
_BEGINS: Final = re.escape("".join({each[0] for each in _WORDS}))
# The first letters are one set and the rest one tree, which also matches what is no anchor: far fewer branches to try.
_WORD: Final = f"[{_BEGINS}]{_any_of({each[1:] for each in _WORDS})}"
_AT_WORD: Final = re.compile(f"({_WORD})")
_IN_TEXT: Final = re.compile(f"[^A-Za-z0-9]({_WORD})")
_ESCAPED: Final = re.compile(  # behind \\n, as in a repr, %3D, as in an address, or a colour of the terminal
    rf"[\\%\x1b](?:[ntrfv0]|[0-9A-Fa-f]{{2}}|x[0-9A-Fa-f]{{2}}|u[0-9A-Fa-f]{{4}}|\[[0-9;]{{0,16}}m)({_WORD})"
)
_BLOB_SIZE: Final = 200
_BLOB: Final = re.compile(rf"(?:[A-Za-z0-9+/]{{{_BLOB_SIZE}}}|[\w-]{{{_BLOB_SIZE}}})\Z")
"""The middle of a picture or the like as base64, where any three letters come up sooner or later."""

_SIGN: Final = re.compile(_any_of(_SIGNS))


def scan(text: str, *, names: bool = True) -> list[Found]:
    """Find what looks like a credential; places may overlap and have no order.

    Parameters
    ----------
    names
        Also find what only the name tells that it stands under.
    """
    found: list[Found] = []
    if (begin := _AT_WORD.match(text)) is not None:
        _judge(text, begin, found, names=names)
    for expression in (_IN_TEXT, _ESCAPED, _SIGN):
        at = 0
        while (match := expression.search(text, at)) is not None:
            at = max(match.start() + 1, _judge(text, match, found, names=names))
    return found


@lru_cache(maxsize=4_096)
def kind_of(value: str) -> str:
    """Name the kind of a credential by what it looks like alone, so that it has one name wherever it is met."""
    return next((kind for *place, kind in scan(value, names=False) if place == [0, len(value)]), NAMELESS)


def _judge(text: str, match: re.Match[str], found: list[Found], *, names: bool) -> int:
    """Add what begins at an anchor; return where it is worth to look on."""
    group = match.lastindex or 0
    at, anchor = match.start(group), _anchor(match[group])
    best = _formatted(text, at, anchor)
    if best is None and names and anchor in NAME_ANCHORS and (value := assigned(text, at, anchor)) is not None:
        best = _within(text, *value) or (*value, NAMELESS)
    if best is None or _BLOB.search(text, max(0, best[0] - _BLOB_SIZE), best[0]) is not None:
        return 0
    found.append(best)
    return best[1] - 1  # its last character may be the one that the next begins behind


def _anchor(text: str) -> str:
    """Return the longest anchor that a text begins with; empty if there is none."""
    return next((text[:size] for size in range(len(text), 0, -1) if text[:size] in _KINDS), "")


def _formatted(text: str, at: int, anchor: str) -> Found | None:
    """Return the longest credential whose anchor stands at ``at``."""
    best: Found | None = None
    for kind, own in _KINDS.get(anchor, ()):
        place = kind.find(text, at, own)
        if place is not None and (best is None or place[1] - place[0] > best[1] - best[0]):
            best = (*place, kind.name)
    return best


def _within(text: str, start: int, end: int) -> Found | None:
    """Return the longest credential of a known format in a part of a text."""
    inner = scan(text[start:end], names=False)
    left, right, kind = max(inner, key=lambda each: each[1] - each[0], default=(0, 0, ""))
    return (start + left, start + right, kind) if inner else None


_TOKEN: Final = re.compile(r"[^\s\"'`<>,;()\[\]{}|\\]+\Z")
_WORDS_OF: Final = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]")
_HEAD: Final = re.compile(r"(?=[\w~.-]*\d)[\w~.-]+\Z")
"""What may stand before the anchor of a kind that has a part there; there are digits in it."""

_UNFINISHED: Final = frozenset(anchor[:size] for anchor in _KINDS for size in range(1, len(anchor) + 1))


def begun_at(text: str, start: int) -> int:
    """Return from where on the last token of a text, not before ``start``, may be the beginning of a credential."""
    token = _TOKEN.search(text, start)
    if token is None:
        return len(text)
    for word in _WORDS_OF.finditer(text, token.start()):
        at = word.start()
        if text[at:] in _UNFINISHED:
            return at
        for expression in (_AT_WORD, _SIGN):
            match = expression.match(text, at)
            if match is not None and _anchor(match[0]):
                return token.start()
    head = _HEAD.search(text, token.start())
    return head.start() if head is not None else len(text)

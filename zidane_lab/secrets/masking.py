"""Put placeholders into texts where credentials stand, and credentials back where placeholders do."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from zidane_lab.secrets.known import SHORTEST
from zidane_lab.secrets.scan import scan
from zidane_lab.secrets.vault import PLACEHOLDER, Vault

__all__ = ["mask", "mask_json", "placeholders_in", "places", "unmask", "unmask_arguments"]

T = TypeVar("T")

_CUT: Final = re.compile(r"\[… [^\]\n]{0,600}…\]|…|\.\.\.")
"""Where something was left out; half a credential may stand on either side."""

_LONGEST_PART: Final = 600
_LINES: Final = re.compile(r"[^\n\r]+")


def mask(text: str, vault: Vault) -> str:
    """Return ``text`` with every credential replaced by its placeholder; the very same text if there is none.

    What is found by its format or its name is also found elsewhere in the text, and from then on. The result is
    masked already: masking it again changes nothing.
    """
    vault.refresh()
    if len(text) < SHORTEST and not vault.patterns:
        return text
    masked = _once(text, vault)
    # Two that stood side by side may each have hidden where the other ends: what has changed is looked at again.
    while masked is not text and not _is_settled(masked, vault):
        text, masked = masked, _once(masked, vault)
    return masked


def _is_settled(text: str, vault: Vault) -> bool:
    """Whether nothing more is found in the lines that hold placeholders."""
    touched = "\n".join(line for line in text.split("\n") if "[secret:" in line)
    return not places(touched, vault)


def places(text: str, vault: Vault, *, learn: bool = True) -> list[tuple[int, int, str]]:
    """Return where credentials stand in a text, in order, none within another, and what of one each is.

    Parameters
    ----------
    learn
        Look for what is found elsewhere too from now on; not for a text that is not complete.
    """
    free = _outside(text)
    found = [(start, end) for start, end, _ in scan(text) if free(start, end)]
    for start, end in found if learn else ():
        vault.learn(text[start:end])
    found += vault.known.find(text)
    found += [place for pattern in vault.patterns for place in _own(text, pattern)]
    known = [*((*each, "") for each in found), *((*each, "part") for each in _parts(text, vault))]
    return list(_joined(each for each in known if free(each[0], each[1]))) if known else []


def _own(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Return where a pattern of the person's own finds something; it looks at one line at a time."""
    group: str | int = "secret" if "secret" in pattern.groupindex else 0
    for line in _LINES.finditer(text):
        for match in pattern.finditer(line[0]):
            start, end = match.span(group)
            if 0 <= start < end:
                yield line.start() + start, line.start() + end


def _once(text: str, vault: Vault) -> str:
    pieces, at = [], 0
    for start, end, form in places(text, vault):
        pieces += [text[at:start], vault.hold(text[start:end], form=form)]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _outside(text: str) -> Callable[[int, int], bool]:
    """Return what tells whether a place is outside all placeholders: those are none themselves, whatever is in them."""
    taken = [match.span() for match in PLACEHOLDER.finditer(text)] if "[secret:" in text else []
    lefts = [left for left, _ in taken]

    def outside(start: int, end: int) -> bool:
        before = bisect_left(lefts, end) - 1  # the last placeholder that begins before the end
        return before < 0 or taken[before][1] <= start

    return outside


def _joined(found: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Join places that overlap."""
    last: tuple[int, int, str] | None = None
    for start, end, form in sorted(found, key=lambda each: (each[0], -each[1])):
        if last is not None and start < last[1]:
            last = (last[0], max(end, last[1]), last[2])
            continue
        if last is not None:
            yield last
        last = (start, end, form)
    if last is not None:
        yield last


def _parts(text: str, vault: Vault) -> list[tuple[int, int]]:
    """Return where the beginning of a known value stands before a cut, or the end of one behind it."""
    found: list[tuple[int, int]] = []
    for left, right in _cuts(text) if vault.known else ():
        if left and not text[left - 1].isspace():
            begin = vault.known.begun(text, max(0, left - _LONGEST_PART), left)
            found += [(begin, left)] if begin is not None else []
        if right < len(text) and not text[right].isspace():
            end = vault.known.ended(text, right, min(len(text), right + _LONGEST_PART))
            found += [(right, end)] if end is not None else []
    return found


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    """Return where something may be missing: at both ends of a text, and at every mark that says so."""
    yield 0, 0
    for match in _CUT.finditer(text):
        left, right = match.span()
        is_gap = right - left > len("...")  # it stands on a line of its own
        yield left - (is_gap and text.startswith("\n", left - 1)), right + (is_gap and text.startswith("\n", right))
    yield len(text), len(text)


_BINARY: Final = re.compile(r"(?:image/(?!svg)|audio/|video/|font/|application/(?:pdf|octet-stream|zip|gzip))")
"""Types whose data are base64 text in a bundle."""


def mask_json(value: T, vault: Vault) -> T:
    """Mask every text in JSON-like data, keys too; the very same object if there is nothing to mask.

    Pictures and other binary data of mime bundles are left alone.
    """
    return _walk(value, lambda text: mask(text, vault))  # type: ignore[no-any-return]  # of the same shape


def unmask(text: str, vault: Vault) -> str:
    """Put credentials back in the place of the placeholders whose values are known."""
    if "[secret:" not in text:
        return text
    return PLACEHOLDER.sub(lambda match: vault.value_of(match[0]) or match[0], text)


def unmask_arguments(arguments: Mapping[str, Any], vault: Vault) -> dict[str, Any]:
    """Do the same in the arguments of a call."""
    return dict(_walk(arguments, lambda text: unmask(text, vault)))


def placeholders_in(value: object) -> set[str]:
    """Return the placeholders in JSON-like data."""
    found: set[str] = set()

    def look(text: str) -> str:
        found.update(PLACEHOLDER.findall(text))
        return text

    _walk(value, look)
    return found


def _walk(value: Any, change: Any) -> Any:
    """Return data with ``change`` applied to every text; what it leaves alone stays the same object."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        changed = {
            _walk(key, change): each if isinstance(key, str) and _BINARY.match(key) else _walk(each, change)
            for key, each in value.items()
        }
        same = all(new is old for new, old in zip(changed, value, strict=False)) and len(changed) == len(value)
        return value if same and all(changed[key] is value[key] for key in value) else changed
    if isinstance(value, (list, tuple)):
        items = [_walk(each, change) for each in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return tuple(items) if isinstance(value, tuple) else items
    return value

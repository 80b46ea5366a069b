r"""Our own search engine. It runs in a process of its own, so that no pattern can hold up the kernel.

It gets a request as JSON and answers with one JSON line per file, match or neighbour. Besides the standard library only
:mod:`zidane_lab.tools.ignore` and what that needs are used: they are sent along, wherever a Python 3.11 can be started.

What it finds is what ripgrep finds: lines end with LF; UTF-16 is recognised by its mark, everything else is searched as
UTF-8 whose broken bytes match nothing; a file with a NUL byte is not text.
"""

from __future__ import annotations

import codecs
import functools
import json
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from zidane_lab.tools.ignore import ALWAYS_IGNORED, IgnoreRules, wildcard_regex
from zidane_lab.tools.reading.ordinary import open_ordinary

__all__ = ["Matcher", "expand", "main", "path_filter"]

_BLOCK: Final = 16 * 1_048_576
_WHOLE: Final = 256 * 1_048_576
"""A file up to this size is searched as one text, so that every line has its neighbours."""

_TABLE: Final = re.compile(r"\x00([bBwWdDsSpP])(?:\{(\w+)\})?")
_EDGES: Final = {
    "b": r"(?:(?<=[\x00w])(?![\x00w])|(?<![\x00w])(?=[\x00w]))",
    "B": r"(?:(?<=[\x00w])(?=[\x00w])|(?<![\x00w\ud800-\udfff])(?![\x00w\ud800-\udfff]))",
}
"""Word boundaries by the same tables as words."""
_WHITE: Final = (
    *((9, 9), (11, 13), (32, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
    *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)
"""White_Space of Unicode without the line feed."""

_LETTERLIKE: Final = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189), (0x200C, 0x200D))
"""Other_Alphabetic among symbols, and Join_Control: part of a word by UTS 18."""

_TURKISH: Final = {0x130: 0x295, 0x131: 0x294}
"""Python folds these to ``i``, Unicode's simple folding does not: letters without case stand for them in both."""

_WORD: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"})


def expand(source: str, *, ascii_only: bool = False, native: bool = False) -> str:
    """Put ranges in place of the classes that depend on Unicode's tables.

    Parameters
    ----------
    ascii_only
        The text is ASCII: its part of the tables is enough.
    native
        Python's own words are those of the tables, for all characters of the text.
    """

    def ranges(match: re.Match[str]) -> str:
        kind = match[1]
        if native and kind in "bBwd":
            return f"\\{kind}"
        if kind in "bB":
            return f"\\{kind}" if ascii_only else expand(_EDGES[kind].replace(r"\x00", "\0"))
        table = _table(kind.lower(), match[2] or "", ascii_only)
        return "".join(_written(low, high) for low, high in (table if kind.islower() else _others(table)))

    return _TABLE.sub(ranges, source)


@functools.cache
def _table(kind: str, name: str, ascii_only: bool) -> tuple[tuple[int, int], ...]:
    if kind == "s":
        return _WHITE
    limit = 128 if ascii_only else 0x110000
    wanted = {"w": _WORD, "d": frozenset({"Nd"})}.get(kind)
    codes = []
    for code in range(limit):
        category = unicodedata.category(chr(code))
        belongs = category.startswith(name) if wanted is None else category in wanted
        if belongs and code != 10 and not 0xD800 <= code < 0xE000:
            codes.append(code)
    found: list[list[int]] = []
    for code in codes:
        if found and code == found[-1][1] + 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    extra = _LETTERLIKE if kind == "w" and not ascii_only else ()
    return (*((low, high) for low, high in found), *extra)


def _others(ranges: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    start = 0
    for low, high in sorted([*ranges, (10, 10), (0xD800, 0xDFFF)]):
        if start < low:
            yield start, low - 1
        start = max(start, high + 1)
    if start <= 0x10FFFF:
        yield start, 0x10FFFF


def _written(low: int, high: int) -> str:
    return f"\\U{low:08x}-\\U{high:08x}"


@functools.cache
def _is_agreed(char: str) -> bool:
    """Whether Python takes a character for part of a word just where the tables do."""
    code = ord(char)
    listed = unicodedata.category(char) in _WORD or any(low <= code <= high for low, high in _LETTERLIKE)
    return (char.isalnum() or char == "_") == listed and not 0xD800 <= code < 0xE000


class Matcher:
    """Finds the lines of a text that match a pattern (as :class:`zidane_lab.tools.search.pattern.Pattern` has it)."""

    def __init__(self, python: str, *, ignore_case: bool, needed: str) -> None:
        if ignore_case:
            python = python.replace(r"\u0130", r"\u0295").replace(r"\u0131", r"\u0294")
        self._python, self._ignore_case = python, ignore_case
        self._flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
        self._needed = self._prefilter(needed)
        # Other letters in the pattern may fold to ASCII ones: the rules of ASCII alone would miss that.
        self._plain = re.search(r"\\[uU]|\\x[89a-f]", python.replace(r"\ud800-\udfff", "")) is None

    def _prefilter(self, needed: str) -> Callable[[bytes], bool]:
        if self._ignore_case:
            # Some capitals are not ASCII: the Kelvin sign is a K, the long s an S.
            if not needed or not needed.isascii() or set(needed.lower()) & {"k", "s"}:
                return lambda _data: True
            small = needed.lower().encode()
            return lambda data: small in data.lower()
        exact = needed.encode("utf-8", "surrogatepass")
        return lambda data: exact in data

    @functools.cached_property
    def _for_ascii(self) -> re.Pattern[str]:
        flags = self._flags | (re.ASCII if self._plain else 0)
        return re.compile(expand(self._python, ascii_only=True), flags)

    @functools.cached_property
    def _native(self) -> re.Pattern[str]:
        return re.compile(expand(self._python, native=True), self._flags)

    @functools.cached_property
    def _for_all(self) -> re.Pattern[str]:
        return re.compile(expand(self._python), self._flags)

    def _regex(self, text: str) -> re.Pattern[str]:
        """Return the fastest form that is right for all characters of the text."""
        if text.isascii():
            return self._for_ascii
        return self._native if all(map(_is_agreed, set(text))) else self._for_all

    def may_match(self, data: bytes) -> bool:
        """Whether these bytes (UTF-8) can hold a match at all; cheap."""
        return self._needed(data)

    def lines(self, text: str) -> Iterator[tuple[int, int, re.Match[str]]]:
        """Yield where each matching line starts and ends (before its LF), and its first match.

        Of a match that spans lines, these are all of them.
        """
        regex = self._regex(text)
        at, size = 0, len(text)
        searched = text.translate(_TURKISH) if self._ignore_case and not text.isascii() else text
        while at < size and (match := regex.search(searched, at)) is not None:
            start = text.rfind("\n", 0, match.start()) + 1
            if start >= size:  # an empty match behind the last LF: there is no line
                return
            end = text.find("\n", max(match.start(), match.end() - 1))
            end = size if end < 0 else end
            yield start, end, match
            at = end + 1


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    matcher = Matcher(request["python"], ignore_case=request["ignore_case"], needed=request["needed"])
    if request["task"] == "count":
        for answer in _counts(request, matcher):
            _say(answer)
            sys.stdout.flush()  # this process may be ended at any time
    else:
        for name, most in request["files"]:
            path = _joined(request["root"], name)
            for kind, *rest in _shown(path, matcher, most, around=request["around"], width=request["width"]):
                _say([kind, name, *rest])


def _say(answer: list[Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")


def _counts(request: dict[str, Any], matcher: Matcher) -> Iterator[list[Any]]:
    root, failed = request["root"], 0
    if stat.S_ISREG(os.stat(root).st_mode):  # noqa: PTH116 - texts throughout: this may be another machine
        names: Iterator[str] = iter([""])
    else:
        kept = frozenset(request["kept"])
        names = _files(root, ignored=request["ignored"], globs=path_filter(request["globs"]), kept=kept)
    for name in names:
        try:
            count = _matches(_joined(root, name), matcher, explicit=not name, spans=request["spans"])
        except OSError:
            failed += 1
            continue
        if count:
            yield ["count", name, count]
    if failed:
        yield ["failed", failed]
    yield ["done"]


def path_filter(patterns: list[str]) -> Callable[[str], bool]:
    """Return whether a relative path matches one of the patterns; all do where there are none."""
    compiled = [(b"/" in raw, regex) for raw in map(os.fsencode, patterns) if (regex := wildcard_regex(raw))]
    if not patterns:
        return lambda _name: True

    def wanted(name: str) -> bool:
        whole = os.fsencode(name)
        last = whole.rpartition(b"/")[2]
        return any(regex.fullmatch(whole if deep else last) for deep, regex in compiled)

    return wanted


def _files(root: str, *, ignored: bool, globs: Callable[[str], bool], kept: frozenset[str]) -> Iterator[str]:
    """Yield the ordinary files below a folder that are not ignored; links are not followed."""
    waiting = [(root, "", IgnoreRules() if ignored else IgnoreRules.at(Path(root)))]
    while waiting:
        folder, prefix, rules = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        inner = []
        for entry in found:
            if (not ignored and entry.name in ALWAYS_IGNORED) or f"{prefix}{entry.name}" in kept:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and not entry.is_file(follow_symlinks=False):
                continue
            if not ignored and rules.ignores(entry.path, is_folder=is_folder):
                continue
            if is_folder:
                inside = rules if ignored else rules.inside(Path(entry.path))
                inner.append((entry.path, f"{prefix}{entry.name}/", inside))
            elif globs(f"{prefix}{entry.name}"):
                yield f"{prefix}{entry.name}"
        waiting += reversed(inner)


def _matches(path: str, matcher: Matcher, *, explicit: bool, spans: bool) -> int:
    """Count the matching lines of a file, or the matches that span lines; a file that is not text has none."""
    count = 0
    with _opened(path) as handle:
        for data in _blocks(handle, _WHOLE if spans else _BLOCK, explicit=explicit):
            text = _readable(data, explicit=explicit)
            if text is None:
                return 0
            if isinstance(text, str) or matcher.may_match(text):
                decoded = text if isinstance(text, str) else _decoded(text)
                count += sum(1 for _ in matcher.lines(decoded))
    return count


def _opened(path: str) -> BinaryIO:
    return open(open_ordinary(path), "rb")  # noqa: PTH123 - a descriptor


def _blocks(handle: BinaryIO, size: int, *, explicit: bool) -> Iterator[bytes]:
    """Yield a file in pieces that end with whole lines; UTF-16 comes in one piece.

    A line is not read to its end where a NUL byte shows that it is none, unless the file was asked for by name.
    """
    first = handle.read(size)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield first + handle.read()
        return
    block = first.removeprefix(codecs.BOM_UTF8)
    while block:
        while not block.endswith(b"\n") and (explicit or b"\0" not in block) and (rest := handle.readline(size)):
            block += rest
        yield block
        block = handle.read(size)


def _readable(data: bytes, *, explicit: bool) -> bytes | str | None:
    """Return bytes of UTF-8, or the text of UTF-16; ``None`` for what is not text.

    In a file that was asked for by name NUL bytes end lines instead.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
        return None if "\0" in text and not explicit else text.replace("\0", "\n")
    if b"\0" in data:
        return data.replace(b"\0", b"\n") if explicit else None
    return data


def _decoded(data: bytes) -> str:
    return data.decode("ascii") if data.isascii() else data.decode("utf-8", "surrogateescape")


def _shown(path: str, matcher: Matcher, most: int, *, around: int, width: int) -> Iterator[tuple[Any, ...]]:
    """Yield the first ``most`` matching lines of a file and their neighbours, each cut to ``width`` characters."""
    number = 1
    with _opened(path) as handle:
        for data in _blocks(handle, _WHOLE, explicit=True):
            readable = _readable(data, explicit=True)
            text = readable if isinstance(readable, str) else _decoded(readable or b"")
            for line in _numbered(text, matcher, number, most, around):
                yield line[0], *_cut(line, width)
                most -= line[0] == "match"
            if most <= 0:
                return
            number += text.count("\n")


_Line = tuple[str, int, str, int, int]
"""Kind, number, text, and where the match starts and ends in it."""


def _numbered(text: str, matcher: Matcher, number: int, most: int, around: int) -> Iterator[_Line]:
    position, shown = 0, number - 1
    after = 0
    for start, end, match in matcher.lines(text):
        for each in _between(text, position, start, number, after):
            yield each
            shown = each[1]
        number += text.count("\n", position, start)
        yield from _before(text, start, number, min(around, number - 1 - shown))
        first, *others = text[start:end].split("\n")
        yield "match", number, first, match.start() - start, min(match.end() - start, len(first))
        for other in others:
            number += 1
            yield "near", number, other, 0, 0
        shown, position, after = number, min(end + 1, len(text)), around
        number += end < len(text)
        most -= 1
        if not most:
            break
    yield from _between(text, position, len(text), number, after)


def _between(text: str, start: int, end: int, number: int, most: int) -> Iterator[_Line]:
    """Yield up to ``most`` whole lines from ``start`` on."""
    while most and start < end:
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        yield "near", number, text[start:stop], 0, 0
        start, number, most = stop + 1, number + 1, most - 1


def _before(text: str, start: int, number: int, most: int) -> list[_Line]:
    """Return up to ``most`` lines that end just before ``start``, the line with this number."""
    found: list[_Line] = []
    while start > 0 and len(found) < most:
        previous = text.rfind("\n", 0, start - 1) + 1
        number -= 1
        found.append(("near", number, text[previous : start - 1], 0, 0))
        start = previous
    return found[::-1]


def _cut(line: _Line, width: int) -> tuple[int, str, int, int, int, int]:
    """Return number, a window of the text, the match in it, where the window starts, and the length of the line."""
    _, number, text, start, end = line
    text = text.removesuffix("\r")
    left = max(0, min(start - (width - min(end - start, width)) // 2, len(text) - width))
    shown = text[left : left + width]
    return number, shown, min(start - left, len(shown)), min(end - left, len(shown)), left, len(text)


def _joined(root: str, name: str) -> str:
    return f"{root.rstrip('/')}/{name}" if name else root

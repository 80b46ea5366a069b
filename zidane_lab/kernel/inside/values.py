"""Short literal forms of built-in values: our own bounded ``repr``.

:mod:`reprlib` would call ``__repr__`` of whatever it does not know and sort sets; here every level of a
container, every string and every number is bounded, subclasses are read through their built-in base, and
unknown objects stand as ``<type: gist>``.
"""

from __future__ import annotations

import array
import collections
import datetime as dt
import decimal
import fractions
import itertools
import pathlib
import re
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from zidane_lab.kernel.inside.privacy import hides, is_environment, without_passwords
from zidane_lab.kernel.inside.registry import find, gist
from zidane_lab.kernel.inside.static import class_attribute, label, root_of, subclass_of
from zidane_lab.kernel.inside.text import amount, clip, one_line

__all__ = ["CONTAINERS", "DEPTH", "HIDDEN", "SCALARS", "brief", "field_names", "number", "pairs"]

DEPTH = 3
"""Levels of nested containers that are shown."""

HIDDEN = "(hidden)"
_MOST = 12
"""Elements of a container shown on one line."""

_CLOSING = 14
"""Characters kept free to tell how many there are more."""

_Form = Callable[[Any, int, int], str]


def brief(value: object, width: int = 60, depth: int = DEPTH) -> str:
    """Return a value on one line of at most ``width`` characters.

    Built-in values appear as Python writes them, cut where long; everything else as ``<type: gist>``.
    """
    cls = type(value)
    form = _EXACT.get(id(cls))
    if form is None:
        form = find(cls)[1].form
    if form is not None:
        return clip(form(value, width, depth), width)
    words = gist(value, width) if depth > 0 else ""
    return clip(f"<{label(cls)}: {words}>" if words else f"<{label(cls)}>", width)


def number(value: object) -> str:
    """Return a number for people, six figures; anything else as :func:`brief` does."""
    if subclass_of(type(value), float):
        return float.__format__(value, ".6g")  # type: ignore[arg-type]
    return brief(value, 40)


def pairs(items: Iterable[tuple[object, object]], width: int, depth: int = 1) -> str:
    """Return ``name=value, …`` within ``width``; values of credentials are hidden."""
    parts: list[str] = []
    for name, value in items:
        shown = HIDDEN if hides(name, value) else brief(value, 40, depth - 1)
        parts.append(f"{one_line(name, 40) if type(name) is str else brief(name, 40, 0)}={shown}")
        if sum(map(len, parts)) > width:
            break
    return clip(", ".join(parts), width)


def field_names(cls: type) -> tuple[str, ...]:
    """Return the field names of a named tuple's class; empty for others."""
    names = class_attribute(cls, "_fields")
    return names if type(names) is tuple and all(type(name) is str for name in names) else ()


# --- numbers, text and other scalars --------------------------------------------------------------


def _int(value: Any, *_: int) -> str:
    bits = int.bit_length(value)
    # Writing out a huge integer costs quadratic time, and Python itself refuses it beyond 4,300 digits.
    return int.__repr__(value) if bits <= 256 else f"(integer of about {amount(bits * 1233 // 4096 + 1, 'digit')})"


def _float(value: Any, *_: int) -> str:
    return float.__repr__(value)


def _complex(value: Any, *_: int) -> str:
    return complex.__repr__(value)


def _str(value: Any, width: int, *_: int) -> str:
    length = str.__len__(value)
    text = str.__getitem__(value, slice(0, width + 400))
    text = without_passwords(text)
    whole = repr(text) if length <= width + 400 else ""
    if whole and len(whole) <= width:
        return whole
    tail = f"…[{amount(length, 'character')}]"
    start = repr(text[: max(width, 0)])
    return start[: max(width - len(tail) - 1, 1)] + start[0] + tail


def _bytes(value: Any, width: int, *_: int) -> str:
    base = bytes if subclass_of(type(value), bytes) else bytearray
    length = base.__len__(value)
    text = repr(bytes(base.__getitem__(value, slice(0, max(width, 0)))))
    if length <= width and len(text) <= width:
        return text
    tail = f"…[{amount(length, 'byte')}]"
    return text[: max(width - len(tail) - 1, 2)] + "'" + tail


def _memoryview(value: Any, *_: int) -> str:
    return f"<memoryview of {amount(value.nbytes, 'byte')}>"


def _decimal(value: Any, *_: int) -> str:
    # Its size in memory tells the digits (about 2.4 a byte) without writing them out.
    size = decimal.Decimal.__sizeof__(value)
    if size > 200:
        return f"(decimal number of {amount(size, 'byte')})"
    return f"Decimal('{decimal.Decimal.__str__(value)}')"


def _fraction(value: Any, *_: int) -> str:
    slots = fractions.Fraction.__dict__
    parts = [slots[name].__get__(value) for name in ("_numerator", "_denominator")]
    return f"Fraction({', '.join(brief(part, 40, 0) for part in parts)})"


def _known_zone(zone: object) -> bool:
    """Whether asking a time zone for its offset runs no unknown code."""
    return zone is None or type(zone) is dt.timezone or root_of(type(zone)) in {"zoneinfo", "pytz", "dateutil"}


def _datetime(value: Any, *_: int) -> str:
    if _known_zone(dt.datetime.tzinfo.__get__(value)):
        return dt.datetime.isoformat(value, " ")
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    bare = dt.datetime(*(getattr(dt.datetime, name).__get__(value) for name in names))  # noqa: DTZ001 — its zone is unknown code
    return f"{bare.isoformat(' ')} (time zone not asked)"


def _date(value: Any, *_: int) -> str:
    return dt.date.isoformat(value)


def _time(value: Any, *_: int) -> str:
    if _known_zone(dt.time.tzinfo.__get__(value)):
        return dt.time.isoformat(value)
    return "(time with a time zone of its own)"


def _timedelta(value: Any, *_: int) -> str:
    return dt.timedelta.__str__(value)


def _uuid(value: Any, *_: int) -> str:
    return f"UUID(int={uuid.UUID.__dict__['int'].__get__(value):#x})" if type(value) is not uuid.UUID else repr(value)


def _path(value: Any, width: int, *_: int) -> str:
    if id(type(value)) not in _EXACT:
        return f"<{label(type(value))}>"
    return f"{label(type(value)).rpartition('.')[2]}({brief(str(value), width, 0)})"


def _pattern(value: Any, width: int, *_: int) -> str:
    return f"re.compile({brief(value.pattern, width - 12, 0)})"


def _range(value: Any, *_: int) -> str:
    parts = (value.start, value.stop) if value.step == 1 else (value.start, value.stop, value.step)
    return f"range({', '.join(brief(part, 40, 0) for part in parts)})"


def _slice(value: Any, *_: int) -> str:
    return f"slice({', '.join(brief(part, 40, 0) for part in (value.start, value.stop, value.step))})"


def _singleton(value: Any, *_: int) -> str:
    return "None" if value is None else "Ellipsis" if value is ... else "NotImplemented"


def _bool(value: Any, *_: int) -> str:
    return "True" if value else "False"


SCALARS: dict[type, _Form] = {
    int: _int,
    bool: _bool,
    float: _float,
    complex: _complex,
    str: _str,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _memoryview,
    decimal.Decimal: _decimal,
    fractions.Fraction: _fraction,
    dt.datetime: _datetime,
    dt.date: _date,
    dt.time: _time,
    dt.timedelta: _timedelta,
    uuid.UUID: _uuid,
    re.Pattern: _pattern,
    range: _range,
    slice: _slice,
    type(None): _singleton,
    type(...): _singleton,
    type(NotImplemented): _singleton,
}

for _cls in (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath):
    SCALARS[_cls] = _path


# --- containers -----------------------------------------------------------------------------------


def _sequence(base: Any, left: str, right: str) -> _Form:
    """Return the form of a container that is read through its built-in ``base``."""

    def form(value: Any, width: int, depth: int) -> str:
        length = base.__len__(value)
        start, end = _owner(value, base) + left, right
        if not length and base is set:
            return "set()"
        if length and depth <= 0:
            return f"{start}…{length:,}{end}"
        parts: list[str] = []
        room = width - len(start) - len(end) - (_CLOSING if length > _MOST else 0)
        for item in list(itertools.islice(base.__iter__(value), _MOST)):
            parts.append(brief(item, max(min(room, 60), 8), depth - 1))
            room -= len(parts[-1]) + 2
            if room < 8:
                break
        if length > len(parts):
            parts.append(f"… {length - len(parts):,} more")
        elif base is tuple and length == 1:
            end = "," + end
        return start + ", ".join(parts) + end

    return form


def _owner(value: object, base: type) -> str:
    """Return the class's name where it is not the plain built-in."""
    cls = type(value)
    return "" if cls is base and base in _PLAIN else label(cls).rpartition(".")[2]


def _tuple(value: Any, width: int, depth: int) -> str:
    names = field_names(type(value))
    if not names:
        return _plain_tuple(value, width, depth)
    name = label(type(value)).rpartition(".")[2]
    if depth <= 0:
        return f"{name}(…)"
    items = list(itertools.islice(tuple.__iter__(value), len(names)))
    pairs_of = [(names[i], item) for i, item in enumerate(items)]
    return f"{name}({pairs(pairs_of, width - len(name) - 2, depth)})"


def _mapping(value: Any, width: int, depth: int) -> str:
    length = dict.__len__(value)
    start = _owner(value, dict) + "{"
    if is_environment(value):
        return f"{start}names of an environment: {length:,}}}"
    if length and depth <= 0:
        return f"{start}…{length:,}}}"
    parts: list[str] = []
    room = width - len(start) - 1 - (_CLOSING if length > _MOST else 0)
    for key, item in list(itertools.islice(dict.items(value), _MOST)):
        shown = HIDDEN if hides(key, item) else brief(item, max(min(room - 10, 60), 8), depth - 1)
        parts.append(f"{brief(key, 40, depth - 1)}: {shown}")
        room -= len(parts[-1]) + 2
        if room < 12:
            break
    if length > len(parts):
        parts.append(f"… {length - len(parts):,} more")
    return start + ", ".join(parts) + "}"


_PLAIN = (list, tuple, dict, set)
_plain_tuple = _sequence(tuple, "(", ")")

CONTAINERS: dict[type, _Form] = {
    list: _sequence(list, "[", "]"),
    tuple: _tuple,
    dict: _mapping,
    set: _sequence(set, "{", "}"),
    frozenset: _sequence(frozenset, "({", "})"),
    collections.deque: _sequence(collections.deque, "([", "])"),
    array.array: _sequence(array.array, "([", "])"),
}

_view: type
for _view in (type({}.keys()), type({}.values()), type({}.items())):
    CONTAINERS[_view] = _sequence(_view, "([", "])")

_EXACT: dict[int, _Form] = {id(cls): form for cls, form in [*SCALARS.items(), *CONTAINERS.items()]}

"""Describers of built-in values: numbers, text, and containers.

Subclasses are read through their built-in base, so a method they override never runs; elements are shown
by :func:`~zidane_lab.kernel.inside.values.brief`, so neither does a method of theirs.
"""

from __future__ import annotations

import array
import collections
import enum
import gc
import itertools
import os
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from zidane_lab.kernel.inside.privacy import hides, is_environment, without_passwords
from zidane_lab.kernel.inside.registry import LINE, Describer, register_name, register_type
from zidane_lab.kernel.inside.static import MISSING, instance_dict, label, own, subclass_of
from zidane_lab.kernel.inside.text import Page, amount, clip, listing, megabytes, plain
from zidane_lab.kernel.inside.values import CONTAINERS, DEPTH, HIDDEN, SCALARS, brief, field_names, pairs

__all__ = ["element_types", "register_containers"]

_HEAD = 1000
"""Elements whose types are counted."""

_SHORT = 80
"""Characters of a text that is shown on the first line."""


def register_containers() -> None:
    """Register the built-in types, ``os.environ`` and the types that wrap a mapping."""
    for cls, form in SCALARS.items():
        register_type(cls, Describer(_literal_gist(form), form=form))
    register_type(str, Describer(_literal_gist(SCALARS[str]), _text_lines, SCALARS[str], _text_title))
    for binary in (bytes, bytearray):
        register_type(binary, Describer(_literal_gist(SCALARS[binary]), _bytes_lines, SCALARS[binary]))
    for cls, form in CONTAINERS.items():
        lines = _mapping_lines if cls is dict else _sequence_lines(cls)
        register_type(cls, Describer(_container_gist(cls, form), lines, form, _count(cls)))
    register_type(types.MappingProxyType, Describer(_proxy_gist, _proxy_lines))
    register_type(type(os.environ), Describer(_environ_gist, _environ_lines))
    for member in (enum.Enum, enum.Flag):
        register_type(member, Describer(_literal_gist(_enum_form), form=_enum_form), first=True)
    register_name("pydantic.SecretStr", Describer(_hidden_gist))
    register_name("pydantic.SecretBytes", Describer(_hidden_gist))
    register_name("pydantic.Secret", Describer(_hidden_gist))


def element_types(items: Iterable[object], most: int = 6) -> str:
    """Count the types of some elements, most frequent first: ``900 str, 100 NoneType``."""
    # Counted by identity, since hashing a class may run code of its metaclass.
    kinds = [type(item) for item in items]
    counts = collections.Counter(map(id, kinds))
    names = {id(kind): kind for kind in kinds}
    parts = [f"{count:,} {label(names[key])}" for key, count in counts.most_common(most)]
    return ", ".join(parts) + (", …" if len(counts) > most else "")


def _literal_gist(form: Callable[[Any, int, int], str]) -> Callable[[Any], str]:
    def gist_of(value: Any) -> str:
        return form(value, LINE - 20, DEPTH)

    return gist_of


def _container_gist(base: Any, form: Callable[[Any, int, int], str]) -> Callable[[Any], str]:
    def gist_of(value: Any) -> str:
        if base is tuple and field_names(type(value)):
            return pairs(_fields(value), LINE - 20)
        length = base.__len__(value)
        return f"{amount(length, 'item')}: {form(value, LINE - 40, 2)}" if length else "empty"

    return gist_of


def _count(base: Any) -> Callable[[Any], str]:
    def title(value: Any) -> str:
        length = base.__len__(value)
        return amount(length, "item") if length else "empty"

    return title


def _fields(value: Any) -> list[tuple[object, object]]:
    names = field_names(type(value))
    return [(names[i], item) for i, item in enumerate(itertools.islice(tuple.__iter__(value), len(names)))]


# --- text and bytes -------------------------------------------------------------------------------


def _text_title(value: Any) -> str:
    length = str.__len__(value)
    return amount(length, "character") if length > _SHORT else brief(value, LINE - 10)


def _text_lines(value: Any, page: Page) -> Iterator[str]:
    length = str.__len__(value)
    if length <= _SHORT:
        return
    head = str.__getitem__(value, slice(0, max(page.room - 40, 0)))
    shown = without_passwords(head)
    # An empty line would be left out of the page.
    yield from (line or " " for line in plain(shown.replace("\r\n", "\n")).split("\n"))
    if len(head) < length:
        yield f"… {amount(length - len(head), 'more character')}"


def _bytes_lines(value: Any, _page: Page) -> Iterator[str]:
    size = (bytes if subclass_of(type(value), bytes) else bytearray).__len__(value)
    if size > _SHORT:
        yield f"{amount(size, 'byte')} ({megabytes(size)})"


# --- sequences and mappings -----------------------------------------------------------------------


def _sequence_lines(base: Any) -> Callable[[Any, Page], Iterator[str]]:
    def lines(value: Any, page: Page) -> Iterator[str]:
        length = base.__len__(value)
        named = dict(enumerate(field_names(type(value)))) if base is tuple else {}
        items = list(itertools.islice(base.__iter__(value), min(length, max(page.room // 4, _HEAD), 100_000)))
        if base is array.array:
            yield f"typecode {value.typecode!r}, {megabytes(length * value.itemsize)}"
        elif length > 1 and not named:
            head = items[:_HEAD]
            yield f"types{'' if len(head) == length else f' of the first {len(head):,}'}: {element_types(head)}"
        ordered = base in {list, tuple, collections.deque, array.array}
        marks = (named.get(i, f"[{i}]") if ordered else "-" for i in itertools.count())
        rows = (f"  {next(marks)} {_shown(named.get(i), item)}" for i, item in enumerate(items))
        yield from listing(page, rows, length, "item")

    return lines


def _shown(name: object, item: object) -> str:
    return HIDDEN if hides(name, item) else brief(item, LINE - 20)


def _mapping_lines(value: Any, page: Page) -> Iterator[str]:
    length = dict.__len__(value)
    items = list(itertools.islice(dict.items(value), min(length, max(page.room // 4, _HEAD), 100_000)))
    if is_environment(value):
        yield from _names_only((key for key, _ in items), length, page)
        return
    if length > 1:
        head = items[:_HEAD]
        of = "" if len(head) == length else f" of the first {len(head):,}"
        yield f"keys{of}: {element_types(key for key, _ in head)}; values: {element_types(item for _, item in head)}"
    factory = own(value, "default_factory")
    if factory is not MISSING and factory is not None:
        yield f"missing keys: {brief(factory)}"
    rows = (f"  {brief(key, 60, 1)}: {_shown(key, item)}" for key, item in items)
    yield from listing(page, rows, length, "entry", plural="entries")


def _names_only(names: Iterable[object], total: int, page: Page) -> Iterator[str]:
    yield "An environment: names only, values are not shown."
    yield from listing(page, (f"  {brief(name, 80, 0)}" for name in names), total, "name")


def _environ_names(value: Any) -> list[object]:
    """Return the names in ``os.environ`` from the dictionary inside it (bytes on POSIX)."""
    data = (instance_dict(value) or {}).get("_data")
    names = list(dict.keys(data)) if type(data) is dict else []
    return [os.fsdecode(name) if type(name) is bytes else name for name in names]


def _environ_gist(value: Any) -> str:
    return f"{amount(len(_environ_names(value)), 'name')} of the environment, values not shown"


def _environ_lines(value: Any, page: Page) -> Iterator[str]:
    names = _environ_names(value)
    yield from _names_only(names, len(names), page)


def _inner(value: Any) -> Any:
    """Return the mapping a read-only view wraps; asking the view would ask the mapping."""
    found = gc.get_referents(value)
    return found[0] if len(found) == 1 else None


def _proxy_gist(value: Any) -> str:
    return f"read-only view of {brief(_inner(value), LINE - 40, 2)}"


def _proxy_lines(value: Any, page: Page) -> Iterator[str]:
    inner = _inner(value)
    if type(inner) is dict:
        yield from _mapping_lines(inner, page)


# --- enumerations and secrets ---------------------------------------------------------------------


def _enum_form(value: Any, width: int, *_: int) -> str:
    held = instance_dict(value) or {}
    cls = label(type(value)).rpartition(".")[2]
    name = held.get("_name_")
    shown = f"{cls}.{clip(name, 60)}" if type(name) is str else cls
    return clip(f"<{shown}: {brief(held.get('_value_'), 40, 0)}>", width)


def _hidden_gist(_value: Any) -> str:
    return HIDDEN

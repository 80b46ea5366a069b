"""What a piece of code did to the names of a namespace: created, changed, deleted.

A name counts as changed when it is bound to another object (unless both are equal small values), when the
cheap mark of its object differs (:mod:`.fingerprints`), or when the code clearly mutates it
(:mod:`.mutations`). What none of the three sees, a deep change through a function call, is not reported.
"""

from __future__ import annotations

import weakref
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from zidane_lab.kernel.inside.fingerprints import fingerprint
from zidane_lab.kernel.inside.mutations import mutates, mutations
from zidane_lab.kernel.inside.names import user_items
from zidane_lab.kernel.inside.static import exactly

__all__ = ["Changes", "Snapshot", "compare", "snapshot"]

_IMMUTABLE = frozenset(map(id, (int, float, complex, str, bytes, bool, type(None), tuple, frozenset, range)))
"""Types whose objects never change, by identity: hashing a class may run code of its metaclass."""

_SMALL = 1000
"""Longest text or largest number of bits compared by value."""


@dataclass(frozen=True)
class Entry:
    """One name before the code: how to reach its object, and the mark of its state.

    The object is held weakly where its type allows, so that a snapshot keeps no large table alive that the
    code lets go of; a dead reference cannot be mistaken for a new object at the same address. What has no weak
    references (built-in values and containers) is held.
    """

    target: Any
    weak: bool
    mark: object

    def get(self) -> Any:
        """Return the object, or ``None`` when it is gone."""
        return self.target() if self.weak else self.target


@dataclass(frozen=True)
class Snapshot:
    """The user's names at one moment."""

    entries: Mapping[str, Entry]
    hidden: Container[str] = ()


@dataclass(frozen=True)
class Changes:
    """Names of the user's, sorted."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


def snapshot(namespace: Mapping[str, Any], hidden: Container[str] = ()) -> Snapshot:
    """Note the user's names and the marks of their objects.

    Parameters
    ----------
    namespace
        The kernel's global names.
    hidden
        Names that are not the user's; remembered for :func:`compare`.
    """
    return Snapshot({name: _entry(value) for name, value in user_items(namespace, hidden)}, hidden)


def _entry(value: Any) -> Entry:
    if id(type(value)) in _IMMUTABLE:
        return Entry(value, weak=False, mark=None)
    try:
        return Entry(weakref.ref(value), weak=True, mark=_mark(value))
    except TypeError:
        return Entry(value, weak=False, mark=_mark(value))


def _mark(value: Any) -> object:
    try:
        return fingerprint(value)
    except Exception as error:  # noqa: BLE001 — an object that cannot be marked must not stop the cell
        return type(error).__name__


def compare(before: Snapshot, namespace: Mapping[str, Any], code: str = "") -> Changes:
    """Return what has changed since a snapshot.

    Parameters
    ----------
    before
        What :func:`snapshot` returned.
    namespace
        The same namespace, now.
    code
        What ran in between, for in-place changes that leave no mark.
    """
    now = dict(user_items(namespace, before.hidden))
    old = before.entries
    touched = _touched(now, code)
    changed = [
        name for name, value in now.items() if name in old and (id(value) in touched or _differs(old[name], value))
    ]
    return Changes(
        created=tuple(sorted(name for name in now if name not in old)),
        changed=tuple(sorted(changed)),
        deleted=tuple(sorted(name for name in old if name not in now)),
    )


def _touched(now: Mapping[str, Any], code: str) -> set[int]:
    """Return identities of the objects the code clearly mutates: every name of such an object has changed."""
    found: set[int] = set()
    for mutation in mutations(code):
        value = now.get(mutation.name)
        if id(type(value)) in _IMMUTABLE:
            continue
        if mutation.method is None or mutates(value, mutation.method):
            found.add(id(value))
    return found


def _differs(entry: Entry, value: Any) -> bool:
    """Whether a name is bound to another object, or to one in another state."""
    earlier = entry.get()
    if earlier is value:
        return id(type(value)) not in _IMMUTABLE and entry.mark != _mark(value)
    return not _same_constant(earlier, value)


def _same_constant(left: Any, right: Any, depth: int = 2) -> bool:
    """Whether two objects are equal small constants, so that binding one for the other changes nothing."""
    if type(left) is not type(right):
        return False
    if exactly(type(left), (str, bytes)):
        return len(left) <= _SMALL and bool(left == right)
    if exactly(type(left), (int, bool)):
        return left.bit_length() <= _SMALL and bool(left == right)
    if exactly(type(left), (float, complex)):
        return repr(left) == repr(right)  # also for nan, and it tells -0.0 from 0.0
    if type(left) is tuple and depth:
        return len(left) == len(right) <= 16 and all(
            _same_constant(left[i], right[i], depth - 1) for i in range(len(left))
        )
    return left is right

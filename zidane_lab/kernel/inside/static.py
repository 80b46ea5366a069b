"""Looking at objects without running a line of their code.

``isinstance``, ``getattr``, ``vars``, ``cls.__mro__`` and even hashing a class may run code of the object, of
its class or of its metaclass. What is used here goes through the slots of :class:`type` and through the
C-level descriptors that Python itself made for ``__dict__`` and ``__slots__``, so nothing can be overridden.
The idea is :func:`inspect.getattr_static`'s; that function still trusts ``__dict__`` of the instance.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from typing import Any

from zidane_lab.kernel.inside.text import one_line

__all__ = [
    "MISSING",
    "attributes",
    "class_attribute",
    "class_dict",
    "exactly",
    "full_name",
    "instance_dict",
    "is_genuine",
    "label",
    "module_name",
    "mro",
    "own",
    "qualified_name",
    "root_of",
    "subclass_of",
]

MISSING: Any = type("Missing", (), {"__doc__": "Stands for an attribute that is not there.", "__slots__": ()})()

# Modules keep theirs in a member, everything else behind a getter made by Python.
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)
_BARE = frozenset({"", "builtins", "__main__", "types"})
_mro = type.__dict__["__mro__"].__get__
_dict = type.__dict__["__dict__"].__get__
_module = type.__dict__["__module__"].__get__
_qualname = type.__dict__["__qualname__"].__get__


def mro(cls: type) -> tuple[type, ...]:
    """Return the real method resolution order of a class."""
    order: tuple[type, ...] = _mro(cls)
    return order


def class_dict(cls: type) -> Any:
    """Return the read-only view of the class's own attributes."""
    return _dict(cls)


def module_name(cls: type) -> str:
    """Return the name of the module a class says it was defined in, or ``""``."""
    name = _module(cls)
    return name if type(name) is str else ""


def qualified_name(cls: type) -> str:
    """Return the class's qualified name inside its module."""
    name = _qualname(cls)
    return name if type(name) is str else str.__str__(name)


def full_name(cls: type) -> str:
    """Return ``module.qualname``."""
    return f"{module_name(cls)}.{qualified_name(cls)}"


def root_of(cls: type) -> str:
    """Return the top-level package of a class: ``pandas`` for ``pandas.core.frame.DataFrame``."""
    return module_name(cls).partition(".")[0]


def label(cls: type) -> str:
    """Return the short name of a class for people: ``DataFrame`` of pandas is ``pandas.DataFrame``."""
    root, name = root_of(cls), qualified_name(cls)
    if "<locals>." in name:
        name = name.rpartition("<locals>.")[2]
    if root not in _BARE:
        name = f"{root}.{name}"
    return name if len(name) <= 80 and name.isprintable() else one_line(name, 80)


def subclass_of(cls: type, base: type) -> bool:
    """Whether ``base`` is in the real method resolution order (``isinstance`` would ask ``__class__``)."""
    return any(entry is base for entry in mro(cls))


def exactly(cls: type, kinds: Iterable[type]) -> bool:
    """Whether ``cls`` is one of ``kinds``; ``in`` would ask the metaclass whether they are equal."""
    return any(cls is kind for kind in kinds)


def is_genuine(cls: type) -> bool:
    """Whether the module a class names really holds it under its name, so that it is what it says it is."""
    module = sys.modules.get(module_name(cls))
    names = instance_dict(module) if module is not None else None
    return names is not None and names.get(qualified_name(cls), MISSING) is cls


def class_attribute(cls: type, name: str) -> Any:
    """Return what a class or its bases hold under ``name``, unbound and uncalled, or ``MISSING``."""
    for entry in mro(cls):
        found = _dict(entry).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def instance_dict(obj: object) -> dict[str, Any] | None:
    """Return the object's own ``__dict__``, or ``None`` where it has none of the ordinary kind."""
    descriptor = class_attribute(type(obj), "__dict__")
    if not exactly(type(descriptor), _DESCRIPTORS):
        return None
    try:
        found = descriptor.__get__(obj)
    except (AttributeError, TypeError):
        return None
    if type(found) is dict:
        return found
    return dict(dict.items(found)) if subclass_of(type(found), dict) else None


def own(obj: object, name: str) -> Any:
    """Return an attribute the object itself stores, in its ``__dict__`` or a slot; else ``MISSING``."""
    names = instance_dict(obj)
    if names is not None and name in names:
        return names[name]
    slot = class_attribute(type(obj), name)
    if type(slot) is types.MemberDescriptorType:
        return _slot_value(slot, obj)
    return MISSING


def attributes(obj: object) -> dict[str, Any]:
    """Return all attributes the object itself stores: slots first, then its ``__dict__``; only named by strings."""
    found: dict[str, Any] = {}
    for entry in mro(type(obj)):
        for name, slot in list(_dict(entry).items()):
            if type(slot) is types.MemberDescriptorType and not name.startswith("__") and name not in found:
                value = _slot_value(slot, obj)
                if value is not MISSING:
                    found[name] = value
    stored = list((instance_dict(obj) or {}).items())
    return {**found, **{name: value for name, value in stored if type(name) is str}}


def _slot_value(slot: Any, obj: object) -> Any:
    """Read one slot; unset ones are missing."""
    try:
        return slot.__get__(obj)
    except (AttributeError, TypeError):
        return MISSING

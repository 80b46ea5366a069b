"""Classes that notice being touched: everything Python lets a class intercept counts the access and raises."""

from __future__ import annotations

import sys
import types
from typing import Any

TOUCHED: list[str] = []
"""What was called, in order."""

_DUNDERS = (
    *("__repr__", "__str__", "__format__", "__bytes__", "__len__", "__length_hint__", "__iter__", "__next__"),
    *("__reversed__", "__contains__", "__getitem__", "__setitem__", "__missing__", "__bool__", "__int__", "__float__"),
    *("__index__", "__complex__", "__hash__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__call__"),
    *("__add__", "__radd__", "__sizeof__", "__dir__", "__getstate__", "__reduce_ex__", "__fspath__", "__array__"),
    *("__array_interface__", "__array_ufunc__", "__dataframe__", "__rich_repr__", "_repr_html_", "_repr_mimebundle_"),
    *("_ipython_display_", "__await__", "__aiter__", "__anext__", "__enter__", "__round__", "__copy__", "__deepcopy__"),
)


def touch(name: str) -> None:
    TOUCHED.append(name)
    raise RuntimeError(f"touched {name}")


def _method(name: str) -> Any:
    def method(*_: object, **__: object) -> object:
        return touch(name)

    return method


def _property(name: str) -> Any:
    return property(lambda _self: touch(name))


def _getattribute(self: object, name: str) -> object:
    return touch(f"__getattribute__({name})")


class _Meta(type):
    """A metaclass that is as hostile as the class."""

    def __getattribute__(cls, name: str) -> object:
        return touch(f"metaclass.{name}")

    def __hash__(cls) -> int:
        touch("metaclass.__hash__")
        return 0

    def __eq__(cls, other: object) -> bool:
        touch("metaclass.__eq__")
        return False

    def __instancecheck__(cls, instance: object) -> bool:
        touch("metaclass.__instancecheck__")
        return False

    def __subclasscheck__(cls, subclass: type) -> bool:
        touch("metaclass.__subclasscheck__")
        return False

    def __repr__(cls) -> str:
        touch("metaclass.__repr__")
        return ""

    def __iter__(cls) -> Any:
        touch("metaclass.__iter__")

    def __len__(cls) -> int:
        touch("metaclass.__len__")
        return 0


def _body(**more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {name: _method(name) for name in _DUNDERS}
    body |= {name: _property(name) for name in ("shape", "dtype", "columns", "name", "value", "T", "size", "__class__")}
    body |= {"__getattr__": _getattribute, "__getattribute__": _getattribute, "__doc__": _property("__doc__")}
    return body | more


def hostile_class(name: str = "Hostile", bases: tuple[type, ...] = (), *, meta: type = type, **more: Any) -> type:
    """Make a class whose instances must not be touched."""
    return meta(name, bases, _body(__module__=__name__, **more))


def hostile_objects() -> dict[str, object]:
    """Return one of each kind of hostile object, built without touching them."""
    plain = hostile_class()
    with_meta = hostile_class("Guarded", meta=_Meta)
    slotted = hostile_class("Slotted", __slots__=("a",))
    liar = hostile_class("Liar", __dict__=_property("__dict__"))
    made: dict[str, object] = {
        "object": object.__new__(plain),
        "metaclass": object.__new__(with_meta),
        "class": plain,
        "class with metaclass": with_meta,
        "slots": object.__new__(slotted),
        "a property named __dict__": object.__new__(liar),
    }
    for base, filled in ((dict, {"a": 1}), (list, [1, 2]), (tuple, (1, 2)), (set, {1}), (str, "text"), (bytes, b"b")):
        cls = hostile_class(f"Hostile{base.__name__}", (base,))
        made[base.__name__] = base.__new__(cls, filled) if base not in (dict, list, set) else base.__new__(cls)
    for base, value in ((int, 5), (float, 1.5), (complex, 1j)):
        made[base.__name__] = base.__new__(hostile_class(f"Hostile{base.__name__}", (base,)), value)
    dict.update(made["dict"], {"key": 1})  # type: ignore[arg-type]
    list.extend(made["list"], [1, 2])  # type: ignore[arg-type]
    made["exception"] = BaseException.__new__(hostile_class("HostileError", (Exception,)), "message")
    made["module"] = types.ModuleType.__new__(hostile_class("LazyModule", (types.ModuleType,)), "lazy")
    made["dict of hostile keys and values"] = _dict_of(plain)
    made["list of hostile"] = [object.__new__(plain), object.__new__(with_meta)]
    return made


def _dict_of(cls: type) -> dict[Any, Any]:
    """Build a dictionary with keys that may be hashed once, and never again."""
    allowed = [True]

    def hash_once(self: object) -> int:
        return 1 if allowed[0] else touch("__hash__")  # type: ignore[return-value]

    key = object.__new__(hostile_class("Key", __hash__=hash_once))
    found = {key: object.__new__(cls)}
    allowed[0] = False
    return found


def impostor(root: str, name: str) -> object:
    """Return an object of a hostile class that claims to be ``root.name`` of a package."""
    cls = hostile_class(name)
    type.__setattr__(cls, "__module__", root)
    return object.__new__(cls)


def fake_package(monkeypatch: Any, module: str, **classes: type) -> types.ModuleType:
    """Put a module into ``sys.modules`` that really holds classes, as an installed package would."""
    made = types.ModuleType(module)
    for name, cls in classes.items():
        type.__setattr__(cls, "__module__", module)
        type.__setattr__(cls, "__qualname__", name)
        setattr(made, name, cls)
    monkeypatch.setitem(sys.modules, module, made)
    return made

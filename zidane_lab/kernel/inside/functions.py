"""Describers of code: functions, methods, classes, modules, generators; all by static lookup.

Annotations are shown only as they were stored: since Python 3.14 asking a function for them runs code.
"""

from __future__ import annotations

import enum
import functools
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

from zidane_lab.kernel.inside.registry import CODE, Describer, problem, register_type
from zidane_lab.kernel.inside.static import (
    MISSING,
    class_attribute,
    class_dict,
    exactly,
    instance_dict,
    label,
    module_name,
    mro,
    qualified_name,
    subclass_of,
)
from zidane_lab.kernel.inside.text import Page, amount, clip, first_line, join, listing, one_line
from zidane_lab.kernel.inside.values import brief

__all__ = ["method_names", "place", "property_names", "register_functions", "signature"]


def register_functions() -> None:
    """Register the types of functions, methods, classes, modules, generators and exceptions."""
    function = Describer(signature, _function_lines, rank=CODE)
    register_type(types.FunctionType, function)
    register_type(types.MethodType, Describer(_method_gist, _method_lines, rank=CODE))
    for cls in (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType):
        register_type(cls, Describer(_builtin_gist, _builtin_lines, rank=CODE))
    register_type(functools.partial, Describer(_partial_gist, rank=CODE))
    # First, since a metaclass may belong to a package that is described as a whole.
    register_type(type, Describer(_class_gist, _class_lines, rank=CODE), first=True)
    register_type(types.ModuleType, Describer(_module_gist, _module_lines, rank=CODE))
    for suspended in (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType):
        register_type(suspended, Describer(_generator_gist))
    register_type(BaseException, Describer(_exception_gist, _exception_lines))


# --- functions ------------------------------------------------------------------------------------


def signature(function: Any) -> str:
    """Return ``name(parameters) -> annotation`` from the code object; nothing of the function is called."""
    code = function.__code__
    hints = function.__annotations__ if sys.version_info < (3, 14) else {}
    defaults = function.__defaults__ or ()
    by_name = function.__kwdefaults__ or {}
    positional = code.co_varnames[: code.co_argcount]
    keyword = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :]
    first_default = len(positional) - len(defaults)

    parts: list[str] = []
    for place_of, name in enumerate(positional):
        default = defaults[place_of - first_default] if place_of >= first_default else MISSING
        parts.append(_parameter(name, hints, default))
        if place_of + 1 == code.co_posonlyargcount:
            parts.append("/")
    if code.co_flags & inspect.CO_VARARGS:
        parts.append("*" + _parameter(rest[0], hints, MISSING))
        rest = rest[1:]
    elif keyword:
        parts.append("*")
    parts += [_parameter(name, hints, by_name.get(name, MISSING)) for name in keyword]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parts.append("**" + _parameter(rest[0], hints, MISSING))
    arrow = f" -> {_hint(hints['return'])}" if "return" in hints else ""
    start = "async " if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR) else ""
    return f"{start}{one_line(function.__name__, 60)}({join(parts, 300)}){arrow}"


def _parameter(name: str, hints: Any, default: Any) -> str:
    hint = f": {_hint(hints[name])}" if name in hints else ""
    equals = " = " if hint else "="
    return f"{name}{hint}" + ("" if default is MISSING else f"{equals}{brief(default, 30, 1)}")


def _hint(hint: Any) -> str:
    if type(hint) is str:
        return one_line(hint, 60)
    return label(hint) if subclass_of(type(hint), type) else brief(hint, 40, 0)


def place(code: types.CodeType) -> str:
    """Return where code was written, for a reader; a cell's temporary file is called what it is."""
    name = code.co_filename
    if "ipykernel_" in name or name.startswith(("<ipython-input", "<stdin", "<cell")):
        return f"in a notebook cell, line {code.co_firstlineno}"
    return f"in {clip(one_line(name, 300), 300)}, line {code.co_firstlineno}"


def _function_lines(function: Any, page: Page) -> Iterator[str]:
    yield f"defined {place(function.__code__)}, module {brief(function.__module__, 80)}"
    yield from _documentation(function.__doc__, page)
    if "__wrapped__" in (instance_dict(function) or {}):
        yield "wraps another function (see its __wrapped__)"


def _documentation(doc: object, page: Page, share: float = 0.5) -> Iterator[str]:
    """Yield the documentation's lines up to a share of the page."""
    if type(doc) is str and doc.strip():
        lines = [one_line(line, 160) for line in inspect.cleandoc(doc[: page.room]).splitlines()]
        yield from listing(page, (f"  {line}" if line else "" for line in lines), len(lines), "line", share=share)


def _method_gist(method: Any) -> str:
    function = method.__func__
    words = signature(function) if type(function) is types.FunctionType else label(type(function))
    return f"{words}, bound to <{label(type(method.__self__))}>"


def _method_lines(method: Any, page: Page) -> Iterator[str]:
    if type(method.__func__) is types.FunctionType:
        yield from _function_lines(method.__func__, page)


def _builtin_gist(function: Any) -> str:
    parameters = (function.__text_signature__ or "(…)").replace("$self, ", "").replace("$module, ", "")
    return f"{one_line(function.__name__, 60)}{one_line(parameters, 100)}"


def _builtin_lines(function: Any, page: Page) -> Iterator[str]:
    yield from _documentation(function.__doc__, page)


def _partial_gist(value: Any) -> str:
    members = functools.partial.__dict__
    func, args, keywords = (members[name].__get__(value) for name in ("func", "args", "keywords"))
    return f"of {brief(func, 60, 1)} with {amount(len(args), 'argument')} and {brief(keywords, 60, 1)}"


def _generator_gist(generator: Any) -> str:
    name = one_line(generator.__qualname__, 60)
    return f"{name}, not consumed" if type(generator) is not types.CoroutineType else f"{name}, not awaited"


# --- classes --------------------------------------------------------------------------------------


def method_names(cls: type, most: int = 200) -> list[str]:
    """Return the public methods of a class and its bases, nearest first, by static lookup."""
    kinds = (types.FunctionType, classmethod, staticmethod, types.MethodDescriptorType)
    return _names_of(cls, most, lambda value: exactly(type(value), kinds))


def property_names(cls: type, most: int = 200) -> list[str]:
    """Return the public properties of a class and its bases; they are named, never evaluated."""
    return _names_of(
        cls,
        most,
        lambda value: subclass_of(type(value), property) or subclass_of(type(value), functools.cached_property),
    )


def _names_of(cls: type, most: int, keep: Any) -> list[str]:
    found: dict[str, bool] = {}
    for entry in mro(cls):
        if entry is object:
            continue
        for name, value in list(class_dict(entry).items()):
            if type(name) is str and not name.startswith("_") and name not in found and len(found) < 10 * most:
                found[name] = bool(keep(value))
    return [name for name, kept in found.items() if kept][:most]


def _class_gist(cls: Any) -> str:
    bases = [label(base) for base in mro(cls)[1:-1]][:3]
    doc = _own_doc(cls)
    above = f"({', '.join(bases)})" if bases else ""
    return f"class {label(cls).rpartition('.')[2]}{above}" + (f": {doc}" if doc else "")


def _own_doc(cls: type) -> str:
    return first_line(class_dict(cls).get("__doc__"))


def _class_lines(cls: Any, page: Page) -> Iterator[str]:
    yield f"defined in module {one_line(module_name(cls), 80)} as {one_line(qualified_name(cls), 80)}"
    bases = [label(base) for base in mro(cls)[1:-1]]
    if bases:
        yield f"bases: {join(bases, 200)}"
    if type(cls) is not type:
        yield f"metaclass: {label(type(cls))}"
    yield from _documentation(class_dict(cls).get("__doc__"), page, share=0.25)
    members = class_attribute(cls, "_member_map_")
    if subclass_of(cls, enum.Enum) and type(members) is dict:
        rows = (f"  {name} = {brief(_enum_value(member), 80, 1)}" for name, member in list(members.items())[:1000])
        yield "members:"
        yield from listing(page, rows, len(members), "member", share=0.6)
    yield from _fields(cls, page)
    init = class_attribute(cls, "__init__")
    if type(init) is types.FunctionType:
        yield f"initializer: {signature(init)}"
    methods, properties = method_names(cls), property_names(cls)
    if methods:
        yield f"methods: {join(methods, 400)}"
    if properties:
        yield f"properties: {join(properties, 200)}"


def _enum_value(member: Any) -> Any:
    return (instance_dict(member) or {}).get("_value_")


def _fields(cls: type, page: Page) -> Iterator[str]:
    """Yield the declared fields of a dataclass or a pydantic model."""
    for name in ("__dataclass_fields__", "__pydantic_fields__"):
        declared = class_attribute(cls, name)
        if type(declared) is dict and declared:
            rows = (f"  {field}: {_declared_type(spec)}" for field, spec in list(declared.items())[:500])
            yield "fields:"
            yield from listing(page, rows, len(declared), "field", share=0.6)
            return


def _declared_type(spec: Any) -> str:
    for name in ("type", "annotation"):
        descriptor = class_attribute(type(spec), name)
        if type(descriptor) is types.MemberDescriptorType:
            try:
                return _hint(descriptor.__get__(spec))
            except AttributeError as error:
                return f"unknown ({problem(error)})"
    return "unknown"


# --- modules and exceptions -----------------------------------------------------------------------


def _module_gist(module: Any) -> str:
    names = instance_dict(module) or {}
    version = names.get("__version__")
    doc = first_line(names.get("__doc__"), 80)
    name = names.get("__name__")
    parts = [one_line(name, 60) if type(name) is str else "?", brief(version, 30) if type(version) is str else "", doc]
    return ", ".join(part for part in parts if part)


def _module_lines(module: Any, page: Page) -> Iterator[str]:
    names = instance_dict(module) or {}
    file = names.get("__file__")
    if type(file) is str:
        yield f"file {one_line(file, 300)}"
    yield from _documentation(names.get("__doc__"), page)
    public = names.get("__all__")
    if type(public) is not list or not all(type(name) is str for name in public):
        public = [name for name in list(names) if type(name) is str and not name.startswith("_")]
    yield f"{amount(len(public), 'public name')}: {join((one_line(name, 60) for name in public), 800)}"


def _exception_gist(error: Any) -> str:
    words = problem(error)
    return words.partition(": ")[2]


def _exception_lines(error: Any, _page: Page) -> Iterator[str]:
    for name in ("__cause__", "__context__"):
        other = BaseException.__dict__[name].__get__(error)
        if other is not None:
            yield f"{'cause' if name == '__cause__' else 'raised while handling'}: {problem(other)}"
            return

"""Describers of everything else: dataclasses, pydantic models, scikit-learn estimators, and any object.

An unknown object is what it stores (its ``__dict__`` and slots) and what its class offers by name.
Nothing is called and no property is evaluated.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

from zidane_lab.kernel.inside.functions import method_names, property_names
from zidane_lab.kernel.inside.privacy import hides
from zidane_lab.kernel.inside.registry import Describer, register_name, register_type
from zidane_lab.kernel.inside.static import (
    MISSING,
    attributes,
    class_attribute,
    class_dict,
    exactly,
    instance_dict,
    label,
    module_name,
    mro,
    own,
    qualified_name,
    subclass_of,
)
from zidane_lab.kernel.inside.text import Page, amount, first_line, join, listing, one_line
from zidane_lab.kernel.inside.values import HIDDEN, brief, pairs

__all__ = ["object_lines", "register_objects", "stored_lines"]


def register_objects() -> None:
    """Register the description of any object, and those of models known by name."""
    register_type(object, Describer(_object_gist, object_lines))
    register_name("pydantic.BaseModel", Describer(_model_gist, _model_lines))
    register_name("sklearn.BaseEstimator", Describer(_estimator_gist, _estimator_lines))


def stored_lines(items: Iterable[tuple[str, object]], total: int, page: Page, *, share: float = 0.8) -> Iterator[str]:
    """Yield one line for each stored attribute; credentials by name are hidden."""
    rows = (
        f"  {one_line(name, 60)} = {HIDDEN if hides(name, value) else brief(value, 110, 2)}" for name, value in items
    )
    yield from listing(page, rows, total, "attribute", share=share)


def _public_first(held: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(held.items(), key=lambda pair: pair[0].startswith("_"))


# --- any object -----------------------------------------------------------------------------------


def _dataclass_fields(obj: object) -> dict[str, Any]:
    """Return a dataclass instance's stored fields that its author shows, or nothing for other objects."""
    declared = class_attribute(type(obj), "__dataclass_fields__")
    if type(declared) is not dict:
        return {}
    held = attributes(obj)
    return {name: held[name] for name, field in declared.items() if name in held and own(field, "repr") is not False}


def _object_gist(obj: Any) -> str:
    fields = _dataclass_fields(obj)
    if fields:
        return pairs(fields.items(), 90)
    held = [name for name, _ in _public_first(attributes(obj))]
    if class_attribute(type(obj), "__next__") is not MISSING:
        return "iterator, not consumed"
    return f"{amount(len(held), 'attribute')}: {join(held, 70)}" if held else ""


def object_lines(obj: Any, page: Page) -> Iterator[str]:
    """Yield what an object stores and what its class offers, by static lookup alone."""
    cls = type(obj)
    yield f"class {one_line(qualified_name(cls), 80)} of module {one_line(module_name(cls), 80)}"
    bases = [label(base) for base in mro(cls)[1:-1]]
    if bases:
        yield f"bases: {join(bases, 200)}"
    fields = _dataclass_fields(obj)
    declared = class_attribute(cls, "__dataclass_fields__")
    doc = first_line(class_dict(cls).get("__doc__"))
    # What a dataclass writes for itself repeats the fields, and shows defaults its author may want hidden.
    if doc and not (type(declared) is dict and doc.startswith(f"{qualified_name(cls).rpartition('.')[2]}(")):
        yield f"doc: {doc}"
    held = fields if type(declared) is dict else attributes(obj)
    if held:
        yield "fields:" if fields else "attributes:"
        yield from stored_lines(_public_first(held), len(held), page)
    hidden = [name for name in declared if name not in fields] if type(declared) is dict else []
    if hidden:
        yield f"fields its author does not show: {join(hidden, 200)}"
    methods, properties = method_names(cls), property_names(cls)
    if methods:
        yield f"methods: {join(methods, 300)}"
    if properties:
        yield f"properties (not evaluated): {join(properties, 200)}"


# --- pydantic -------------------------------------------------------------------------------------


def _model_fields(model: Any) -> dict[str, Any]:
    held = {name: value for name, value in (instance_dict(model) or {}).items() if type(name) is str}
    extra = own(model, "__pydantic_extra__")
    if type(extra) is dict:
        held.update(extra)
    return held


def _model_gist(model: Any) -> str:
    return pairs(_model_fields(model).items(), 90)


def _model_lines(model: Any, page: Page) -> Iterator[str]:
    doc = first_line(class_dict(type(model)).get("__doc__"))
    if doc:
        yield f"doc: {doc}"
    held = _model_fields(model)
    yield "fields:"
    yield from stored_lines(held.items(), len(held), page)
    methods = [name for name in class_dict(type(model)) if type(class_dict(type(model))[name]) is types.FunctionType]
    if methods:
        yield f"methods of its own: {join(methods, 200)}"


# --- scikit-learn ---------------------------------------------------------------------------------


def _is_fitted_name(name: str) -> bool:
    """Whether a name follows scikit-learn's convention for what ``fit`` has learned."""
    return name.endswith("_") and not name.startswith("_")


def _defaults(cls: type) -> dict[str, Any]:
    """Return the default of each parameter of ``__init__``; ``MISSING`` for those without one."""
    init = class_attribute(cls, "__init__")
    if type(init) is not types.FunctionType:
        return {}
    code = init.__code__
    positional = code.co_varnames[1 : code.co_argcount]
    keyword = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    given = init.__defaults__ or ()
    found = dict.fromkeys((*positional, *keyword), MISSING)
    for i, default in enumerate(given):
        found[positional[len(positional) - len(given) + i]] = default
    found.update(init.__kwdefaults__ or {})
    return found


def _changed_parameters(estimator: Any) -> dict[str, Any]:
    held = instance_dict(estimator) or {}
    return {
        name: held[name]
        for name, default in _defaults(type(estimator)).items()
        if name in held and not _same(held[name], default)
    }


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter has its default: the same object, or an equal plain value."""
    plain = (int, float, str, bool, tuple)
    return value is default or (
        type(value) is type(default) and exactly(type(value), plain) and brief(value) == brief(default)
    )


def _steps(estimator: Any) -> list[Any]:
    """Return the named steps of a pipeline or the transformers of a column transformer."""
    held = instance_dict(estimator) or {}
    steps = held.get("steps", held.get("transformers"))
    return steps if type(steps) is list and all(subclass_of(type(step), tuple) for step in steps) else []


def _is_fitted(estimator: Any, depth: int = 3) -> bool:
    """Whether an estimator, or the last step of a pipeline, has learned something."""
    if any(type(name) is str and _is_fitted_name(name) for name in instance_dict(estimator) or {}):
        return True
    steps = _steps(estimator)
    last = tuple.__getitem__(steps[-1], slice(1, 2)) if steps and depth else ()
    return bool(last) and _is_fitted(last[0], depth - 1)


def _estimator_gist(estimator: Any) -> str:
    fitted = _is_fitted(estimator)
    changed = pairs(_changed_parameters(estimator).items(), 70)
    return ("fitted" if fitted else "not fitted") + (f", {changed}" if changed else "")


def _estimator_lines(estimator: Any, page: Page) -> Iterator[str]:
    held = {name: value for name, value in (instance_dict(estimator) or {}).items() if type(name) is str}
    changed = _changed_parameters(estimator)
    yield "parameters that differ from their defaults:" if changed else "all parameters have their defaults"
    yield from stored_lines(changed.items(), len(changed), page, share=0.5)
    steps = _steps(estimator)
    if steps:
        yield "steps:"
        rows = (f"  {brief(step, 140, 2)}" for step in steps[:200])
        yield from listing(page, rows, len(steps), "step", share=0.5)
    fitted = {name: value for name, value in held.items() if _is_fitted_name(name)}
    if fitted or not _is_fitted(estimator):
        yield "learned by fit:" if fitted else "not fitted"
    yield from stored_lines(fitted.items(), len(fitted), page)

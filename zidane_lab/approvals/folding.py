"""Texts put together from known parts: ``"%s" % x``, ``"{}".format(x)``, and what a template reaches into.

Only plain fields are filled in: widths and conversions could make a short template endlessly long.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

__all__ = ["TEXT_METHODS", "change_text", "cut_text", "fill_format", "fill_percent", "reaches_attribute"]


TEXT_METHODS: Final = frozenset(
    {"lower", "upper", "swapcase", "casefold", "title", "capitalize", "strip", "lstrip", "rstrip", "replace"}
    | {"removeprefix", "removesuffix"}
)
"""Methods of texts that make another text of known ones."""


def change_text(text: str, method: str, arguments: Sequence[str]) -> str | None:
    """Return what a method of :data:`TEXT_METHODS` makes of a text; ``None`` where it fails."""
    if method == "replace" and (len(arguments) != 2 or not arguments[0]):
        return None  # between all letters it could become endlessly long
    try:
        changed = getattr(text, method)(*arguments)
    except TypeError:
        return None
    return changed if isinstance(changed, str) else None


def cut_text(text: str, part: ast.Slice) -> str | None:
    """Return a part of a text between numbers that stand there; ``None`` for any other part."""
    bounds: list[int | None] = []
    for each in (part.lower, part.upper, part.step):
        value = ast.literal_eval(each) if isinstance(each, ast.Constant | ast.UnaryOp) and _is_number(each) else None
        if each is not None and value is None:
            return None
        bounds.append(value)
    return text[slice(*bounds)] if bounds[2] != 0 else None


def _is_number(node: ast.Constant | ast.UnaryOp) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(inner, ast.Constant) and type(inner.value) is int


def fill_percent(template: str, values: Sequence[str]) -> str | None:
    """Fill ``%s`` with texts; ``None`` where the template has anything else."""
    pieces = re.split(r"(%.?)", template, flags=re.DOTALL)
    fields = [each for each in pieces[1::2] if each != "%%"]
    if set(fields) - {"%s"} or len(fields) != len(values):
        return None
    return template % tuple(values)


def fill_format(template: str, values: Sequence[str], named: Mapping[str, str]) -> str | None:
    """Fill ``{}``, ``{0}`` and ``{name}`` with texts; ``None`` where the template has anything else."""
    try:
        for _, field, spec, conversion in string.Formatter().parse(template):
            if spec or conversion or not re.fullmatch(r"\w*", field or ""):
                return None
        return template.format(*values, **named)
    except (ValueError, LookupError):  # not a template, or not one for these values
        return None


def reaches_attribute(template: str) -> bool:
    """Whether ``str.format`` would look up an attribute for this template, as ``{0.name}`` does."""
    try:
        return any("." in re.sub(r"\[[^\]]*\]?", "", field) for field in _fields(template))
    except ValueError:  # `format` raises, too
        return False


def _fields(template: str) -> Iterator[str]:
    for _, field, spec, _conversion in string.Formatter().parse(template):
        yield field or ""
        if spec:
            yield from _fields(spec)

"""Texts put together from known parts: ``"%s" % x``, ``"{}".format(x)``, and what a template reaches into.

Only plain fields are filled in: widths and conversions could make a short template endlessly long.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence

__all__ = ["fill_format", "fill_percent", "reaches_attribute"]


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

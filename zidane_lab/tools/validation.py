"""Check a call's arguments: mend what can only mean one thing, explain the rest so that a model can correct it.

A value is mended in one case beyond what its type reads by itself (``"3"`` for an integer): JSON text where
an object, a list or nothing was wanted. Everything else that does not fit becomes one line per problem, such
as ``limit: expected an integer, got the text "ten"``.
"""

from __future__ import annotations

import copy
import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from zidane_lab.tools.base import reject

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

__all__ = ["check", "describe_value"]

_EXPECTED: Final[Mapping[str, str]] = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "bytes_type": "text",
    "dataclass_type": "an object",
    "date_from_datetime_parsing": "a date as YYYY-MM-DD",
    "date_parsing": "a date as YYYY-MM-DD",
    "date_type": "a date as YYYY-MM-DD",
    "datetime_from_date_parsing": "a date and time in ISO 8601",
    "datetime_parsing": "a date and time in ISO 8601",
    "datetime_type": "a date and time in ISO 8601",
    "dict_type": "an object",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "an integer",
    "int_parsing": "an integer",
    "int_parsing_size": "a smaller integer",
    "int_type": "an integer",
    "list_type": "a list",
    "mapping_type": "an object",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "none_required": "null",
    "path_type": "a path as text",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "string_type": "text",
    "string_sub_type": "text",
    "tuple_type": "a list",
}
"""What was wanted, by pydantic's error type; other types keep pydantic's own sentence."""

_ROUNDS: Final = 4
"""How deep JSON text may be nested in JSON text before it is no longer taken for a slip."""


def check(model: type[BaseModel], arguments: Mapping[str, Any], *, tool: str) -> BaseModel:
    """Validate ``arguments`` with ``model``, mending them where that is unambiguous.

    Raises
    ------
    ToolInputError
        They do not fit; the message has one line per problem.
    """
    from pydantic import ValidationError

    candidate: Any = dict(arguments)
    for _ in range(_ROUNDS):
        try:
            return model.model_validate(candidate)
        except ValidationError as error:
            problems = error.errors(include_url=False)
        mended = _mend(candidate, problems)
        if mended is None:
            break
        candidate = mended
    known = [field.alias or name for name, field in model.model_fields.items()]
    raise reject(tool, _explain(candidate, problems, known))


def describe_value(value: object) -> str:
    """Say what a value is, in the words of JSON and briefly."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        shown = value if len(value) <= 60 else value[:59] + "…"
        return f"the text {json.dumps(shown, ensure_ascii=False)}"
    if isinstance(value, Mapping):
        keys = ", ".join(str(key) for key in list(value)[:5])
        return f"an object with {keys}{', …' if len(value) > 5 else ''}" if value else "an empty object"
    if isinstance(value, Sequence):
        return f"a list of {len(value)}"
    return f"a {type(value).__name__}"


def _walk(value: Any, loc: Sequence[int | str]) -> tuple[list[int | str], Any]:
    """Follow an error's location through the data; parts that name a union's branch, not a key, are passed over."""
    path: list[int | str] = []
    for part in loc:
        is_item = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if is_item or (isinstance(value, Mapping) and part in value):
            value = value[part]
            path.append(part)
    return path, value


def _mend(data: dict[str, Any], problems: list[ErrorDetails]) -> dict[str, Any] | None:
    """Decode JSON text at the places that do not fit; ``None`` when there is nothing to decode."""
    mended: Any = None
    for problem in problems:
        path, value = _walk(data, problem["loc"])
        if not path or not isinstance(value, str) or problem["type"] == "extra_forbidden":
            continue
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            continue
        if decoded is not None and not isinstance(decoded, (dict, list)):
            continue
        if mended is None:
            mended = copy.deepcopy(data)
        holder = mended
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = decoded
    return mended  # type: ignore[no-any-return]  # a deep copy of ``data``


def _explain(data: Any, problems: list[ErrorDetails], known: list[str]) -> list[str]:
    """Return one line per place that does not fit; the branches of a union are told together."""
    wanted: dict[str, list[str]] = {}
    got: dict[str, str] = {}
    lines: list[str] = []
    for problem in problems:
        kind, loc = problem["type"], problem["loc"]
        if kind == "missing":
            lines.append(f"`{_spell([*_walk(data, loc[:-1])[0], loc[-1]])}`: required, but missing")
            continue
        path, value = _walk(data, loc)
        name = _spell(path)
        if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
            lines.append(f"`{name}`: {_unknown(str(path[-1]), known) if len(path) == 1 else 'unknown field'}")
            continue
        wanted.setdefault(name, [])
        got[name] = describe_value(value)
        expected = _expectation(problem)
        if expected not in wanted[name]:
            wanted[name].append(expected)
    lines.extend(f"`{name}`: expected {' or '.join(parts)}, got {got[name]}" for name, parts in wanted.items())
    return list(dict.fromkeys(lines))


def _expectation(problem: ErrorDetails) -> str:
    kind = problem["type"]
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    context = problem.get("ctx", {})
    if kind in {"literal_error", "enum"} and "expected" in context:
        return str(context["expected"])
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    short = re.sub(r"^Input should be (?=greater|less)", "a number ", message).removeprefix("Input should be ")
    return f"a value that fits ({message})" if short == message else short


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name.lower(), {each.lower(): each for each in known}, n=1, cutoff=0.5)
    spelled = [each for each in known if near and each.lower() == near[0]]
    if spelled:
        return f"unknown argument; did you mean `{spelled[0]}`?"
    names = ", ".join(f"`{each}`" for each in known)
    return f"unknown argument; the arguments are {names}" if names else "unknown argument; there are none"


def _spell(path: Sequence[int | str]) -> str:
    """Write a path as ``items[2].name``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "arguments"

"""Read what tools answered: the sections of ``run_python``'s text, and Python literals in them.

Only the text a model would see is read. The planner's code ends in a plain dictionary, whose printed form
comes back in the ``[value]`` section; :func:`literal` reads it without running anything.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import Any, Final

from zidane_lab.providers.offline.prose import clip
from zidane_lab.turns import ToolResultBlock

__all__ = ["Opaque", "Outcome", "literal", "outcome_of", "sections"]

_LABEL: Final = re.compile(
    r"\[(stdout|stderr|display|value|error|warnings|figure|done|failed|interrupted|timed out)\b([^\n]*)\]"
)
_BARE: Final = frozenset({"stdout", "stderr", "display", "value", "error", "warnings"})
_LONGEST_REASON: Final = 160
_ENVELOPE: Final = re.compile(r'<tool-output id="(\w+)">\n(.*?)\n</tool-output \1>', re.DOTALL)
"""What a tool's text travels in."""


class Opaque(str):
    """The printed form of an object that is no literal (a timestamp, an interval): good for showing only."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call.

    ``problem`` says in a few words why there is no result (an error, a refusal, an interruption) and is
    ``None`` when the call went well. ``value`` is the text of the last value, ``figures`` their number.
    """

    text: str
    problem: str | None = None
    value: str | None = None
    figures: int = 0
    created: frozenset[str] = frozenset()


def sections(text: str) -> list[tuple[str, str]]:
    """Split the text of ``run_python`` at its label lines into ``(label, body)`` pairs, in order."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        match = _LABEL.fullmatch(line)
        if match is not None and (match[1] not in _BARE or not match[2]):
            found.append((match[0].strip("[]") if match[1] not in _BARE else match[1], []))
        elif found:
            found[-1][1].append(line)
    return [(label, "\n".join(lines)) for label, lines in found]


def outcome_of(result: ToolResultBlock) -> Outcome:
    """Read a tool's result, whichever tool it was."""
    text = _ENVELOPE.sub(r"\2", result.text)
    parts = sections(text)
    labels = [label for label, _ in parts]
    value = next((body for label, body in reversed(parts) if label == "value"), None)
    ending = labels[-1] if labels else ""
    created = re.search(r"created: ([^;]*)", ending)
    return Outcome(
        text=text,
        problem=_problem(result.is_error, text, parts, ending),
        value=value,
        figures=sum(label.startswith("figure") for label in labels),
        created=frozenset(re.findall(r"\w+", created[1])) if created else frozenset(),
    )


def _problem(is_error: bool, text: str, parts: list[tuple[str, str]], ending: str) -> str | None:
    if not is_error and not ending.startswith(("failed", "interrupted", "timed out")):
        return None
    if ending.startswith(("interrupted", "timed out")):
        return "it was interrupted" if ending.startswith("interrupted") else "it ran out of time"
    error = next((body for label, body in reversed(parts) if label == "error"), None)
    if error is not None:
        lines = [line.strip() for line in error.splitlines() if line.strip()]
        named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt|Exit)\b", line)]
        return clip((named or lines or ["an error"])[-1], _LONGEST_REASON)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return clip(lines[0].strip("[]") if lines else "it failed without saying why", _LONGEST_REASON)


def literal(text: str) -> Any:
    """Read a printed Python value without running anything.

    Beside Python's literals it understands ``nan``, ``inf`` and NumPy's scalars (``np.float64(0.5)``);
    any other call or name becomes :class:`Opaque`.

    Raises
    ------
    ValueError
        The text is not the printed form of a value: it was cut, say.
    """
    try:
        return _evaluate(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError("the result could not be read") from error


_NAMES: Final = {"nan": math.nan, "inf": math.inf, "NaT": None, "NA": None}


def _evaluate(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if value is not ...:
            return value
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {
                _evaluate(key): _evaluate(value) for key, value in zip(keys, values, strict=True) if key is not None
            }
        case ast.List(elts=items):
            return [_evaluate(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_evaluate(item) for item in items)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand)
        case ast.Name(id=word) if word in _NAMES:
            return _NAMES[word]
        case ast.Constant() | ast.Dict():
            raise ValueError("the result was cut")
    return _scalar(node)


def _scalar(node: ast.expr) -> Any:
    """Read NumPy's scalars; keep any other object's printed form."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=kind), args=[value], keywords=[]):
            if kind.startswith(("float", "int", "uint", "str", "bool")):
                return _evaluate(value)
        case ast.Attribute(value=ast.Name(id="np"), attr="True_" | "False_" as word):
            return word == "True_"
    return Opaque(ast.unparse(node))

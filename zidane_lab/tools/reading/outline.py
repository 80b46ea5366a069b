"""The outline of long Python code: what it declares, with the lines of the bodies left out and named."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Final, TypeAlias

__all__ = ["MOST_BYTES", "MOST_CODE_LINES", "outline"]

MOST_BYTES: Final = 2 * 1_048_576
MOST_CODE_LINES: Final = 20_000
_KEPT: Final = 3
"""A body or a literal of so many lines is shown: the note in its place would be no shorter."""

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Span: TypeAlias = tuple[int, int]


def outline(source: str) -> tuple[str, int] | None:
    """Return the code with a note in place of what is left out, and how many lines that is; ``None`` if it is no code.

    Parameters
    ----------
    source
        The text of a module, with LF line endings.
    """
    lines = source.split("\n")
    if len(source) > MOST_BYTES or len(lines) > MOST_CODE_LINES:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes, which are nobody's concern here
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    spans = sorted(span for span in _left_out(tree.body) if span[1] - span[0] + 1 > _KEPT)
    if not spans:
        return None
    out: list[str] = []
    at, count = 1, 0
    for first, last in spans:
        if first < at:
            continue
        out += lines[at - 1 : first - 1]
        text = lines[first - 1] if lines[first - 1].strip() else lines[first - 2]
        indent = text[: len(text) - len(text.lstrip())]
        out.append(f"{indent}… [lines {first}–{last}]")
        count += last - first + 1
        at = last + 1
    return "\n".join([*out, *lines[at - 1 :]]), count


def _left_out(body: list[ast.stmt]) -> Iterator[Span]:
    """Yield the first and last lines of what is left out."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _function(node)
            case ast.ClassDef():
                yield from _docstring(node.body)
                yield from _left_out(node.body)
            case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
                blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
                if any(isinstance(each, (ast.ClassDef, _Function)) for block in blocks for each in block):
                    for block in blocks:
                        yield from _left_out(block)
                else:
                    yield node.body[0].lineno, _end(node)
            case ast.Import() | ast.ImportFrom():
                continue
            case _ if _end(node) - node.lineno >= _KEPT:
                yield node.lineno + 1, _end(node)


def _function(node: _Function) -> Iterator[Span]:
    """Leave out a body; of its docstring the first line stays."""
    first = node.body[0]
    last = _end(node)
    if first.lineno == node.lineno:  # all on one line
        return
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        if first.lineno + 1 <= last:
            yield first.lineno + 1, last
        return
    yield first.lineno, last


def _docstring(body: list[ast.stmt]) -> Iterator[Span]:
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        yield first.lineno + 1, _end(first)


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno

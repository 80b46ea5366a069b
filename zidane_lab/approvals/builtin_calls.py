"""What calls of Python's own functions do: ``eval``, ``getattr``, ``globals`` and their like."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from zidane_lab.approvals.origins import Names

__all__ = ["JUDGED", "Code", "judge_builtin"]

JUDGED: Final = frozenset(
    {"open", "eval", "exec", "compile", "__import__", "getattr", "setattr", "delattr", "globals", "locals"}
)
"""Built-in functions whose calls are judged by their arguments; mentioning them otherwise asks."""


@dataclass(frozen=True, slots=True)
class Code:
    """Python in a text, to be looked into."""

    text: str


def judge_builtin(
    node: ast.Call,
    names: Names,
    origins: frozenset[str],
    *,
    is_module: Callable[[str], bool],
    parent: ast.AST | None,
) -> Iterator[str | Code]:
    """Yield the reasons to ask that a call of a built-in function gives, and the code in its arguments."""
    spread = any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords)
    first = node.args[0] if node.args else None
    if origins & {"eval", "exec", "compile", "__import__"}:
        texts = None if spread else names.texts(first)
        if texts is None:
            yield "runs code that cannot be seen here"
        imports = "__import__" in origins
        yield from (Code(f"import {text}" if imports else text) for text in texts or ())
    if origins & {"getattr", "setattr", "delattr"}:
        yield from _attributes(node, names, origins, is_module, spread=spread)
    if origins & {"globals", "locals", "vars"} and not node.args and not _only_looks(node, parent, names):
        yield "reaches the variables behind their names"
    if "vars" in origins and node.args and any(is_module(each) for each in names.origins(first)):
        yield "reaches a module's inside"
    if "help" in origins and not node.args:
        yield "waits for input"


def _attributes(
    node: ast.Call, names: Names, origins: frozenset[str], is_module: Callable[[str], bool], *, spread: bool
) -> Iterator[str | Code]:
    """Judge looking up, setting and deleting attributes by name."""
    owner = node.args[0] if node.args else None
    found = names.texts(node.args[1]) if len(node.args) > 1 else None
    if owner is None or spread or (found is None and "getattr" in origins):
        yield "looks up what cannot be seen here"
    elif "getattr" in origins:  # judged as if it had been written out, under the same names
        yield from (Code(f"({ast.unparse(owner)}).{each}") for each in found or () if each.isidentifier())
    elif any(map(is_module, names.origins(owner))) or any(each.startswith("__") for each in found or ()):
        yield "changes a module or a class for everybody"


def _only_looks(node: ast.Call, parent: ast.AST | None, names: Names) -> bool:
    """Whether ``globals()`` is only asked whether or which names exist, or for one by name."""
    match parent:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]):
            return right is node
        case ast.Call(func=ast.Name(id="list" | "sorted" | "len" | "set"), args=[only]):
            return only is node
        case ast.Attribute(attr="keys"):
            return True
        case ast.Subscript(ctx=ast.Load(), slice=key):
            return names.texts(key) is not None
    return False

"""What is handed to functions that stand in the same code, and where things come from that it changes.

``def clean(t): t.dropna(inplace=True)`` changes what it is called with, and so does a loop over a list of tables.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from zidane_lab.approvals.origins import Names

__all__ = ["functions_in", "handed_in", "is_copy", "is_made_here"]

_PARTS: Final = frozenset({"get", "pop", "popitem", "setdefault", "items", "values", "popleft", "__getitem__"})
"""Methods that hand out what a container holds."""
_HANDS_OUT: Final = frozenset({"next", "iter", "getattr"})
_DEEPEST: Final = 12


def functions_in(nodes: Iterable[ast.AST]) -> dict[str, ast.arguments]:
    """Return the parameters of functions that stand in the code, by their names."""
    found: dict[str, ast.arguments] = {}
    for each in nodes:
        match each:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found[each.name] = each.args
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=parameters)):
                found[name] = parameters
    return found


def handed_in(node: ast.AST, functions: Mapping[str, ast.arguments]) -> Iterator[tuple[str, ast.expr, bool]]:
    """Yield parameters with what a call binds them to, and whether that is an element of it."""
    if not isinstance(node, ast.Call):
        return
    called = _parameters(node.func, functions)
    if called is not None:
        names = [each.arg for each in (*called.posonlyargs, *called.args)]
        yield from ((name, value, False) for name, value in zip(names, node.args, strict=False))
        yield from ((each.arg, each.value, False) for each in node.keywords if each.arg is not None)
        return
    last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    inner = _parameters(node.args[0], functions) if node.args and last in {"map", "pipe", "filter"} else None
    first = next(iter([*inner.posonlyargs, *inner.args]), None) if inner is not None else None
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    given = node.args[1] if len(node.args) > 1 and last != "pipe" else receiver
    if first is not None and given is not None:
        yield first.arg, given, last != "pipe"


def _parameters(function: ast.expr, functions: Mapping[str, ast.arguments]) -> ast.arguments | None:
    match function:
        case ast.Lambda(args=parameters):
            return parameters
        case ast.Name(id=name):
            return functions.get(name)
    return None


def is_copy(node: ast.expr | None) -> bool:
    """Whether this is ``x.copy()``: what is bound to it is nobody's but this code's from then on."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy"


def is_made_here(  # noqa: C901 - one case for each kind of node
    names: Names, node: ast.expr | None, *, part: bool = False, depth: int = 0
) -> bool:
    """Whether something was surely made by this code, or by the agent before: a result, a copy, an import.

    ``part``: it is a part of it that is asked about, so that a list made here may hold what was not.
    """
    if depth > _DEEPEST:
        return False

    def made(each: ast.expr | None, *, of: bool = part) -> bool:
        return is_made_here(names, each, part=of, depth=depth + 1)

    match node:
        case ast.Name(id=name):
            return _is_name_made(names, name, part=part, depth=depth)
        case ast.Call(func=function):
            if isinstance(function, ast.Attribute) and function.attr in _PARTS:
                return made(function.value, of=True)
            name = getattr(function, "id", "")
            return name not in _HANDS_OUT and not (part and name in names.defined)
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            return made(value, of=True)
        case ast.List(elts=inner) | ast.Tuple(elts=inner) | ast.Set(elts=inner) | ast.Dict(values=inner):
            return not part or all(map(made, inner))
        case ast.BoolOp(values=inner):
            return all(map(made, inner))
        case ast.IfExp(body=left, orelse=right):
            return made(left) and made(right)
        case ast.NamedExpr(value=value) | ast.Await(value=value):
            return made(value)
    return node is not None and not isinstance(node, ast.Starred)


def _is_name_made(names: Names, name: str, *, part: bool, depth: int) -> bool:
    values, items = names.bound_to(name)
    if name in names.users and not values and not items:
        return False
    if names.is_import(name):
        return True
    if not values and not items:  # the agent's own, from before
        return not part or names.known.get(name, "") not in {"dict()", "list()", "tuple()"}
    if any(map(is_copy, values)):
        return True
    return all(is_made_here(names, each, part=part, depth=depth + 1) for each in values) and all(
        is_made_here(names, each, part=True, depth=depth + 1) for each in items
    )

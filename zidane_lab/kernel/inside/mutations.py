"""Names that a piece of code clearly mutates, read from its syntax.

``df["x"] = 1``, ``df.loc[0] = 1``, ``del d[k]``, ``x += y``, ``obj.attr = 1``, ``rows.append(r)``,
``df.drop(..., inplace=True)``, ``random.shuffle(items)``, ``numpy.add(a, b, out=c)``. Only what runs at the top
level of the code counts, through loops and conditions; the body of a function says nothing about when, and
with what, it is called.
"""

from __future__ import annotations

import ast
import types
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from zidane_lab.kernel.inside.static import exactly, mro, qualified_name, root_of, subclass_of

__all__ = ["Mutation", "mutates", "mutations"]


@dataclass(frozen=True)
class Mutation:
    """A name, and the method that was called on it, if it was a call (whether that mutates depends on the type)."""

    name: str
    method: str | None = None


_FIRST_ARGUMENT = frozenset(
    (
        *("shuffle", "heappush", "heappop", "heapify", "heapreplace", "heappushpop"),
        *("insort", "insort_left", "insort_right", "setattr", "delattr", "copyto", "fill_diagonal", "putmask"),
    )
)
"""Functions that mutate their first argument, and that nobody defines to do anything else."""

_METHODS = frozenset(
    (
        *("append", "appendleft", "extend", "extendleft", "insert", "remove", "discard", "clear", "update"),
        *("setdefault", "pop", "popleft", "popitem", "rotate"),
        *("fit", "partial_fit", "fit_transform", "fit_predict", "set_params", "load_state_dict"),
    )
)
"""Methods that mutate, whoever has them."""

_ALSO = {
    "builtins.list": ("sort", "reverse"),
    "builtins.bytearray": ("reverse",),
    "builtins.set": ("add", "difference_update", "intersection_update", "symmetric_difference_update"),
    "collections.deque": ("reverse",),
    "collections.Counter": ("subtract",),
    "collections.OrderedDict": ("move_to_end",),
    "numpy.ndarray": ("sort", "fill", "resize", "put", "partition", "setfield", "setflags", "itemset"),
    "polars.DataFrame": ("insert_column", "replace_column", "drop_in_place"),
    "matplotlib.Figure": ("add_subplot", "add_axes", "add_gridspec", "suptitle", "tight_layout"),
}
"""What mutates besides, by type."""

_NOT = {
    "pandas.DataFrame": ("append",),
    "pandas.Series": ("append",),
    "pandas.Index": ("append", "insert"),
    "polars.DataFrame": ("clear", "update", "remove"),
    "polars.LazyFrame": ("clear", "update", "remove"),
    "polars.Series": ("clear",),
    "polars.Expr": ("append",),
}
"""What returns a new object instead, by type."""

_CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def mutations(code: str) -> frozenset[Mutation]:
    """Return what code clearly mutates; nothing for code that cannot be parsed.

    Magics and shell lines (``%``, ``!``, ``?``) are left out before parsing.
    """
    tree = _parse(code)
    return frozenset(_of_statements(tree.body)) if tree is not None else frozenset()


def mutates(obj: object, method: str) -> bool:
    """Whether calling a method of that name changes an object of this type (PyTorch's end in an underscore)."""
    if exactly(type(obj), _CODE) or subclass_of(type(obj), type):
        return False  # `numpy.append(a, 1)` does nothing to numpy
    names = [f"{root_of(entry)}.{qualified_name(entry)}" for entry in mro(type(obj))]
    if any(method in _NOT.get(name, ()) for name in names):
        return False
    if "torch.Tensor" in names and method.endswith("_") and not method.startswith("_"):
        return True
    return method in _METHODS or any(method in _ALSO.get(name, ()) for name in names)


def _parse(code: str) -> ast.Module | None:
    for text in (code, _without_magics(code)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the cell itself has warned of its escapes already
                return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _without_magics(code: str) -> str:
    """Replace lines that are IPython's, not Python's, by ``pass`` of the same indentation."""
    if code.lstrip().startswith("%%"):
        code = code.lstrip().partition("\n")[2]
    lines = []
    for line in code.split("\n"):
        bare = line.lstrip()
        foreign = bare.startswith(("%", "!", "?")) or bare.rstrip().endswith("?")
        lines.append(line[: len(line) - len(bare)] + "pass" if foreign else line)
    return "\n".join(lines)


def _of_statements(nodes: Iterable[ast.AST], local: frozenset[str] = frozenset()) -> Iterator[Mutation]:
    """Walk what runs at the top level; ``local`` are names a comprehension binds for itself."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, _COMPREHENSIONS):
            targets = (target for generator in node.generators for target in ast.walk(generator.target))
            bound = {target.id for target in targets if isinstance(target, ast.Name)}
            yield from _of_statements(ast.iter_child_nodes(node), local | bound)
            continue
        yield from (found for found in _of_node(node) if found.name not in local)
        waiting.extend(ast.iter_child_nodes(node))


def _of_node(node: ast.AST) -> Iterator[Mutation]:
    if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield from _base(node)
    elif isinstance(node, ast.AugAssign):
        yield from _base(node.target)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[Mutation]:
    function = node.func
    if isinstance(function, ast.Attribute):
        for found in _base(function.value):
            yield Mutation(found.name, None if _in_place(node) else function.attr)
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called in _FIRST_ARGUMENT and node.args:
        yield from _base(node.args[0])
    for keyword in node.keywords:
        if keyword.arg == "out":
            yield from _base(keyword.value)


def _in_place(node: ast.Call) -> bool:
    return any(
        keyword.arg == "inplace" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in node.keywords
    )


def _base(node: ast.AST) -> Iterator[Mutation]:
    """Yield the name at the start of ``name.a[b].c``; nothing where it starts with a call."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
        node = node.value
    if isinstance(node, ast.Name):
        yield Mutation(node.id)

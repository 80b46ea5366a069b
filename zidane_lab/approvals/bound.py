"""What a piece of code binds its names to, wherever that stands in it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from zidane_lab.approvals.handing import functions_in, handed_in
from zidane_lab.approvals.libraries import root_of

__all__ = ["Bound"]


class Bound:
    """What the names of one piece of code are bound to.

    Parameters
    ----------
    tree
        The parsed code.
    known
        What names outside the code stand for (``{"sp": "subprocess", "df": "pandas.DataFrame()"}``).
    users
        Names of the user's own variables.
    """

    def __init__(self, tree: ast.Module, known: Mapping[str, str], users: frozenset[str] = frozenset()) -> None:
        self.users = users
        self.known = known
        self.roots = frozenset(map(root_of, known.values()))
        self.defined: frozenset[str] = frozenset()
        self._imports: dict[str, set[str]] = defaultdict(set)
        self._values: dict[str, list[ast.expr | None]] = defaultdict(list)
        self._items: dict[str, list[ast.expr]] = defaultdict(list)
        self._handed: dict[str, list[ast.expr]] = defaultdict(list)
        self._spread: dict[str, list[ast.expr]] = defaultdict(list)
        self._certain: dict[str, tuple[int, int]] = {}
        self.include(tree)
        deleted = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Del)}
        for statement in tree.body:
            for name in _bound_by(statement):
                if name not in deleted:
                    end = (statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
                    self._certain.setdefault(name, end)

    def include(self, tree: ast.AST) -> None:
        """Count the bindings of ``tree`` in, too (code found inside a text, say)."""
        nodes = list(ast.walk(tree))
        functions = functions_in(nodes)
        self.defined |= functions.keys() | {each.name for each in nodes if isinstance(each, ast.ClassDef)}
        for node in nodes:
            self._collect(node)
            for name, value, is_element in handed_in(node, functions):
                (self._items if is_element else self._handed)[name].append(value)

    def _collect(self, node: ast.AST) -> None:  # noqa: C901, PLR0912 - one case for each kind of node
        match node:
            case ast.Import():
                for alias in node.names:
                    self._imports[alias.asname or alias.name.split(".")[0]].add(
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
            case ast.ImportFrom():
                for alias in node.names:
                    self._imports[alias.asname or alias.name].add(f"{'.' * node.level}{node.module or ''}.{alias.name}")
            case ast.Assign():
                for target in node.targets:
                    self._bind(target, node.value)
            case ast.AnnAssign() | ast.NamedExpr():
                self._bind(node.target, node.value)
            case ast.AugAssign():
                self._bind(node.target, None)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                if isinstance(node.target, ast.Name):
                    self._items[node.target.id].append(node.iter)
                else:
                    self._bind(node.target, None)
                    for each in ast.walk(node.target):
                        if isinstance(each, ast.Name):
                            self._spread[each.id].append(node.iter)
            case ast.withitem() if node.optional_vars is not None:
                self._bind(node.optional_vars, node.context_expr)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._values[node.name].append(None)
            case ast.arguments():
                plain = [*node.posonlyargs, *node.args]
                defaults: list[ast.expr | None] = [None] * (len(plain) - len(node.defaults)) + list(node.defaults)
                for argument, default in zip([*plain, *node.kwonlyargs], [*defaults, *node.kw_defaults], strict=True):
                    self._values[argument.arg] += [None, default]
                for extra in (node.vararg, node.kwarg):
                    if extra is not None:
                        self._values[extra.arg].append(None)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self._values[name].append(None)
            case ast.MatchMapping(rest=str(name)):
                self._values[name].append(None)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._values[target.id].append(value)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            pairs = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            spread = any(isinstance(each, ast.Starred) for each in target.elts)
            for index, each in enumerate(target.elts):
                matched = (
                    value.elts[index] if pairs and not spread and isinstance(value, (ast.Tuple, ast.List)) else None
                )
                self._bind(each, matched)

    def is_certain(self, node: ast.Name) -> bool:
        """Whether the name has surely been bound by this code before it is used here."""
        return node.id in self._certain and self._certain[node.id] < (node.lineno, node.col_offset)

    def is_bound(self, name: str) -> bool:
        """Whether this code binds the name anywhere."""
        return name in self._imports or name in self._values or name in self._items

    def bound_to(self, name: str) -> tuple[list[ast.expr | None], list[ast.expr]]:
        """Return what this code binds the name to, and what it goes through with it."""
        return self._values.get(name, []), self._items.get(name, [])

    def is_import(self, name: str) -> bool:
        """Whether the name is a module's or something's out of one, here or from before."""
        return name in self._imports or (not self.is_bound(name) and "(" not in self.known.get(name, "("))

    def imports_root(self, root: str) -> bool:
        """Whether this code imports a module of that name."""
        return any(each.split(".")[0] == root for found in self._imports.values() for each in found)


def _bound_by(statement: ast.stmt) -> list[str]:  # noqa: C901 - one case for each kind of statement
    """Names that a statement at the top of the code binds for certain."""
    targets: list[ast.expr] = []
    match statement:
        case ast.Assign():
            targets = list(statement.targets)
        case ast.AnnAssign() if statement.value is not None:
            targets = [statement.target]
        case ast.With() | ast.AsyncWith():
            targets = [item.optional_vars for item in statement.items if item.optional_vars is not None]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [statement.name]
        case ast.Import():
            return [alias.asname or alias.name.split(".")[0] for alias in statement.names]
        case ast.ImportFrom():
            return [alias.asname or alias.name for alias in statement.names]
    found: list[str] = []
    while targets:
        target = targets.pop()
        if isinstance(target, ast.Name):
            found.append(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            targets.extend(target.elts)
        elif isinstance(target, ast.Starred):
            targets.append(target.value)
    return found

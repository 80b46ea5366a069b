"""What code does to names that exist: deleting, overwriting, patching.

A name that was there before the agent is the user's: taking it away or binding it to something else asks.
Names bound inside a function, a class or a comprehension are other names and do not count.
"""

from __future__ import annotations

import ast
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final

from zidane_lab.approvals.handing import is_made_here
from zidane_lab.approvals.origins import Names
from zidane_lab.approvals.rules import CONVENTIONAL
from zidane_lab.approvals.verbs import judge_stored

__all__ = ["BindingVisitor"]

_SETTINGS: Final = ("pandas.options.", "polars.Config", "torch.backends.", "plotly.io.", "matplotlib.rcParams")
"""Attributes of modules that are made to be set."""


class BindingVisitor(ast.NodeVisitor, ABC):
    """The part of a scanner that watches over names; it records reasons in ``findings``."""

    def __init__(self, names: Names, protected: frozenset[str], known: Mapping[str, str]) -> None:
        self.names = names
        self.known = known
        self.findings: list[tuple[int, str]] = []
        self.line = 1
        self._protected = protected
        self._globals: list[set[str]] = []

    @abstractmethod
    def is_module(self, origin: str) -> bool:
        """Whether the origin seems to be a module or a part of one."""

    def report(self, node: ast.AST, why: str) -> None:
        """Record a reason to ask."""
        self.findings.append((getattr(node, "lineno", self.line), why))

    def visit(self, node: ast.AST) -> None:
        """Visit a node, remembering the line for what has none of its own."""
        self.line = getattr(node, "lineno", self.line)
        super().visit(node)

    def binding(self, name: str, node: ast.AST) -> None:
        """Report a binding of a protected name, where it is the user's variable that is bound."""
        if self._is_users(name):
            self.report(node, f"overwrites your variable {name}")

    def _is_users(self, name: str) -> bool:
        """Whether the name means the user's variable in the scope that is being visited."""
        return name in self._protected and (not self._globals or name in self._globals[-1])

    def imported(self, name: str, full: str, node: ast.AST) -> None:
        """Report an import over a protected name, unless the name holds just that already."""
        held = self.known.get(name)
        if held is not None:
            # Of a value only its class is known: taken for the same where it comes from the same package.
            value = held.endswith("()") and held.partition(".")[0] == full.partition(".")[0]
            same = held == full or _ends(held) == _ends(full) or (value and full.endswith(f".{name}"))
        else:
            loaded = full.split(".", maxsplit=1)[0] == name and name in sys.modules
            same = CONVENTIONAL.get(name) == full or loaded
        if not same:
            self.binding(name, node)

    def patching(self, node: ast.Attribute) -> None:
        """Report ``module.attribute = …``."""
        for origin in self.names.origins(node.value):
            full = f"{origin}.{node.attr}"
            if full.endswith("plotting.backend"):
                self.report(node, "loads a module by its name")
            if not full.startswith(_SETTINGS) and self.is_module(origin):
                self.report(node, f"changes {full} for everybody")
        if node.attr in {"__class__", "__dict__"}:
            self.report(node, "changes what an object is")
        owner = node.value
        by_type = isinstance(owner, ast.Call) and "type" in self.names.origins(owner.func)
        if by_type or (isinstance(owner, ast.Attribute) and owner.attr == "__class__"):
            self.report(node, "changes a class for everybody")
        for why in judge_stored(self.names.origins(owner) if node.attr != "name" else frozenset()):
            self.report(node, why)

    def changing(self, node: ast.Call) -> None:
        """Report calls that change a protected variable in place, where they say so."""
        changed = [node.func, *node.args[:1]]  # the second of `pd.DataFrame.drop(df, inplace=True)`
        roots = {alias for each in changed for alias in self.names.aliases(_root(each))} & self._protected
        in_place = any(map(self._is_in_place, node.keywords))
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        if in_place and not roots and self._protected and receiver and not is_made_here(self.names, receiver):
            self.report(node, "may change your variables in place")
        for root in sorted(roots):
            if in_place:
                self.report(node, f"changes your variable {root} in place")
            match node.func:
                case ast.Attribute(value=ast.Name(), attr="clear"):
                    self.report(node, f"empties your variable {root}")
                case ast.Attribute(attr="pop" | "popitem", value=value) if self._holds(node, value):
                    self.report(node, f"takes a part out of your variable {root}")

    def _is_in_place(self, keyword: ast.keyword) -> bool:
        if keyword.arg is None:
            return "inplace" in self.names.pieces(keyword.value)
        return keyword.arg == "inplace" and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)

    def _holds(self, node: ast.Call, receiver: ast.expr) -> bool:
        """Whether it is a variable itself whose part is taken: ``df.pop("a")``, ``pd.DataFrame.pop(df, "a")``."""
        by_class = bool(node.args) and any("(" not in each and "." in each for each in self.names.origins(receiver))
        return isinstance(receiver, ast.Name) or (by_class and isinstance(receiver, ast.Attribute))

    def visit_Name(self, node: ast.Name) -> None:
        """Judge a name that is bound or deleted."""
        if isinstance(node.ctx, ast.Store):
            self.binding(node.id, node)
        elif isinstance(node.ctx, ast.Del) and self._is_users(node.id):
            self.report(node, f"deletes your variable {node.id}")

    def visit_Delete(self, node: ast.Delete) -> None:
        """Judge ``del df["a"]``, which takes away a part of what the user has."""
        for target in node.targets:
            root = _root(target)
            if not isinstance(target, ast.Name) and root in self._protected:
                self.report(node, f"deletes a part of your variable {root}")
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """Judge the name of an exception: it is bound, and deleted afterwards."""
        self._captured(node.name, node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        """Judge a pattern that captures into a name."""
        self._captured(node.name, node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        """Judge a pattern that captures the rest of a sequence into a name."""
        self._captured(node.name, node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        """Judge a pattern that captures the rest of a mapping into a name."""
        self._captured(node.rest, node)

    def _captured(self, name: str | None, node: ast.AST) -> None:
        if name:
            self.binding(name, node)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Judge the name, then the body in its own scope."""
        self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Judge the name, then the body in its own scope."""
        self._definition(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Judge the name, then the body in its own scope."""
        self._definition(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Judge the body in its own scope."""
        self._scope(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Skip the names that are bound inside the comprehension only."""
        self.visit(node.iter)
        for condition in node.ifs:
            self.visit(condition)
        for each in ast.walk(node.target):
            if isinstance(each, (ast.Attribute, ast.Subscript)):
                self.visit(each)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.binding(node.name, node)
        self._scope(node)

    def _scope(self, node: ast.AST) -> None:
        self._globals.append({name for each in ast.walk(node) if isinstance(each, ast.Global) for name in each.names})
        self.generic_visit(node)
        self._globals.pop()


def _ends(full: str) -> tuple[str, str]:
    """Return package and last name: a class is often defined deeper than it is imported from."""
    return full.partition(".")[0], full.rpartition(".")[2]


def _root(node: ast.AST) -> str:
    """Name the variable at the root of ``df["a"].x``."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""

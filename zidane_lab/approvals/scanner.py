"""Walk through Python code and find what it does beyond computing.

What is looked for is a *reference*, not a call: code that only mentions ``os.remove`` can pass it on to be
called where nobody sees it. What a call does is judged in :mod:`zidane_lab.approvals.calls`.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Final

from zidane_lab.approvals import calls
from zidane_lab.approvals.magics import read_magic, to_python
from zidane_lab.approvals.origins import Names
from zidane_lab.approvals.rules import (
    ALLOWED_PARTS,
    BUILTINS,
    CONVENTIONAL,
    CORE_MODULES,
    DUNDERS_ALLOWED,
    FRAME_ATTRIBUTES,
    FUNCTIONS,
    HARMLESS_MODULES,
    METHOD_PREFIXES,
    METHODS,
    MODULES,
    PATH_METHODS,
    WRITERS_WITH_PATH,
)
from zidane_lab.approvals.secrets import secret_name

__all__ = ["Scanner", "parse"]

_PASSED_SAFELY: Final = frozenset({"dir", "help", "type", "print", "repr", "id", "hasattr", "isinstance", "callable"})
_SETTINGS: Final = ("pandas.options.", "polars.Config", "torch.backends.", "plotly.io.", "matplotlib.rcParams")
"""Module attributes that are made to be set."""
_WRITABLE: Final = frozenset({"sys.stdout", "sys.stderr", "io.StringIO()", "io.BytesIO()"})
_DEEPEST: Final = 8
"""How deep code may sit in texts within code."""


def parse(code: str) -> ast.Module:
    """Parse plain Python without a word about odd escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


class Scanner(ast.NodeVisitor):
    """One walk; :attr:`findings` has lines and reasons.

    Parameters
    ----------
    tree
        The code, IPython's syntax already turned into Python.
    known
        What names outside the code stand for.
    protected
        Names of the user that may not be deleted or bound anew unasked.
    written_shell
        The code itself says ``get_ipython``, so it is not only the form that magics take.
    """

    def __init__(
        self, tree: ast.Module, *, known: Mapping[str, str], protected: frozenset[str], written_shell: bool
    ) -> None:
        self.findings: list[tuple[int, str]] = []
        self.names = Names(tree, known)
        self._tree = tree
        self._known = known
        self._protected = protected
        self._written_shell = written_shell
        self._parents: dict[ast.AST, ast.AST] = {}
        self._globals: list[set[str]] = []
        self._depth = 0
        self._line = 1

    def scan(self) -> list[tuple[int, str]]:
        """Walk and return the findings in the order of lines."""
        self._enter(self._tree)
        return sorted(set(self.findings))

    def report(self, node: ast.AST, why: str) -> None:
        """Record a reason to ask."""
        self.findings.append((getattr(node, "lineno", self._line), why))

    def _enter(self, tree: ast.AST) -> None:
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                self._parents[child] = parent
        self.visit(tree)

    def nested(self, code: str, node: ast.AST, *, offset: int | None = None) -> None:
        """Look into code that stands in a text; ``offset`` is its line below the node's, else it is all one line."""
        line = getattr(node, "lineno", self._line)
        if self._depth >= _DEEPEST:
            self.report(node, "has code in texts in code")
            return
        try:
            plain, dropped = to_python(code) if offset is not None else (code, 0)
            tree = parse(plain)
        except (SyntaxError, ValueError):
            self.report(node, "has code in a text that cannot be read")
            return
        for each in ast.walk(tree):
            if hasattr(each, "lineno") and hasattr(each, "end_lineno"):
                moved = line if offset is None else each.lineno + line - 1 + offset + dropped
                each.lineno = each.end_lineno = moved
        self.names.include(tree)
        self._depth += 1
        try:
            self._enter(tree)
        finally:
            self._depth -= 1

    def visit(self, node: ast.AST) -> None:
        """Visit a node, remembering the line for what has none of its own."""
        self._line = getattr(node, "lineno", self._line)
        super().visit(node)

    # --- imports ------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:  # noqa: N802 - ast's naming
        """Judge the modules and the names they get."""
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            self._module(alias.name, node)
            if alias.asname and alias.name in CORE_MODULES and alias.asname != alias.name:
                self.report(node, f"hides the module {alias.name} under another name")
            if name not in {alias.name.split(".")[0], self._known.get(name)} and CONVENTIONAL.get(name) != alias.name:
                self._binding(name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: N802 - ast's naming
        """Judge the module and each thing taken from it."""
        if node.level:
            return
        module = node.module or ""
        for alias in node.names:
            full = f"{module}.{alias.name}"
            if alias.name == "*":
                self.report(node, f"imports whatever {module} holds, over names that exist")
                self._module(module, node)
                continue
            self._dotted(full.split("."), node, importing=True)
            self._attribute_name(alias.name, node, receiver=frozenset({module}))
            if full in CORE_MODULES:
                self.report(node, f"hides the module {full} under another name")
            if self._known.get(alias.asname or alias.name) != full:
                self._binding(alias.asname or alias.name, node)

    def _module(self, module: str, node: ast.AST) -> None:
        self._dotted(module.split("."), node, importing=True)

    # --- references ---------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:  # noqa: N802 - ast's naming
        """Judge what a name stands for, or what becomes of it."""
        if isinstance(node.ctx, ast.Store):
            self._binding(node.id, node)
            return
        if isinstance(node.ctx, ast.Del):
            if node.id in self._protected:
                self.report(node, f"deletes your variable {node.id}")
            return
        origins = self.names.origins(node)
        called = self._is_called(node)
        for origin in origins:
            if origin in BUILTINS and not (called and origin in calls.JUDGED):
                self.report(node, BUILTINS[origin])
            if origin in CORE_MODULES and not self._is_plain_use(node):
                self.report(node, f"hands on the module {origin}, so its use cannot be seen")
            self._reference(origin, node)

    def visit_Attribute(self, node: ast.Attribute) -> None:  # noqa: N802 - ast's naming
        """Judge an attribute by its full name, and by its own name whatever it is looked up on."""
        if isinstance(node.ctx, ast.Load):
            self._attribute_name(node.attr, node, receiver=self.names.origins(node.value))
            for origin in self.names.origins(node):
                self._reference(origin, node)
        else:
            self._patching(node)
        self.generic_visit(node)

    def _attribute_name(self, name: str, node: ast.AST, *, receiver: frozenset[str]) -> None:
        if (name.startswith("__") and name.endswith("__") and name not in DUNDERS_ALLOWED) or name in FRAME_ATTRIBUTES:
            self.report(node, f"reaches the interpreter's inside through {name}")
        parent = self._parents.get(node)
        if isinstance(parent, ast.Attribute) and name not in {"write", "writeStream", "environ", "user_ns"}:
            return  # `df.save.mean()`: a column; what follows is judged by its own name
        why = METHODS.get(name) or next(
            (why for prefix, why in METHOD_PREFIXES.items() if name.startswith(prefix)), None
        )
        if why and not (name in {"write", "writelines"} and receiver and receiver <= _WRITABLE):
            self.report(node, why)
        if name in PATH_METHODS | WRITERS_WITH_PATH and self._is_handed_on(node):
            self.report(node, f"hands on `{name}`, so what it is called with cannot be seen")

    def _reference(self, origin: str, node: ast.AST) -> None:
        parts = origin.split(".")
        self._dotted(parts, node)
        for start in range(1, len(parts)):  # a module reached through another: `pathlib.os.remove`
            if parts[start].strip("_") in CORE_MODULES:
                self._dotted([parts[start].strip("_"), *parts[start + 1 :]], node)

    def _dotted(self, parts: list[str], node: ast.AST, *, importing: bool = False) -> None:
        """Judge a full name, of a module or of something in it."""
        plain = [part.split("(")[0].split("[")[0] for part in parts]
        for size in range(len(plain), 0, -1):
            name = ".".join(plain[:size])
            if name in HARMLESS_MODULES:
                return
            if name in FUNCTIONS:
                self.report(node, FUNCTIONS[name])
                return
            if name in MODULES:
                if (size < len(plain) and _exists(name, plain[size])) or importing:
                    self.report(node, MODULES[name])
                return
        allowed = ALLOWED_PARTS.get(plain[0])
        if allowed is not None and len(plain) > 1 and plain[1] not in allowed and _exists(plain[0], plain[1]):
            name = f"{plain[0]}.{plain[1]}"
            self.report(node, METHODS.get(plain[1], f"uses {name}, which does more than compute"))

    # --- names that exist ---------------------------------------------------------------------------

    def _binding(self, name: str, node: ast.AST) -> None:
        """Report a binding of a protected name, where it is the user's variable that is bound."""
        if name in self._protected and (not self._globals or name in self._globals[-1]):
            self.report(node, f"overwrites your variable {name}")

    def _scope(self, node: ast.AST) -> None:
        declared = {name for each in ast.walk(node) if isinstance(each, ast.Global) for name in each.names}
        self._globals.append(declared)
        try:
            self.generic_visit(node)
        finally:
            self._globals.pop()

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._binding(node.name, node)
        self._scope(node)

    visit_FunctionDef = _definition  # noqa: N815 - ast's naming
    visit_AsyncFunctionDef = _definition  # noqa: N815
    visit_ClassDef = _definition  # noqa: N815
    visit_Lambda = _scope  # noqa: N815

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Skip the target: it is bound inside the comprehension only."""
        self.visit(node.iter)
        for condition in node.ifs:
            self.visit(condition)
        if not isinstance(node.target, ast.Name):
            self._targets(node.target)

    def _targets(self, node: ast.AST) -> None:
        for each in ast.walk(node):
            if isinstance(each, (ast.Attribute, ast.Subscript)):
                self.visit(each)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:  # noqa: N802 - ast's naming
        """An exception's name is bound, and deleted afterwards."""
        if node.name:
            self._binding(node.name, node)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:  # noqa: N802 - ast's naming
        """A pattern may capture into a name."""
        if node.name:
            self._binding(node.name, node)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:  # noqa: N802 - ast's naming
        """A pattern may capture the rest into a name."""
        if node.name:
            self._binding(node.name, node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:  # noqa: N802 - ast's naming
        """A pattern may capture the rest of a mapping into a name."""
        if node.rest:
            self._binding(node.rest, node)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:  # noqa: N802 - ast's naming
        """``del df["a"]`` takes away a part of what the user has."""
        for target in node.targets:
            root = _root(target)
            if not isinstance(target, ast.Name) and root in self._protected:
                self.report(node, f"deletes a part of your variable {root}")
        self.generic_visit(node)

    def _patching(self, node: ast.Attribute) -> None:
        """Report ``module.attribute = …``."""
        for origin in self.names.origins(node.value):
            full = f"{origin}.{node.attr}"
            if not full.startswith(_SETTINGS) and self.is_module(origin):
                self.report(node, f"changes {full} for everybody")
        if isinstance(node.value, ast.Attribute) and node.value.attr == "__class__":
            self.report(node, "changes a class for everybody")

    def is_module(self, origin: str) -> bool:
        """Whether the origin seems to be a module or a part of one, not a value."""
        if "(" in origin or "[" in origin:
            return False
        root = origin.split(".")[0]
        imported = self.names.imports_root(root)
        return imported or root in sys.stdlib_module_names or root in CONVENTIONAL.values()

    # --- constants and calls ------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> None:  # noqa: N802 - ast's naming
        """Judge a text that names a secret, or a way inside the interpreter."""
        if not isinstance(node.value, str) or isinstance(self._parents.get(node), ast.Expr):
            return
        text = node.value
        if 0 < len(text) < 300 and not any(char.isspace() for char in text) and secret_name(text):
            self.report(node, f"names {text!r}, which commonly holds secrets")
        for word in ("__globals__", "__subclasses__", "__builtins__", "__import__", "__mro__", "__code__"):
            if word in text:
                self.report(node, f"reaches the interpreter's inside through {word}")
        if text in {"application/javascript", "text/javascript"}:
            self.report(node, "runs JavaScript in the browser")

    def visit_Call(self, node: ast.Call) -> None:  # noqa: N802 - ast's naming
        """Judge what is called with what."""
        if not self._magic(node):
            for finding in calls.judge(node, self.names, is_module=self.is_module, parent=self._parents.get(node)):
                if isinstance(finding, calls.Code):
                    self.nested(finding.text, node)
                else:
                    self.report(node, finding)
            root = _root(node.func)
            if root in self._protected and any(_is_true(each) for each in node.keywords if each.arg == "inplace"):
                self.report(node, f"changes your variable {root} in place")
            self.generic_visit(node)

    def _magic(self, node: ast.Call) -> bool:
        """Judge a call that IPython's own syntax was turned into; ``False`` where it is an ordinary call."""
        match node.func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython"), args=[]), attr=attribute):
                if self._written_shell:
                    return False
            case _:
                return False
        texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if attribute in {"system", "getoutput"}:
            self.report(node, "runs a shell command")
            return True
        if attribute not in {"run_line_magic", "run_cell_magic"} or len(texts) < 2:
            return False
        magic = read_magic(texts[0], texts[1], texts[2] if len(texts) > 2 else None)
        for why in magic.whys:
            self.report(node, why)
        for name in magic.binds:
            self._binding(name, node)
        for code, offset in magic.codes:
            self.nested(code, node, offset=offset)
        return True

    # --- how a node is used -------------------------------------------------------------------------

    def _is_called(self, node: ast.AST) -> bool:
        parent = self._parents.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def _is_plain_use(self, node: ast.Name) -> bool:
        """Whether a module is looked into or shown, not handed on."""
        parent = self._parents.get(node)
        if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id in _PASSED_SAFELY
        return isinstance(parent, (ast.Attribute, ast.Expr, ast.Compare))

    def _is_handed_on(self, node: ast.AST) -> bool:
        """Whether a method is passed to something else instead of being called here."""
        parent = self._parents.get(node)
        if isinstance(parent, ast.Call) and parent.func is not node:
            return any(name in calls.HIGHER_ORDER for name in _last_names(parent.func))
        return isinstance(parent, (ast.keyword, ast.Assign, ast.NamedExpr, ast.Return, ast.Lambda, ast.Dict)) and not (
            isinstance(parent, ast.Assign) and self._is_column(parent)
        )

    def _is_column(self, node: ast.Assign) -> bool:
        """Whether ``x = df.open`` is followed by no call of ``x``."""
        bound = {each.id for each in node.targets if isinstance(each, ast.Name)}
        if len(bound) != len(node.targets):
            return False
        called = (each.func for each in ast.walk(self._tree) if isinstance(each, ast.Call))
        return not any(isinstance(function, ast.Name) and function.id in bound for function in called)


def _last_names(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr


def _is_true(keyword: ast.keyword) -> bool:
    return not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)


def _root(node: ast.AST) -> str:
    """Name the variable at the root of ``df["a"].x``."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _exists(module: str, attribute: str) -> bool:
    """Whether a module of the standard library has the attribute: ``signal.mean()`` is a user's signal."""
    if module.split(".")[0] not in sys.stdlib_module_names or module not in sys.modules:
        return True
    return hasattr(sys.modules[module], attribute)

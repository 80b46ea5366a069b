# ruff: noqa: N802 - the methods carry the names that `ast` looks for
"""Walk through Python code and find what it does beyond computing.

What is looked for is a *reference*, not a call: code that only mentions ``os.remove`` can pass it on to be
called where nobody sees it. What a call does is judged in :mod:`zidane_lab.approvals.calls`, what happens to
the user's own names in :mod:`zidane_lab.approvals.bindings`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Mapping
from typing import Final

from zidane_lab.approvals.bindings import BindingVisitor
from zidane_lab.approvals.builtin_calls import JUDGED, Code
from zidane_lab.approvals.calls import HIGHER_ORDER, judge
from zidane_lab.approvals.folding import reaches_attribute
from zidane_lab.approvals.libraries import COMPUTING, foreign_root, import_effect, is_inner, part_effect
from zidane_lab.approvals.magics import read_magic, to_python
from zidane_lab.approvals.origins import Names
from zidane_lab.approvals.page import judge_definition
from zidane_lab.approvals.rules import (
    ALLOWED_PARTS,
    BUILTINS,
    CONVENTIONAL,
    CORE_MODULES,
    DUNDERS_ALLOWED,
    FRAME_ATTRIBUTES,
    FUNCTIONS,
    HARMLESS_MODULES,
    INNER_WORDS,
    METHODS,
    MODULES,
    PATH_METHODS,
    SECRET_FOLDERS,
    TEXT_RUNNERS,
    WRITERS_WITH_PATH,
    method_effect,
)
from zidane_lab.approvals.secrets import secret_name
from zidane_lab.approvals.verbs import judge_stored

__all__ = ["Scanner", "parse"]

_LOOKED_AT: Final = frozenset({"callable", "dir", "hasattr", "help", "id", "isinstance", "print", "repr", "type"})
"""Functions that may be given a module: they only look at it."""
_SIMPLE: Final = _LOOKED_AT | {"abs", "display", "float", "int", "len", "list", "round", "set", "str", "sum", "zip"}
_WRITABLE: Final = frozenset({"sys.stdout", "sys.stderr", "io.StringIO()", "io.BytesIO()"})
_NEVER_COLUMNS: Final = frozenset({"write", "writeStream", "environ", "user_ns"})
"""Attributes whose own attributes go on doing the same: ``df.write.parquet(…)``."""
_NOT_IMPORTED: Final = frozenset(
    {"__main__", "antigravity", "idlelib", "test", "this", "tkinter", "turtle", "turtledemo"}
)
_PASSED: Final = frozenset({"importlib", "importlib.util"})
"""Modules with harmless parts, on the way to what is judged by its own full name."""
_CONVENTIONAL: Final = frozenset(each.partition(".")[0] for each in CONVENTIONAL.values())
_DEEPEST: Final = 8
"""How deep code may sit in texts within code."""


def parse(code: str) -> ast.Module:
    """Parse plain Python without a word about odd escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


class Scanner(BindingVisitor):
    """Judges one piece of code.

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
        super().__init__(Names(tree, known, protected), protected, known)
        self._tree = tree
        self._written_shell = written_shell
        self._parents: dict[ast.AST, ast.AST] = {}
        self._depth = 0
        self._found_code = False

    def scan(self) -> list[tuple[int, str]]:
        """Return lines and reasons, in the order of lines."""
        self._enter(self._tree)
        if self._found_code:  # what code in texts binds counts for what was judged before it, too
            self._enter(self._tree)
        return sorted(set(self.findings))

    def _enter(self, tree: ast.AST) -> None:
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                self._parents[child] = parent
        self.visit(tree)

    def nested(self, code: str, node: ast.AST, *, offset: int | None = None) -> None:
        """Look into code that stands in a text; ``offset`` is its line below the node's, else it is all one line."""
        line = getattr(node, "lineno", self.line)
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
            if hasattr(each, "lineno") and hasattr(each, "end_lineno") and hasattr(each, "col_offset"):
                each.col_offset = 0  # of the text, not of the line it stands in
                each.lineno = each.end_lineno = line if offset is None else each.lineno + line - 1 + offset + dropped
        self.names.include(tree)
        self._found_code = True
        self._depth += 1
        self._enter(tree)
        self._depth -= 1

    # --- imports ------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        """Judge the modules and the names they get."""
        for alias in node.names:
            self._module(alias.name, node)
            if alias.asname and alias.name in CORE_MODULES and alias.asname != alias.name:
                self.report(node, f"hides the module {alias.name} under another name")
            root = alias.name.partition(".")[0]
            self.imported(alias.asname or root, alias.name if alias.asname else root, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Judge the module and each thing taken from it."""
        if node.level:
            return
        module = node.module or ""
        self._module(module, node, parts=True)
        for alias in node.names:
            full = f"{module}.{alias.name}"
            if alias.name == "*":
                self.report(node, f"imports whatever {module} holds, over names that exist")
                self._module(module, node)
                continue
            self._dotted(full.split("."), node, importing=True)
            self._attribute_name(alias.name, node, receiver=frozenset({module}))
            if alias.name.strip("_") in CORE_MODULES:
                self.report(node, f"hides the module {full}")
            elif is_inner(alias.name):
                self.report(node, f"reaches a library's inside through {alias.name}")
            self.imported(alias.asname or alias.name, full, node)

    def _module(self, module: str, node: ast.AST, *, parts: bool = False) -> None:
        """Judge a module that is imported, or (``parts``) of which parts are."""
        root = module.split(".", maxsplit=1)[0]
        if root.startswith("_") and root != "__future__" and root in sys.stdlib_module_names:
            self.report(node, f"reaches the interpreter's inside through {root}")
        elif (why := import_effect(module)) is not None:
            self.report(node, why)
        for part in filter(is_inner, module.split(".")[1:]):
            self.report(node, f"reaches a library's inside through {part}")
        if not parts:
            self._dotted(module.split("."), node, importing=True)

    # --- references ---------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        """Judge what a name stands for, or what becomes of it."""
        if not isinstance(node.ctx, ast.Load):
            super().visit_Name(node)
            return
        parent = self._parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        for origin in self.names.origins(node):
            if origin in BUILTINS and not (called and origin in JUDGED):
                self.report(node, BUILTINS[origin])
            last = origin.rpartition(".")[2]
            if last in TEXT_RUNNERS and last != origin and isinstance(parent, ast.Call) and not called:
                self._runner(last, node, parent)
            if origin in CORE_MODULES and not self._is_looked_at(node):
                self.report(node, f"hands on the module {origin}, so its use cannot be seen")
            self._reference(origin, node)
            self._foreign(origin, node, parent)

    def _foreign(self, origin: str, node: ast.Name, parent: ast.AST | None) -> None:
        """Report what comes from a library that is not known to compute, unless it is only looked at."""
        held = self.known.get(node.id)
        if held is None or (root := foreign_root(origin, held)) is None:
            return
        handed = isinstance(parent, ast.Attribute | ast.Call | ast.keyword) and not self._is_looked_at(node)
        if not held.endswith("()") or handed or self._calls(parent):
            self.report(node, f"uses {root}, which is not known to only compute")

    def _calls(self, node: ast.AST | None) -> bool:
        """Whether something of this attribute is called in the end."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            parent = self._parents.get(node)
            if isinstance(parent, ast.Call) and parent.func is node:
                return True
            node = parent
        return False

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Judge an attribute by its full name, and by its own name whatever it is looked up on."""
        if isinstance(node.ctx, ast.Load):
            receiver = self.names.origins(node.value)
            self._attribute_name(node.attr, node, receiver=receiver)
            for origin in self.names.origins(node):
                self._reference(origin, node)
            by_module = any(map(self.is_module, receiver))
            if by_module and is_inner(node.attr):
                self.report(node, f"reaches a library's inside through {node.attr}")
            inner = node.attr.strip("_") in CORE_MODULES and by_module
            if inner and not self._is_looked_at(node):
                self.report(node, f"hands on the module {node.attr}, so its use cannot be seen")
        else:
            self.patching(node)
        self.generic_visit(node)

    def _attribute_name(self, name: str, node: ast.AST, *, receiver: frozenset[str]) -> None:
        if (name.startswith("__") and name.endswith("__") and name not in DUNDERS_ALLOWED) or name in FRAME_ATTRIBUTES:
            self.report(node, f"reaches the interpreter's inside through {name}")
        parent = self._parents.get(node)
        if isinstance(parent, ast.Attribute) and name not in _NEVER_COLUMNS:
            return  # `df.save.mean()`: a column; what follows is judged by its own name
        why = method_effect(name)
        if why and not (name in {"write", "writelines"} and receiver and receiver <= _WRITABLE):
            self.report(node, why)
        if not isinstance(node, ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is node):
            return
        if name in WRITERS_WITH_PATH or (name in PATH_METHODS and self._is_handed_on(node, parent)):
            self.report(node, f"hands on `{name}`, so what it is called with cannot be seen")
        elif name in TEXT_RUNNERS:
            self._runner(name, node, parent)
        elif name in {"format", "format_map"} and self._is_template(node, parent):
            self.report(node, f"hands on `{name}`, so what it looks up cannot be seen")

    def _runner(self, name: str, node: ast.expr, parent: ast.AST | None) -> None:
        """Report a function that runs texts where it is handed on (``df.query`` may be a column)."""
        if isinstance(parent, ast.Call):
            handed = not (isinstance(parent.func, ast.Name) and parent.func.id in _SIMPLE)
        elif isinstance(parent, (ast.Assign, ast.NamedExpr)):
            handed = name not in {"query", "sql"}
        else:
            handed = isinstance(
                parent, (ast.keyword, ast.Return, ast.Lambda, ast.List, ast.Tuple, ast.Dict, ast.Starred)
            )
        if handed:
            self.report(node, f"hands on `{name}`, so the text it runs cannot be seen")

    def _is_template(self, node: ast.Attribute, parent: ast.AST | None) -> bool:
        """Whether ``format`` that is handed on can look up attributes of what it will be given."""
        texts = self.names.texts(node.value)
        if texts is not None:
            return any(map(reaches_attribute, texts))
        function = parent.func if isinstance(parent, ast.Call) else None
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in HIGHER_ORDER or bool(self.names.origins(node.value) & {"str", "str()"})

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
            if name in FUNCTIONS and "(" not in parts[size - 1]:  # what came of it was judged when it was made
                self.report(node, FUNCTIONS[name])
                return
            if name in MODULES:
                if ".".join(plain) in _PASSED and (importing or isinstance(self._parents.get(node), ast.Attribute)):
                    return
                if importing or (size < len(plain) and _exists(name, plain[size])):
                    self.report(node, MODULES[name])
                return
        is_library = importing or self.names.imports_root(plain[0]) or plain[0] in self.names.roots | _CONVENTIONAL
        if plain == parts and is_library and (why := part_effect(plain)) is not None:
            self.report(node, why)
            return
        self._allowed(plain, node)

    def _allowed(self, plain: list[str], node: ast.AST) -> None:
        """Judge a part of a module of which only some go unasked."""
        allowed = ALLOWED_PARTS.get(plain[0])
        if allowed is None or len(plain) == 1 or plain[1] in allowed or not _exists(plain[0], plain[1]):
            return
        name = f"{plain[0]}.{plain[1]}"
        parent = self._parents.get(node)
        if not (name == "sys.modules" and isinstance(parent, ast.Compare) and node in parent.comparators):
            self.report(node, METHODS.get(plain[1], f"uses {name}, which does more than compute"))

    def is_module(self, origin: str) -> bool:
        """Whether the origin seems to be a module or a part of one, not a value."""
        if "(" in origin or "[" in origin:
            return False
        root = origin.split(".", maxsplit=1)[0]
        loaded = root in sys.stdlib_module_names or root in _CONVENTIONAL
        loaded = loaded or (root in self.names.roots and root in COMPUTING)
        return loaded or self.names.imports_root(root) or origin in self.known.values()

    def _is_looked_at(self, node: ast.AST) -> bool:
        """Whether a module is looked into or shown, not handed on."""
        parent = self._parents.get(node)
        if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id in _LOOKED_AT
        return isinstance(parent, (ast.Attribute, ast.Expr, ast.Compare))

    def _is_handed_on(self, node: ast.Attribute, parent: ast.AST | None) -> bool:
        """Whether a method is given to something that may call it (``df.open`` may be a column of prices)."""
        if node.attr != "open":
            copying = node.attr == "copy" and self.names.origins(node.value) <= {"copy"}
            return not copying and not isinstance(parent, (ast.Attribute, ast.Expr))
        if isinstance(parent, ast.Call):
            function = parent.func
            if isinstance(function, ast.Attribute):
                return function.attr in HIGHER_ORDER
            return not (isinstance(function, ast.Name) and function.id in _SIMPLE)
        return isinstance(parent, (ast.keyword, ast.Return, ast.Lambda))

    # --- texts and calls ----------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> None:
        """Judge a text, unless it is a docstring."""
        if isinstance(node.value, str) and not isinstance(self._parents.get(node), ast.Expr):
            self._text(node.value, node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Judge a text put together by ``+``."""
        for text in self.names.texts(node) or ():
            self._text(text, node)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Judge a text turned round, or a part of one; and what is set in something that stands for a file."""
        if not isinstance(node.ctx, ast.Load):
            for why in judge_stored(self.names.origins(node.value)):
                self.report(node, why)
        for text in self.names.texts(node) or ():
            self._text(text, node)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Judge a method that draws its object."""
        for why in judge_definition(node):
            self.report(node, why)
        super().visit_FunctionDef(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Judge an f-string of known parts."""
        for text in self.names.texts(node) or ():
            self._text(text, node)
        self.generic_visit(node)

    def _text(self, text: str, node: ast.AST) -> None:
        is_name = 0 < len(text) < 300 and not any(char.isspace() for char in text)
        if is_name and (secret_name(text) or text.strip("/") in SECRET_FOLDERS):
            self.report(node, f"names {text!r}, which commonly holds secrets")
        for word in INNER_WORDS:
            if word in text:
                self.report(node, f"reaches the interpreter's inside through {word}")
        if text.startswith("module://") or text == "plotting.backend":
            self.report(node, "loads a module by its name")
        if text in {"application/javascript", "text/javascript"}:
            self.report(node, "runs JavaScript in the browser")

    def visit_annotation(self, node: ast.expr | None) -> None:
        """Judge an annotation; libraries evaluate the ones that are texts."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.nested(node.value, node)
        elif node is not None:
            self.visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Judge the annotation apart."""
        self.visit_annotation(node.annotation)
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Judge a parameter's annotation."""
        self.visit_annotation(node.annotation)

    def visit_Call(self, node: ast.Call) -> None:
        """Judge what is called with what."""
        if self._magic(node):
            return
        for finding in judge(node, self.names, is_module=self.is_module, parent=self._parents.get(node)):
            if isinstance(finding, Code):
                self.nested(finding.text, node)
            else:
                self.report(node, finding)
        for text in self.names.texts(node) or ():  # put together by `format` or `join`
            self._text(text, node)
        self.changing(node)
        self.generic_visit(node)

    def _magic(self, node: ast.Call) -> bool:
        """Judge a call that IPython's own syntax was turned into; ``False`` where it is an ordinary call."""
        match node.func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython"), args=[]), attr=attribute):
                texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            case _:
                return False
        if self._written_shell:
            return False
        if attribute in {"system", "getoutput"}:
            self.report(node, "runs a shell command")
            return True
        if attribute not in {"run_line_magic", "run_cell_magic"} or len(texts) != len(node.args) or len(texts) < 2:
            return False
        magic = read_magic(*(str(text) for text in texts[:3]))
        for why in magic.whys:
            self.report(node, why)
        for name in magic.binds:
            self.binding(name, node)
        for code, offset in magic.codes:
            self.nested(code, node, offset=offset)
        return True


def _exists(module: str, attribute: str) -> bool:
    """Whether a module of the standard library has the attribute: ``signal.mean()`` is a user's signal."""
    root = module.split(".", maxsplit=1)[0]
    if root not in sys.stdlib_module_names or root in _NOT_IMPORTED:
        return True
    try:
        if hasattr(importlib.import_module(module), attribute):
            return True
        return importlib.util.find_spec(f"{module}.{attribute}") is not None  # imported there, not here
    except ModuleNotFoundError:  # no package
        return False
    except ImportError:  # of another platform
        return True

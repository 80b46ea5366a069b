"""What expressions of a piece of code can stand for, whatever order its statements run in.

Every expression gets a set of *origins*, dotted texts such as ``os.path.join``, ``pandas.read_csv()`` (a
result), ``pandas.read_csv()['']`` (a part picked by a text) or ``df.rename`` (nothing known of ``df``). All
assignments to a name count, so a name that might be ``os`` somewhere is treated as ``os`` everywhere, unless
it certainly means something else by then. Too intricate code raises :class:`TooIntricateError`.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from zidane_lab.approvals.bound import Bound
from zidane_lab.approvals.folding import TEXT_METHODS, change_text, cut_text, fill_format, fill_percent
from zidane_lab.approvals.handing import is_copy
from zidane_lab.approvals.rules import BUILTINS, CONVENTIONAL
from zidane_lab.errors import ZidaneError

__all__ = ["Names", "TooIntricateError"]

_MOST_STEPS: Final = 200_000
_MOST_ORIGINS: Final = 64
_MOST_TEXT: Final = 4_000

_KEEPS_BEGINNINGS: Final = frozenset({"format", "join", "strip", "replace", "items", "values", "keys", "get", "pop"})
"""Methods of texts, and of what holds texts, whose result begins as what they are called on does."""

_Elements: TypeAlias = ast.List | ast.Tuple | ast.Set


class TooIntricateError(ZidaneError):
    """The code cannot be followed with reasonable effort."""

    code = "too_intricate"
    default_hint = "Write it in simpler steps."


class Names(Bound):
    """The names of one piece of code, with what they can stand for; the parameters are those of its base."""

    def __init__(self, tree: ast.Module, known: Mapping[str, str], users: frozenset[str] = frozenset()) -> None:
        self._active: set[str] = set()
        self._steps = 0
        super().__init__(tree, known, users)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooIntricateError("The code is too intricate to judge.")

    # --- origins ------------------------------------------------------------------------------------

    def origins(self, node: ast.expr | None) -> frozenset[str]:
        """Return what the expression can stand for; empty where nothing is known of it."""
        self._step()
        found = frozenset(self._origins(node))
        if len(found) > _MOST_ORIGINS or any(len(each) > _MOST_TEXT for each in found):
            raise TooIntricateError("The code is too intricate to judge.")
        return found

    def _origins(self, node: ast.expr | None) -> Iterable[str]:  # noqa: C901 - one case for each kind of node
        match node:
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return {f"{each}.{node.attr}" for each in self.origins(node.value)}
            case ast.Call():
                return self._call(node)
            case ast.Subscript():
                return self._part(node)
            case ast.IfExp():
                return self.origins(node.body) | self.origins(node.orelse)
            case ast.BoolOp():
                return frozenset().union(*(self.origins(each) for each in node.values))
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                return self.origins(node.value)
            case ast.BinOp(op=ast.Div()):  # a path is joined by `/`
                return self.origins(node.left)
            case ast.JoinedStr() | ast.Constant(value=str()):
                return {"str()"}
            case ast.List() | ast.Tuple() | ast.Set() | ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return {"list()"}
            case ast.Dict() | ast.DictComp():
                return {"dict()"}
        return set()

    def _name(self, node: ast.Name) -> set[str]:
        name = node.id
        if name in self._active:  # a name that depends on itself adds nothing new
            return set()
        self._active.add(name)
        try:
            found = set(self._imports.get(name, ()))
            for value in (*self._values.get(name, ()), *self._handed.get(name, ())):
                found |= self.origins(value)
            for iterable in self._items.get(name, ()):
                elements = self._elements(iterable)
                if elements is None:
                    found |= {f"{each}[]" for each in self.origins(iterable)}
                else:
                    found |= frozenset().union(*(self.origins(each) for each in elements))
        finally:
            self._active.discard(name)
        if not self.is_certain(node):
            found.add(self._outside(name))
        return found

    def _outside(self, name: str) -> str:
        """Return what a name stands for outside this code. The shell's own `open` and `exit` are Python's to us."""
        known = self.known.get(name, "")
        if name in BUILTINS and not (known.endswith("()") and name == "input"):
            return name
        return "str()" if "://" in known else known or CONVENTIONAL.get(name) or name

    def _call(self, node: ast.Call) -> set[str]:
        functions = self.origins(node.func)
        found: set[str] = set()
        for function in functions:
            if function in {"getattr", "builtins.getattr"} and len(node.args) > 1:
                names = self.texts(node.args[1]) or ()
                found |= {f"{each}.{name}" for each in self.origins(node.args[0]) for name in names}
            elif function in {"__import__", "importlib.import_module", "builtins.__import__"} and node.args:
                found |= set(self.texts(node.args[0]) or ())
            elif function in {"eval", "builtins.eval"} and node.args:
                found |= self._evaluated(node)
            elif function == "functools.partial" and node.args:
                found |= self.origins(node.args[0])
            else:
                found.add(f"{function}()")
        return found

    def _evaluated(self, node: ast.Call) -> set[str]:
        """Return what a known text evaluates to."""
        found: set[str] = set()
        for text in self.texts(node.args[0]) or ():
            try:
                expression = ast.parse(text.strip(), mode="eval").body
            except (SyntaxError, ValueError):  # the call itself is judged elsewhere
                continue
            for each in ast.walk(expression):
                ast.copy_location(each, node)
            found |= self.origins(expression)
        return found

    def _part(self, node: ast.Subscript) -> set[str]:
        keys = self.texts(node.slice)
        elements = self._elements(node.value)
        if elements is not None:
            return set().union(*(self.origins(each) for each in elements))
        if isinstance(node.value, ast.Dict):
            return set().union(*(self.origins(each) for each in node.value.values))
        found: set[str] = set()
        by_text = keys is not None or (
            isinstance(node.slice, ast.List) and all(self.texts(each) is not None for each in node.slice.elts)
        )
        for each in self.origins(node.value):
            if keys and each in {"globals()", "locals()", "vars()", "sys.modules", "get_ipython().user_ns"}:
                found |= keys
            found.add(f"{each}['']" if by_text else f"{each}[]")
        return found

    def _elements(self, node: ast.expr) -> list[ast.expr] | None:
        """Return the elements of a literal list, tuple or set, also through a name bound to one."""
        if isinstance(node, _Elements):
            return node.elts
        if isinstance(node, ast.Name) and node.id not in self._items and node.id not in self._imports:
            values = self._values.get(node.id, [])
            if len(values) == 1 and isinstance(values[0], _Elements):
                return values[0].elts
        return None

    # --- texts --------------------------------------------------------------------------------------

    def texts(self, node: ast.expr | None) -> frozenset[str] | None:  # noqa: C901 - one case for each kind of node
        """Return every text the expression can be, or ``None`` when that is not certain."""
        self._step()
        match node:
            case ast.Constant(value=str(value)):
                return frozenset({value})
            case ast.Name() if node.id not in self._active:
                return self._name_texts(node)
            case ast.IfExp():
                return _both(self.texts(node.body), self.texts(node.orelse))
            case ast.NamedExpr():
                return self.texts(node.value)
            case ast.BinOp(op=ast.Add()):
                return _joined([self.texts(node.left), self.texts(node.right)])
            case ast.JoinedStr():
                plain = [
                    self.texts(each.value)
                    if isinstance(each, ast.FormattedValue) and each.format_spec is None
                    else self.texts(each)
                    for each in node.values
                ]
                return _joined(plain)
            case ast.BinOp(op=ast.Mod()):
                values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
                return self._filled([node.left, *values], lambda first, *rest: fill_percent(first, rest))
            case ast.Call(func=ast.Attribute(value=template, attr="format")):
                names = [each.arg or "**" for each in node.keywords]
                size = len(node.args)
                return self._filled(
                    [template, *node.args, *(each.value for each in node.keywords)],
                    lambda first, *rest: fill_format(first, rest[:size], dict(zip(names, rest[size:], strict=True))),
                )
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=arguments, keywords=[]) if (
                name in TEXT_METHODS
            ):
                return self._filled([value, *arguments], lambda first, *rest: change_text(first, name, rest))
            case ast.Call(func=ast.Name(id="chr"), args=[ast.Constant(value=int(code))]) if 0 < code < 0x110000:
                return frozenset({chr(code)})
            case ast.Subscript(value=value, slice=ast.Slice() as part):
                return self._filled([value], lambda text: cut_text(text, part))
            case ast.Call(func=ast.Attribute(value=glue, attr="join"), args=[parts], keywords=[]):
                elements = self._elements(parts)
                return (
                    None if elements is None else self._filled([glue, *elements], lambda first, *rest: first.join(rest))
                )
        return None

    def _filled(self, parts: list[ast.expr], fill: Callable[..., str | None]) -> frozenset[str] | None:
        """Return every text that ``fill`` makes of the texts the parts can be."""
        found: set[str] = set()
        known = [each for each in map(self.texts, parts) if each is not None]
        if len(known) < len(parts):
            return None
        for index, chosen in enumerate(itertools.product(*known)):
            text = fill(*chosen)
            if text is None or len(text) > _MOST_TEXT or index >= _MOST_ORIGINS:
                return None
            found.add(text)
        return frozenset(found)

    def pieces(self, node: ast.expr) -> frozenset[str]:
        """Return the texts that stand anywhere in the expression, and in what its names are bound to."""
        found: set[str] = set()
        for each in self.parts(node):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                found.add(each.value)
            elif isinstance(each, ast.Name):
                found |= {known for known in [self.known.get(each.id, "")] if "://" in known}
        return frozenset(found)

    def parts(self, node: ast.expr) -> Iterator[ast.AST]:
        """Walk through the expression, and through what its names are bound to, each once."""
        seen: set[str] = set()
        waiting: list[ast.expr] = [node]
        while waiting:
            for each in ast.walk(waiting.pop()):
                self._step()
                yield each
                if isinstance(each, ast.Name) and each.id not in seen:
                    seen.add(each.id)
                    bound = [
                        *self._values.get(each.id, ()),
                        *self._items.get(each.id, ()),
                        *self._spread.get(each.id, ()),
                    ]
                    waiting += [value for value in bound if value is not None]

    def aliases(self, name: str) -> frozenset[str]:
        """Return the name and those of the variables it may be another name for."""
        found: set[str] = set()
        waiting: list[ast.expr | None] = [ast.Name(name)]
        while waiting:
            match waiting.pop():
                case ast.Name(id=each) if each not in found:
                    found.add(each)
                    values = self._values.get(each, [])
                    waiting += values if any(map(is_copy, values)) else [*values, *self._handed.get(each, ())]
                    for iterable in self._items.get(each, ()):
                        waiting += self._elements(iterable) or []
                case ast.IfExp(body=left, orelse=right):
                    waiting += [left, right]
                case ast.NamedExpr(value=value):
                    waiting.append(value)
                case ast.Subscript(value=value):
                    waiting += value.values if isinstance(value, ast.Dict) else self._elements(value) or []
        return frozenset(found)

    def _name_texts(self, node: ast.Name) -> frozenset[str] | None:
        if node.id in self._imports or not self.is_bound(node.id):
            return None
        sources: list[ast.expr | None] = list(self._values.get(node.id, ()))
        for iterable in self._items.get(node.id, ()):
            sources += self._elements(iterable) or [None]
        if not sources or not (self.is_certain(node) or node.id in self._items):
            return None
        self._active.add(node.id)
        try:
            found: frozenset[str] | None = frozenset()
            for source in sources:
                found = _both(found, self.texts(source))
            return found
        finally:
            self._active.discard(node.id)

    def beginnings(self, node: ast.expr | None) -> frozenset[str]:  # noqa: C901 - one case for each kind of node
        """Return the texts the expression is known to begin with (possibly the whole of it)."""
        self._step()
        whole = self.texts(node)
        if whole is not None:
            return whole
        match node:
            case ast.JoinedStr() if node.values:
                first = node.values[0]
                return self.beginnings(first.value if isinstance(first, ast.FormattedValue) else first)
            case ast.BinOp(op=ast.Add() | ast.Mod()):
                return self.beginnings(node.left)
            case ast.IfExp():
                return self.beginnings(node.body) | self.beginnings(node.orelse)
            case ast.Call(func=ast.Attribute(attr=name, value=value)) if name in _KEEPS_BEGINNINGS:
                return self.beginnings(value)
            case ast.Call(func=ast.Name(id="zip" | "enumerate" | "list" | "sorted" | "reversed" | "iter" | "next")):
                return frozenset().union(*map(self.beginnings, node.args))
            case ast.List() | ast.Tuple() | ast.Set():
                return frozenset().union(*(self.beginnings(each) for each in node.elts))
            case ast.Dict():
                return frozenset().union(*(self.beginnings(each) for each in node.values))
            case ast.Subscript():
                return self.beginnings(node.value)
            case ast.Name() if node.id not in self._active:
                self._active.add(node.id)
                try:
                    sources = [*self._values.get(node.id, ()), *self._items.get(node.id, ())]
                    sources += [*self._spread.get(node.id, ()), *self._handed.get(node.id, ())]
                    found = frozenset().union(*(self.beginnings(each) for each in sources))
                finally:
                    self._active.discard(node.id)
                known = self.known.get(node.id, "")
                return found | {known} if "://" in known else found
        return frozenset()


def _both(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    return None if left is None or right is None else left | right


def _joined(parts: list[frozenset[str] | None]) -> frozenset[str] | None:
    found = {""}
    for part in parts:
        if part is None:
            return None
        found = {left + right for left in found for right in part}
        if len(found) > _MOST_ORIGINS or any(len(each) > _MOST_TEXT for each in found):
            return None
    return frozenset(found)

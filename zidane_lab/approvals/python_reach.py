"""What Python reaches without naming it: secrets behind links, patterns and listings; and what it destroys.

``open("notes.txt")`` may be a link to ``.env``, and a loop over ``Path(".").rglob("*")`` reads it without a word of it.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zidane_lab.approvals.magics import to_python
from zidane_lab.approvals.project import Project
from zidane_lab.approvals.python_code import MAX_SOURCE, Verdict
from zidane_lab.approvals.scanner import parse
from zidane_lab.approvals.secret_files import Ground, Looks, SecretFile
from zidane_lab.approvals.secrets import secret_name
from zidane_lab.approvals.shell_code import classify_shell
from zidane_lab.approvals.shell_critical import destroys_sql
from zidane_lab.approvals.shell_reach import plainly
from zidane_lab.approvals.shell_rules import names_in
from zidane_lab.approvals.texts import sql_files

__all__ = ["PythonReach", "destroys", "python_reach"]

_PATTERNS: Final = names_in("glob iglob rglob")
_LISTS: Final = names_in("listdir scandir iterdir walk fwalk")
_DEEP: Final = names_in("walk fwalk rglob")
_READS: Final = re.compile(r"open|read_\w+|load|loadtxt|genfromtxt|imread|getline|getlines|fromfile")
_CHOOSES: Final = re.compile(r"endswith\(|\.suffix|fnmatch|\.match\(|splitext")
"""Code that looks at the endings of names reads what it means to."""
_SELECTS: Final = re.compile(r"\s*(?:select|from|with)\b", re.IGNORECASE)
_MOST_INNER: Final = 30
_MOST_TEXTS: Final = 300
_MOST_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class PythonReach:
    """Reasons to ask, and what the model should do instead of reading what is not meant."""

    secrets: tuple[str, ...] = ()
    advice: str = ""


def python_reach(code: str, project: Project | None, looks: Looks | None = None) -> PythonReach:
    """Find out which files that commonly hold secrets a piece of code would read without naming them."""
    if (project is not None and not project.is_local) or len(code) > MAX_SOURCE:
        return PythonReach()
    tree = _tree(code)
    if tree is None:
        return PythonReach()
    ground = Ground(str(Path.cwd()) if project is None else project.cwd, looks=looks or Looks())
    texts = dict.fromkeys(
        text for text in _texts(tree) if 0 < len(text) < 300 and "\n" not in text and "\0" not in text
    )
    linked = [text for text in list(texts)[:_MOST_TEXTS] if not secret_name(text) and ground.holds_secrets(text)]
    secrets = tuple(f"{text!r} commonly holds secrets" for text in linked)
    return PythonReach(secrets, _advice(tree, code, ground))


def _tree(code: str) -> ast.Module | None:
    """Return the code as a tree, with what stands in its texts as code, as behind ``%time``."""
    tree = _parsed(code)
    if tree is not None:
        inner = [re.sub(r"^(?:-\w+(?:\s*\d+)?\s+)+", "", text) for text in _texts(tree) if "(" in text]
        found = [each for each in map(_parsed, inner[:_MOST_INNER]) if each is not None]
        tree.body += [statement for each in found for statement in each.body]
    return tree


def _parsed(code: str) -> ast.Module | None:
    try:
        return parse(to_python(code)[0])
    except (SyntaxError, ValueError):  # judged, and asked about, elsewhere
        return None


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


# --- what is read by pattern ----------------------------------------------------------------------------


def _advice(tree: ast.Module, code: str, ground: Ground) -> str:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found: dict[str, None] = {}
    if any(map(_reads_unnamed, calls)):
        for node in calls:
            found.update(dict.fromkeys(_listed(node, tree, code, ground)))
    for text in _texts(tree):  # DuckDB reads files by a pattern in its SQL
        for pattern in (each for each in sql_files(text) if "*" in each) if _SELECTS.match(text) else ():
            found.update(dict.fromkeys(_globbed(pattern, ground)))
    if not found:
        return ""
    names = [plainly(each) for each in found]
    told = ", ".join(names[:_MOST_TOLD]) + (f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else "")
    return (
        f"this would also read {told}, which commonly {'hold' if len(names) > 1 else 'holds'} secrets. "
        "Take only files with the endings you need, such as glob('*.csv'). If you need one of them, name it alone, "
        "then the user is asked"
    )


def _last(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _reads_unnamed(node: ast.Call) -> bool:
    """Whether a call reads a file whose name does not stand there."""
    if not _READS.fullmatch(_last(node)):
        return False
    if isinstance(node.func, ast.Attribute) and _last(node) in {"read_text", "read_bytes"}:
        return not _is_named(node.func.value)
    if isinstance(node.func, ast.Attribute) and _last(node) == "open" and not _is_module(node.func.value):
        return not _is_named(node.func.value)
    return bool(node.args) and not _is_named(node.args[0])


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"io", "gzip", "bz2", "lzma", "codecs", "os", "Image", "tarfile"}


def _is_named(node: ast.expr) -> bool:
    """Whether an expression is a path that stands there, ``Path("a")`` or ``"a"``."""
    match node:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Name(id="Path") | ast.Attribute(attr="Path"), args=[inner]):
            return _is_named(inner)
        case ast.BinOp(left=left, right=right):
            return _is_named(left) and _is_named(right)
    return False


def _listed(node: ast.Call, tree: ast.Module, code: str, ground: Ground) -> Iterator[str]:
    """Yield what a call lists that commonly holds secrets."""
    name = _last(node)
    if name not in _PATTERNS | _LISTS:
        return
    function = node.func
    by_path = isinstance(function, ast.Attribute) and not (
        isinstance(function.value, ast.Name) and function.value.id in {"glob", "os"}
    )
    first = _text(node.args[0], tree) if node.args else None
    if name in _PATTERNS and not by_path and first is not None:
        yield from _globbed(first, ground)
        return
    if name in _LISTS and _CHOOSES.search(code):
        return
    folder = _text(function.value, tree) if by_path and isinstance(function, ast.Attribute) else (first or _here(node))
    pattern = first if name in _PATTERNS else "*"
    if folder is None or pattern is None:
        return
    deep = name in _DEEP or "**" in pattern
    for each in ground.under(folder).files:
        if _matches(each, pattern, deep=deep):
            yield each.path if folder in {".", "./"} else f"{folder.rstrip('/')}/{each.path}"


def _here(node: ast.Call) -> str | None:
    return None if node.args or node.keywords else "."


def _matches(each: SecretFile, pattern: str, *, deep: bool) -> bool:
    last = pattern.rpartition("/")[2]
    if deep:
        return fnmatch.fnmatchcase(each.path.rpartition("/")[2], last if last != "**" else "*")
    return each.path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(each.path, pattern)


def _globbed(pattern: str, ground: Ground) -> Iterator[str]:
    """Yield what ``glob.glob`` finds; names with a dot only where the pattern has it."""
    if "**" not in pattern:
        yield from ground.matches(pattern)
        return
    root, _, rest = pattern.partition("**")
    for each in ground.under(root or ".").files:
        if not each.hidden and _matches(each, rest.lstrip("/") or "*", deep=True):
            yield f"{root}{each.path}"


def _text(node: ast.expr, tree: ast.Module) -> str | None:
    """Return the text of a path: one that stands there, of ``Path("a")``, or that a name is bound to once."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.Call(func=ast.Name(id="Path") | ast.Attribute(attr="Path"), args=[]):
            return "."
        case ast.Call(func=ast.Name(id="Path") | ast.Attribute(attr="Path"), args=[inner]):
            return _text(inner, tree)
        case ast.Call(func=ast.Attribute(attr="cwd")):
            return "."
        case ast.Call(func=ast.Attribute(attr="home")):
            return "~"
        case ast.BinOp(op=ast.Div(), left=left, right=right):
            parts = (_text(left, tree), _text(right, tree))
            return None if None in parts else "/".join(part for part in parts if part)
        case ast.Call(func=ast.Attribute(attr="resolve" | "expanduser" | "absolute", value=inner)):
            return _text(inner, tree)
        case ast.Name(id=name):
            bound = [
                each.value
                for each in ast.walk(tree)
                if isinstance(each, ast.Assign)
                and any(isinstance(target, ast.Name) and target.id == name for target in each.targets)
            ]
            return _text(bound[0], tree) if len(bound) == 1 and not isinstance(bound[0], ast.Name) else None
    return None


# --- what is destroyed ----------------------------------------------------------------------------------

_STARTS: Final = re.compile(r"shell command|processes|another program|cannot be seen")


def destroys(code: str, verdict: Verdict) -> tuple[str, ...]:
    """Say what code that asks destroys: whole folders, what critical commands do, the data of databases."""
    tree = _tree(code)
    if tree is None:
        return ()
    found: dict[str, None] = {}
    if any(isinstance(node, ast.Attribute | ast.Name) and _name(node) == "rmtree" for node in ast.walk(tree)):
        found["deletes whole folders"] = None
    if "rmtree" in {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}:
        found["deletes whole folders"] = None
    whys = " ".join(reason.why for reason in verdict.reasons)
    texts = [text for text in _texts(tree) if len(text) > 3]
    if _STARTS.search(whys):
        for text in [*texts, *_joined(tree)][:_MOST_TEXTS]:
            found.update(dict.fromkeys(classify_shell(text).critical if " " in text else ()))
    if ("SQL" in whys or "database" in whys) and any(map(destroys_sql, texts)):
        found["destroys the data of a database"] = None
    return tuple(found)


def _name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def _joined(tree: ast.Module) -> Iterator[str]:
    """Yield commands that stand as lists of words: ``["rm", "-rf", "x"]``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            words = [each.value for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if len(words) > 1:
                yield " ".join(words)

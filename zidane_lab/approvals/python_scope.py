"""What "always" can mean for Python code: narrow scopes, and none at all where code does more than is told.

Four exist. Writing files with a plain call and a path that stands there (``df.to_csv("out/a.csv")``) is remembered by
folder; changing a variable of the user's by that variable; a library by its name; anything else only as
exactly the same code.
"""

from __future__ import annotations

import ast
import hashlib
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from zidane_lab.approvals.project import Project
from zidane_lab.approvals.python_code import Verdict, classify
from zidane_lab.approvals.shell_rules import names_in
from zidane_lab.approvals.texts import is_address

__all__ = ["PythonScope", "scope_of"]

_PATH_NAMES: Final = frozenset({"path_or_buf", "path", "buf", "fname", "file", "excel_writer", "name"})
_WRITERS: Final = names_in(
    """to_csv to_parquet to_json to_excel to_feather to_html to_markdown to_latex to_pickle to_stata savefig write_csv
    write_parquet write_json write_ndjson write_ipc write_image write_html save savez savez_compressed savetxt imsave
    makedirs mkdir"""
)
"""Methods and functions that write what their first argument names, and nothing else."""
_VARIABLE: Final = re.compile(
    r"(?:overwrites|deletes|empties|changes|takes a part out of|deletes a part of) your variable (\w+)(?: in place)?"
)
_LIBRARY: Final = re.compile(r"uses [\w.]+, which is not known to only compute")
_NEVER: Final = re.compile(r"cannot be|secret|environment|password|inside|too long|longer than")
"""Reasons that say that not all is seen: what was shown is not what would be allowed."""


@dataclass(frozen=True, slots=True)
class PythonScope:
    """What code that asks may be remembered as.

    Parameters
    ----------
    tokens
        Its tokens for the safelist.
    targets
        Paths it writes, where they are all told.
    is_writing
        Whether writing ``targets`` is all that needs permission.
    is_coverable
        Whether it may be remembered at all.
    """

    tokens: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    is_writing: bool = False
    is_coverable: bool = False


def scope_of(
    code: str, verdict: Verdict, project: Project | None, *, protected: frozenset[str], known: Mapping[str, str]
) -> PythonScope:
    """Return what remembering a piece of code that asks would cover."""
    if verdict.risk == "pure" or any(_NEVER.search(reason.why) for reason in verdict.reasons):
        return PythonScope()
    exact = f"code-{hashlib.sha256(code.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
    targets, rest = _without_writes(code)
    left = classify(rest, protected=protected, known=known) if targets else verdict
    variables = [_VARIABLE.fullmatch(reason.why) or _LIBRARY.fullmatch(reason.why) for reason in left.reasons]
    if not all(variables):
        return PythonScope((exact,), targets, is_coverable=True)
    tokens = [reason.why.partition(",")[0].replace(" ", "-") for reason in left.reasons]
    if targets:
        folders = _folders(targets, project)
        if folders is None:
            return PythonScope((exact,), targets, is_writing=not variables, is_coverable=True)
        tokens += [f"writes@{folder}" for folder in folders]
    unique = tuple(dict.fromkeys(tokens))
    return PythonScope(unique, targets, is_writing=bool(targets) and not variables, is_coverable=bool(unique))


def _folders(targets: tuple[str, ...], project: Project | None) -> list[str] | None:
    """Return the folders of paths, from the project's root; ``None`` where one lies elsewhere."""
    if project is None or not all(project.contains(each) for each in targets):
        return None
    root = project.resolve(project.root)
    return [posixpath.relpath(posixpath.dirname(project.resolve(each)) or ".", root) for each in targets]


def _without_writes(code: str) -> tuple[tuple[str, ...], str]:
    """Take plain writing calls out of code: the paths they write, and the code without them.

    Judging the rest again tells whether the calls explain everything.
    """
    try:
        tree = ast.parse(code)
        taking = _Taking()
        rest = ast.unparse(ast.fix_missing_locations(taking.visit(tree)))
    except (SyntaxError, ValueError, RecursionError):
        return (), code
    return tuple(dict.fromkeys(taking.targets)), rest


class _Taking(ast.NodeTransformer):
    """Puts the receiver and the other arguments in the place of a writing call."""

    def __init__(self) -> None:
        self.targets: list[str] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace a call whose path stands there as a text."""
        self.generic_visit(node)
        function = node.func
        if not isinstance(function, ast.Attribute):
            return node
        if function.attr in {"write_text", "write_bytes"}:
            path, receiver = _path_object(function.value), None
            others = [*node.args, *(each.value for each in node.keywords)]
        elif function.attr in _WRITERS:
            named = [each for each in node.keywords if each.arg in _PATH_NAMES]
            first = node.args[0] if node.args else (named[0].value if named else None)
            path, receiver = _plain_path(first), function.value
            others = [each for each in (*node.args, *(each.value for each in node.keywords)) if each is not first]
        else:
            return node
        spread = any(isinstance(each, ast.Starred) for each in node.args) or any(
            each.arg is None for each in node.keywords
        )
        if path is None or spread:
            return node
        self.targets.append(path)
        kept = [] if receiver is None or _is_name(receiver) else [receiver]
        return ast.copy_location(ast.Tuple([*kept, *others], ast.Load()), node)


def _plain_path(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        return None if is_address(node.value) or "://" in node.value or "::" in node.value else node.value
    return None


def _path_object(node: ast.expr) -> str | None:
    """Return the path of ``Path("…")`` or ``pathlib.Path("…")``."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords and _is_name(node.func):
        name = ast.unparse(node.func)
        return _plain_path(node.args[0]) if name in {"Path", "pathlib.Path"} else None
    return None


def _is_name(node: ast.expr) -> bool:
    """Whether this is a name, perhaps with dots."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)

"""What runs in a process of its own: it parses texts with ``ast-grep-py`` and answers with places in them.

The library holds Python's global lock while it works, cannot be interrupted, and its grammars have been seen to crash
on odd input (unclosed here-documents beside characters outside ASCII; patterns nested some ten thousand deep). Here it
holds up or takes down nothing else.

The request is JSON, a value a line: what to look for, then one ``[language, text]`` for each text. The answers are
JSON lines as well: one on the patterns in each language, then one for each text, in order. All places are counted in
characters.
"""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["main"]

_PER_TEXT: Final = 10
"""Seconds of work one text may take; the system ends the process then."""

_MEMORY: Final = 4 * 1_073_741_824
"""Bytes of address space."""

_DOLLARS: Final = re.compile(r"\$\$\$(?:[A-Z_][A-Z0-9_]*)?|\$\$?[A-Z_][A-Z0-9_]*")
_LITERAL: Final = re.compile("string|template|heredoc|nowdoc|sigil|charlist|quoted")
"""Kinds of nodes whose lines keep their indentation, because it is part of a value."""

_CAUSE: Final = re.compile(r"^\s+\d+: (.*)$", re.MULTILINE)


def main() -> None:
    """Read the request from standard input and answer it."""
    os.environ["RUST_BACKTRACE"] = "0"  # a chain of causes is what people read, a stack is not
    warnings.simplefilter("ignore")
    _limit()
    lines = sys.stdin.buffer
    request = json.loads(lines.readline())
    sys.path[:] = request["path"]
    import ast_grep_py

    work = _Work(ast_grep_py.SgRoot, request)
    for language in request["languages"]:
        _say(work.patterns(language))
    for line in lines:
        language, text = json.loads(line)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, _PER_TEXT)
        _say(work.text(language, text))


class _Work:
    """What is asked of each text.

    Parameters
    ----------
    parse
        Makes a tree of a text in a language.
    request
        ``rules`` (pattern, rewrite or null, names of captures of one node, of many), the ``window`` of matches whose
        places are wanted, and whether texts with errors are ``strict``-ly left alone.
    """

    def __init__(self, parse: Callable[[str, str], Any], request: dict[str, Any]) -> None:
        self._parse = parse
        self._rules = request["rules"]
        self._first, self._last = request["window"]
        self._strict = request["strict"]
        self._seen = 0
        self._usable: dict[str, list[int]] = {}

    def patterns(self, language: str) -> dict[str, Any]:
        """Say of each pattern whether it can be used in a language, and whether it is whole code there."""
        told = []
        empty = self._parse("", language).root()
        for pattern, rewrite, *_ in self._rules:
            error = None
            try:
                empty.find_all(pattern=pattern)
            except BaseException as problem:  # noqa: BLE001 - a panic of the library is no Exception
                error = _cause(problem)
            plain = self._parse(_DOLLARS.sub("zz", pattern), language).root()
            fixed = [] if rewrite is None else _fixed(self._parse(rewrite, language).root(), rewrite, language)
            told.append({"error": error, "broken": _problem(plain, language) is not None, "fixed": fixed})
        self._usable[language] = [index for index, each in enumerate(told) if each["error"] is None]
        return {"language": language, "patterns": told}

    def text(self, language: str, text: str) -> dict[str, Any]:
        """Find the matches in one text."""
        try:
            root = self._parse(text, language).root()
            problem = _problem(root, language)
            if self._strict and problem is not None:
                return {"count": 0, "matches": [], "problem": problem, "compiles": False, "fixed": []}
            count, matches = self._matches(root, self._usable.get(language, []))
            fixed = _fixed(root, text, language) if self._strict and matches else []
            compiles = self._strict and (matches or not self._rules) and language == "python" and _compiles(text)
        except Exception as error:  # noqa: BLE001 - one text that cannot be searched is told, the others go on
            return {"error": _cause(error)}
        return {"count": count, "matches": matches, "problem": problem, "compiles": bool(compiles), "fixed": fixed}

    def _matches(self, root: Any, usable: list[int]) -> tuple[int, list[Any]]:
        count, matches = 0, []
        for index in usable:
            pattern, _, ones, many = self._rules[index]
            found = root.find_all(pattern=pattern)
            start = max(0, self._first - self._seen)
            stop = max(0, self._last - self._seen)
            self._seen += len(found)
            count += len(found)
            for node in found[start:stop]:
                captures = {f"${name}": _place(node.get_match(name)) for name in ones}
                captures |= {f"$$${name}": _span(node.get_multiple_matches(name)) for name in many}
                matches.append([index, *(_place(node) or ()), captures])
        return count, matches


def _place(node: Any) -> list[int] | None:
    """Return where a node starts and ends; ``range`` would count columns, which takes for ever on long lines."""
    if node is None:
        return None
    edit = node.replace("")
    return [edit.start_pos, edit.end_pos]


def _span(nodes: list[Any]) -> list[int] | None:
    if not nodes:
        return None
    first, last = _place(nodes[0]), _place(nodes[-1])
    return None if first is None or last is None else [first[0], last[1]]


def _problem(root: Any, language: str) -> int | None:
    """Return the line, from 1, of the first place that is no syntax, or where something is missing."""
    places = [node.range().start.line for node in [root.find(kind="ERROR")] if node is not None]
    places += (node.range().start.line for node in root.find_all(regex="^$") if _is_missing(node, language))
    return min(places) + 1 if places else None


def _is_missing(node: Any, language: str) -> bool:
    """Whether an empty node stands for something left out; some are empty by right, such as the root."""
    kind = node.kind()
    return not node.is_named() or kind.endswith("identifier") or (kind == "block" and language == "python")


def _fixed(root: Any, text: str, language: str) -> list[int]:
    """Return where lines begin whose indentation belongs to a value, as in a string of several lines."""
    if language == "yaml":  # where a block's own indentation is what counts
        return []
    return sorted({at for node in root.find_all(regex=r"\n") if _is_value(node) for at in _lines(node, text)})


def _is_value(node: Any) -> bool:
    kind = node.kind()
    return node.is_leaf() or (_LITERAL.search(kind) is not None and "concatenated" not in kind)


def _lines(node: Any, text: str) -> Iterator[int]:
    at, end = _place(node) or (0, 0)
    while (at := text.find("\n", at, end) + 1) > 0:
        yield at


def _compiles(text: str) -> bool:
    """Whether this Python takes a text for Python, too: it notices what a forgiving parser does not."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _cause(error: BaseException) -> str:
    """Return the innermost cause of the library's error, on one line."""
    causes = _CAUSE.findall(str(error).partition("Stack backtrace")[0])
    text = " ".join((causes[-1] if causes else str(error)).split())
    return text.replace("µ", "$") or type(error).__name__


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()  # what was answered before a crash counts


def _limit() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):  # not here; the time is bounded all the same
        return

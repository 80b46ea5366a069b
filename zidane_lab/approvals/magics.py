"""IPython's own syntax: from a cell's text to plain Python, and what its magics do.

The text is transformed exactly as the shell does it: ``!ls`` becomes ``get_ipython().system('ls')``, ``%time x``
becomes ``get_ipython().run_line_magic('time', 'x')``. A magic is either harmless, or only as harmful as the
code it is given, or it asks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Magic", "automagic", "read_magic", "to_python"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HARMLESS: Final = _words(
    """autoreload colors dhist dirs doctest_mode hist history logstate lsmagic magic matplotlib pdef pdoc pfile pinfo
    pinfo2 pprint precision psearch psource pwd quickref tb who who_ls whos xmode"""
)
_HARMLESS_CELLS: Final = frozenset({"latex", "markdown"})
_TIMING: Final = frozenset({"time", "timeit", "prun", "memit"})
_EXTENSIONS: Final = frozenset({"autoreload", "line_profiler", "memory_profiler"})
_SETTINGS: Final = re.compile(r"(?:InlineBackend\b|IPCompleter\b|InteractiveShell\.ast_node_interactivity\b)")
_OPTIONS: Final = re.compile(r"(?:--?[A-Za-z][\w-]*(?:\s*\d+)?\s+)*")
_WHY: Final = {
    "run": "runs a script",
    "load": "puts code of a file or address into the cell",
    "loadpy": "puts code of a file or address into the cell",
    "reset": "deletes the user's variables",
    "reset_selective": "deletes the user's variables",
    "xdel": "deletes a variable",
    "pip": "installs packages",
    "conda": "installs packages",
    "mamba": "installs packages",
    "micromamba": "installs packages",
    "uv": "installs packages",
    "env": "reads or sets environment variables",
    "set_env": "sets environment variables",
    "cd": "changes the working folder",
    "pushd": "changes the working folder",
    "popd": "changes the working folder",
    "writefile": "writes a file",
    "file": "writes a file",
    "save": "writes a file",
    "notebook": "writes a file",
    "logstart": "writes a file",
    "pastebin": "uses the network",
    "store": "reads or writes stored variables",
    "html": "puts HTML into the page",
    "HTML": "puts HTML into the page",
    "svg": "puts an image with scripts into the page",
    "SVG": "puts an image with scripts into the page",
    "js": "runs JavaScript in the browser",
    "javascript": "runs JavaScript in the browser",
    "connect_info": "shows the kernel's key",
    "debug": "waits for input",
    "pdb": "waits for input",
    "rerun": "runs earlier code again",
    "recall": "puts earlier code into the cell",
}
_COMMANDS: Final = _words(
    """! bash cat cp ldir lf lk ll ls lx man mkdir more less mv perl pypy python python2 python3 rm rmdir rep ruby sc
    script sh sx system"""
)
"""Magics and aliases that start a process; the aliases pass their whole line to a shell."""

_OTHERS: Final = _words(
    """alias alias_magic autocall automagic bookmark code_wrap ed edit gui killbgscripts load_ext logoff logon logstop
    macro pycat pylab qtconsole rehashx reload_ext unalias unload_ext"""
)
_AUTOMAGIC: Final = _COMMANDS | _OTHERS | frozenset(_WHY)
"""Magics that ask, and work without their ``%`` when they are alone in a cell."""


@dataclass(frozen=True, slots=True)
class Magic:
    """What a magic does: reasons to ask, code to look into (with its line within the magic), names it binds."""

    whys: tuple[str, ...] = ()
    codes: tuple[tuple[str, int], ...] = ()
    binds: tuple[str, ...] = ()


def to_python(source: str) -> tuple[str, int]:
    """Return a cell's text as plain Python, and how many empty lines were dropped before it.

    IPython is imported on the first call (a kernel has it already).
    """
    from IPython.core.inputtransformer2 import TransformerManager

    lines = source.splitlines(keepends=True)
    dropped = next((index for index, line in enumerate(lines) if not line.isspace()), 0)
    manager = TransformerManager()  # type: ignore[no-untyped-call]  # IPython's
    return manager.transform_cell(source), dropped


def automagic(source: str) -> str | None:
    """Name the magic that a one-line cell calls without its ``%`` (``reset -f`` is valid Python, too)."""
    text = source.strip()
    if "\n" in text:
        return None
    match = re.match(r"([A-Za-z_]\w*)(\s*)(.?)", text)
    if match is None or match[1] not in _AUTOMAGIC:
        return None
    return match[1] if not match[3] or (match[2] and match[3] not in "=!<>(),+*/%^&|") else None


def read_magic(name: str, line: str, body: str | None = None) -> Magic:
    """Judge a line magic (``body`` is ``None``) or a cell magic."""
    if name in _TIMING and (body is None or name != "memit"):
        return _timing(name, line, body)
    if "{" in line or "$" in line:
        return Magic((f"%{name} evaluates what stands in braces or after `$`",))
    if body is not None:
        return _cell(name, line, body)
    words = line.split()
    if name == "config" and (not line.strip() or _SETTINGS.match(line.strip())):
        return Magic(codes=((line.strip(), 0),) if "=" in line else ())
    if name == "load_ext" and words and set(words) <= _EXTENSIONS:
        return Magic()
    if name in {"hist", "history"} and any(word.startswith("-") and set(word) & set("fg") for word in words):
        return Magic(("writes a file, or reads other sessions",))
    if name in _HARMLESS:
        return Magic()
    return Magic((_why(name),))


def _why(name: str) -> str:
    if name in _COMMANDS:
        return "runs a shell command or another program"
    return _WHY.get(name, f"%{name} is not known to be harmless")


def _timing(name: str, line: str, body: str | None) -> Magic:
    options = _OPTIONS.match(line)
    code = line[options.end() :] if options else line
    if name == "prun" and re.search(r"(?:^|\s)-[A-Za-z]*[DT]", line):
        return Magic(("writes a file",))
    if options and body is not None and code.strip().startswith("-"):
        code = ""  # options alone
    pieces = [(code, 0)] if code.strip() else []
    return Magic(codes=(*pieces, *(((body, 1),) if body is not None else ())))


def _cell(name: str, line: str, body: str) -> Magic:
    if name == "capture":
        return Magic(codes=((body, 1),), binds=tuple(word for word in line.split() if not word.startswith("-")))
    if name in _HARMLESS_CELLS:
        return Magic()
    return Magic((_why(name),))

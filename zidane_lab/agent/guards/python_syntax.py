"""A ready-made validator: changed Python must compile.

It costs a few milliseconds and runs nothing, so it can be on wherever an agent edits code.
"""

from __future__ import annotations

import ast
import asyncio
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from zidane_lab.agent.guards.mutation_validation import Failure, Mutation
from zidane_lab.approvals.magics import to_python

__all__ = ["python_syntax"]

_MOST_BYTES: Final = 5_000_000
"""Files larger than this are data, not code somebody edits."""
_SHOWN: Final = 200


async def python_syntax(changes: tuple[Mutation, ...]) -> tuple[Failure, ...]:
    """Compile what was changed: ``.py`` files, code cells, and the code cells of ``.ipynb`` files.

    Cells are read as a notebook runs them, with magics and top-level ``await``. A file that is gone, or too large to be
    code, passes; so does a cell magic, whose text need not be Python.
    """
    failures: list[Failure] = []
    seen: set[Path] = set()
    for change in reversed(changes):  # the last change of a file is the one that stands
        if change.source is not None:
            failures += (Failure(change, text) for text in _cell_problems(change.source))
        elif change.path is not None and change.path not in seen:
            seen.add(change.path)
            data = await asyncio.to_thread(_content, change.path)
            if data is not None:
                failures += (Failure(change, text) for text in _file_problems(change.path, data))
    return tuple(reversed(failures))


def _content(path: Path) -> bytes | None:
    if path.suffix not in (".py", ".ipynb"):
        return None
    try:
        return path.read_bytes() if path.stat().st_size <= _MOST_BYTES else None
    except OSError:
        return None


def _file_problems(path: Path, data: bytes) -> Iterator[str]:
    if path.suffix == ".py":
        yield from _problems(data, path.name)
        return
    try:
        cells = json.loads(data)["cells"]
        codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        yield f"is no notebook any more ({type(error).__name__}: {error})"
        return
    for number, code in enumerate(codes, 1):
        yield from (f"code cell {number}: {text}" for text in _cell_problems(code))


def _cell_problems(code: str) -> Iterator[str]:
    if code.lstrip().startswith("%%"):
        return
    try:
        plain, _ = to_python(code)
    except SyntaxError:
        plain = code  # the compiler says it better
    yield from _problems(plain, "cell", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _problems(code: str | bytes, name: str, flags: int = 0) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape is no failure
            compile(code, name, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        line: Any = error.text
        where = f"line {error.lineno}: " if error.lineno is not None else ""
        shown = f" in `{line.strip()[:_SHOWN]}`" if isinstance(line, str) and line.strip() else ""
        yield f"{where}{error.msg}{shown}"
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        yield f"cannot be compiled ({type(error).__name__}: {error})"

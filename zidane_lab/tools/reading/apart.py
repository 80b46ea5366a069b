"""Read a document in a process of its own, line by line: what it unpacks to cannot fill the kernel's memory.

A small document can hold a tree of millions of elements, or text that takes minutes to take apart. The functions that
read documents are plain ones; here one of them is called by name in a process with limits
(:mod:`zidane_lab.tools.reading.child`), and its lines come one after another.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.reading.child import ChildError, answers_of
from zidane_lab.tools.reading.source import Source

__all__ = ["lines_apart", "serve"]

_CODE: Final = "from zidane_lab.tools.reading.apart import serve; serve()"
_MEMORY: Final = 1_073_741_824
_PACKAGE: Final = "zidane_lab.tools.reading"


def lines_apart(reader: str, source: Source, *arguments: Any) -> Iterator[str]:
    """Yield the lines that a function of this package makes of a source.

    Parameters
    ----------
    reader
        Module and function, as in ``office.word_lines``; it takes the source, and returns an iterator of lines.
    arguments
        More arguments, as JSON has them.

    Raises
    ------
    ToolError
        The function raised it, or the process failed, took too long or too much memory.
    """
    with source.as_file() as path:
        answers = answers_of(_CODE, [reader, path, source.name, json.dumps(arguments)], memory=_MEMORY)
        try:
            for answer in answers:
                if isinstance(answer, str):
                    yield answer
                else:
                    raise ToolError(answer["message"], hint=answer["hint"])
        except ChildError as error:
            raise ToolError(f"{source.shown} cannot be read: {error}.", hint="Ask for another copy.") from error
        finally:
            answers.close()


def serve() -> None:
    """Answer one call, in the process of its own."""
    reader, path, name, arguments = sys.argv[1:]
    module, _, function = reader.rpartition(".")
    source = Source(name, Path(path).stat().st_size, functools.partial(_opened, path), path)
    try:
        for line in getattr(importlib.import_module(f"{_PACKAGE}.{module}"), function)(source, *json.loads(arguments)):
            _say(line)
    except ToolError as error:
        _say({"message": error.message, "hint": error.hint})


def _opened(path: str) -> BinaryIO:
    return Path(path).open("rb")


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()

"""Our own engine: the worker's source is sent to a fresh Python, here or elsewhere, with what to look for."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any, Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.search.engines import LINE_WIDTH, Counts, Found, Line, Search
from zidane_lab.tools.search.processes import Ended, Runner

__all__ = ["OwnEngine"]

_SENT: Final = ("zidane_lab.tools.reading.ordinary", "zidane_lab.tools.ignore", "zidane_lab.tools.search.worker")
_START: Final = "import json,sys;exec(json.loads(sys.stdin.readline()))"
_BOOT: Final = """
import json, sys, types
for name in ("zidane_lab", "zidane_lab.tools", "zidane_lab.tools.reading", "zidane_lab.tools.search"):
    sys.modules[name] = types.ModuleType(name)
for name, source in json.loads(sys.stdin.readline()):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
module.main()
"""


class OwnEngine:
    """Searches with Python alone.

    Parameters
    ----------
    runner
        Starts the process.
    python
        The interpreter (3.11 or newer).
    """

    name = "python"

    def __init__(self, runner: Runner, python: str) -> None:
        self._runner, self._python = runner, python

    async def count(self, search: Search, seconds: float) -> Counts:
        """Count matching lines in every file."""
        ended = await self._ask({**_asked(search), "task": "count"}, search, seconds)
        counts: dict[str, int] = {}
        failed, done = 0, False
        for answer in _answers(ended.stdout):
            match answer:
                case ["count", str(name), int(count)]:
                    counts[name] = count
                case ["failed", int(failed)]:
                    pass
                case ["done"]:
                    done = True
        return Counts(counts, failed, done, ended.full)

    async def lines(self, search: Search, files: Sequence[tuple[str, int]], around: int, seconds: float) -> Found:
        """Fetch the first so many matching lines of each file, with their neighbours."""
        asked = {**_asked(search), "task": "lines", "files": list(files), "around": around, "width": LINE_WIDTH}
        ended = await self._ask(asked, search, seconds)
        lines = [
            Line(name, number, kind == "match", text, start, end, left, length)
            for kind, name, number, text, start, end, left, length in _answers(ended.stdout)
        ]
        return Found(lines, ended.complete, ended.full)

    async def _ask(self, request: dict[str, Any], search: Search, seconds: float) -> Ended:
        stdin = "\n".join(json.dumps(each) for each in (_BOOT, _sources(), request)) + "\n"
        argv = [self._python, "-I", "-S", "-c", _START]
        cwd = search.root.rpartition("/")[0] or "/" if search.is_file else search.root
        ended = await self._runner.run(argv, stdin=stdin.encode("ascii"), cwd=cwd, seconds=seconds)
        if ended.complete and ended.code:
            said = ended.stderr.strip().rpartition("\n")[2] or f"exit code {ended.code}"
            raise ToolError(f"The search failed: {said}.", hint="Use a simpler pattern, or search with run_python.")
        return ended


def _asked(search: Search) -> dict[str, Any]:
    pattern = search.pattern
    return {
        "root": search.root,
        "python": pattern.python,
        "ignore_case": pattern.ignore_case,
        "needed": pattern.needed,
        "spans": pattern.spans,
        "ignored": search.ignored,
        "globs": list(search.globs),
        "kept": sorted(search.kept),
    }


def _answers(stdout: bytes) -> Iterator[list[Any]]:
    """Yield the answers; one that was cut off at the end is dropped."""
    whole, _, _ = stdout.rpartition(b"\n")
    yield from map(json.loads, whole.splitlines())


@functools.cache
def _sources() -> list[tuple[str, str]]:
    return [(name, _source(name)) for name in _SENT]


def _source(name: str) -> str:
    package, _, module = name.rpartition(".")
    return resources.files(package).joinpath(f"{module}.py").read_text(encoding="utf-8")

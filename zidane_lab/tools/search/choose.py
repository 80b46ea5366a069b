"""Which engine searches: ripgrep where it is, else Python there, else Python here on copies.

A pattern that spans lines is always our own engine's: ripgrep counts and limits such matches in another way.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.ignore import IgnoreRules
from zidane_lab.tools.reading.files import files_of, is_elsewhere, threaded
from zidane_lab.tools.search.engines import Counts, Engine, Found, Search
from zidane_lab.tools.search.mirror import MOST_BYTES, mirror
from zidane_lab.tools.search.own import OwnEngine
from zidane_lab.tools.search.processes import Here, There
from zidane_lab.tools.search.ripgrep import Ripgrep, UnsuitableError, find_ripgrep
from zidane_lab.tools.search.worker import path_filter
from zidane_lab.tools.walk import rules_at

__all__ = ["choose_engine"]

_PROBE_SECONDS: Final = 10.0
_PROBE: Final = (
    "if command -v rg >/dev/null 2>&1; then echo rg; fi; "
    "if python3 -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo python3; fi"
)


async def choose_engine(
    context: ToolContext, search: Search, scratch: Path, seconds: float
) -> tuple[Engine, Search, str | None]:
    """Return the engine, what to ask it, and a note where not all can be searched.

    Parameters
    ----------
    scratch
        An empty folder of this machine, for copies.
    seconds
        How much time there is.
    """
    if not is_elsewhere(context):
        return await _here(search), search, None
    assert context.place is not None
    runner = There(context.place)
    ended = await runner.run(["sh", "-c", _PROBE], cwd=context.place.cwd, seconds=min(seconds, _PROBE_SECONDS))
    there = ended.stdout.decode("ascii", "ignore").split()
    own = OwnEngine(runner, "python3") if "python3" in there else None
    if "rg" in there and not search.pattern.spans:
        rules = await threaded(_rules)(context, search)
        return _Preferred(Ripgrep(runner, "rg", in_project=rules.in_project), own), search, None
    if own is not None:
        return own, search, None
    note = await threaded(_copy)(context, search, scratch, seconds / 2)
    root = scratch / Path(search.root).name if search.is_file else scratch
    return _own_here(), replace(search, root=str(root), ignored=True), note


async def _here(search: Search) -> Engine:
    program = find_ripgrep()
    if program is None or search.pattern.spans:
        return _own_here()
    rules = IgnoreRules.at(Path(search.root).parent if search.is_file else Path(search.root))
    return _Preferred(Ripgrep(Here(), program, in_project=rules.in_project), _own_here())


def _own_here() -> OwnEngine:
    if not sys.executable:
        raise ToolError("There is no ripgrep, and Python's own path is unknown.", hint="Install ripgrep.")
    return OwnEngine(Here(), sys.executable)


def _rules(context: ToolContext, search: Search) -> IgnoreRules:
    return rules_at(files_of(context), search.root.rpartition("/")[0] or "/" if search.is_file else search.root)


def _copy(context: ToolContext, search: Search, scratch: Path, seconds: float) -> str | None:
    files = files_of(context)
    if search.is_file:
        with files.open(search.root) as handle:
            (scratch / Path(search.root).name).write_bytes(handle.read(MOST_BYTES))
        return None
    wanted = path_filter(list(search.globs))
    return mirror(files, search.root, scratch, ignored=search.ignored, wanted=wanted, seconds=seconds)


class _Preferred:
    """One engine, and another for when it turns out to be unsuitable."""

    def __init__(self, first: Engine, second: Engine | None) -> None:
        self._engine, self._second = first, second

    @property
    def name(self) -> str:
        return self._engine.name

    async def count(self, search: Search, seconds: float) -> Counts:
        try:
            return await self._engine.count(search, seconds)
        except UnsuitableError as error:
            if self._second is None:
                raise ToolError(f"This ripgrep cannot be used: {error}", hint="Install a newer one.") from error
            self._engine, self._second = self._second, None
            return await self._engine.count(search, seconds)

    async def lines(self, search: Search, files: Sequence[tuple[str, int]], around: int, seconds: float) -> Found:
        return await self._engine.lines(search, files, around, seconds)

"""Finding out which files a piece of code wrote, without patching anything.

Code names most of the files it writes: ``open("clean.py", "w")``, ``df.to_csv('out.csv')``, ``%%writefile model.py``.
The files named in the code are looked at before it runs and after; those that are new or differ were written by it, and
the result's metadata say so. Names put together at run time are missed, so the evidence is sound but not complete.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from zidane_lab.agent.guards.bundle import subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.compaction.stale_reads import WRITTEN
from zidane_lab.errors import ToolError
from zidane_lab.events import AgentDone, ToolBefore, ToolTransform
from zidane_lab.tools.paths import resolve_path

__all__ = ["WrittenFiles", "named_files"]

_TOOL: Final = "run_python"
_MOST: Final = 50
"""Files of one piece of code that are looked at."""
_LITERAL: Final = re.compile(r"""(?P<quote>["'])(?P<name>[^"'\n\\{}]{1,400}?\.\w{1,12})(?P=quote)""")
_WRITEFILE: Final = re.compile(r"^[ \t]*%%(?:writefile|file)[ \t]+(?:-a[ \t]+)?(?P<name>[^\n]+)", re.MULTILINE)

Stamps: TypeAlias = Mapping[str, tuple[int, int] | None]
"""Time of the last change (ns) and size by absolute path; ``None`` where there is no such file."""


def named_files(code: str) -> tuple[str, ...]:
    """Return what in ``code`` reads like the name of a file with a suffix, in order, at most 50 of them."""
    found = [*_WRITEFILE.finditer(code), *_LITERAL.finditer(code)]
    names = (match["name"].strip().strip("\"'") for match in found)
    return tuple(dict.fromkeys(name for name in names if name and "://" not in name))[:_MOST]


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """A hook bundle that adds ``written``, the absolute paths, to the metadata of what ran and wrote files.

    Parameters
    ----------
    cwd
        Folder that relative paths start from: the kernel's, at the time of the call, where the two differ.
    """

    cwd: Path = field(default_factory=Path.cwd)

    def install(self, hooks: HookBus) -> Uninstall:
        """Watch ``run_python``."""
        before: dict[tuple[str, str | None], Stamps] = {}

        async def at_start(event: ToolBefore) -> None:
            code = event.input.get("code")
            if event.tool == _TOOL and isinstance(code, str) and (names := named_files(code)):
                before[event.ids.run_id, event.ids.call_id] = await asyncio.to_thread(_stamps, _paths(names, self.cwd))

        async def at_result(event: ToolTransform) -> None:
            known = before.pop((event.ids.run_id, event.ids.call_id), None)
            if known is None:
                return
            now = await asyncio.to_thread(_stamps, known)
            written = [path for path, stamp in now.items() if stamp is not None and stamp != known[path]]
            if written:
                event.result = replace(event.result, metadata={**event.result.metadata, WRITTEN: written})

        def at_end(event: AgentDone) -> None:
            for call in [call for call in before if call[0] == event.ids.run_id]:
                del before[call]

        return subscribe(hooks, {ToolBefore: at_start, ToolTransform: at_result, AgentDone: at_end})


def _paths(names: Iterable[str], cwd: Path) -> tuple[str, ...]:
    found = []
    for name in names:
        try:
            found.append(os.path.abspath(resolve_path(name, cwd)))  # noqa: PTH100 - links stay as written
        except (ToolError, ValueError):
            continue  # no file can have this name
    return tuple(dict.fromkeys(found))


def _stamps(paths: Iterable[str]) -> Stamps:
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - a name that is no path must not raise anything else
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size

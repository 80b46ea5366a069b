"""``/output``: show the whole of a result of which the model, and the page, got only the beginning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from zidane_lab.chat.commands import CommandContext, Reply, command
from zidane_lab.chat.report import table
from zidane_lab.errors import ConfigurationError, SessionError
from zidane_lab.session.kept_results import locate
from zidane_lab.session.persisted import PERSISTED
from zidane_lab.session.session import Session

__all__ = ["kept_outputs"]

MOST_CHARACTERS: Final = 200_000
"""Most characters shown at once; a page slows down beyond."""


@command("output", "/output [CALL]", "show a large result whole: by the id on its card, or list them all")
async def _output(context: CommandContext, arguments: str) -> Reply:
    session = context.chat.session
    kept = dict(kept_outputs(session))
    if not arguments:
        if not kept:
            return Reply("No result of this session is kept in a file: all of them were shown whole.")
        rows = [(f"`{call}`", tool, f"{size:,} bytes", f"`{path}`") for call, (tool, path, size) in kept.items()]
        return Reply(f"{table(('call', 'tool', 'size', 'file'), rows)}\n\nShow one: `%zidane /output CALL`.")
    found = [call for call in kept if call == arguments] or [call for call in kept if call.startswith(arguments)]
    if len(found) != 1:
        known = ", ".join(kept) or "none"
        raise ConfigurationError(
            f"{arguments!r} is {'no' if not found else 'more than one'} kept result of this session.",
            hint=f"Kept are: {known}.",
        )
    tool, path, size = kept[found[0]]
    real = locate(session.folder, path) if session.folder is not None else None
    if real is None:
        raise SessionError(f"The file of {found[0]} is gone: {path}.", hint="Run the step again to get it anew.")
    text = real.read_text("utf-8", errors="replace")
    more = ""
    if len(text) > MOST_CHARACTERS:
        more = f"\n\nThe first {MOST_CHARACTERS:,} of {len(text):,} characters; all of it is in `{real}`."
        text = text[:MOST_CHARACTERS]
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return Reply(f"Result of **{tool}** ({size:,} bytes):\n\n{fence}text\n{text}\n{fence}{more}")


def kept_outputs(session: Session) -> Iterator[tuple[str, tuple[str, Path, int]]]:
    """Yield the calls of the conversation whose results are kept in files, with tool, file and bytes."""
    names = {call.id: call.name for turn in session.turns for call in turn.tool_calls}
    for turn in session.turns:
        for result in turn.tool_results:
            kept = result.metadata.get(PERSISTED)
            if isinstance(kept, Mapping) and isinstance(path := kept.get("path"), str):
                size = kept.get("bytes")
                yield result.call_id, (names.get(result.call_id, "?"), Path(path), size if isinstance(size, int) else 0)

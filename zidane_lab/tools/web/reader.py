"""One door to the pages of the web for tools: an address with the part behind it, shown within the limits of a tool.

``fetch_url`` and ``read_file`` both come in here, so what one has fetched for a conversation the other does not fetch
again.
"""

from __future__ import annotations

import io
from typing import Any, Final

from zidane_lab.errors import SessionError
from zidane_lab.tools.base import ToolContext, ToolOutput
from zidane_lab.tools.pages import PAGE_BYTES, PAGE_LINES, read_page
from zidane_lab.tools.paths import describe_size
from zidane_lab.tools.web.forms import get_page
from zidane_lab.tools.web.memory import FRESH_SECONDS, KEEP_SECONDS, Kept, pages_of
from zidane_lab.tools.web.pages import Page
from zidane_lab.tools.web.parts import split_part
from zidane_lab.tools.web.settings import WebSettings
from zidane_lab.tools.web.text import one_line
from zidane_lab.tools.web.urls import read_address
from zidane_lab.turns import TextBlock

__all__ = ["DEFAULT_LIMIT", "FETCHED", "read_url"]

DEFAULT_LIMIT: Final = 300
"""Lines shown unless more are asked for."""
_MOST_RANGES: Final = 20

FETCHED: Final = "fetched"
"""Key of the metadata that says what was fetched, and how."""


async def read_url(
    context: ToolContext,
    url: str,
    settings: WebSettings,
    *,
    offset: int = 1,
    limit: int = DEFAULT_LIMIT,
    raw: bool = False,
    refresh: bool = False,
) -> ToolOutput:
    """Show a page, or a part of one; later parts come from the copy that the conversation keeps.

    Parameters
    ----------
    url
        The address; behind it may stand a part, see :mod:`~zidane_lab.tools.web.parts`, which counts more than
        ``offset`` and ``limit``.
    refresh
        Fetch it again, even if there is a copy.

    Raises
    ------
    ToolNotAllowedError
        The address is not to be reached.
    ToolError
        The part behind it cannot be.
    """
    text, part = split_part(url)
    raw = raw or part.raw
    limit = min(max(1, limit), PAGE_LINES)
    ranges = [
        (first, limit if last is None else min(last - first + 1, PAGE_LINES))
        for first, last in part.ranges[:_MOST_RANGES]
    ] or [(max(1, offset), limit)]
    goes_on = bool(part.ranges) or offset > 1
    pages = pages_of(context)
    kept = None
    if not refresh:
        kept = pages.get(str(read_address(text)), raw=raw, within=KEEP_SECONDS if goes_on else FRESH_SECONDS)
    if kept is None or (kept.page.is_broken and not goes_on):
        page = await get_page(text, settings, raw=raw)
        kept = Kept(page) if page.is_failed else pages.add(page, _save(context, page, ranges), raw=raw)
    return _shown(kept, ranges, is_old=kept.age > 0 and not goes_on)


def _header(page: Page, *more: str) -> str:
    """Say where a text comes from and how it was made; within 1.5 KB, so that a part of the page still fits."""
    lines = [f"URL: {_clipped(page.url, 300)}"]
    if page.final_url != page.url:
        lines.append(f"Found at: {_clipped(page.final_url, 300)}")
    if page.title:
        lines.append(f"Title: {_clipped(page.title, 200)}")
    if page.kind or page.size:
        lines.append(f"Type: {_clipped(page.kind or 'not said', 80)}, {describe_size(page.size)}")
    lines.append(f"Method: {page.method}")
    if notes := [*more, *page.notes]:
        lines.append(f"Notes: {_clipped('; '.join(notes), 500)}")
    return "\n".join(lines)


def _shown(kept: Kept, ranges: list[tuple[int, int]], *, is_old: bool) -> ToolOutput:
    page = kept.page
    metadata: dict[str, Any] = {
        FETCHED: {
            "url": page.url,
            "final_url": page.final_url,
            "status": page.status,
            "type": page.kind,
            "method": page.method,
            "notes": list(page.notes),
        }
    }
    if kept.path is not None:
        metadata["output_path"] = str(kept.path)
    room, shown = PAGE_BYTES, []
    for first, count in ranges:
        text, notes = _part(kept, first, count, room)
        shown.append("\n".join([text.rstrip("\n"), *(f"[{note}]" for note in notes)]))
        room -= len(shown[-1].encode("utf-8", "replace"))
    age = (f"a copy of {_ago(kept.age)}; refresh=true fetches it again",) if is_old else ()
    body = "\n".join([_header(page, *age), "", "---", "\n\n".join(shown)])
    return ToolOutput((TextBlock(body), *(page.media if ranges[0][0] == 1 else ())), page.is_failed, metadata)


def _ago(seconds: float) -> str:
    return f"{seconds:.0f} s ago" if seconds < 90 else f"{seconds / 60:.0f} min ago"


def _clipped(text: str, most: int) -> str:
    """Return a text on one line of at most ``most`` bytes."""
    line = one_line(text, most)
    data = line.encode()
    return line if len(data) <= most else f"{data[: most - 3].decode('utf-8', 'ignore')}…"


def _part(kept: Kept, offset: int, limit: int, room: int) -> tuple[str, list[str]]:
    """Return some lines of a page, and how to go on."""
    if room < 1_000:
        return "", [f"lines from {offset:,} on do not fit here; ask for them alone"]
    page = read_page(io.StringIO(kept.page.text, newline="\n"), offset, limit, count=True)
    if not page.text:
        past = f"the text has {page.total or 0:,} lines; there is no line {offset:,}"
        return "", [past] if offset > 1 else []
    if len(page.text.encode("utf-8", "replace")) > room:
        return "", [f"lines from {offset:,} on do not fit here; ask for them alone"]
    whole = f"; all of it is in {kept.path}" if kept.path is not None else ""
    notes = []
    if page.following is not None or offset > 1:
        more = f"go on with offset={page.following}" if page.following is not None else "this is the end"
        notes.append(f"lines {page.first:,}–{page.last:,} of {page.total:,}; {more}{whole}")
    if page.cut:
        notes.append(f"line {page.last:,} is longer than a part: only its beginning is shown{whole}")
    return page.text, notes


def _save(context: ToolContext, page: Page, ranges: list[tuple[int, int]]) -> Any:
    """Keep the whole text in a file, if it is more than is shown at once."""
    first, count = ranges[0]
    is_long = first > 1 or page.text.count("\n") >= count or len(page.text.encode("utf-8", "replace")) > PAGE_BYTES
    if context.outputs is None or not is_long:
        return None
    try:
        return context.outputs.save_output("fetch_url", page.text)
    except (OSError, SessionError):
        return None  # the notes then name no file; the page is still kept in memory

"""From what the summarising model answered to the summary in it."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_cut_in_analysis", "strip_analysis"]

_OPEN: Final = re.compile(r"<\s*analysis\s*>", re.IGNORECASE)
_CLOSE: Final = re.compile(r"<\s*/\s*analysis\s*>", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"<\s*summary\s*>", re.IGNORECASE)
_SUMMARY_END: Final = re.compile(r"<\s*/\s*summary\s*>", re.IGNORECASE)
_TAGS: Final = re.compile(r"<\s*+/?\s*+(?:analysis|summary)\s*>", re.IGNORECASE)

# Between two summaries of one answer: an end, perhaps some more analysis, a beginning.
_BETWEEN: Final = re.compile(
    r"<\s*/\s*summary\s*>\s*(?:<\s*analysis\s*>.*?<\s*/\s*analysis\s*>\s*)*<\s*summary\s*>", re.IGNORECASE | re.DOTALL
)


def strip_analysis(answer: str) -> str:
    """Return the summary in an answer, without the analysis before it and without the tags round it.

    Models forget tags. What stands between the first ``<summary>`` and the last ``</summary>`` is the summary,
    verbatim, to the end if it is never closed; so tags that a summary quotes survive. Without one it is all that is
    not analysis. An analysis that is never closed ends where the summary begins; when there is no summary, what was
    said before it counts, and else what is inside: a text is not given up for a missing tag.

    Returns
    -------
    str
        Empty only if the answer holds nothing but analysis and tags.
    """
    rest = _without_analysis(answer)
    begin = _SUMMARY.search(rest)
    if begin is None:
        return _outside(rest)
    ends = list(_SUMMARY_END.finditer(rest, begin.end()))
    body = rest[begin.end() : ends[-1].start()] if ends else rest[begin.end() :]
    body = _BETWEEN.sub("\n\n", body).strip()
    if _bare(body):
        return body
    return _outside(rest[: begin.start()] + (rest[ends[-1].end() :] if ends else ""))


def is_cut_in_analysis(answer: str) -> bool:
    """Whether an answer ends inside its analysis, so that the summary was never begun."""
    rest = _closed_removed(answer)
    return _OPEN.search(rest) is not None and _SUMMARY.search(rest) is None


def _without_analysis(answer: str) -> str:
    rest = _closed_removed(answer)
    begin, opened = _SUMMARY.search(rest), _OPEN.search(rest)
    if opened is None or (begin is not None and begin.start() < opened.start()):
        return rest
    if begin is not None:
        return rest[: opened.start()] + rest[begin.start() :]
    before = rest[: opened.start()]
    return before if _bare(before) else rest[opened.end() :]


def _closed_removed(answer: str) -> str:
    """Remove the analyses that come before the summary and are closed."""
    rest, at = answer, 0
    while (opened := _OPEN.search(rest, at)) is not None:
        begin = _SUMMARY.search(rest, at)
        closed = _CLOSE.search(rest, opened.end())
        if closed is None or (begin is not None and begin.start() < opened.start()):
            break
        inside = begin is not None and begin.start() < closed.start()
        if inside and _SUMMARY.search(rest, closed.end()) is None:
            break  # the summary began in it, so it ended there, and the closing tag is quoted
        rest = rest[: opened.start()] + rest[closed.end() :]
        at = opened.start()
    return rest


def _outside(text: str) -> str:
    """Return what is left of a text without a summary: what follows a stray end of an analysis, without tags."""
    parts = _CLOSE.split(text)
    return _bare(parts[-1]) or _bare(text)


def _bare(text: str) -> str:
    return _TAGS.sub("", text).strip()

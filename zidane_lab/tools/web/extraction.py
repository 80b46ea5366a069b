"""The text of an HTML page, as Markdown, found in a process of its own.

Pages are untrusted and their parsers are large, partly written in C: what holds up or kills a parser must not do so to
the user's kernel. trafilatura finds the content among the rest, where it is installed; it loses blank lines of code,
so where a page has code and says itself where its content is, or where trafilatura finds too little, our own converter
(:mod:`zidane_lab.tools.web.markdown`) is used.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from zidane_lab.tools.reading.child import ChildError, answers_of
from zidane_lab.tools.web.markdown import Converted, convert
from zidane_lab.tools.web.text import cleaned, one_line

__all__ = ["Extracted", "choose", "extract", "extract_apart", "steps"]

SECONDS: Final = 20.0
_MOST: Final = 4 * 1_048_576
"""Characters of a page that are looked at; the text of a longer one is rarely in what follows."""
_MOST_TEXT: Final = 1_500_000
"""Characters of text that are given back."""
_LITTLE: Final = 200
"""A page with less text than this, in many characters of HTML, is built by its scripts."""
_CODE: Final = r"""
import json, logging, sys, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
from dataclasses import asdict
from zidane_lab.tools.web.extraction import steps
with open(sys.argv[1], encoding="utf-8", errors="replace", newline="") as page:
    url, _, html = page.read().partition("\n")
for found in steps(html, url):
    line = json.dumps(asdict(found), ensure_ascii=False).encode("utf-8", "replace")
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
"""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a page.

    Parameters
    ----------
    text
        Markdown.
    method
        What found it: ``trafilatura``, ``html`` (our own converter) or ``text`` (the last resort).
    title
        What the page is called.
    is_poor
        There is hardly any text for the size of the page.
    alternates
        Other forms that the page names: media type and address.
    """

    text: str
    method: str
    title: str = ""
    is_poor: bool = False
    alternates: tuple[tuple[str, str], ...] = ()


def extract_apart(html: str, url: str) -> tuple[Extracted, str]:
    """Return the text of a page, and a note where something went wrong; the work is done in another process.

    Blocks for as long as that takes, at most some 20 seconds.
    """
    with tempfile.TemporaryDirectory(prefix="zidane-web-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "page.html")
        # The address goes with the page: arguments of a process can be seen by everybody on the machine.
        path.write_text(f"{url}\n{html[:_MOST]}", encoding="utf-8", errors="replace", newline="")
        found: list[dict[str, Any]] = []
        trouble = "it ended without a word"
        try:
            found.extend(answers_of(_CODE, [str(path)], seconds=SECONDS))  # keeps what came before a failure
        except (ChildError, ValueError) as error:
            trouble = one_line(str(error), 100)
    if not found:
        return Extracted(_bare(html[:_MOST]), "text"), f"the page could not be converted ({trouble})"
    best = found[-1]
    note = f"only the first {_MOST:,} characters of the page were looked at" if len(html) > _MOST else ""
    alternates = tuple((str(kind), str(where)) for kind, where in best["alternates"])
    return Extracted(**{**best, "alternates": alternates}), note


def extract(html: str, url: str) -> Extracted:
    """Return the text of a page, in this process."""
    *_, best = steps(html, url)
    return best


def steps(html: str, url: str) -> Iterator[Extracted]:
    """Yield the text of a page as our own converter has it, then, where that may be better, as trafilatura has it."""
    html = cleaned(html)
    own = convert(html, url)
    yield _extracted(own, html, *choose(own, ""))
    if not _is_told(own):
        yield _extracted(own, html, *choose(own, _trafilatura(html, url)))


def _extracted(own: Converted, html: str, text: str, method: str) -> Extracted:
    text = cleaned(text).strip()[:_MOST_TEXT]
    is_poor = len(text) < _LITTLE and len(html) > 10 * max(len(text), 50)
    return Extracted(text, method, one_line(own.title, 200), is_poor, own.alternates[:20])


def choose(own: Converted, found: str) -> tuple[str, str]:
    """Choose between our own conversion and what trafilatura found."""
    if not found or _is_told(own):
        return own.text, "html"
    too_little = len(found) < _LITTLE and len(own.text) > 2 * len(found)
    if too_little or (own.has_content and 2 * len(found) < len(own.text)):
        return own.text, "html"
    return found, "trafilatura"


def _is_told(own: Converted) -> bool:
    """Whether a page says where its content is, and has code there that must stay as it is."""
    return own.has_content and own.has_code


def _trafilatura(html: str, url: str) -> str:
    """Return what trafilatura takes for the content; nothing where it is not installed or fails."""
    try:
        import trafilatura
    except ImportError:
        return ""
    try:
        found = trafilatura.extract(
            html,
            url=url,
            output_format="markdown",
            include_links=True,
            include_tables=True,
            include_formatting=True,
            include_comments=False,
            favor_recall=True,
        )
    except Exception:  # noqa: BLE001 - whatever a hostile page breaks in there, our own converter is left
        return ""
    return str(found or "")


def _bare(html: str) -> str:
    """Return what is not between angle brackets, with work in proportion to the length."""
    from html import unescape

    html = re.sub(r"<[^<>]*>", " ", html)
    return cleaned("\n".join(line for part in unescape(html).split("\n") if (line := " ".join(part.split()))))

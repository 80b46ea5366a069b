"""The text of an HTML page, as Markdown, found in a process of its own.

Pages are untrusted and their parsers are large, partly written in C: what holds up or kills a parser must not do so to
the user's kernel. trafilatura finds the content among the rest, where it is installed; it loses blank lines of code,
headings, addresses of links, and now and then most of a page (a ``main`` in a ``main``, tables, lists of definitions).
So it is used where a page does not say itself where its content is, or says so of far too much, and where it does not
keep suspiciously little; else our own converter (:mod:`zidane_lab.tools.web.markdown`) is.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from zidane_lab.tools.reading.child import ChildError, answers_of
from zidane_lab.tools.web.markdown import Converted, convert, substance
from zidane_lab.tools.web.text import cleaned, one_line

__all__ = ["Extracted", "choose", "extract", "extract_apart", "steps"]

SECONDS: Final = 20.0
_MOST: Final = 4 * 1_048_576
"""Characters of a page that are looked at; the text of a longer one is rarely in what follows."""
_MOST_TEXT: Final = 1_500_000
"""Characters of text that are given back."""
_LITTLE: Final = 200
"""A page with less text than this, in many characters of HTML, is built by its scripts."""
_MANY_ROWS: Final = 8
_A_WORD: Final = 12
"""Letters of hidden text that cannot be found elsewhere by chance."""
_LETTERS: Final = re.compile(r"\w+")
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)
_LOW_LINE: Final = re.compile(r"\\_")
"""As trafilatura writes it, in code too: names could not be used as they are, and credentials not be recognised."""
_LINK: Final = re.compile(r"\[([^\[\]]+)\]\(")
_BALLAST: Final = re.compile(
    r"</?(?P<tag>script|style|svg|noscript|template)\b|data:[\w.+-]{1,60}/[\w.+-]{1,60};base64,[A-Za-z0-9+/=%]{64,}",
    re.IGNORECASE,
)
_UNSHOWN: Final = re.compile(r"</?(?P<tag>noscript|template)\b", re.IGNORECASE)
_CODE: Final = r"""
import json, logging, sys, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
from dataclasses import asdict
from zidane_lab.tools.web.extraction import steps
with open(sys.argv[1], encoding="utf-8", errors="replace", newline="") as page:
    kind, _, rest = page.read().partition("\n")
    url, _, html = rest.partition("\n")
for found in steps(html, url, is_xml=kind == "xml"):
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
    alternates, frames, onward
        See :class:`~zidane_lab.tools.web.heads.References`.
    """

    text: str
    method: str
    title: str = ""
    is_poor: bool = False
    alternates: tuple[tuple[str, str], ...] = ()
    frames: tuple[str, ...] = ()
    onward: str = ""


def extract_apart(html: str, url: str, *, is_xml: bool = False) -> tuple[Extracted, str]:
    """Return the text of a page, and a note where something went wrong; the work is done in another process.

    Blocks for as long as that takes, at most some 20 seconds. ``is_xml`` says that the page is XHTML.
    """
    html = lightened(html)
    with tempfile.TemporaryDirectory(prefix="zidane-web-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "page.html")
        # The address goes with the page: arguments of a process can be seen by everybody on the machine.
        kind = "xml" if is_xml else "html"
        path.write_text(f"{kind}\n{url}\n{html[:_MOST]}", encoding="utf-8", errors="replace", newline="")
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
    return Extracted(**{**best, "alternates": alternates, "frames": tuple(best["frames"])}), note


def extract(html: str, url: str, *, is_xml: bool = False) -> Extracted:
    """Return the text of a page, in this process."""
    *_, best = steps(html, url, is_xml=is_xml)
    return best


def steps(html: str, url: str, *, is_xml: bool = False) -> Iterator[Extracted]:
    """Yield the text of a page as our own converter has it, then, where that may be better, as trafilatura has it."""
    html = cleaned(html)
    own = convert(html, url, is_xml=is_xml)
    if len(own.text) < _LITTLE:
        # A page may stand in its own navigation, or be hidden until a script has run.
        whole = convert(html, url, is_xml=is_xml, drops=False)
        if substance(whole.text) > max(_LITTLE, 5 * substance(own.text)):
            own = whole
    yield _extracted(own, html, *choose(own, ""))
    if not _is_told(own):
        yield _extracted(own, html, *choose(own, _trafilatura(html, url)))


def lightened(html: str) -> str:
    """Return a page without scripts, styles, drawings and data in addresses, if it is longer than is looked at.

    What a reader wants may come after megabytes of them.
    """
    return html if len(html) <= _MOST else _without(html, _BALLAST)


def _without(html: str, pattern: re.Pattern[str]) -> str:
    """Leave elements out, and what else the pattern finds outside of them, with work in proportion to the length."""
    kept, start, until = [], 0, ""
    for match in pattern.finditer(html):
        name, is_end = (match["tag"] or "").lower(), match[0].startswith("</")
        if not until and name and not is_end:
            kept.append(html[start : match.start()])
            start, until = match.start(), name
        elif until and is_end and name == until:
            start, until = match.start(), ""
        elif not until and not name:
            kept.append(html[start : match.start()])
            start = match.end()
    return "".join([*kept, html[start:]])


def _extracted(own: Converted, html: str, text: str, method: str) -> Extracted:
    text = cleaned(text).strip()[:_MOST_TEXT]
    is_poor = len(text) < _LITTLE and len(html) > 10 * max(len(text), 50)
    return Extracted(text, method, one_line(own.title, 200), is_poor, own.alternates, own.frames, own.onward)


def choose(own: Converted, found: str) -> tuple[str, str]:
    """Choose between our own conversion and what trafilatura found."""
    is_content = own.has_content and not _is_noisy(own, found)
    if not found or _is_told(own) or is_content or _shows_hidden(own, found):
        return own.text, "html"
    too_little = len(found) < _LITTLE and len(own.text) > 2 * len(found)
    lost_most = 3 * substance(found) < substance(own.text)
    lost_tables = own.text.count("\n| ") >= _MANY_ROWS and 2 * found.count("\n|") < own.text.count("\n| ")
    lost_code = own.has_code and 2 * len(own.text) < 3 * len(found)
    if too_little or lost_most or lost_tables or lost_code or _lost_links(own, found):
        return own.text, "html"
    title = _TITLE.search(own.text)
    is_lost = title is not None and title[1].strip() not in found
    return (f"{title[0].strip()}\n\n{found}" if title is not None and is_lost else found), "trafilatura"


def _is_noisy(own: Converted, found: str) -> bool:
    """Whether nearly all that a page says is in half of what it calls its content: the rest are links."""
    return len(own.text) > 2 * len(found) and 10 * substance(found) >= 7 * substance(own.text)


def _shows_hidden(own: Converted, found: str) -> bool:
    """Whether there are words in it that are shown to nobody, as they serve to talk to models behind people's backs."""
    said, shown = _letters(found), _letters(own.text)
    return any(len(words) >= _A_WORD and words in said and words not in shown for words in map(_letters, own.hidden))


def _letters(text: str) -> str:
    return "".join(_LETTERS.findall(text))


def _lost_links(own: Converted, found: str) -> bool:
    """Whether most lines are the words of links without their addresses: then the links are the content."""
    names = {match[1].strip() for match in _LINK.finditer(own.text)}
    lines = [line.strip("-*# \t") for line in found.split("\n") if line.strip()]
    return 2 * sum(line in names for line in lines) > len(lines)


def _is_told(own: Converted) -> bool:
    """Whether a page says where its content is, and has code there that must stay as it is."""
    return own.has_content and own.has_code


def _trafilatura(html: str, url: str) -> str:
    """Return what trafilatura takes for the content; nothing where it is not installed or fails."""
    try:
        import trafilatura
    except ImportError:
        return ""
    if "shadowrootmode" in html.lower():  # it does not tell templates that are shown from those that are not
        return ""
    html = _without(html, _UNSHOWN)
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
    return _LOW_LINE.sub("_", str(found or ""))


def _bare(html: str) -> str:
    """Return what is not between angle brackets, with work in proportion to the length."""
    from html import unescape

    html = re.sub(r"<[^<>]*>", " ", html)
    return cleaned("\n".join(line for part in unescape(html).split("\n") if (line := " ".join(part.split()))))

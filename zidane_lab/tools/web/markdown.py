"""HTML as Markdown, with the standard library alone.

What a reader needs is kept: headings, paragraphs, links, lists, tables, code with its blank lines, quotations, the
words that stand for pictures. Scripts, styles, forms and navigation are left out; where a page says itself where its
content is (``main``, ``article``), the rest is left out too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin

__all__ = ["Converted", "convert"]

_DROPPED: Final = frozenset(
    "script style noscript template svg canvas iframe object form button select dialog nav footer aside".split()
)
_DROPPED_ROLES: Final = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "dialog"})
_VOID: Final = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_BLOCKS: Final = frozenset(
    "p div section article main header figure figcaption address details summary fieldset dl dt dd center body".split()
)
_CONTENT: Final = frozenset({"main", "article"})
_STRONG: Final = {"b": "**", "strong": "**", "i": "_", "em": "_", "del": "~~", "s": "~~"}
_LANGUAGE: Final = re.compile(r"(?:language|lang|highlight)-([\w+#-]+)")
_DEEPEST: Final = 400
"""Elements in elements; what lies deeper loses its structure, not its text."""
_SPACE: Final = re.compile(r"[ \t\n\r\f]+")


@dataclass(frozen=True, slots=True)
class Converted:
    """A page as Markdown.

    Parameters
    ----------
    text
        The Markdown.
    title
        What the page is called.
    has_content
        The page says itself where its content is.
    has_code
        There are blocks of code in it.
    alternates
        Other forms that the page names: media type and address.
    """

    text: str
    title: str = ""
    has_content: bool = False
    has_code: bool = False
    alternates: tuple[tuple[str, str], ...] = ()


def convert(html: str, base: str = "") -> Converted:
    """Convert a page.

    Parameters
    ----------
    base
        Where the page is: links are written out from there.
    """
    reader = _Reader(base)
    reader.feed(html)
    reader.close()
    content = [block for part in reader.contents for block in part]
    text = _settled("\n\n".join(content or reader.finished()))
    return Converted(
        text=text,
        title=_SPACE.sub(" ", reader.title).strip(),
        has_content=bool(content),
        has_code="```" in text,
        alternates=tuple(reader.alternates),
    )


@dataclass(slots=True)
class _Table:
    rows: list[list[str]] = field(default_factory=list)
    has_head: bool = False


@dataclass(slots=True)
class _Level:
    """A place that blocks go to: the page, an item of a list, a quotation, a cell."""

    tag: str
    blocks: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    """Reads a page once, from start to end, into blocks."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base, self.title = base, ""
        self.alternates: list[tuple[str, str]] = []
        self.contents: list[list[str]] = []
        self._open: list[str] = []
        self._levels = [_Level("")]
        self._lists: list[tuple[str, int]] = []
        self._tables: list[_Table] = []
        self._links: list[tuple[str, int]] = []
        self._content: list[tuple[int, int]] = []
        self._dropped = 0
        self._code: list[str] | None = None
        self._language = ""
        self._in_title = False

    # --- what the parser calls -----------------------------------------------------------------------

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the start of an element."""
        values = {name: value or "" for name, value in attrs}
        if self._dropped:
            if tag not in _VOID:
                self._dropped += 1 if len(self._open) < _DEEPEST else 0
                self._push(tag)
            return
        if tag in _VOID:
            self._void(tag, values)
            return
        self._push(tag)
        if tag in _DROPPED or values.get("role") in _DROPPED_ROLES or "hidden" in values:
            if len(self._open) < _DEEPEST or tag in {"script", "style"}:
                self._dropped = 1
        elif tag == "title":
            self._in_title = not self.title
        else:
            self._start(tag, values)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element that ends where it starts; only some really do, the others are only started."""
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Take the end of an element; the ends that are missing before it are added, one too many is left out."""
        if tag == "br":
            self._text("\n")
        if tag not in self._open:
            return
        while self._open:
            each = self._open.pop()
            if self._dropped:
                self._dropped -= 1
            elif each == "title":
                self._in_title = False
            else:
                self._end(each)
            if each == tag:
                return

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._in_title:
            self.title += data
        elif not self._dropped:
            if self._code is not None:
                self._code.append(data)
            else:
                self._text(_SPACE.sub(" ", data))

    # --- building ------------------------------------------------------------------------------------

    def finished(self) -> list[str]:
        """Return the blocks of the whole page."""
        while self._open:
            self.handle_endtag(self._open[-1])
        self._flush()
        return self._levels[0].blocks

    def _push(self, tag: str) -> None:
        if len(self._open) < _DEEPEST:
            self._open.append(tag)

    def _text(self, text: str) -> None:
        self._levels[-1].inline.append(text)

    def _flush(self) -> None:
        """End the paragraph that is being written."""
        level = self._levels[-1]
        text = _paragraph("".join(level.inline))
        level.inline.clear()
        self._links.clear()
        if text:
            level.blocks.append(text)

    def _void(self, tag: str, values: dict[str, str]) -> None:
        if tag == "br":
            self._text("\n") if self._code is None else self._code.append("\n")
        elif tag == "hr" and not self._tables:
            self._flush()
            self._levels[-1].blocks.append("---")
        elif tag == "img" and (alt := _SPACE.sub(" ", values.get("alt", "")).strip()):
            self._text(f"![{alt}]")
        elif tag == "link" and "alternate" in values.get("rel", "").lower().split() and values.get("type"):
            self.alternates.append((values["type"].lower(), self._absolute(values.get("href", ""))))
        elif tag == "base" and values.get("href"):
            self.base = self._absolute(values["href"])

    def _start(self, tag: str, values: dict[str, str]) -> None:
        if self._code is not None:
            self._language = self._language or _language(values)
        elif tag == "pre":
            self._flush()
            self._code, self._language = [], _language(values)
        elif tag in {"ul", "ol"}:
            self._flush()
            self._lists.append((tag, _number(values.get("start", ""), 1)))
        elif tag in {"li", "blockquote", "td", "th", "caption"}:
            self._flush()
            self._levels.append(_Level(tag))
            if tag == "th" and self._tables and not self._tables[-1].rows[:-1]:
                self._tables[-1].has_head = True
        elif tag == "table":
            self._flush()
            self._tables.append(_Table())
        elif tag == "tr" and self._tables:
            self._tables[-1].rows.append([])
        elif tag == "a":
            self._links.append((values.get("href", ""), len(self._levels[-1].inline)))
        elif tag == "code":
            self._text("\x00")
        elif tag in _STRONG:
            self._text(f"\x01{_STRONG[tag]}")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._flush()
            if tag in _CONTENT or values.get("role") == "main":
                self._mark_content()

    def _end(self, tag: str) -> None:
        if self._code is not None:
            if tag == "pre":
                self._end_code(self._code)
        elif tag in {"ul", "ol"}:
            self._flush()
            if self._lists:
                self._lists.pop()
        elif tag in {"li", "blockquote", "td", "th", "caption"}:
            self._end_level(tag)
        elif tag == "table" and self._tables:
            self._flush()
            self._levels[-1].blocks.append(_table(self._tables.pop()))
        elif tag == "a" and self._links:
            self._end_link(*self._links.pop())
        elif tag == "code":
            self._text("\x00")
        elif tag in _STRONG:
            self._text(f"{_STRONG[tag]}\x02")
        elif tag in _HEADINGS:
            self._end_heading(_HEADINGS[tag])
        elif tag in _BLOCKS:
            self._flush()
            if tag == "dt" and self._levels[-1].blocks:
                self._levels[-1].blocks[-1] = f"**{self._levels[-1].blocks[-1]}**"
            self._close_content()

    def _end_code(self, code: list[str]) -> None:
        text = "".join(code).replace("\r\n", "\n").removeprefix("\n").rstrip()
        self._code = None
        fence = "```"
        while fence in text:
            fence += "`"
        if text.strip():
            self._levels[-1].blocks.append(f"{fence}{self._language}\n{text}\n{fence}")

    def _end_heading(self, level: int) -> None:
        text = _paragraph("".join(self._levels[-1].inline)).replace("\n", " ").replace("**", "")
        self._levels[-1].inline.clear()
        self._links.clear()
        if text := re.sub(r"\s*\[(?:¶|#|🔗|link)\]\([^)]*\)$", "", text).strip():
            self._levels[-1].blocks.append(f"{'#' * level} {text}")

    def _end_level(self, tag: str) -> None:
        if self._levels[-1].tag != tag:
            return
        self._flush()
        blocks = self._levels.pop().blocks
        outer = self._levels[-1].blocks
        if tag in {"td", "th"}:
            if self._tables:
                self._tables[-1].rows[-1:] = [[*(self._tables[-1].rows or [[]])[-1], " ".join(blocks)]]
            else:
                outer.extend(blocks)
        elif tag == "blockquote":
            outer.append("\n".join(f"> {line}".rstrip() for line in "\n\n".join(blocks).split("\n")))
        elif tag == "li":
            self._end_item(blocks, outer)
        else:
            outer.extend(blocks)

    def _end_item(self, blocks: list[str], outer: list[str]) -> None:
        kind, number = self._lists[-1] if self._lists else ("ul", 1)
        mark = f"{number}. " if kind == "ol" else "- "
        if self._lists:
            self._lists[-1] = (kind, number + 1)
        if not blocks:
            return
        is_tight = all(_is_item(block) for block in blocks[1:])
        lines = ("\n" if is_tight else "\n\n").join(blocks).split("\n")
        item = "\n".join([mark + lines[0], *((" " * len(mark) + line).rstrip() for line in lines[1:])])
        if outer and number > 1 and _is_item(outer[-1]):
            outer[-1] += f"\n{item}"
        else:
            outer.append(item)
            if self._lists and number == 1:
                self._lists[-1] = (kind, 2)

    def _end_link(self, href: str, start: int) -> None:
        inline = self._levels[-1].inline
        text = "".join(inline[start:])
        shown, target = text.strip(), self._absolute(href)
        if not shown or not target or href.startswith("#"):
            return
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        inline[start:] = [f"{before}[{shown}]({target}){after}"]

    def _absolute(self, href: str) -> str:
        href = href.strip()
        if href.lower().startswith(("javascript:", "data:", "vbscript:", "mailto:")) or not href:
            return ""
        try:
            return urljoin(self.base, href).replace(" ", "%20").replace("(", "%28").replace(")", "%29")
        except ValueError:
            return ""

    def _mark_content(self) -> None:
        """Remember where the content starts, if this is the outermost level and not inside other content."""
        if len(self._levels) == 1 and not self._content:
            self._content.append((len(self._open), len(self._levels[0].blocks)))

    def _close_content(self) -> None:
        if self._content and len(self._levels) == 1 and len(self._open) < self._content[-1][0]:
            _, start = self._content.pop()
            if part := self._levels[0].blocks[start:]:
                self.contents.append(list(part))


def _language(values: dict[str, str]) -> str:
    match = _LANGUAGE.search(values.get("class", ""))
    name = match[1] if match else values.get("data-lang", values.get("data-language", ""))
    return name if re.fullmatch(r"[\w+#-]{1,20}", name) and name not in {"default", "none"} else ""


def _number(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else default


def _is_item(block: str) -> bool:
    return re.match(r"(?:- |\d+\. )", block) is not None


def _paragraph(text: str) -> str:
    """Settle the marks of code and emphasis, and the white space between words."""
    text = re.sub(r"\x00([^\x00]*)\x00", lambda found: _inline_code(found[1]), text).replace("\x00", "")
    text = re.sub(r"\x01(\*\*|_|~~)(\s*)", r"\2\1", text)
    text = re.sub(r"(\s*)(\*\*|_|~~)\x02", r"\2\1", text)
    text = re.sub(r"(?<![*_~\w])(\*\*|_|~~)\1(?![*_~\w])", "", text).replace("\x01", "").replace("\x02", "")
    return "\n".join(line for part in text.split("\n") if (line := re.sub(r" {2,}", " ", part).strip()))


def _inline_code(text: str) -> str:
    text = re.sub(r"[\x01\x02]|\s+", lambda found: "" if found[0] in "\x01\x02" else " ", text).strip()
    if not text:
        return ""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _table(table: _Table) -> str:
    """Write a table; one of a single column is layout, not a table."""
    rows = [row for row in table.rows if any(cell.strip() for cell in row)]
    width = max((len(row) for row in rows), default=0)
    if width < 2:
        return "\n\n".join(cell for row in rows for cell in row)
    lines = [
        "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in [*row, *[""] * (width - len(row))]) + " |"
        for row in rows
    ]
    rule = "|" + "---|" * width
    head = [lines[0], rule] if table.has_head else ["|" + " |" * width, rule, lines[0]]
    return "\n".join([*head, *lines[1:]])


def _settled(text: str) -> str:
    """Take out what is empty; code stays as it is."""
    return re.sub(r"\n{4,}", "\n\n\n", text).strip()

"""HTML as Markdown, with the standard library alone.

What a reader needs is kept: headings, paragraphs, links, lists, tables, code with its blank lines, quotations, the
words that stand for pictures. Scripts, styles, forms and navigation are left out; where a page says itself where its
content is (``main``, ``article``), the rest is left out too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin

from zidane_lab.tools.web.marks import Table, is_item, language, number, paragraph, write_table

__all__ = ["Converted", "convert"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED: Final = _names("script style noscript template svg canvas iframe object button select textarea dialog nav")
_DROPPED_OUTSIDE: Final = frozenset({"aside", "footer"})
"""Left out unless they stand in the content itself."""
_DROPPED_ROLES: Final = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "dialog"})
_VOID: Final = _names("area base br col embed hr img input link meta param source track wbr")
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_BLOCKS: Final = _names(
    "p div section article main header figure figcaption address details summary fieldset dl dt dd center body "
    "nav aside footer"
)
_CONTENT: Final = frozenset({"main", "article"})
_CODE: Final = frozenset({"code", "kbd", "samp", "tt"})
_STRONG: Final = {"b": "**", "strong": "**", "i": "_", "em": "_", "del": "~~", "s": "~~"}
_DEEPEST: Final = 400
"""Elements in elements; what lies deeper loses its structure, not its text."""
_SPACE: Final = re.compile(r"[ \t\n\r\f]+")
_UNSEEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_ANCHOR: Final = re.compile(r"\s*(?:\[[¶#🔗]\]\([^)]*\)|[¶🔗])\s*(?=$|\]\([^)]*\)$)")

_ENDED: Final[dict[str, tuple[set[str], set[str]]]] = {
    "li": ({"li"}, {"ul", "ol"}),
    "td": ({"td", "th"}, {"tr", "table"}),
    "th": ({"td", "th"}, {"tr", "table"}),
    "tr": ({"tr"}, {"table"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
}
"""Elements whose start ends an earlier one of their kind, and what that does not reach beyond."""
_ENDS_PARAGRAPH: Final = _BLOCKS | {*_HEADINGS, "ul", "ol", "table", "pre", "blockquote"}


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
    everything = reader.finished()
    content = [block for part in reader.contents for block in part]
    text = "\n\n".join(content or everything).strip()
    return Converted(
        text=text,
        title=_SPACE.sub(" ", reader.title).strip(),
        has_content=bool(content),
        has_code="```" in text,
        alternates=tuple(reader.alternates),
    )


@dataclass(slots=True)
class _List:
    kind: str
    number: int
    has_items: bool = False


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
        self._lists: list[_List] = []
        self._tables: list[Table] = []
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
            if tag not in _VOID and self._push(tag):
                self._dropped += 1
            return
        if tag in _VOID:
            self._void(tag, values)
            return
        self._end_implied(tag)
        if not self._push(tag):
            return
        if self._is_dropped(tag, values):
            self._dropped = 1
            if tag in _BLOCKS and self._code is None:
                self._flush()
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
        elif not self._dropped and self.cdata_elem not in {"script", "style"}:
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

    def _push(self, tag: str) -> bool:
        if len(self._open) >= _DEEPEST:
            return False
        self._open.append(tag)
        return True

    def _is_dropped(self, tag: str, values: dict[str, str]) -> bool:
        """Whether an element is not for readers, or shown to nobody."""
        return (
            tag in _DROPPED
            or (tag in _DROPPED_OUTSIDE and not self._content)
            or values.get("role") in _DROPPED_ROLES
            or values.get("aria-hidden") == "true"
            or "hidden" in values
            or _UNSEEN.search(values.get("style", "")) is not None
        )

    def _end_implied(self, tag: str) -> None:
        """End what an author left open because the start of ``tag`` ends it."""
        if tag in _ENDS_PARAGRAPH and self._open[-1:] == ["p"]:
            self.handle_endtag("p")
        ended, border = _ENDED.get(tag, (set(), set()))
        for each in reversed(self._open if ended else []):
            if each in border:
                return
            if each in ended:
                self.handle_endtag(each)
                return

    def _text(self, text: str) -> None:
        self._levels[-1].inline.append(text)

    def _flush(self) -> None:
        """End the paragraph that is being written."""
        if text := self._taken():
            self._levels[-1].blocks.append(text)

    def _taken(self) -> str:
        """Take the text of the paragraph that is being written; a link that goes on is a link in the next one too."""
        if self._links:
            href, start = self._links[-1]
            self._end_link(href, start)
            self._links[-1] = (href, 0)
        inline = self._levels[-1].inline
        text = paragraph("".join(inline))
        inline.clear()
        return text

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
            self._language = self._language or language(values)
        elif tag in _CODE:
            self._text("\x00")
        elif tag in _STRONG:
            self._text(f"\x01{_STRONG[tag]}")
        elif (start := _STARTS.get(tag)) is not None:
            if tag != "a":
                self._flush()
            start(self, tag, values)

    def start_code(self, tag: str, values: dict[str, str]) -> None:
        del tag
        self._code, self._language = [], language(values)

    def start_list(self, tag: str, values: dict[str, str]) -> None:
        self._lists.append(_List(tag, number(values.get("start", ""), 1)))

    def start_level(self, tag: str, values: dict[str, str]) -> None:
        del values
        self._levels.append(_Level(tag))
        if tag == "th" and self._tables and not self._tables[-1].rows[:-1]:
            self._tables[-1].has_head = True

    def start_table(self, tag: str, values: dict[str, str]) -> None:
        del tag, values
        self._tables.append(Table())

    def start_row(self, tag: str, values: dict[str, str]) -> None:
        del tag, values
        if self._tables:
            self._tables[-1].rows.append([])

    def start_link(self, tag: str, values: dict[str, str]) -> None:
        del tag
        if self._links:
            self._end_link(*self._links.pop())
        self._links.append((values.get("href", ""), len(self._levels[-1].inline)))

    def start_block(self, tag: str, values: dict[str, str]) -> None:
        """Remember where the content starts, at the outermost level and not inside other content."""
        is_content = tag in _CONTENT or values.get("role") == "main"
        if is_content and len(self._levels) == 1 and not self._content:
            self._content.append((len(self._open), len(self._levels[0].blocks)))

    def _end(self, tag: str) -> None:
        if self._code is not None:
            if tag == "pre":
                self._end_code(self._code)
        elif tag in _CODE:
            self._text("\x00")
        elif tag in _STRONG:
            self._text(f"{_STRONG[tag]}\x02")
        elif (end := _ENDINGS.get(tag)) is not None:
            end(self, tag)

    def end_list(self, tag: str) -> None:
        del tag
        self._flush()
        if self._lists:
            self._lists.pop()

    def end_table(self, tag: str) -> None:
        del tag
        self._flush()
        if self._tables:
            self._levels[-1].blocks.append(write_table(self._tables.pop()))

    def end_anchor(self, tag: str) -> None:
        del tag
        if self._links:
            self._end_link(*self._links.pop())

    def end_block(self, tag: str) -> None:
        self._flush()
        blocks = self._levels[-1].blocks
        if tag == "dt" and blocks:
            blocks[-1] = f"**{blocks[-1]}**"
        if self._content and len(self._levels) == 1 and len(self._open) < self._content[-1][0]:
            _, start = self._content.pop()
            if part := blocks[start:]:
                self.contents.append(list(part))

    def _end_code(self, code: list[str]) -> None:
        text = "".join(code).replace("\r\n", "\n").removeprefix("\n").rstrip()
        self._code = None
        fence = "```"
        while fence in text:
            fence += "`"
        if text.strip():
            self._levels[-1].blocks.append(f"{fence}{self._language}\n{text}\n{fence}")

    def end_heading(self, tag: str) -> None:
        text = self._taken().replace("\n", " ").replace("**", "")
        if text := _ANCHOR.sub("", text).strip():
            self._levels[-1].blocks.append(f"{'#' * _HEADINGS[tag]} {text}")

    def end_level(self, tag: str) -> None:
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
        if not blocks:
            return
        current = self._lists[-1] if self._lists else _List("ul", 1)
        mark = f"{current.number}. " if current.kind == "ol" else "- "
        is_tight = all(is_item(block) for block in blocks[1:])
        lines = ("\n" if is_tight else "\n\n").join(blocks).split("\n")
        item = "\n".join([mark + lines[0], *((" " * len(mark) + line).rstrip() for line in lines[1:])])
        if current.has_items and outer:
            outer[-1] += f"\n{item}"
        else:
            outer.append(item)
        current.number, current.has_items = current.number + 1, True

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


_LEVELS: Final = ("li", "blockquote", "td", "th", "caption")
_STARTS: Final[dict[str, Callable[[_Reader, str, dict[str, str]], None]]] = {
    **dict.fromkeys((*_BLOCKS, *_HEADINGS), _Reader.start_block),
    **dict.fromkeys(_LEVELS, _Reader.start_level),
    **dict.fromkeys(("ul", "ol"), _Reader.start_list),
    "pre": _Reader.start_code,
    "table": _Reader.start_table,
    "tr": _Reader.start_row,
    "a": _Reader.start_link,
}
_ENDINGS: Final[dict[str, Callable[[_Reader, str], None]]] = {
    **dict.fromkeys(_BLOCKS, _Reader.end_block),
    **dict.fromkeys(_HEADINGS, _Reader.end_heading),
    **dict.fromkeys(_LEVELS, _Reader.end_level),
    **dict.fromkeys(("ul", "ol"), _Reader.end_list),
    "table": _Reader.end_table,
    "a": _Reader.end_anchor,
}

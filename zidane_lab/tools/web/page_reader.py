"""Reads the HTML of a page once, from start to end, into blocks of Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

from zidane_lab.tools.web.heads import References, absolute
from zidane_lab.tools.web.marks import Table, is_item, language, number, paragraph, write_table
from zidane_lab.tools.web.unread import NEVER, is_dropped, is_hidden

__all__ = ["Blocks", "read_html"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID: Final = _names("area base br col embed hr img input link meta param source track wbr")
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_BLOCKS: Final = _names(
    "p div section article main header figure figcaption address details summary fieldset dl dt dd center body "
    "nav aside footer"
)
_CONTENT: Final = {"main": 0.1, "article": 0.35}
"""What may hold the content, and which share of a page it must have to be believed."""
_CODE: Final = frozenset({"code", "kbd", "samp", "tt"})
_STRONG: Final = {"b": "**", "strong": "**", "i": "_", "em": "_", "del": "~~", "s": "~~"}
_DEEPEST: Final = 400
"""Elements in elements; what lies deeper loses its structure, not its text."""
_SPACE: Final = re.compile(r"[ \t\n\r\f]+")
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


_MOST_HIDDEN: Final = 300
_LONGEST_HIDDEN: Final = 2_000


@dataclass(frozen=True, slots=True)
class Blocks:
    """A page in blocks of Markdown.

    Parameters
    ----------
    everything, content
        All of them, and those that stand where the page says its content is.
    least_share
        The share of the page that the content must have to be believed.
    title
        What the page is called.
    references
        What it refers to.
    hidden
        Texts that are shown to nobody, each of one element.
    """

    everything: list[str]
    content: list[str]
    least_share: float
    title: str
    references: References
    hidden: list[str]


def read_html(html: str, base: str, *, is_xml: bool = False, drops: bool = True) -> Blocks:
    """Read a page; see :func:`~zidane_lab.tools.web.markdown.convert` for what is asked."""
    reader = _Reader(base, is_xml=is_xml, drops=drops)
    reader.feed(html)
    reader.close()
    everything = reader.finished()
    content = [block for part in reader.contents for block in part]
    title = " ".join(reader.title.split())
    return Blocks(everything, content, reader.least_share, title, reader.references, reader.hidden)


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

    def __init__(self, base: str, *, is_xml: bool, drops: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.references, self.title = References(base), ""
        self.least_share = 0.0
        self.hidden: list[str] = []
        self._hides = False
        self._is_xml, self._drops = is_xml, drops
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
        self._begin(tag, {name: value or "" for name, value in attrs})

    def _begin(self, tag: str, values: dict[str, str]) -> bool:
        """Take the start of an element, and say whether its end is now waited for."""
        if self._dropped:
            if tag in _VOID or not self._push(tag):
                return False
            self._dropped += 1
            return True
        self.references.take(tag, values)
        if tag in _VOID:
            self._void(tag, values)
            return False
        self._end_implied(tag)
        if not self._push(tag):
            return False
        if is_dropped(tag, values, in_content=bool(self._content), drops=self._drops):
            self._dropped = 1
            self._hides = tag not in NEVER and is_hidden(values) and len(self.hidden) < _MOST_HIDDEN
            if self._hides:
                self.hidden.append("")
            if tag in _BLOCKS and self._code is None:
                self._flush()
        elif tag == "title":
            self._in_title = not self.title
        else:
            self._start(tag, values)
        return True

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element that ends where it starts; in HTML only some really do, the others are only started."""
        if self._begin(tag, {name: value or "" for name, value in attrs}) and self._is_xml:
            self.handle_endtag(tag)

    def unknown_decl(self, data: str) -> None:
        """Take what stands as it is in XHTML, often code."""
        if self._is_xml and data.startswith("CDATA["):
            self.handle_data(data.removeprefix("CDATA["))

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
        elif self._hides and self._dropped:
            self.hidden[-1] += data[: max(0, _LONGEST_HIDDEN - len(self.hidden[-1]))]

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
        share = _CONTENT["main"] if values.get("role") == "main" else _CONTENT.get(tag)
        if share is not None and len(self._levels) == 1 and not self._content:
            self.least_share = max(self.least_share, share)
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
        shown, target = text.strip(), absolute(self.references.base, href)
        if not shown or not target or href.startswith("#"):
            return
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        inline[start:] = [f"{before}[{shown}]({target}){after}"]


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

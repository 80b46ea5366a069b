"""HTML as Markdown, with the standard library alone.

What a reader needs is kept: headings, paragraphs, links, lists, tables, code with its blank lines, quotations, the
words that stand for pictures. Scripts, styles, forms and navigation are left out; where a page says itself where its
content is (``main``, ``article``) and that can be believed, the rest is left out too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from zidane_lab.tools.web.page_reader import read_html

__all__ = ["Converted", "convert", "substance"]

_WORD: Final = re.compile(r"\w")
_LINK: Final = re.compile(r"!?\[[^\[\]]*\](?:\([^()\s]*\))?")


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
    alternates, frames, onward
        See :class:`~zidane_lab.tools.web.heads.References`.
    hidden
        Texts that are shown to nobody.
    """

    text: str
    title: str = ""
    has_content: bool = False
    has_code: bool = False
    alternates: tuple[tuple[str, str], ...] = ()
    frames: tuple[str, ...] = ()
    onward: str = ""
    hidden: tuple[str, ...] = ()


def convert(html: str, base: str = "", *, is_xml: bool = False, drops: bool = True) -> Converted:
    """Convert a page.

    Parameters
    ----------
    base
        Where the page is: links are written out from there.
    is_xml
        It is XHTML, where any element may end where it starts.
    drops
        Leave out navigation and what is hidden; without it only what is for no reader at all.
    """
    blocks = read_html(html, base, is_xml=is_xml, drops=drops)
    everything, content = "\n\n".join(blocks.everything).strip(), "\n\n".join(blocks.content).strip()
    has_content = drops and bool(content) and substance(content) >= blocks.least_share * substance(everything)
    text = content if has_content else everything
    return Converted(
        text=text,
        title=blocks.title,
        has_content=has_content,
        has_code="```" in text,
        alternates=tuple(blocks.references.alternates),
        frames=tuple(blocks.references.frames),
        onward=blocks.references.onward,
        hidden=tuple(blocks.hidden),
    )


def substance(text: str) -> int:
    """Return how many letters and digits of Markdown are not in links: what a page says, apart from its menus."""
    return len(_WORD.findall(_LINK.sub("", text)))

"""Model-written Markdown made safe to show anywhere.

JupyterLab cleans Markdown before it shows it; nbconvert and other pages may not. So raw HTML is shown as
text, links that would run script lose their scheme, and images become links: an image address is fetched as
soon as it is drawn, and could carry data of the notebook away. Code keeps its characters.
"""

from __future__ import annotations

import html
import re
from typing import Final

__all__ = ["plain_markdown", "safe_markdown"]

_FENCE: Final = re.compile(r"^(`{3,}|~{3,})([^\n]*)$")
_TARGET: Final = re.compile(r"(\](?:\(|:)\s*)([^\s)]+)")
"""The start of a link's address, inline or by reference."""

_BLOCKED: Final = re.compile(r"(?i)[^a-z]*(?:javascript|vbscript|data|file)\W*:")
"""Schemes that do more than lead somewhere."""


def safe_markdown(text: str) -> str:
    """Return Markdown that looks the same and does nothing but show text.

    Only fences that start a line are taken as code: an indented one ends with its list item, where this
    function could not tell.
    """
    out: list[str] = []
    paragraph: list[str] = []
    fence: str | None = None

    def close() -> None:
        if paragraph:
            out.append(_paragraph("\n".join(paragraph)))
            paragraph.clear()

    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence is not None:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = None
            out.append(line)
        elif match and not ("`" in match[2] or "<" in match[2]):
            close()
            fence = match[1]
            out.append(line)
        elif line.strip():
            paragraph.append(line)
        else:
            close()
            out.append(line)
    close()
    if fence is not None:
        out.append(fence)
    return "\n".join(out)


def _paragraph(text: str) -> str:
    """Neutralise one paragraph, leaving its code spans alone.

    A span that crosses a line may be none (a heading or list item ends it), and neither may one that begins in a link's
    address (to some renderers the link comes first), which would shift every later one; so after the first such span
    nothing in the paragraph is taken for code.
    """
    out: list[str] = []
    position = plain = 0
    while position < len(text):
        if text[position] == "\\":
            position += 2
            continue
        if text[position] != "`":
            position += 1
            continue
        run = len(text) - position - len(text[position:].lstrip("`"))
        end = next((m.end() for m in re.finditer("`+", text[position + run :]) if len(m[0]) == run), None)
        if end is None:
            position += run
            continue
        end += position + run
        if "\n" in text[position:end] or _is_in_address(text[:position]):
            break
        out += [_neutral(text[plain:position]), text[position:end]]
        position = plain = end
    out.append(_neutral(text[plain:]))
    return "".join(out)


def _is_in_address(before: str) -> bool:
    """Whether a text ends within the address of a link."""
    line = before[before.rfind("\n") + 1 :]
    start = max(line.rfind("]("), line.rfind("]:"))
    if start < 0:
        return False
    if line[start + 1] == ":":
        return True
    rest = re.sub(r"\\.", "", line[start + 1 :])
    return rest.count("(") > rest.count(")")


def _neutral(text: str) -> str:
    text = _TARGET.sub(_address, text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("![", "[")


def _address(match: re.Match[str]) -> str:
    """Drop an address that would run something, however its characters are written."""
    address = match[2]
    for _ in range(3):  # renderers decode entities once, or twice
        address = html.unescape(address).replace("\\", "")
    return match[1] + ("#blocked" if _BLOCKED.match(address) else match[2])


def plain_markdown(text: str) -> str:
    """Return ``text`` so that Markdown shows it literally (for names and messages inside our own Markdown)."""
    return html.escape(re.sub(r"([\\`*_{}\[\]()#+!|~])", r"\\\1", text), quote=False)

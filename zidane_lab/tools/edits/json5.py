"""One object as models write it for a row: JSON, or JSON5 with bare names, single quotes, comments and a last comma."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any, Final

from zidane_lab.errors import ToolError

__all__ = ["parse_object"]

_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/"""
    r"""|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))(?![\w$])"""
    r"""|(?P<name>[^\W\d][\w$]*|\$[\w$]*)"""
    r"""|(?P<sign>[{}\[\]:,])""",
    re.DOTALL,
)
_COLON: Final = re.compile(r"\s*:")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}


def parse_object(text: str) -> dict[str, Any]:
    """Return the object a text holds.

    Raises
    ------
    ToolError
        It holds none, or a name twice.
    """
    with contextlib.suppress(ValueError, RecursionError):  # plain JSON; what is none is read again below
        return _object(text)
    try:
        return _object(_as_json(text))
    except (ValueError, RecursionError) as error:
        raise ToolError(
            f"The content is no JSON object: {error}.", hint='Write it as {"name": "Ada", "age": 36}.'
        ) from error


def _object(text: str) -> dict[str, Any]:
    found = json.loads(text, object_pairs_hook=_once, parse_constant=_finite)
    if not isinstance(found, dict):
        raise ToolError("The content is no JSON object.", hint='Write it as {"name": "Ada", "age": 36}.')
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ToolError("The object has a name twice.", hint="Say each once.")
    return found


def _finite(word: str) -> float:
    raise ValueError(f"{word} is no value")


def _as_json(text: str) -> str:
    """Write JSON5 as JSON."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"{text[at : at + 20]!r} is not understood")
        at = found.end()
        if found["text"]:
            pieces.append(json.dumps(_ESCAPE.sub(_plain, found["text"][1:-1])))
        elif found["number"]:
            pieces.append(_number(found["number"]))
        elif found["name"]:
            pieces.append(_word(found["name"], is_name=_COLON.match(text, at) is not None))
        elif found["sign"]:
            if found["sign"] in "}]" and pieces[-1:] == [","] and pieces[-2:-1] not in (["{"], ["["], [","]):
                pieces.pop()
            pieces.append(found["sign"])
    return " ".join(pieces)


def _word(word: str, *, is_name: bool) -> str:
    if is_name:
        return json.dumps(word)
    if word in {"true", "false", "null"}:
        return word
    raise ValueError(f"{word[:40]!r} needs quotes")


def _number(text: str) -> str:
    bare = text.lstrip("+")
    if "x" in bare.lower():
        return str(int(bare, 16))
    return repr(float(bare)) if any(char in bare for char in ".eE") else str(int(bare))


def _plain(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(found[3], found[3])

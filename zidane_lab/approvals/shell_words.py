"""Words of a shell command: what their text is after quoting, and how much of it can be known without running it.

Everything is checked twice: a piece that the grammar calls plain text must not hold anything that a shell would
still expand. Grammars and shells disagree in corners, and such a corner asks.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from zidane_lab.approvals.shell_rules import names_in

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["WORD_TYPES", "UnclearError", "Word", "WordReader", "is_secret_variable", "raw_text"]

WORD_TYPES: Final = names_in(
    """word number string raw_string ansi_c_string concatenation simple_expansion expansion command_substitution
    process_substitution arithmetic_expansion brace_expression"""
)
"""Kinds of node that stand for a word."""

_ROOTED: Final = frozenset({"HOME", "PWD", "OLDPWD"})
"""Variables that hold an absolute path, so that a word that begins with one in quotes is no option."""

_ACTIVE: Final = re.compile(r"\$(?=[\w{(\[@*#?!$'\"-])|`")
_SECRET_VARIABLE: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|(?:^|_)(?:PASS|PWD_?HASH|AUTH|DSN|COOKIE)(?:_|$)|DATABASE_URL",
    re.IGNORECASE,
)
_PLAIN_EXPANSION: Final = re.compile(r"\$\{#?(\w+|[@*#?$-])(?:\[(?:\d+|[@*])\])?\}")
_OTHER_EXPANSION: Final = re.compile(
    r"\$\{(\w+)(?:\[(?:\d+|[@*])\])?(?::[-+]|[-+]|##?|%%?|//?|\^\^?|,,?)[\w./:@%+=, *?^~-]*\}"
)
_SUBSTRING: Final = re.compile(r"\$\{(\w+)(?::\s?-?\d+){1,2}\}")


_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"} | {
    each: each for each in "\\'\"?"
}
_ANSI_C_ESCAPE: Final = re.compile(
    r"\\([ntreabfv\\'\"?]|x0?[1-9A-Fa-f](?![\dA-Fa-f])|x[1-7][\dA-Fa-f]|(?!0+(?![0-7]))(?:[01][0-7]{2}|[0-7]{1,2}(?![0-7])))"
)
"""An escape for one character of ASCII but NUL, which would end the text."""
_ANSI_C: Final = re.compile(rf"\$'((?:[^'\\]|{_ANSI_C_ESCAPE.pattern.replace('(', '(?:', 1)})*)'")


class UnclearError(Exception):
    """Something that is not read: the words say what, for the person."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command.

    Parameters
    ----------
    raw
        As written.
    text
        Its text after quoting; ``*`` stands for what is not known.
    start
        The text up to the first thing that is not known.
    is_known
        Whether ``text`` is all of it.
    splits
        Whether it may become several words, or none.
    rooted
        Whether it begins with a variable that holds an absolute path.
    """

    raw: str
    text: str
    start: str
    is_known: bool = True
    splits: bool = False
    rooted: bool = False

    @property
    def may_be_option(self) -> bool:
        """Whether a program could take this word, or one it becomes, for an option."""
        if self.start:
            return self.start[0] in "-+" or (self.splits and not self.is_pattern)
        return not (self.is_known and not self.text) and (not self.rooted or self.splits)

    @property
    def is_pattern(self) -> bool:
        """Whether only file names can come of it: each of them begins as the word does."""
        return not self.is_known and "$" not in self.raw and "`" not in self.raw and "{" not in self.raw


SOURCE: Final[ContextVar[bytes]] = ContextVar("SOURCE", default=b"")
"""The command being read. Nodes have its places but not its characters, see :mod:`zidane_lab.approvals.shell_parse`."""


def raw_bytes(node: Node) -> bytes:
    """Return a node's own text, as bytes of the command."""
    return SOURCE.get()[node.start_byte : node.end_byte]


def raw_text(node: Node) -> str:
    """Return a node's own text."""
    return raw_bytes(node).decode()


def is_secret_variable(name: str) -> bool:
    """Whether a variable of this name commonly holds a secret."""
    return bool(_SECRET_VARIABLE.search(name))


def _ansi_c_text(raw: str, line: int) -> str:
    """Return what ``$'…'`` stands for.

    Raises
    ------
    UnclearError
        It has an escape beyond the usual ones.
    """
    found = _ANSI_C.fullmatch(raw)
    if found is None:
        raise UnclearError("uses a text with escapes that are not read", line)
    return _ANSI_C_ESCAPE.sub(_unescaped, found[1])


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] == "x":
        return chr(int(escape[1:], 16))
    return chr(int(escape, 8)) if escape[0] in "01234567" else _ESCAPES[escape]


@dataclass(slots=True)
class _Pieces:
    text: str = ""
    start: str | None = None
    splits: bool = False
    rooted: bool = False
    is_known: bool = True

    def literal(self, text: str) -> None:
        self.text += text

    def unknown(self, *, splits: bool, rooted: bool = False) -> None:
        if self.start is None:
            self.start = self.text
            self.rooted = rooted and not self.text
        self.text += "*"
        self.is_known = False
        self.splits = self.splits or splits


@dataclass(slots=True)
class WordReader:
    """Reads the words of one command line.

    ``nested`` collects substitutions met on the way, ``variables`` the names of variables that are looked up, each
    with its line.
    """

    nested: list[Node] = field(default_factory=list)
    variables: list[tuple[str, int]] = field(default_factory=list)

    def read(self, node: Node) -> Word:
        """Return a word.

        Raises
        ------
        UnclearError
            It holds something that is not read.
        """
        pieces = _Pieces()
        self._add(node, pieces)
        start = pieces.text if pieces.start is None else pieces.start
        return Word(raw_text(node), pieces.text, start, pieces.is_known, pieces.splits, pieces.rooted)

    def _add(self, node: Node, pieces: _Pieces, *, quoted: bool = False) -> None:
        match node.type:
            case "word" | "number" | "variable_name":
                self._plain(node, pieces)
            case "raw_string":
                pieces.literal(raw_text(node)[1:-1])
            case "string":
                self._quoted(node, pieces)
            case "concatenation":
                self._joined(node, pieces)
            case _:
                self._unknown(node, pieces, quoted=quoted)

    def _joined(self, node: Node, pieces: _Pieces) -> None:
        end = node.start_byte
        for child in node.children:
            if child.start_byte != end:
                raise UnclearError("uses a word that cannot be read", node.start_point[0] + 1)
            self._add(child, pieces)
            end = child.end_byte

    def _unknown(self, node: Node, pieces: _Pieces, *, quoted: bool) -> None:
        """Add something that only the shell can tell the text of."""
        line = node.start_point[0] + 1
        match node.type:
            case "ansi_c_string":
                pieces.literal(_ansi_c_text(raw_text(node), line))
            case "brace_expression":
                pieces.unknown(splits=True)
            case "simple_expansion" | "expansion":
                name = self._variable(node)
                pieces.unknown(
                    splits=name != "HOME" and not quoted, rooted=name == "HOME" or (quoted and name in _ROOTED)
                )
            case "command_substitution" | "process_substitution":
                self.nested.append(node)
                pieces.unknown(splits=node.type == "command_substitution", rooted=node.type == "process_substitution")
            case "arithmetic_expansion":
                if not re.fullmatch(r"\$(?:\(\([\d\s+*/%()<>=!-]*\)\)|\[[\d\s+*/%()-]*\])", raw_text(node)):
                    raise UnclearError("computes with variables, which may run what they hold", line)
                pieces.unknown(splits=True)
            case _:
                raise UnclearError(f"uses {raw_text(node)[:40]!r}, which cannot be read", line)

    def _plain(self, node: Node, pieces: _Pieces) -> None:
        raw, line, index = raw_text(node), node.start_point[0] + 1, 0
        if not pieces.text and pieces.start is None and re.match(r"~[-+\d]", raw):
            raise UnclearError("names a folder the shell remembers", line)
        if node.named_child_count:
            raise UnclearError("uses a word that cannot be read", line)
        while index < len(raw):
            char = raw[index]
            if char == "\\":
                following = raw[index + 1 : index + 2]
                if not following:
                    raise UnclearError("ends in a backslash", line)
                pieces.literal("" if following == "\n" else following)
                index += 2
                continue
            if char in "$`;|&<>()\"'" or char.isspace():
                if char == "$" and not _ACTIVE.match(raw, index):
                    pieces.literal(char)
                    index += 1
                    continue
                raise UnclearError("uses a word that cannot be read", line)
            if char in "*?[{}":
                pieces.unknown(splits=True)
            if char != "*":
                pieces.literal(char)
            index += 1

    def _quoted(self, node: Node, pieces: _Pieces) -> None:
        source = raw_bytes(node)
        position = 1
        for child in node.children:
            if child.type in {"string_content", '"', "$"}:
                continue
            self._segment(source[position : child.start_byte - node.start_byte].decode(), pieces, node)
            inner = _Pieces()
            self._add(child, inner, quoted=True)
            pieces.unknown(splits=raw_text(child) in {"$@", "${@}"} or "[@]" in raw_text(child), rooted=inner.rooted)
            position = child.end_byte - node.start_byte
        self._segment(source[position:-1].decode(), pieces, node)

    def _segment(self, raw: str, pieces: _Pieces, node: Node) -> None:
        """Add literal text between double quotes."""
        plain = re.sub(r"\\[\s\S]", "", raw)
        if _ACTIVE.search(plain) or '"' in plain or plain.endswith("\\"):
            raise UnclearError("uses a text that cannot be read", node.start_point[0] + 1)
        pieces.literal(re.sub(r'\\([$`"\\\n])', lambda match: match[1].strip("\n"), raw))

    def _variable(self, node: Node) -> str:
        """Note the variable of an expansion that only looks it up, and return its name."""
        raw, line = raw_text(node), node.start_point[0] + 1
        if node.type == "simple_expansion":
            match = re.fullmatch(r"\$(\w+|[@*#?$!-])", raw)
        else:
            match = next(
                filter(None, (each.fullmatch(raw) for each in (_PLAIN_EXPANSION, _OTHER_EXPANSION, _SUBSTRING))), None
            )
        if match is None:
            raise UnclearError(f"uses the expansion {raw[:40]}, which may do more than look", line)
        self.variables.append((match[1], line))
        return match[1] if raw in {f"${match[1]}", f"${{{match[1]}}}"} else ""

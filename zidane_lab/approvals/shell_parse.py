"""Read a shell command into the programs it starts: every head, wherever it stands.

The syntax tree comes from tree-sitter's Bash grammar, which is imported with the first command. A tree is not taken
at its word: only kinds of node that are known here are walked into, text that no node covers must be blank, and
whatever is left over makes the command *unclear*. An unclear command is asked about and cannot be remembered.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from zidane_lab.approvals.shell_rules import names_in
from zidane_lab.approvals.shell_words import SOURCE, WORD_TYPES, UnclearError, Word, WordReader, raw_text

if TYPE_CHECKING:
    from tree_sitter import Language, Node

__all__ = ["MAX_COMMAND", "Assignment", "Head", "Parsed", "Redirect", "parse_shell"]

MAX_COMMAND: Final = 20_000
"""Characters; a longer command is not read, it asks."""

_STATEMENTS: Final = names_in(
    """program list pipeline subshell compound_statement if_statement elif_clause else_clause while_statement do_group
    negated_command"""
)
"""Nodes that only hold commands and the tokens between them."""

_TOKENS: Final = names_in(
    "; ;; && || | |& ( ) { } if then elif else fi while until do done for in case esac ! ` $( <( >("
) | {"\n"}
_TEST_TOKENS: Final = names_in("[ ] [[ ]] = == != =~ && || !")
_ODD: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]"
)
"""Control characters and spaces that are none to the shell: they hide or change what a command says."""

_OUTPUT: Final = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_NOWHERE: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


@dataclass(frozen=True, slots=True)
class Head:
    """A program that is started: its name as written (quoting resolved), its words after that, and its line.

    ``assignments`` are the variables set for it alone. ``feeds``: what it prints becomes words or input of another.
    """

    name: str
    argv: tuple[Word, ...]
    line: int
    text: str
    assignments: tuple[str, ...] = ()
    feeds: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection from or to a file."""

    target: Word
    writes: bool
    line: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that is set, in the shell or for one program, to one of ``words``."""

    name: str
    line: int
    is_for_head: bool = False
    words: tuple[Word, ...] = ()


@dataclass(slots=True)
class Parsed:
    """What a command line starts and touches.

    ``words`` are all of its words, wherever they stand; ``unclear`` holds what could not be read. Numbers are lines.
    """

    heads: list[Head] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    variables: list[tuple[str, int]] = field(default_factory=list)
    words: list[tuple[Word, int]] = field(default_factory=list)
    unclear: list[tuple[str, int]] = field(default_factory=list)
    background: list[int] = field(default_factory=list)


_ASCII: Final = bytes(byte if byte < 0x80 else ord("%") for byte in range(256))
"""Bytes as the grammar gets them: its scanner asks C tables about characters beyond ASCII and can crash the process.

To a shell they are parts of words but not of names, as is what stands for them here; texts are read from the command.
"""


def parse_shell(command: str) -> Parsed:
    """Read a command line. Never raises: what cannot be read is told in ``unclear``."""
    parsed = Parsed()
    if len(command) > MAX_COMMAND:
        parsed.unclear.append((f"is longer than {MAX_COMMAND:,} characters", 1))
        return parsed
    odd = _ODD.search(command)
    if odd is not None:
        parsed.unclear.append((f"holds the invisible character {odd[0]!r}", command.count("\n", 0, odd.start()) + 1))
    try:
        from tree_sitter import Parser

        source = command.encode()
        SOURCE.set(source)
        root = Parser(_language()).parse(source.translate(_ASCII)).root_node
        if root.has_error:
            parsed.unclear.append(("cannot be read as a shell command", _error_line(root)))
        _Walker(parsed, source).statement(root)
    except UnclearError as error:
        parsed.unclear.append((error.why, error.line))
    except Exception as error:  # noqa: BLE001 - fail closed: a command that upsets the reader asks
        parsed.unclear.append((f"cannot be read ({type(error).__name__})", 1))
    return parsed


@functools.cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _error_line(node: Node) -> int:
    for child in node.children:
        if child.has_error or child.is_missing:
            return _error_line(child)
    return node.start_point[0] + 1


@dataclass(slots=True)
class _Walker:
    """Walks a tree and fills in what it finds; goes on with what stands beside something unclear."""

    parsed: Parsed
    source: bytes
    feeding: int = 0
    """How many substitutions and pipes the output of what is walked through goes into."""

    def statement(self, node: Node) -> None:
        """Walk into something that runs, or note that it is unclear."""
        try:
            self._statement(node)
        except UnclearError as error:
            self.parsed.unclear.append((error.why, error.line))

    def _statement(self, node: Node) -> None:
        special: dict[str, Callable[[Node], None]] = {
            "command": self._command,
            "redirected_statement": self._redirected,
            "for_statement": self._for,
            "case_statement": self._case,
            "case_item": self._case,
            "test_command": self._test,
            "variable_assignment": self._assignment,
            "variable_assignments": self._assignments,
            "declaration_command": self._declaration,
            "unset_command": self._declaration,
            "comment": self._comment,
        }
        if node.type in special:
            special[node.type](node)
        elif node.type in _STATEMENTS:
            self._gaps(node)
            piped = node.named_children[:-1] if node.type == "pipeline" else []
            for child in node.children:
                self.feeding += child in piped
                self._part(child)
                self.feeding -= child in piped
        elif node.type == "function_definition":
            for child in node.children:
                if child.type not in {"word", "function", "(", ")"}:
                    self.statement(child)
            raise UnclearError("defines a function", node.start_point[0] + 1)
        else:
            raise UnclearError(f"uses {raw_text(node)[:40]!r}, which is not read", node.start_point[0] + 1)

    def _part(self, node: Node) -> None:
        """Walk into a child of a statement: a token or another statement."""
        if node.is_named:
            self.statement(node)
        elif node.type == "&":
            self.parsed.background.append(node.start_point[0] + 1)
        elif node.type not in _TOKENS or node.is_missing:
            raise UnclearError(f"uses {raw_text(node)[:20]!r}, which is not read", node.start_point[0] + 1)

    def _gaps(self, node: Node, *, lines: bool = True) -> None:
        """Refuse text between the children of a node that is more than blank."""
        end = node.start_byte
        for child in node.children:
            self._blank(self.source[end : child.start_byte], child, lines=lines)
            end = child.end_byte
        self._blank(self.source[end : node.end_byte], node, lines=lines)

    def _blank(self, gap: bytes, node: Node, *, lines: bool) -> None:
        joined = gap.replace(b"\\\n", b"")
        if joined.strip(b" \t\n" if lines else b" \t") or (joined != gap and not joined):
            raise UnclearError("holds text that is not read", node.start_point[0] + 1)

    def _one_line(self, nodes: Sequence[Node]) -> None:
        """Refuse a line's end between nodes."""
        for before, after in itertools.pairwise(nodes):
            self._blank(self.source[before.end_byte : after.start_byte] + b" ", after, lines=False)

    # --- words ------------------------------------------------------------------------------------------

    def _words(self, nodes: Sequence[Node]) -> tuple[Word, ...]:
        """Read words, and walk into the substitutions in them."""
        reader = WordReader()
        try:
            words = tuple(map(reader.read, nodes))
            self.parsed.words += [(word, node.start_point[0] + 1) for word, node in zip(words, nodes, strict=True)]
        finally:
            self.parsed.variables += reader.variables
            for nested in reader.nested:
                self._substitution(nested)
        return words

    def _substitution(self, node: Node) -> None:
        if raw_text(node).startswith("`") and "\\" in raw_text(node):
            self.parsed.unclear.append(("has a backslash between backticks", node.start_point[0] + 1))
        self._gaps(node)
        self.feeding += 1
        for child in node.children:
            if child.type == "file_redirect":  # `$(< file)`
                self._file(child)
            else:
                self._part(child)
        self.feeding -= 1

    # --- commands -----------------------------------------------------------------------------------------

    def _command(self, node: Node, more: Sequence[Node] = ()) -> None:
        """Read a simple command; ``more`` are words of it that stand behind a redirection."""
        self._gaps(node, lines=False)
        name: Node | None = None
        arguments: list[Node] = []
        assignments: list[str] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(self._set(child, is_for_head=True))
            elif child.type == "command_name":
                name = child
            elif child.type in {"file_redirect", "herestring_redirect"}:
                arguments += self._file(child)
            elif child.type in WORD_TYPES:
                arguments.append(child)
            else:
                raise UnclearError(f"uses {raw_text(child)[:40]!r}, which is not read", child.start_point[0] + 1)
        for before, after in itertools.pairwise(arguments):
            if before.end_byte == after.start_byte:
                raise UnclearError("uses a word that cannot be read", after.start_point[0] + 1)
        line = node.start_point[0] + 1
        words = self._words([*arguments, *more])
        if name is None or name.named_child_count != 1:
            raise UnclearError("starts something that has no name", line)
        (head,) = self._words(name.named_children)
        if not head.is_known or not head.text or "ansi_c_string" in _kinds(name):
            raise UnclearError(f"starts {head.raw[:40]}, whose name cannot be seen", line)
        self.parsed.heads.append(
            Head(head.text, words, line, raw_text(node), tuple(assignments), feeds=self.feeding > 0)
        )

    def _redirected(self, node: Node) -> None:
        body: Node | None = None
        more: list[Node] = []
        self._gaps(node)
        for child in node.children:
            if child.type in {"file_redirect", "herestring_redirect"}:
                more += self._file(child)
            elif child.type == "heredoc_redirect":
                more += self._heredoc(child)
            elif body is None:
                body = child
            else:
                raise UnclearError("holds text that is not read", child.start_point[0] + 1)
        if body is None:
            return
        if body.type == "command":
            self._command(body, more)
        elif more:
            raise UnclearError("has words behind a redirection", node.start_point[0] + 1)
        else:
            self.statement(body)

    def _file(self, node: Node) -> list[Node]:
        """Note a redirection; return words behind it, which belong to the command."""
        self._gaps(node, lines=False)
        line = node.start_point[0] + 1
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = [child for child in node.children if child.type in WORD_TYPES]
        if operator in {">&-", "<&-"} and not targets:
            return []
        if node.type == "herestring_redirect":
            self._words(targets)
            return []
        if operator not in {*_OUTPUT, "<", "<&"} or not targets:
            raise UnclearError("has a redirection that cannot be read", line)
        (target,) = self._words(targets[:1])
        duplicates = operator in {">&", "<&"} and target.is_known and re.fullmatch(r"\d+-?|-", target.text)
        if not duplicates and not (target.is_known and target.text in _NOWHERE):
            is_process = targets[0].type == "process_substitution"
            if not is_process:
                self.parsed.redirects.append(Redirect(target, operator in _OUTPUT, line))
        return targets[1:]

    def _heredoc(self, node: Node) -> list[Node]:
        """Check a here-document; return words behind its mark, which belong to the command."""
        line = node.start_point[0] + 1
        parts = {child.type: child for child in node.children}
        mark = raw_text(parts["heredoc_start"]) if "heredoc_start" in parts else ""
        match = re.fullmatch(r"(['\"]?)([A-Za-z_]\w*)\1", mark)
        body, end = parts.get("heredoc_body"), parts.get("heredoc_end")
        dash = "<<-" in parts
        if match is None or body is None or end is None or raw_text(end).strip() != match[2]:
            raise UnclearError("has a here-document that cannot be read", line)
        lines = self.source[body.start_byte : end.end_byte].decode().split("\n")
        ends = [index for index, each in enumerate(lines) if (each.lstrip("\t") if dash else each) == match[2]]
        following = self.source[end.end_byte : end.end_byte + 1]
        if ends != [len(lines) - 1] or following not in {b"", b"\n"} or raw_text(node).count("<<") != 1:
            raise UnclearError("has a here-document that cannot be read", line)
        if not match[1]:
            self._body(body)
        self._gaps(node)
        self._one_line([child for child in node.children if child.type not in {"heredoc_body", "heredoc_end"}])
        more: list[Node] = []
        for child in node.children:
            if child.type in WORD_TYPES:
                more.append(child)
            elif child.type in {"file_redirect", "herestring_redirect"}:
                more += self._file(child)
            elif child.type not in {"heredoc_start", "heredoc_body", "heredoc_end", "<<", "<<-", "file_descriptor"}:
                self._part(child)
        return more

    def _body(self, body: Node) -> None:
        """Walk into what a here-document expands."""
        inner = [child for child in body.children if child.type in WORD_TYPES]
        rest, position = "", body.start_byte
        for child in inner:
            rest += self.source[position : child.start_byte].decode() + " "
            position = child.end_byte
        rest += self.source[position : body.end_byte].decode()
        if re.search(r"`|\$[\w{(\[@*#?!]", re.sub(r"\\[\s\S]", "", rest)):
            raise UnclearError("has a here-document that cannot be read", body.start_point[0] + 1)
        self._words(inner)

    # --- compound commands --------------------------------------------------------------------------------

    def _for(self, node: Node) -> None:
        self._gaps(node)
        if node.children[0].type != "for":
            raise UnclearError(f"uses {raw_text(node.children[0])!r}, which waits for input", node.start_point[0] + 1)
        words = [child for child in node.children if child.type in WORD_TYPES]
        self._one_line(words)
        values = self._words(words)
        for child in node.children:
            if child.type == "variable_name":
                self.parsed.assignments.append(Assignment(raw_text(child), node.start_point[0] + 1, words=values))
            elif child.type not in WORD_TYPES:
                self._part(child)

    def _case(self, node: Node) -> None:
        self._gaps(node)
        for child in node.children:
            if child.type == "extglob_pattern" or (child.type in WORD_TYPES and node.type == "case_item"):
                if re.search(r"[$`(\\]", raw_text(child)):
                    raise UnclearError("has a pattern that is not read", child.start_point[0] + 1)
            elif child.type in WORD_TYPES:
                self._words([child])
            else:
                self._part(child)

    def _test(self, node: Node) -> None:
        is_simple = node.children[0].type == "["
        line = node.start_point[0] + 1
        if node.children[0].type not in {"[", "[["}:
            raise UnclearError("computes with variables, which may run what they hold", line)
        self._condition(node, is_simple=is_simple)

    def _condition(self, node: Node, *, is_simple: bool) -> None:
        self._gaps(node, lines=False)
        for child in node.children:
            raw, line = raw_text(child), child.start_point[0] + 1
            if child.type == "test_operator" or not child.is_named:
                numeric = re.fullmatch(r"-(?:eq|ne|lt|le|gt|ge)", raw) and not is_simple
                if raw in {"-v", "-R", "-o", "-a"} or numeric:
                    raise UnclearError(f"tests with {raw}, which may run what a variable holds", line)
                if child.type not in {"test_operator", *_TEST_TOKENS}:
                    raise UnclearError(f"uses {raw!r} in a test, which is not read", line)
            elif child.type in WORD_TYPES:
                (word,) = self._words([child])
                if is_simple and word.splits:
                    raise UnclearError("tests an unquoted variable", line)
            elif child.type in {"extglob_pattern", "regex"}:
                if re.search(r"[$`]", raw.rstrip("$")):
                    raise UnclearError("has a pattern that is not read", line)
            elif child.type in {"binary_expression", "unary_expression"}:
                self._condition(child, is_simple=is_simple)
            else:
                raise UnclearError(f"uses {raw[:40]!r}, which is not read", line)

    # --- variables ----------------------------------------------------------------------------------------

    def _assignment(self, node: Node) -> None:
        self._set(node, is_for_head=False)

    def _assignments(self, node: Node) -> None:
        self._gaps(node)
        for child in node.children:
            self._set(child, is_for_head=False)

    def _set(self, node: Node, *, is_for_head: bool) -> str:
        self._gaps(node, lines=False)
        line = node.start_point[0] + 1
        name, operator, *values = node.children
        if name.type != "variable_name" or operator.type not in {"=", "+="} or len(values) > 1:
            raise UnclearError("sets a variable in a way that is not read", line)
        words: tuple[Word, ...] = ()
        for value in values:
            if value.type == "array":
                self._gaps(value)
                words = self._words([child for child in value.children if child.type in WORD_TYPES])
                if any(child.is_named and child.type not in WORD_TYPES for child in value.children):
                    raise UnclearError("sets a variable in a way that is not read", line)
            else:
                words = self._words([value])
        self.parsed.assignments.append(Assignment(raw_text(name), line, is_for_head, words))
        return raw_text(name)

    def _declaration(self, node: Node) -> None:
        keyword = node.children[0].type
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                self._set(child, is_for_head=False)
            elif child.type in WORD_TYPES:
                self._words([child])
        raise UnclearError(f"uses {keyword}, which changes variables", node.start_point[0] + 1)

    def _comment(self, node: Node) -> None:
        before = self.source[max(node.start_byte - 1, 0) : node.start_byte]
        if before not in {b"", b" ", b"\t", b"\n"}:
            raise UnclearError("holds text that is not read", node.start_point[0] + 1)


def _kinds(node: Node) -> set[str]:
    found = {node.type}
    for child in node.children:
        found |= _kinds(child)
    return found

"""Put credentials back into code and commands without changing what those do.

What was judged and allowed is the text with the placeholder. A value with a quote in it, put there as it is, could
end the string it stands in and become code; so it is written as that place of the language wants it, or not at all.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable
from typing import Final

from zidane_lab.secrets.masking import unmask
from zidane_lab.secrets.vault import PLACEHOLDER, Vault

__all__ = ["restore_command", "restore_python"]

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.+/=:@%~-]*")
"""Characters that mean nothing to Python within a string, nor to a shell within or without quotes."""


_RUNS_TEXT: Final = re.compile(
    r"\b(?:exec|eval|compile|system|popen\w*|getoutput|getstatusoutput|create_subprocess_shell|shell|literal_eval|"
    r"run_cell(?:_magic)?|run_line_magic|getline|sx|ex|ev|timeit)\s*[(=]|[\"']-l?[ce][\"']"
)
"""What runs a text as code, or may."""

_RUNS_WORDS: Final = re.compile(
    r"(?:^|[\s;&|(/'\"=])(?:(?:ba|z|k|da|fi|tc|c|a|s)?sh|eval|exec|python[\d.]*|ipython\d?|perl|ruby|node|deno|bun|php|lua|Rscript|"
    r"julia|[gmn]?awk|sed|jq|xargs|parallel|watch|su|sudo|env|find|psql|mysql|mariadb|sqlite3|duckdb|tmux|screen|make|"
    r"docker|podman|kubectl|expect|tclsh|osascript|powershell|pwsh|cmd)(?:\.exe)?(?=$|[\s;&|)'\"])"
)
"""Programs that take words for code, or hand them to one that does."""


def restore_python(code: str, vault: Vault) -> str | None:
    """Return code with credentials in its strings; ``None`` where one cannot be put in without changing the code.

    It goes into string literals and nowhere else. In lines for a shell and the like, and in code that runs texts, a
    value must be of harmless characters: nobody can tell what the text it stands in is read as.
    """
    if "[secret:" not in code:
        return code
    plain = _all_plain(code, vault)
    wanted = _tree(code, lambda text: unmask(text, vault))
    if wanted is None:  # magics, perhaps
        restored = unmask(code, vault)
        same = plain and _tree(_as_python(restored)) == _tree(_as_python(code), lambda text: unmask(text, vault))
        return restored if same and _tree(_as_python(code)) is not None else None
    if not plain and _RUNS_TEXT.search(code):
        return None
    for write in (_as_is, _escaped, _escaped_in_f_string):
        restored = _put(code, vault, write)
        if _tree(restored) == wanted:
            return restored
    return None


def restore_command(command: str, vault: Vault) -> str | None:
    """Return a command line with credentials in it, quoted as their places want; ``None`` where that cannot be."""
    if "[secret:" not in command:
        return command
    if _all_plain(command, vault):
        return unmask(command, vault)
    if "<<" in command or "$(" in command or "`" in command:  # quoting of its own within quotes
        return None
    if _RUNS_WORDS.search(command):  # the word is read once more, as a language of its own
        return None
    pieces, at = [], 0
    for match in PLACEHOLDER.finditer(command):
        value = vault.value_of(match[0])
        quoting = _quoting(command[: match.start()])
        if value is None or quoting is None:
            return None
        pieces += [command[at : match.start()], _quoted(value, quoting)]
        at = match.end()
    return "".join([*pieces, command[at:]])


def _as_python(code: str) -> str:
    """Return what IPython makes of code with magics and lines for a shell: calls that are given texts."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return str(TransformerManager().transform_cell(code))  # type: ignore[no-untyped-call]  # IPython has no types
    except SyntaxError:
        return code


def _all_plain(text: str, vault: Vault) -> bool:
    values = (vault.value_of(each) for each in PLACEHOLDER.findall(text))
    return all(value is None or _PLAIN.fullmatch(value) for value in values)


def _put(text: str, vault: Vault, write: Callable[[str], str]) -> str:
    def put(match: re.Match[str]) -> str:
        value = vault.value_of(match[0])
        return match[0] if value is None else write(value)

    return PLACEHOLDER.sub(put, text)


def _as_is(value: str) -> str:
    return value


def _escaped(value: str) -> str:
    return value.encode("unicode_escape").decode("ascii").replace("'", "\\'").replace('"', '\\"')


def _escaped_in_f_string(value: str) -> str:
    return _escaped(value).replace("{", "{{").replace("}", "}}")


def _tree(code: str, change: Callable[[str], str] = _as_is) -> str | None:
    """Return what code means, its texts changed; ``None`` if it is no Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = change(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            node.value = change(node.value.decode("latin-1")).encode("utf-8")
    try:
        return ast.dump(tree)
    except RecursionError:
        return None


def _quoting(before: str) -> str | None:
    """Return the quote that is open at the end of a command line, or nothing; ``None`` behind a backslash."""
    quote, at = "", 0
    while at < len(before):
        char = before[at]
        if char == "\\" and quote != "'":
            at += 1
            if at == len(before):
                return None
        elif char == quote:
            quote = ""
        elif not quote and char in "'\"":
            if before[at - 1 : at] == "$":
                return None  # a quote in which backslashes count
            quote = char
        elif not quote and char == "#" and (at == 0 or before[at - 1].isspace()):
            return None  # a comment ends at the next line, wherever the value puts one
        at += 1
    return quote


def _quoted(value: str, quote: str) -> str:
    if quote == "'":
        return value.replace("'", "'\"'\"'")
    if quote == '"':
        return re.sub(r'([\\"$`])', r"\\\1", value)
    return shlex.quote(value)

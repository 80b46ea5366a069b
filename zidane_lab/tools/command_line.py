"""Command lines as texts: a leading ``cd`` taken apart, plain words, and variables that keep programs from asking."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final

from zidane_lab.errors import ToolError

__all__ = ["NON_INTERACTIVE", "check_environment", "is_operator", "lift_cd", "words"]

NON_INTERACTIVE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "GH_PAGER", "BAT_PAGER", "DELTA_PAGER", "PSQL_PAGER"), "cat"
    ),
    "AWS_PAGER": "",
    "LESS": "FRX",
    **dict.fromkeys(("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"), "true"),
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS": "false",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "npm_config_yes": "true",
    "npm_config_fund": "false",
    "npm_config_update_notifier": "false",
    "TERM": "dumb",
    "PYTHONUNBUFFERED": "1",
}
"""Added to a command's environment: nobody is there to leave a pager or an editor, or to answer a question.

``CI`` is not set by default, because many programs change what they do under it, not only how they ask.
"""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LITERAL: Final = r"""(?:'[^'\n]*'|"[^"$`\\\n]*"|[^\s'"$`\\;&|<>()*?\[\]{}#!~]|(?<=\s)~(?=[/\s]))+"""
_LEADING_CD: Final = re.compile(rf"\s*cd[ \t]+(?P<folder>(?!-){_LITERAL})[ \t]*&&\s*(?=\S)")
"""Between its words there is no end of a line, which would end the command."""
_PUNCTUATION: Final = "();<>|&\n"


def lift_cd(command: str) -> tuple[str | None, str]:
    """Take a leading ``cd <folder> &&`` off; without one, or with a folder that the shell has to work out, nothing."""
    if match := _LEADING_CD.match(command):
        folder = "".join(shlex.split(match["folder"]))
        quoted_home = folder.startswith("~") and not match["folder"].startswith("~")
        return (folder, command[match.end() :]) if folder and not quoted_home else (None, command)
    return None, command


def words(command: str) -> list[str] | None:
    """Return the words of a command line, with operators (``|``, ``&&``, ``>``…) as words of their own.

    ``None`` for one whose quotes do not close. Expansions stay as written; quotes are taken off.
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return None


def is_operator(word: str) -> bool:
    """Whether a word of :func:`words` is an operator."""
    return bool(word) and all(character in _PUNCTUATION for character in word)


def check_environment(environment: Mapping[str, str]) -> None:
    """Make sure that variables can be variables.

    Raises
    ------
    ToolError
        A name is not one the shell knows as a variable's, or a value holds a NUL.
    """
    for name, value in environment.items():
        if not _NAME.fullmatch(name):
            raise ToolError(f"{name!r} cannot be the name of a variable.", hint="Use letters, digits and `_`.")
        if "\0" in value:
            raise ToolError(f"The value of {name} holds a NUL character.", hint="Write the data to a file instead.")

"""What was allowed to run unasked: entries, what they cover, and which ones to suggest.

Three shapes exist: ``tool`` covers every call of a tool, ``tool:token:*`` calls with that token, ``tool:host`` calls
with an address at that host. Entries of any other shape are ignored, so that a newer version's do no harm. The token of
a shell command is the name of a program (every one it starts must be covered), ``>`` for what a redirection writes,
``&`` for what goes on in the background; of other tools it is the first word of the main argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from zidane_lab.approvals.shell_code import BACKGROUND, REDIRECTION, ShellVerdict, classify_shell
from zidane_lab.approvals.shell_rules import EFFECTS, names_in
from zidane_lab.tools.reading.targets import is_url

__all__ = [
    "ADDRESS_TOOLS",
    "FETCH_TOOL",
    "IMPLICITLY_SAFE",
    "PYTHON_TOOL",
    "RECIPE_TOOL",
    "SHELL_TOOL",
    "SHELL_TOOLS",
    "Entry",
    "covers",
    "describe_entry",
    "first_token",
    "host_of",
    "is_on_safelist",
    "parse_entry",
    "suggest_entries",
]

SHELL_TOOL: Final = "shell"
RECIPE_TOOL: Final = "recipe"
SHELL_TOOLS: Final = frozenset({SHELL_TOOL, "monitor", RECIPE_TOOL})
"""Tools that run a command line; what is remembered of one holds for all."""
PYTHON_TOOL: Final = "run_python"
FETCH_TOOL: Final = "fetch_url"
"""Whatever reads a page of the web counts as this tool."""
ADDRESS_TOOLS: Final = frozenset({FETCH_TOOL, "browser_open", "browser_navigate"})
"""Tools whose calls are remembered by the host they reach."""

IMPLICITLY_SAFE: Final = names_in(
    """read_file list_files glob grep read_output list_variables inspect_variable ask_user present_plan todowrite
    todoread skills_use list_tasks wait_task read_task_output cancel_task"""
)
"""Tools that only look, ask the person, keep the agent's own notes, or end what it started itself."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAIN: Final = ("command", "path", "file_path", "url", "query", "pattern", "code", "name")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that was read: ``kind`` says which shape it has."""

    tool: str
    kind: Literal["tool", "token", "host"]
    value: str = ""


def parse_entry(text: str) -> Entry | None:
    """Read an entry; ``None`` for a shape that is not known."""
    tool, colon, rest = text.partition(":")
    if not _NAME.fullmatch(tool):
        return None
    if not colon:
        return Entry(tool, "tool")
    if rest.endswith(":*") and rest[:-2].strip() == rest[:-2] != "":
        return Entry(tool, "token", rest[:-2])
    if tool in ADDRESS_TOOLS and re.fullmatch(r"(?:[\w.-]+|\[[0-9A-Fa-f:]+\])(?::\d+)?", rest):
        return Entry(tool, "host", rest.lower())
    return None


def covers(entries: Iterable[str], tool: str, tokens: Iterable[str], *, host: str = "") -> bool:
    """Whether entries cover a call: one for the whole tool, or one for its host, or for each of its tokens one."""
    known = [each for each in map(parse_entry, entries) if each is not None and each.tool == tool]
    if any(each.kind == "tool" for each in known):
        return True
    if host and any(each.kind == "host" and each.value == host for each in known):
        return True
    allowed = {each.value for each in known if each.kind == "token"}
    needed = set(tokens)
    return bool(needed) and needed <= allowed


def is_on_safelist(entries: Iterable[str], tool: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a call may run unasked by the entries of a project, or because its tool only looks.

    Shell commands that cannot be read, or that run what is not told, are on no list.
    """
    if tool in IMPLICITLY_SAFE:
        address = arguments.get("path")
        if tool != "read_file" or not isinstance(address, str) or not is_url(address):
            return True
        tool, arguments = FETCH_TOOL, {"url": address}
    if tool in SHELL_TOOLS:
        tool = SHELL_TOOL
        verdict = classify_shell(str(arguments.get("command", "")))
        return not verdict.is_opaque and not verdict.critical and covers(entries, tool, verdict.tokens)
    return covers(entries, tool, filter(None, [first_token(arguments)]), host=host_of(tool, arguments))


def suggest_entries(tool: str, arguments: Mapping[str, Any], verdict: ShellVerdict | None = None) -> tuple[str, ...]:
    """Return the entries to remember so that the next identical call passes; never none.

    A shell command: one for each program, as the matcher reads them; its first word where it cannot be read, or else
    the tool. A tool with an address: its host. Any other: the tool.
    """
    if tool == SHELL_TOOL:
        command = str(arguments.get("command", ""))
        verdict = verdict if verdict is not None else classify_shell(command)
        unreadable = any(reason.code == "unclear" for reason in verdict.reasons)
        tokens = () if unreadable else tuple(token for token in verdict.tokens if _fits(token))
        if not tokens:
            tokens = tuple(token for token in command.split()[:1] if _fits(token))
        return tuple(f"{tool}:{token}:*" for token in tokens) or (tool,)
    host = host_of(tool, arguments)
    return (f"{tool}:{host}",) if host else (tool,)


def _fits(token: str) -> bool:
    entry = parse_entry(f"{SHELL_TOOL}:{token}:*")
    return entry is not None and entry.value == token and token.isprintable()


def first_token(arguments: Mapping[str, Any]) -> str:
    """Return the first word of a call's main argument."""
    given = [arguments[key] for key in _MAIN if isinstance(arguments.get(key), str)]
    given += [value for key, value in arguments.items() if isinstance(value, str) and key != "intent"]
    return next((words[0] for words in map(str.split, given) if words), "")


def host_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the host that a call reaches, with its port if it names one; empty where there is none."""
    url = arguments.get("url")
    if tool not in ADDRESS_TOOLS or not isinstance(url, str):
        return ""
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host = parts.hostname or ""
        name = f"[{host}]" if ":" in host else host
        text = f"{name}:{parts.port}" if parts.port is not None else name
    except ValueError:
        return ""
    entry = parse_entry(f"{tool}:{text}") if text and "@" not in parts.netloc else None
    return entry.value if entry is not None and entry.kind == "host" else ""


_TOP_FOLDER: Final = "the project's top folder"


def describe_entry(text: str) -> str:
    """Say for people what an entry allows."""
    entry = parse_entry(text)
    if entry is None:
        return f"nothing: {text!r} is not understood"
    if entry.kind == "tool":
        return f"every call of {entry.tool}"
    if entry.kind == "host":
        return f"{entry.tool} at {entry.value}"
    if entry.tool == SHELL_TOOL:
        special = {REDIRECTION: "writing files by redirection", BACKGROUND: "commands in the background"}
        return special.get(entry.value, f"every `{entry.value} …` command{_width(entry.value)}")
    if entry.tool == PYTHON_TOOL:
        kind, at, folder = entry.value.partition("@")
        if kind == "writes" and at:
            return f"Python code that writes files in {_TOP_FOLDER if folder == '.' else folder}"
        if kind.startswith("code-"):
            return "exactly this Python code"
        return f"Python code that {entry.value.replace('-', ' ')}"
    return f"{entry.tool} calls that begin with {entry.value}"


_ANYTHING: Final = frozenset({"runs-program", "installs", "containers"})
"""Codes of programs that run what others wrote."""


def _width(program: str) -> str:
    """Say what a word for a program covers beyond what one would think."""
    name = program.rpartition("/")[2]
    if name == "git":
        return ", `git push` too"
    effect = EFFECTS.get(name)
    if effect is None or effect.code in _ANYTHING:
        return ", whatever it runs"
    return ", wherever it leads" if effect.level == "network" else ""

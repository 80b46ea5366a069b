"""What the card of a call says before it has a result: a title in words, and what it does without a word of JSON.

A title names what is done to what, as in *Read notes.md* or *Search “radius” in src*. What no title tells stands
below it: code, a command, the change, the questions. Arguments come from a model and may be anything; nothing here
relies on their types, and what could hide or repaint a line is written out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from zidane_lab.approvals.decisions import printable
from zidane_lab.notebook.bundles import ToolCard

__all__ = ["card_for"]

Arguments: TypeAlias = Mapping[str, Any]

TITLE: Final = 100
"""Characters of a title."""
_FILES: Final = 3
"""Files of a patch that a title names."""

_MAIN: Final[Mapping[str, str]] = MappingProxyType({"run_python": "code", "shell": "command", "monitor": "command"})
"""The argument of a tool that is what it does."""

_UNSAID: Final[tuple[object, ...]] = (None, False, "", [], {})
"""Values of arguments that were most likely left out."""
_USUAL: Final[Mapping[str, object]] = MappingProxyType({"mode": "lines", "offset": 1, "depth": 1, "kind": "other"})
"""Values that validation puts in for arguments that were left out."""
_SIZES: Final = frozenset({"limit", "budget", "count", "lines", "skip", "around", "seconds"})
"""How much is to be shown or waited for, which is of no interest beside what came of it."""

_PATCHED: Final = re.compile(
    r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?(?!/dev/null)|--- (?:a/)?(?=\S+[^\n]*\n\+\+\+ /dev/null))"
    r"([^\t\n]+)",
    re.MULTILINE,
)
"""Files of a patch: of an envelope, of a unified diff, and those that the latter deletes."""


def card_for(call_id: str, tool: str, arguments: Arguments) -> ToolCard:
    """Return the card of a call about to run."""
    title, told = _words(tool, arguments)
    body, shown, is_diff = _body(tool, arguments)
    hidden = {*told, *shown, "intent", *(_SIZES if tool in _TITLES else ())}
    rest = {
        key: value
        for key, value in arguments.items()
        if key not in hidden and value not in _UNSAID and not (tool in _TITLES and _USUAL.get(key) == value)
    }
    text = "\n".join(filter(None, [body, _options(rest)]))
    return ToolCard(call_id, tool, "running", _text(arguments, "intent"), text, title=title, is_diff=is_diff)


def _words(tool: str, arguments: Arguments) -> tuple[str, Sequence[str]]:
    """Return the title, empty where there are no words for the tool, and the arguments that it tells in full."""
    intent = _text(arguments, "intent") or (_text(arguments, "description") if tool == "monitor" else "")
    if intent:
        return _short(intent), ("description",) if tool == "monitor" else ()
    known = _TITLES.get(tool)
    if known is None:
        return "", ()
    title, told = known
    whole = " ".join(title(arguments).split())
    return _short(whole), told if len(whole) <= TITLE else ()


# --- titles ---------------------------------------------------------------------------------------


def _text(arguments: Arguments, key: str, default: str = "") -> str:
    value = arguments.get(key)
    return str(value) if isinstance(value, (str, int, float)) and value not in _UNSAID else default


def _many(arguments: Arguments, key: str) -> list[str]:
    value = arguments.get(key)
    return [str(each) for each in (value if isinstance(value, list) else [value]) if each not in _UNSAID]


def _items(arguments: Arguments, key: str) -> list[Arguments]:
    value = arguments.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _short(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= TITLE else f"{line[: TITLE - 1]}…"


def _where(arguments: Arguments, key: str = "path") -> str:
    places = [each for each in _many(arguments, key) if each != "."]
    return f" in {', '.join(places)}" if places else ""


def _to(verb: str, key: str, default: str) -> Callable[[Arguments], str]:
    return lambda arguments: f"{verb} {_text(arguments, key, default)}"


def _change(verb: str) -> Callable[[Arguments], str]:
    """Return the title of a change of one file, or of a preview of it."""

    def title(arguments: Arguments) -> str:
        names = dict.fromkeys(
            [*_many(arguments, "path"), *(_text(each, "path") for each in _items(arguments, "edits"))]
        )
        did = f"{verb} {_named([name for name in names if name]) or 'a file'}"
        return _previewed(did, arguments)

    return title


def _named(names: Sequence[str]) -> str:
    more = len(names) - _FILES
    return ", ".join(names[:_FILES]) + (f" and {more} more" if more > 0 else "")


def _patch(arguments: Arguments) -> str:
    names = list(dict.fromkeys(name.strip() for name in _PATCHED.findall(_text(arguments, "patch"))))
    did = f"Patch {_named(names) or 'files'}"
    return _previewed(did, arguments)


def _previewed(did: str, arguments: Arguments) -> str:
    return f"Preview: {did[0].lower()}{did[1:]}" if arguments.get("preview") is True else did


def _read(arguments: Arguments) -> str:
    start = arguments.get("offset")
    return f"Read {_text(arguments, 'path', 'a file')}" + (f" from {start}" if start not in (None, 1) else "")


def _rewrite(arguments: Arguments) -> str:
    pairs = [f"{_text(each, 'pattern')} → {_text(each, 'rewrite') or 'nothing'}" for each in _items(arguments, "ops")]
    what = pairs[0] if len(pairs) == 1 else f"code by {len(pairs)} patterns"
    return f"Preview: rewrite {what}{_where(arguments, 'paths')}"


def _asks(arguments: Arguments) -> str:
    asked = _items(arguments, "questions")
    return f"Ask: {_text(asked[0], 'question')}" if len(asked) == 1 else f"Ask {len(asked)} questions"


def _resolve(arguments: Arguments) -> str:
    verb = "Discard" if arguments.get("action") == "discard" else "Apply"
    reason = _text(arguments, "reason")
    return f"{verb} the preview" + (f": {reason}" if reason else "")


def _search(arguments: Arguments) -> str:
    kinds = [*_many(arguments, "glob"), *_many(arguments, "file_type")]
    return f"Search “{_text(arguments, 'pattern')}”{_where(arguments)}" + (
        f", {', '.join(kinds)} only" if kinds else ""
    )


def _task_of_project(arguments: Arguments) -> str:
    named = _text(arguments, "op")
    return f"Run the project's task {named}" if named else "List the project's tasks"


def _wait(arguments: Arguments) -> str:
    return f"Wait for {', '.join(_many(arguments, 'ids')) or 'background tasks'}"


_TITLES: Final[Mapping[str, tuple[Callable[[Arguments], str], Sequence[str]]]] = MappingProxyType(
    {
        "run_python": (lambda _: "Run Python", ()),
        "shell": (lambda arguments: f"Run {_text(arguments, 'command', 'a command')}", ()),
        "monitor": (lambda _: "Watch an output", ()),
        "recipe": (_task_of_project, ("op",)),
        "list_variables": (
            lambda arguments: "List variables" + (f" like {name}" if (name := _text(arguments, "pattern")) else ""),
            ("pattern",),
        ),
        "inspect_variable": (_to("Inspect", "name", "a variable"), ("name",)),
        "list_files": (lambda arguments: f"List files{_where(arguments)}", ("path",)),
        "glob": (
            lambda arguments: f"Find {_text(arguments, 'pattern', 'files')}{_where(arguments)}",
            ("pattern", "path"),
        ),
        "grep": (_search, ("pattern", "path", "glob", "file_type")),
        "ast_grep": (
            lambda arguments: f"Search code like {_text(arguments, 'pattern')}{_where(arguments, 'paths')}",
            ("pattern", "paths"),
        ),
        "read_file": (_read, ("path", "offset")),
        "read_output": (
            lambda arguments: f"Look into an earlier result{_for(arguments)}",
            ("query", "call_id", "path"),
        ),
        "write_file": (_change("Write"), ("path", "preview")),
        "edit": (_change("Edit"), ("path", "preview")),
        "multi_edit": (_change("Edit"), ("path", "preview")),
        "edit_lines": (_change("Edit"), ("path", "preview")),
        "apply_patch": (_patch, ("preview",)),
        "ast_edit": (_rewrite, ("paths",)),
        "resolve": (_resolve, ("action", "reason")),
        "undo_edit": (lambda _: "Take back the last change", ()),
        "todowrite": (lambda _: "Write the plan", ("todos",)),
        "todoread": (lambda _: "Look at the plan", ()),
        "checkpoint": (lambda arguments: f"Set out to find: {_text(arguments, 'goal', 'something')}", ("goal",)),
        "rewind": (lambda _: "Go back to the checkpoint", ("report",)),
        "fetch_url": (_to("Fetch", "url", "a page"), ("url",)),
        "web_search": (
            lambda arguments: f"Search the web for “{_text(arguments, 'query')}”{_on(arguments)}",
            ("query", "sites"),
        ),
        "wait_task": (_wait, ("ids",)),
        "list_tasks": (lambda _: "List background tasks", ()),
        "cancel_task": (_to("End", "task", "a background task"), ("task",)),
        "read_task_output": (_to("Read the output of", "task", "a background task"), ("task",)),
        "ask_user": (_asks, ()),
        "present_plan": (_to("Propose a plan:", "title", "untitled"), ("title",)),
    }
)
"""Of each built-in tool, its title, and the arguments of which nothing is left to say when the title fits."""


def _for(arguments: Arguments) -> str:
    query = _text(arguments, "query")
    return f" for “{query}”" if query else ""


def _on(arguments: Arguments) -> str:
    sites = _many(arguments, "sites")
    return f" on {', '.join(sites)}" if sites else ""


# --- bodies ---------------------------------------------------------------------------------------


def _body(tool: str, arguments: Arguments) -> tuple[str, Sequence[str], bool]:
    """Return what a call does, the arguments that tell it, and whether it is drawn as a diff."""
    main = _MAIN.get(tool)
    if main is not None:
        return _text(arguments, main), (main,), False
    match tool:
        case "edit":
            return _replaced(arguments), ("old_string", "new_string"), True
        case "multi_edit":
            edits = _items(arguments, "edits")
            return "\n".join(f"@@ part {n} @@\n{_replaced(each)}" for n, each in enumerate(edits, 1)), ("edits",), True
        case "edit_lines":
            return "\n".join(map(_line_edit, _items(arguments, "edits"))), ("edits",), True
        case "apply_patch":
            return _text(arguments, "patch"), ("patch",), True
        case "write_file":
            return _text(arguments, "content"), ("content",), False
        case "ast_edit":
            pairs = [(_text(each, "pattern"), _text(each, "rewrite")) for each in _items(arguments, "ops")]
            return "\n".join(_signed("-", old) + "\n" + _signed("+", new) for old, new in pairs), ("ops",), True
        case "ask_user":
            return "\n".join(map(_question, _items(arguments, "questions"))), ("questions",), False
        case "present_plan":
            steps = enumerate(_items(arguments, "steps"), 1)
            listed = [f"{number}. {_text(each, 'title')}{_below(_text(each, 'details'))}" for number, each in steps]
            return "\n".join(filter(None, [_text(arguments, "summary"), *listed])), ("steps", "summary"), False
        case _:
            return "", (), False


def _replaced(edit: Arguments) -> str:
    return "\n".join(filter(None, [_signed("-", _text(edit, "old_string")), _signed("+", _text(edit, "new_string"))]))


def _signed(sign: str, text: str) -> str:
    return "\n".join(f"{sign}{line}" for line in text.removesuffix("\n").split("\n")) if text else ""


def _line_edit(edit: Arguments) -> str:
    span = "–".join(filter(None, [_text(edit, "anchor"), _text(edit, "to")]))
    head = f"@@ {_text(edit, 'op').replace('_', ' ')} {span}" + (f" in {path}" if (path := _text(edit, "path")) else "")
    return "\n".join(filter(None, [f"{head} @@", _signed("+", _text(edit, "text"))]))


def _question(question: Arguments) -> str:
    lines = [_text(question, "question")]
    recommended = question.get("recommended")
    for place, option in enumerate(_items(question, "options")):
        mark = " (recommended)" if place == recommended and type(recommended) is int else ""
        about = f" — {described}" if (described := _text(option, "description")) else ""
        lines.append(f"  - {_text(option, 'label')}{mark}{about}")
    return "\n".join(lines)


def _below(details: str) -> str:
    return "".join(f"\n   {line}" for line in details.split("\n")) if details else ""


def _options(arguments: Arguments) -> str:
    """Show arguments one a line: texts as they are, long ones below their name, all else as JSON."""
    return "\n".join(f"{printable(key)}: {_value(value)}" for key, value in arguments.items())


def _value(value: object) -> str:
    if isinstance(value, str):
        return value if "\n" not in value else "".join(f"\n  {line}" for line in value.split("\n"))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(each, (str, int, float)) for each in value):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, default=str, indent=2 if isinstance(value, (dict, list)) else None)

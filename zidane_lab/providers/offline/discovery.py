"""Which tables a prompt is about: named in it, else in an earlier prompt, else all there are.

The tools that list variables and files answer in text for a reader, so they are read loosely: a variable is the
identifier at the start of a line, a table one whose type is some ``DataFrame``, a data file what starts a line and
ends in one of the known extensions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final

from zidane_lab.providers.offline.facts import Table
from zidane_lab.providers.offline.intent import DATA_EXTENSIONS, Ask, read_prompt
from zidane_lab.providers.offline.results import Outcome, literal
from zidane_lab.providers.offline.state import Key, State
from zidane_lab.providers.offline.steps.look import variable_for

__all__ = ["MOST_TABLES", "Call", "Discovery", "Found", "discover"]

MOST_TABLES: Final = 3

_VARIABLE: Final = re.compile(r"^[\s\-*•|]*`?([A-Za-z_]\w*)`?(?![\w.(])(.*)$")
_TABLE: Final = re.compile(r"\W*(?:\w+\.)*DataFrame\b")
_OTHER_DATA: Final = re.compile(r"\W*((?:\w+\.)*(?:\w*Series|\w+Frame|DataArray|Dataset|Table))\b")
"""Types of data the planner does not work on; they matter only where the prompt names such a variable."""

_DATA_FILE: Final = re.compile(
    rf"^[\s*•`|│├└─-]*(\S.*?\.(?:{'|'.join(DATA_EXTENSIONS)}))(?=$|`|\s{{2,}}|\s+\()", re.IGNORECASE | re.MULTILINE
)
_LIST_CODE: Final = """\
{
    name: f'{type(value).__module__}.{type(value).__name__}'
    for name, value in dict(globals()).items()
    if not name.startswith('_')
}"""


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make: for which step, of which tool, with which arguments."""

    key: Key
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to work on.

    ``tables`` are to be worked on, at most :data:`MOST_TABLES`; ``left`` those left out by that bound. ``unknown``
    are names in the prompt that nothing answers to. ``present`` are all tables of the namespace. ``blind`` says why
    the variables could not be listed. ``others`` are named variables of other types of data, and their types.
    """

    tables: tuple[Table, ...] = ()
    left: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None
    present: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reused: tuple[str, ...] = ()
    blind: str | None = None
    others: Mapping[str, str] = field(default_factory=dict)


Discovery = tuple[Call, ...] | Found
"""Calls still to make, or what they found."""


def discover(ask: Ask, state: State, tools: AbstractSet[str]) -> Discovery:
    """Say what to call to find the tables, or what was found."""
    first = _first_calls(ask, tools)
    missing = tuple(call for call in first if call.key not in state.outcomes)
    if missing:
        return missing
    variables = _variables(state.outcomes.get(("variables", 0)))
    present = tuple(name for name, said in variables.items() if _TABLE.match(said) and not re.match(r"zl\d*_", name))
    if ask.topics <= {"variables", "files"}:
        files = _files(state.outcomes.get(("files", 0)))
        return Found(variables=variables, present=present, files=files)
    blind = state.outcomes[("variables", 0)].problem if first else "there is no tool to list them with"
    if blind is not None and not ask.files:
        return Found(blind=blind)
    named = _named(ask, present, state)
    others = _other_data(ask, variables)
    if not named and not ask.files and others:
        return Found(variables=variables, present=present, others=others)
    if named or ask.files or _unknown(ask, variables):
        return _from_names(ask, state, variables, present, named)
    if present or not ({"list_files"} & tools):
        tables = tuple(Table(name, name, ask, expr=name) for name in present[:MOST_TABLES])
        return Found(tables, present[MOST_TABLES:], (), variables, present)
    if ("files", 0) not in state.outcomes:
        return (Call(("files", 0), "list_files", {}),)
    return _from_folder(ask, state, variables)


def _first_calls(ask: Ask, tools: AbstractSet[str]) -> tuple[Call, ...]:
    calls = []
    if "list_variables" in tools:
        calls.append(Call(("variables", 0), "list_variables", {}))
    elif "run_python" in tools:
        calls.append(
            Call(("variables", 0), "run_python", {"code": _LIST_CODE, "intent": "See which variables there are"})
        )
    if "files" in ask.topics and "list_files" in tools:
        calls.append(Call(("files", 0), "list_files", {}))
    for number, path in enumerate(ask.files[:MOST_TABLES]):
        if "glob" in tools and not path.startswith(("/", "~")):
            calls.append(Call(("find", number), "glob", {"pattern": f"**/{_base(path)}"}))
    return tuple(calls)


def _base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _variables(outcome: Outcome | None) -> dict[str, str]:
    """Read a listing: names and what is said of each."""
    if outcome is None or outcome.problem is not None:
        return {}
    text = outcome.text if outcome.value is None else outcome.value
    for read in (json.loads, literal):
        try:
            found = _structured(read(text))
        except ValueError:
            continue
        if found is not None:
            return found
    lines = (_VARIABLE.match(line) for line in text.splitlines())
    return {match[1]: match[2] for match in lines if match is not None}


def _structured(value: Any) -> dict[str, str] | None:
    if isinstance(value, dict) and isinstance(value.get("variables"), list):
        value = value["variables"]
    if isinstance(value, list) and all(isinstance(each, dict) and "name" in each for each in value):
        return {str(each["name"]): f"{each.get('type', '')} {each.get('summary', '')}" for each in value}
    if isinstance(value, dict) and all(isinstance(name, str) and isinstance(said, str) for name, said in value.items()):
        return dict(value)
    return None


def _named(ask: Ask, present: tuple[str, ...], state: State) -> tuple[str, ...]:
    """Return the tables of the namespace that the prompt names, or, if it names none, an earlier one did."""
    here = tuple(name for name in dict.fromkeys([*ask.marked, *ask.words]) if name in present)
    if here or ask.files or "variables" in ask.topics:
        return here
    for earlier in map(read_prompt, state.earlier):
        words = [*earlier.marked, *earlier.words, *map(variable_for, earlier.files)]
        there = tuple(name for name in dict.fromkeys(words) if name in present)
        if there:
            return there
    return ()


def _other_data(ask: Ask, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables named in the prompt that hold data of a type the planner does not work on."""
    matches = ((name, _OTHER_DATA.match(variables.get(name, ""))) for name in (*ask.marked, *ask.words))
    return {name: match[1] for name, match in matches if match is not None}


def _unknown(ask: Ask, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return names marked as such that are no variables, unless they may be columns (asked of some table)."""
    if "help" in ask.topics:
        return ()
    return tuple(name for name in ask.marked if name not in variables and f"@{name}" in ask.text)


def _from_names(
    ask: Ask, state: State, variables: Mapping[str, str], present: tuple[str, ...], named: tuple[str, ...]
) -> Found:
    tables = [Table(name, name, ask, expr=name) for name in named]
    unknown, reused = list(_unknown(ask, variables)), []
    taken = dict(variables)
    for number, path in enumerate(ask.files[:MOST_TABLES]):
        found = _path(path, state.outcomes.get(("find", number)))
        if found is None:
            unknown.append(path)
            continue
        variable = variable_for(found)
        if variable in present:
            reused.append(variable)
            tables.append(Table(variable, variable, ask, expr=variable))
            continue
        variable = _free(variable, taken)
        taken[variable] = "DataFrame"
        tables.append(Table(variable, variable, ask, path=found, expr=variable))
    unique = tuple({table.variable: table for table in tables}.values())
    left = tuple(table.name for table in unique[MOST_TABLES:])
    return Found(unique[:MOST_TABLES], left, tuple(unknown), variables, present, reused=tuple(reused))


def _free(name: str, taken: Mapping[str, str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _path(path: str, outcome: Outcome | None) -> str | None:
    """Return where a named file is: as written if nothing looked for it, else the nearest match, else nowhere."""
    if outcome is None or outcome.problem is not None:
        return path
    clean = path.replace("\\", "/").removeprefix("./")
    lines = [line.strip(" -*•`\t") for line in outcome.text.splitlines()]
    matches = [
        match[1]
        for line in lines
        if (match := re.match(rf"((?:.*/)?{re.escape(_base(clean))})(?![\w.])", line, re.IGNORECASE))
    ]
    exact = [match for match in matches if match == clean or match.endswith(f"/{clean}")]
    return min(exact or matches, key=lambda match: (match.count("/"), match), default=None)


def _files(outcome: Outcome | None) -> tuple[str, ...]:
    text = outcome.text if outcome is not None and outcome.problem is None else ""
    return tuple(dict.fromkeys(_DATA_FILE.findall(text)))


def _from_folder(ask: Ask, state: State, variables: Mapping[str, str]) -> Found:
    files = _files(state.outcomes[("files", 0)])
    tables: list[Table] = []
    taken = dict(variables)
    for path in files[:MOST_TABLES]:
        variable = _free(variable_for(path), taken)
        taken[variable] = "DataFrame"
        tables.append(Table(variable, variable, ask, path=path, expr=variable))
    return Found(tuple(tables), files[MOST_TABLES:], (), variables, (), files)

"""The tasks a project defines for itself, read from its own files: make, just, task, package scripts, Python, cargo.

Nothing is run to find them: the files are read, and what cannot be read with certainty is left out.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from zidane_lab.contexts.base import ExecutionContext
from zidane_lab.errors import ToolError

__all__ = ["Recipe", "Runner", "choose", "command_of", "find_runners", "listing"]

MOST_LISTED: Final = 20
"""Recipes of one runner that are named."""

_MOST_BYTES: Final = 1_048_576
_MOST_PACKAGES: Final = 50


@dataclass(frozen=True, slots=True)
class Recipe:
    """One of a project's tasks.

    Parameters
    ----------
    name
        As it is asked for.
    command
        What runs it; arguments are appended.
    doc
        What it does, as its file says.
    cwd
        Folder it runs in, relative to the working folder.
    """

    name: str
    command: str
    doc: str = ""
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Runner:
    """What runs tasks, and those it has."""

    id: str
    recipes: tuple[Recipe, ...]


async def find_runners(place: ExecutionContext) -> tuple[Runner, ...]:
    """Find what the working folder defines; runners without tasks are left out."""
    kinds = (_just, _packages, _cargo, _make, _taskfile, _python)
    found = [await kind(place) for kind in kinds]
    return tuple(runner for runner in found if runner.recipes)


async def _text(place: ExecutionContext, *names: str) -> str | None:
    """Return the first of some files that can be read."""
    for name in names:
        try:
            return (await place.read(name, 0, _MOST_BYTES)).decode("utf-8", "replace")
        except OSError:
            continue
    return None


# --- make and just --------------------------------------------------------------------------------

_TARGET: Final = re.compile(r"^(?P<names>[A-Za-z0-9_][\w./ -]*?)\s*:(?![=:]|\w*:=)(?P<rest>[^\n]*)$")
_PHONY: Final = re.compile(r"^\.PHONY\s*:(?P<names>[^\n]*)$", re.MULTILINE)
_JUST: Final = re.compile(r"^@?(?P<name>[A-Za-z_][\w-]*)(?P<parameters>(?:\s+[^:=\n]+(?:=[^\n:]*)?)?)\s*:(?!=)")


async def _make(place: ExecutionContext) -> Runner:
    text = await _text(place, "GNUmakefile", "makefile", "Makefile")
    joined = (text or "").replace("\\\n", " ")
    phony = {name for match in _PHONY.finditer(joined) for name in match["names"].split()}
    found: dict[str, str] = {}
    doc = ""
    for line in joined.splitlines():
        if line.startswith("#"):
            doc = "" if line.startswith(("# --", "# ==")) else line.lstrip("# ")  # a ruler is no description
            continue
        match = _TARGET.match(line)
        if match is not None:
            inline = match["rest"].partition("##")[2].strip()
            for name in match["names"].split():
                described = inline or doc
                if name in phony or not phony or described:
                    known = described if name in phony or not phony else f"{described} (file target)"
                    found.setdefault(name, known)
        doc = ""
    recipes = tuple(
        Recipe(name, f"make {shlex.quote(name)}", known) for name, known in found.items() if "%" not in name
    )
    return Runner("make", recipes)


async def _just(place: ExecutionContext) -> Runner:
    text = await _text(place, "justfile", "Justfile", ".justfile")
    recipes: list[Recipe] = []
    doc, hidden = "", False
    for line in (text or "").splitlines():
        if line.startswith("#"):
            doc = line.lstrip("# ")
        elif line.startswith("["):
            hidden = hidden or "private" in line
        else:
            match = _JUST.match(line)
            if match and not hidden and not match["name"].startswith("_") and match["name"] not in {"set", "alias"}:
                parameters = match["parameters"].strip()
                known = " ".join(part for part in (doc, f"(takes {parameters})" if parameters else "") if part)
                recipes.append(Recipe(match["name"], f"just {shlex.quote(match['name'])}", known))
            doc, hidden = "", False
    return Runner("just", tuple(recipes))


_TASK: Final = re.compile(r"""^(?P<indent> +)(?P<quote>['"]?)(?P<name>[\w][\w:./-]*)(?P=quote)\s*:(?:\s|$)""")
_TASK_FACT: Final = re.compile(r"^ +(?P<key>desc|internal)\s*:\s*(?P<value>\S.*?)\s*$")


async def _taskfile(place: ExecutionContext) -> Runner:
    """Read a Taskfile's tasks as far as its layout tells them; a task without a description is one all the same."""
    text = await _text(place, "Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml")
    docs: dict[str, str] = {}
    hidden: set[str] = set()
    inside, depth, name = False, 0, ""
    for line in (text or "").splitlines():
        if line[:1] not in {" ", "#", ""}:
            inside, depth, name = line.split("#")[0].rstrip() == "tasks:", 0, ""
            continue
        match = _TASK.match(line) if inside else None
        if match is not None and (not depth or len(match["indent"]) == depth):
            depth, name = len(match["indent"]), match["name"]
            docs.setdefault(name, "")
        elif name and (fact := _TASK_FACT.match(line)) is not None:
            if fact["key"] == "desc":
                docs[name] = docs[name] or fact["value"].strip("\"'")
            elif fact["value"].lower() == "true":
                hidden.add(name)
    recipes = (Recipe(each, f"task {shlex.quote(each)}", doc) for each, doc in docs.items() if each not in hidden)
    return Runner("task", tuple(recipes))


# --- package.json ---------------------------------------------------------------------------------

_LOCKS: Final = (
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
)


async def _packages(place: ExecutionContext) -> Runner:
    root = _json(await _text(place, "package.json"))
    if root is None:
        return Runner("pkg", ())
    names = {info.name for info in await place.list(".")}
    manager = next((program for lock, program in _LOCKS if lock in names), "npm")
    recipes = _scripts(root, manager, "", None)
    for folder in await _workspaces(place, root):
        package = _json(await _text(place, f"{folder}/package.json"))
        if package is not None:
            name = package.get("name")
            recipes += _scripts(package, manager, f"{name if isinstance(name, str) and name else folder}/", folder)
    return Runner("pkg", tuple(recipes))


def _scripts(package: Mapping[str, Any], manager: str, prefix: str, cwd: str | None) -> list[Recipe]:
    scripts = package.get("scripts")
    if not isinstance(scripts, Mapping):
        return []
    return [
        Recipe(f"{prefix}{name}", f"{manager} run {shlex.quote(name)}", text, cwd)
        for name, text in scripts.items()
        if isinstance(text, str)
    ]


async def _workspaces(place: ExecutionContext, root: Mapping[str, Any]) -> list[str]:
    """Return the folders of a workspace's packages; of patterns only a last ``*`` is understood."""
    patterns = root.get("workspaces")
    if isinstance(patterns, Mapping):
        patterns = patterns.get("packages")
    folders: list[str] = []
    for pattern in patterns if isinstance(patterns, list) else ():
        if not isinstance(pattern, str) or pattern.startswith(("/", "!")) or ".." in pattern.split("/"):
            continue
        parent, _, last = pattern.rstrip("/").rpartition("/")
        if last != "*":
            folders.append(pattern.rstrip("/"))
            continue
        try:
            folders += [f"{parent}/{info.name}" for info in await place.list(parent or ".") if info.kind == "folder"]
        except OSError:
            continue
    return sorted(dict.fromkeys(folder for folder in folders if "*" not in folder))[:_MOST_PACKAGES]


def _json(text: str | None) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, Mapping) else None


# --- pyproject.toml -------------------------------------------------------------------------------


async def _cargo(place: ExecutionContext) -> Runner:
    """Return what cargo does for a package or a workspace."""
    manifest = _toml(await _text(place, "Cargo.toml"))
    if not {"package", "workspace"} & set(manifest):
        return Runner("cargo", ())
    names = ["build", "check", "test", "bench", "doc"]
    if "bin" in manifest or await _text(place, "src/main.rs") is not None:
        names.insert(2, "run")
    return Runner("cargo", tuple(Recipe(name, f"cargo {name}") for name in names))


def _toml(text: str | None) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text or "")
    except (ValueError, RecursionError):
        return {}


_PYTHON: Final = (
    (("project", "scripts"), ""),
    (("tool", "poe", "tasks"), "poe "),
    (("tool", "pdm", "scripts"), "pdm run "),
    (("tool", "hatch", "envs", "default", "scripts"), "hatch run "),
    (("tool", "taskipy", "tasks"), "task "),
)


async def _python(place: ExecutionContext) -> Runner:
    project = _toml(await _text(place, "pyproject.toml"))
    recipes: dict[str, Recipe] = {}
    for keys, prefix in _PYTHON:
        table: Any = project
        for key in keys:
            table = table.get(key) if isinstance(table, Mapping) else None
        for name, value in table.items() if isinstance(table, Mapping) else ():
            recipes.setdefault(name, Recipe(name, f"{prefix}{shlex.quote(name)}", _doc(value)))
    return Runner("py", tuple(recipes.values()))


def _doc(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("help") or value.get("cmd") or ""
    return value if isinstance(value, str) else ""


# --- choosing -------------------------------------------------------------------------------------


def listing(runners: Iterable[Runner]) -> str:
    """Name the tasks there are, at most 20 of each runner."""
    lines: list[str] = []
    for runner in runners:
        lines.append(f"{runner.id}:")
        for recipe in runner.recipes[:MOST_LISTED]:
            doc = " ".join(recipe.doc.split())[:100]
            lines.append(f"  {recipe.name}{f' - {doc}' if doc else ''}")
        if len(runner.recipes) > MOST_LISTED:
            lines.append(f"  … and {len(runner.recipes) - MOST_LISTED} more")
    return "\n".join(lines)


def choose(op: str, runners: Iterable[Runner]) -> tuple[Recipe, str]:
    """Return the task an ``op`` names, and the arguments that follow it as they are.

    Raises
    ------
    ToolError
        It names none, or more than one; the message lists those there are.
    """
    runners = tuple(runners)
    head, tail = [*op.split(None, 1), "", ""][:2]
    known = f"Tasks:\n{listing(runners)}"
    if not head:
        raise ToolError("No task was named.", hint=known)
    prefix, colon, name = head.partition(":")
    named = next((runner for runner in runners if colon and runner.id == prefix), None)
    if named is not None:
        found = [(named, recipe) for recipe in named.recipes if recipe.name == name]
    else:
        found = [(runner, recipe) for runner in runners for recipe in runner.recipes if recipe.name == head]
    if len(found) > 1:
        choices = " or ".join(f"{runner.id}:{recipe.name}" for runner, recipe in found)
        raise ToolError(f"Several runners have a task {head!r}.", hint=f"Say {choices}.")
    if not found:
        raise ToolError(f"There is no task {head!r}.", hint=known)
    return found[0][1], tail.strip()


def command_of(recipe: Recipe, arguments: str) -> str:
    """Return the command line that runs a task with arguments, which a shell reads as they are.

    Whoever judges a call before it runs must judge this very text.
    """
    return f"{recipe.command} {arguments}".rstrip()

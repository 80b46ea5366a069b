"""What a command line does, as the gate sees it: also where it runs, and what it reaches without naming it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from zidane_lab.approvals.assess import Assessment, Surroundings, names_own, placed
from zidane_lab.approvals.project import Project
from zidane_lab.approvals.safelist import SHELL_TOOL, suggest_entries
from zidane_lab.approvals.secret_files import Ground
from zidane_lab.approvals.shell_code import ShellVerdict, classify_shell, paths_in_word
from zidane_lab.approvals.shell_heads import plain_name
from zidane_lab.approvals.shell_parse import Head
from zidane_lab.approvals.shell_reach import SHOWS_CONTENT, Reach, secret_reach
from zidane_lab.approvals.shell_rules import EFFECTS, NAMES_ONLY, names_in

__all__ = ["assess_shell"]

_CHANGING: Final = frozenset({"writes", "moves", "deletes", "unpacks", "rights"})
"""Codes of programs whose words are files they change."""
_GOING: Final = re.compile(r"-C$|--(?:directory|cwd|prefix|dir|chdir|project|workdir|rootdir|git-dir|work-tree)\b")
"""Options that name the folder a program works in."""
_LOOKED_AT: Final = SHOWS_CONTENT | NAMES_ONLY | {"true", "false", ":", "read", "[", "set", "sleep", "date"}
"""Programs of which is looked up what their patterns stand for."""
_TAKING_IN: Final = names_in("git hg svn")
"""Programs for which the names of files that others obey are just files."""


def assess_shell(arguments: Mapping[str, Any], around: Surroundings) -> Assessment:
    """Judge a command line: its ``command``, the folder ``cwd`` it runs in, the variables ``env`` it gets."""
    command = arguments.get("command")
    if not isinstance(command, str):
        return Assessment("execute", "execute", ("its command is not a text",), is_coverable=False)
    given = arguments.get("cwd")
    folder = given if isinstance(given, str) else ""
    variables = arguments.get("env")
    ground = _ground(around, folder, variables if isinstance(variables, Mapping) else {})
    verdict = classify_shell(command, folder=folder)
    if ground.is_local and {plain_name(head.name) for head in verdict.heads} <= _LOOKED_AT:
        verdict = classify_shell(command, folder=folder, patterns=False)
    linked = _linked(verdict, ground)
    reach = _reached(verdict, ground)
    unseen = tuple(reach.unseen)
    outlives = bool(arguments.get("detach"))
    more = linked + unseen + (("sets variables for the command",) if variables else ())
    more += ("goes on when the kernel has ended",) if outlives else ()
    reasons = tuple(map(str, verdict.reasons)) + more
    own = names_own(f"{given or ''}\n{command}", around.project) if reasons else ()
    obeyed = tuple(_obeyed(verdict, around.project))
    base = Assessment(
        "execute",
        "execute" if more else verdict.level,
        (*dict.fromkeys((*reasons, *_added(verdict, reasons), *obeyed, *own)),) or ("it runs a command",),
        (*verdict.critical, *linked, *obeyed, *own),
        touches_own=bool(own),
        tokens=verdict.tokens,
        harmless=verdict.harmless,
        suggested=suggest_entries(SHELL_TOOL, {"command": command}, verdict),
        is_coverable=not verdict.is_opaque and not variables and not unseen and not outlives,
        said=_said(verdict),
        advice=reach.advice,
    )
    base = placed(base, verdict.targets, around.project) if verdict.targets else base
    if verdict.level != "read" and (why := _elsewhere(verdict, around.project, given)):
        base = replace(base, reasons=base.reasons if base.critical else (*base.reasons, why), is_coverable=False)
    if verdict.is_bounded and not given:
        return base
    unknown = verdict.targets == () and any(reason.code == "deletes" for reason in verdict.reasons)
    return replace(base, in_project=False, is_coverable=base.is_coverable and not unknown)


def _added(verdict: ShellVerdict, reasons: tuple[str, ...]) -> Iterator[str]:
    """Yield what is critical and not said by the reasons yet."""
    yield from (why for why in verdict.critical if not any(reason.startswith(why) for reason in reasons))


def _ground(around: Surroundings, folder: str, variables: Mapping[str, Any]) -> Ground:
    project = around.project
    is_local = project is None or project.is_local
    cwd = str(Path.cwd()) if project is None else project.cwd
    env = {**(os.environ if is_local else {}), **{str(name): str(value) for name, value in variables.items()}}
    return Ground(cwd, is_local, env, around.looks).at(folder)


def _linked(verdict: ShellVerdict, ground: Ground) -> tuple[str, ...]:
    """Say which of the files it names lead to what commonly holds secrets."""
    if any(reason.code == "secrets" for reason in verdict.reasons) or {*verdict.tokens} <= NAMES_ONLY:
        return ()
    return tuple(f"{path!r} commonly holds secrets" for path in verdict.paths if ground.holds_secrets(path))


def _reached(verdict: ShellVerdict, ground: Ground) -> Reach:
    """Find out what it would show from each folder it may be in."""
    gone = [each for each in verdict.folders if each is not None]
    first = plain_name(verdict.heads[0].name) if verdict.heads else ""
    single = len(verdict.folders) == len(gone) == 1 and first == "cd" and ground.is_folder(gone[0])
    reach = Reach()
    for place in gone if single else ("", *gone):
        found = secret_reach(verdict.parsed, verdict.heads, ground.at(place))
        prefix = f"{place.rstrip('/')}/" if place and len(gone) > 1 else ""
        reach.files.update({f"{prefix}{path}": None for path in found.files})
        reach.hints.update(found.hints)
        reach.unseen.update(found.unseen)
        reach.is_unfinished = reach.is_unfinished or found.is_unfinished
    return reach


# --- where it runs --------------------------------------------------------------------------------------


def _elsewhere(verdict: ShellVerdict, project: Project | None, given: object) -> str:
    """Say that a command runs, or makes a program work, where what was allowed in the project does not hold."""
    if project is None:
        return "runs in a folder of its own" if given or verdict.folders else ""
    if not project.contains(str(given) if given else "."):
        return "runs outside the project folder"
    base = project.resolve(str(given) if given else ".")
    if any(each is None or not project.contains(_joined(base, each, project)) for each in verdict.folders):
        return "may go on outside the project folder"
    for head in verdict.heads:
        if head.name in verdict.harmless:
            continue
        for path in _worked_on(head):
            if not project.contains(_joined(base, path, project)):
                return f"works on {path[:80]}, which is outside the project folder"
    return ""


def _joined(base: str, path: str, project: Project) -> str:
    return path if path.startswith(("/", "~")) and project.is_local else os.path.join(base, path)  # noqa: PTH118 - text


def _worked_on(head: Head) -> Iterator[str]:
    """Yield the paths that a program changes or works in, as far as its words tell: those that may lead away."""
    effect = EFFECTS.get(plain_name(head.name))
    changes = effect is not None and effect.code in _CHANGING
    going = False
    for word in head.argv:
        text = word.text
        if going or changes:
            yield from (path for path in paths_in_word(word) if path.startswith(("/", "~", "..")) or "/../" in path)
        elif _GOING.match(text) and "=" in text:
            yield text.partition("=")[2]
        elif text.startswith("-C") and len(text) > 2 and plain_name(head.name) in {"make", "tar", "git", "ninja"}:
            yield text[2:]
        going = _GOING.match(text) is not None and "=" not in text


def _obeyed(verdict: ShellVerdict, project: Project | None) -> Iterator[str]:
    """Say which files that other programs obey are among the words of programs that do more than look."""
    if project is None:
        return
    for head in verdict.heads:
        if head.name in verdict.harmless or plain_name(head.name) in _TAKING_IN:
            continue
        for word in head.argv:
            for path in paths_in_word(word):
                if ("/" in path or path.startswith(".")) and project.is_obeyed(path):
                    yield f"names {path[:80]}, which other programs obey"


def _said(verdict: ShellVerdict) -> frozenset[str]:
    if not verdict.is_opaque:
        return frozenset()
    texts = (word.text for head in verdict.heads for word in head.argv)
    raws = (reason.text for reason in verdict.reasons)
    return frozenset(part for text in (*texts, *raws) for part in re.split(r"[^\w./+-]+", text) if part)

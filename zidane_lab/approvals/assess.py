"""What one call does: how far it goes, why it would ask, and what remembering it would cover.

Nothing is decided here; see :mod:`zidane_lab.approvals.modes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Final

from zidane_lab.approvals.modes import Reach
from zidane_lab.approvals.project import Project
from zidane_lab.approvals.python_code import classify
from zidane_lab.approvals.python_scope import scope_of
from zidane_lab.approvals.safelist import (
    IMPLICITLY_SAFE,
    PYTHON_TOOL,
    SHELL_TOOL,
    SHELL_TOOLS,
    first_token,
    host_of,
    suggest_entries,
)
from zidane_lab.approvals.secrets import looks_secret
from zidane_lab.approvals.shell_code import ShellVerdict, classify_shell
from zidane_lab.tools.base import Tier

__all__ = ["Assessment", "Surroundings", "assess", "paths_in"]

_MAY: Final[Mapping[str, str]] = {
    "write": "may change files",
    "execute": "may do anything its author wrote",
    "network": "may use the network",
}


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a call does.

    Parameters
    ----------
    tier, reach
        What its tool can do at most, and what this call does.
    reasons
        Why it would ask, in words.
    critical
        The reasons among them that ask whatever was allowed.
    touches_own
        It changes the agent's own files.
    in_project
        All it writes is known and lies in the project.
    tokens
        What entries must cover, all of it.
    harmless
        Tokens that need no entry where looking runs unasked.
    suggested
        Entries that would cover the next such call.
    is_coverable
        Whether entries can cover it at all.
    said
        Words of it that rules of denial look at where not all is told.
    """

    tier: Tier
    reach: Reach
    reasons: tuple[str, ...] = ()
    critical: tuple[str, ...] = ()
    touches_own: bool = False
    in_project: bool = False
    tokens: tuple[str, ...] = ()
    harmless: frozenset[str] = frozenset()
    suggested: tuple[str, ...] = ()
    is_coverable: bool = True
    host: str = ""
    said: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a call is judged by: the project, names of the user's variables, what names stand for."""

    project: Project | None = None
    protected: frozenset[str] = frozenset()
    known: Mapping[str, str] = field(default_factory=dict)


def assess(tool: str, arguments: Mapping[str, Any], tier: Tier, around: Surroundings) -> Assessment:
    """Judge one call."""
    if tool == PYTHON_TOOL:
        return _python(arguments, around)
    if tool == "monitor" and arguments.get("command") is None:
        return Assessment("execute", "read", ("it watches a task",), is_coverable=False)
    if tool in SHELL_TOOLS:
        return _shell(arguments, around)
    if tool in IMPLICITLY_SAFE:
        tier = "read"
    paths = tuple(paths_in(arguments))
    secrets = tuple(f"{path!r} commonly holds secrets" for path in paths if looks_secret(path))
    host = host_of(tool, arguments)
    token = first_token(arguments)
    base = Assessment(
        tier,
        tier,
        secrets,
        secrets,
        tokens=(token,) if token else (),
        suggested=suggest_entries(tool, arguments),
        host=host,
    )
    if tier == "read":
        return base
    base = replace(base, reasons=(f"it {_MAY.get(tier, _MAY['execute'])}", *secrets))
    return _placed(base, paths, around.project) if tier == "write" else base


def _placed(base: Assessment, targets: tuple[str, ...], project: Project | None) -> Assessment:
    """Add what the places of written files mean."""
    if project is None:
        return base
    objections = tuple(filter(None, map(project.objection, targets)))
    return replace(
        base,
        reasons=(*base.reasons, *objections),
        critical=(*base.critical, *objections),
        touches_own=base.touches_own or any(map(project.is_own, targets)),
        in_project=bool(targets) and not objections,
    )


# --- Python ---------------------------------------------------------------------------------------------


def _python(arguments: Mapping[str, Any], around: Surroundings) -> Assessment:
    code = arguments.get("code")
    if not isinstance(code, str):
        return Assessment("execute", "execute", ("its code is not a text",), is_coverable=False)
    verdict = classify(code, protected=around.protected, known=around.known)
    if verdict.risk == "pure":
        return Assessment("execute", "compute", ("it runs code",))
    reasons = tuple(map(str, verdict.reasons)) or ("it cannot be judged",)
    scope = scope_of(code, verdict, around.project, protected=around.protected, known=around.known)
    critical = tuple(str(reason) for reason in verdict.reasons if "secret" in reason.why)
    own = _names_own(code, around.project)
    base = Assessment(
        "execute",
        "write" if scope.is_writing else "execute",
        reasons,
        critical + own,
        touches_own=bool(own),
        tokens=scope.tokens,
        suggested=tuple(f"{PYTHON_TOOL}:{token}:*" for token in scope.tokens),
        is_coverable=scope.is_coverable,
    )
    base = replace(base, reasons=base.reasons + own)
    return _placed(base, scope.targets, around.project) if scope.targets else base


def _names_own(text: str, project: Project | None) -> tuple[str, ...]:
    """Say whether a text that does more than look names the agent's own files."""
    names = {".zidane", "ZIDANE_HOME", "safelist.json"}
    if project is not None:  # also as `~/.config/zidane`
        names |= {"/".join(PurePath(own).parts[-2:]) for own in project.own if len(PurePath(own).parts) > 2}
    return ("names the agent's own files",) if any(name in text for name in names) else ()


# --- shell ----------------------------------------------------------------------------------------------


def _shell(arguments: Mapping[str, Any], around: Surroundings) -> Assessment:
    command = arguments.get("command")
    if not isinstance(command, str):
        return Assessment("execute", "execute", ("its command is not a text",), is_coverable=False)
    folder = arguments.get("cwd")
    elsewhere = bool(folder)
    verdict = classify_shell(command, folder=folder if isinstance(folder, str) else "")
    linked = tuple(
        f"{path!r} commonly holds secrets" for path in verdict.paths if not secret_told(verdict) and looks_secret(path)
    )
    if set(verdict.tokens) <= {"ls", "cd", "stat", "find", "tree", "test", "du"}:
        linked = ()
    reasons = tuple(map(str, verdict.reasons)) + linked
    own = _names_own(f"{folder or ''}\n{command}", around.project) if reasons else ()
    variables = ("sets variables for the command",) if arguments.get("env") else ()
    base = Assessment(
        "execute",
        verdict.level if not linked and not variables else "execute",
        reasons + own + variables or ("it runs a command",),
        (*verdict.critical, *linked, *own),
        touches_own=bool(own),
        tokens=verdict.tokens,
        harmless=verdict.harmless,
        suggested=suggest_entries(SHELL_TOOL, arguments, verdict),
        is_coverable=not verdict.is_opaque and not variables,
        said=_said(verdict),
    )
    placed = _placed(base, verdict.targets, around.project) if verdict.targets else base
    if verdict.is_bounded and not elsewhere:
        return placed
    unknown = (
        tuple(reason.why for reason in verdict.reasons if reason.code == "deletes") if verdict.targets == () else ()
    )
    return replace(placed, in_project=False, is_coverable=placed.is_coverable and not unknown)


def secret_told(verdict: ShellVerdict) -> bool:
    """Whether a verdict says already that secrets are involved."""
    return any(reason.code == "secrets" for reason in verdict.reasons)


def _said(verdict: ShellVerdict) -> frozenset[str]:
    if not verdict.is_opaque:
        return frozenset()
    texts = (word.text for head in verdict.heads for word in head.argv)
    raws = (reason.text for reason in verdict.reasons)
    return frozenset(part for text in (*texts, *raws) for part in re.split(r"[^\w./+-]+", text) if part)


def paths_in(value: object, key: str = "") -> Iterator[str]:
    """Yield the arguments that name files, at any depth."""
    if isinstance(value, str):
        if any(word in key for word in ("path", "file", "source", "target", "url")):
            yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from paths_in(each, str(name).lower())
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from paths_in(each, key)

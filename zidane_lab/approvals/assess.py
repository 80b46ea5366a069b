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
from zidane_lab.approvals.safelist import (
    FETCH_TOOL,
    IMPLICITLY_SAFE,
    first_token,
    host_of,
    suggest_entries,
)
from zidane_lab.approvals.secret_files import Looks
from zidane_lab.approvals.secrets import looks_secret
from zidane_lab.tools.base import Tier
from zidane_lab.tools.reading.targets import is_url

__all__ = ["Assessment", "Foreseen", "Surroundings", "assess_files", "names_own", "paths_in", "placed"]

_MAY: Final[Mapping[str, str]] = {
    "write": "may change files",
    "execute": "may do anything its author wrote",
    "network": "may use the network",
}
_PREVIEWS: Final[Mapping[str, bool]] = {
    "apply_patch": False,
    "ast_edit": True,
    "edit": False,
    "edit_lines": False,
    "multi_edit": False,
    "write_file": False,
}
"""Tools that change nothing where their argument ``preview`` is true, and what it is if left out."""


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
    is_exact
        Its tokens stand for exactly this call, so that they cover what is critical, too.
    said
        Words of it that rules of denial look at where not all is told.
    listed
        The tool whose entries count for it.
    advice
        What the model should do instead, unasked: the call would show more than is meant.
    shown
        What it does beyond its arguments, for the person.
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
    is_exact: bool = False
    host: str = ""
    said: frozenset[str] = frozenset()
    listed: str = ""
    advice: str = ""
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a call is judged by: the project, names of the user's variables, what names stand for, what was seen."""

    project: Project | None = None
    protected: frozenset[str] = frozenset()
    known: Mapping[str, str] = field(default_factory=dict)
    looks: Looks = field(default_factory=Looks)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What only the tools themselves can tell about a call beforehand.

    Parameters
    ----------
    writes
        Absolute paths of the files it would change; ``None`` where that is not told.
    command, cwd
        The command line it would run, and where; ``None`` for none.
    """

    writes: tuple[str, ...] | None = None
    command: str | None = None
    cwd: str | None = None


def assess_files(
    tool: str, arguments: Mapping[str, Any], tier: Tier, around: Surroundings, foreseen: Foreseen | None = None
) -> Assessment:
    """Judge a call that runs neither code nor a command."""
    listed = tool
    if tool in IMPLICITLY_SAFE:
        tier = "read"
        address = arguments.get("path")
        if tool == "read_file" and isinstance(address, str) and is_url(address):
            tier, listed, arguments = "network", FETCH_TOOL, {"url": address.strip()}
    writes = foreseen.writes if foreseen is not None else None
    if _only_shows(tool, arguments) or (tier == "write" and writes == ()):
        tier = "read"
    paths = tuple(dict.fromkeys((*paths_in(arguments), *(writes or ()))))
    secrets = tuple(f"{path!r} commonly holds secrets" for path in paths if _is_secret(path, around.project))
    token = first_token(arguments)
    base = Assessment(
        tier,
        tier,
        secrets,
        secrets,
        tokens=(token,) if token else (),
        suggested=suggest_entries(listed, arguments),
        host=host_of(listed, arguments),
        listed=listed,
        shown=tuple(f"changes {path}" for path in writes or () if path not in arguments.values()),
    )
    if tier == "read":
        return base
    base = replace(base, reasons=(f"it {_MAY.get(tier, _MAY['execute'])}", *secrets))
    if tier != "write":
        return base
    return placed(base, tuple(each for path in paths for each in _files_of(path)), around.project)


def _only_shows(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a call of an editing tool only shows what would change; ``resolve`` is asked about then."""
    return tool in _PREVIEWS and arguments.get("preview", _PREVIEWS[tool]) is True


def _is_secret(path: str, project: Project | None) -> bool:
    """Whether a path as a tool takes it, or what it links to, commonly holds secrets."""
    return looks_secret(path) or (project is not None and project.is_local and looks_secret(project.joined(path)))


def _files_of(path: str) -> Iterator[str]:
    """Yield what a path to write may be: itself, and what is before each colon (``a.zip:inner``, ``d.db:table``)."""
    yield path
    for match in re.finditer(r"[:?]", path):
        if match.start() > 1:  # not a drive's letter
            yield path[: match.start()]


def placed(base: Assessment, targets: tuple[str, ...], project: Project | None) -> Assessment:
    """Add what the places of written files mean."""
    if project is None:
        return base
    objections = tuple(dict.fromkeys(filter(None, map(project.objection, targets))))
    return replace(
        base,
        reasons=(*base.reasons, *objections),
        critical=(*base.critical, *objections),
        touches_own=base.touches_own or any(map(project.is_own, targets)),
        in_project=bool(targets) and not objections,
    )


def names_own(text: str, project: Project | None) -> tuple[str, ...]:
    """Say whether a text that does more than look names the agent's own files."""
    names = {".zidane", "ZIDANE_HOME", "safelist.json"}
    if project is not None:  # also as `~/.config/zidane`
        names |= {"/".join(PurePath(own).parts[-2:]) for own in project.own if len(PurePath(own).parts) > 2}
    return ("names the agent's own files",) if any(name in text for name in names) else ()


def paths_in(value: object, key: str = "") -> Iterator[str]:
    """Yield the arguments that name files, at any depth; of a patch the files it is about."""
    if isinstance(value, str):
        if key == "patch":
            yield from _patched(value)
        elif any(word in key for word in ("path", "file", "source", "target", "url")):
            yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from paths_in(each, str(name).lower())
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from paths_in(each, key)


_NAMED: Final = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:|\+\+\+|---|(?:rename|copy) (?:from|to))"
    r" *(?P<path>.+?)(?:\t.*)?$",
    re.MULTILINE,
)


def _patched(patch: str) -> Iterator[str]:
    """Yield the names in a patch, also of one that cannot be applied; with and without what git puts before them."""
    for match in _NAMED.finditer(patch):
        path = match["path"].strip().strip('"')
        if path != "/dev/null":
            yield path.partition("/")[2] if re.match(r"[abiwco12]/", path) else path

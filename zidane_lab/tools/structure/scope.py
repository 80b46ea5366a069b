"""Which files a call is about: what paths, patterns of paths and ignore rules leave, each with its language."""

from __future__ import annotations

import json
import os
import posixpath
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.glob import expand_braces, name_pattern, refuse_made_up
from zidane_lab.tools.ignore import wildcard_regex
from zidane_lab.tools.paths import show_name
from zidane_lab.tools.reading.files import KEPT, Files, found
from zidane_lab.tools.search.worker import path_filter
from zidane_lab.tools.structure.languages import LANGUAGES, Language, language_named, language_of
from zidane_lab.tools.walk import Walk

__all__ = ["Asked", "Candidate", "Private", "Scope", "counted", "find_scope", "is_notebook"]

Private = Callable[[str], bool]
"""Whether a file is not to be looked at unless it is asked for by its own path."""

_SPECIAL: Final = re.compile(r"[*?\[{]")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call says about where to look.

    Parameters
    ----------
    paths
        Files, folders, and paths with wildcards.
    globs
        Patterns of names below them.
    language
        The only one wanted.
    ignored
        Look into what ignore rules hide, too.
    data
        Names of markup and data languages that the paths or patterns spell out.
    """

    paths: tuple[str, ...] = (".",)
    globs: tuple[str, ...] = ()
    language: Language | None = None
    ignored: bool = False
    data: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, paths: Sequence[str] | str, globs: Sequence[str] | str | None, language: str | None, *, ignored: bool
    ) -> Asked:
        """Read a call's arguments; one path or pattern may stand for a list of one.

        Raises
        ------
        ToolError
            No path is given, or the language is none of those that can be parsed.
        """
        paths, globs = _listed(paths), _listed(globs or [])
        if not paths or any(not each.strip() for each in paths):
            raise ToolError(
                "There is no path, or an empty one.", hint="Give files or folders; `.` is the working folder."
            )
        named = language_named(language) if language and language.strip() else None
        wanted = tuple(_alternatives(globs))
        texts = [*wanted, *(each for path in paths for each in expand_braces(path))]
        data = frozenset(each.name for each in LANGUAGES if each.is_data and _spells_out(texts, each))
        return cls(tuple(dict.fromkeys(paths)), wanted, named, ignored, data)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to parse: its absolute path, its name for people, and its language (``None`` for notebooks)."""

    path: str
    name: str
    language: Language | None
    size: int | None = None


@dataclass(slots=True)
class Scope:
    """The files, in the order of their names, and what was left out."""

    files: list[Candidate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    complete: bool = True
    left_out: int = 0


def find_scope(files: Files, asked: Asked, private: Private | None, end: float) -> Scope:
    """Find the files. To be called in a worker thread.

    Parameters
    ----------
    private
        Files it says yes to are left out in folders, and counted.
    end
        When to stop, by :func:`time.monotonic`.

    Raises
    ------
    ToolError
        None of the paths exists, or one cannot be parsed and there is no other.
    """
    scope = Scope()
    missing: list[ToolError] = []
    chosen: dict[str, Candidate] = {}
    for path in asked.paths:
        try:
            for each in _below(files, path, asked, scope, private=private, end=end):
                chosen.setdefault(each.path, each)
        except ToolError as error:
            missing.append(error)
            scope.notes.append(f"{show_name(path)} is left out: {error.message}")
    if len(missing) == len(asked.paths):
        raise missing[0]
    scope.files = sorted(chosen.values(), key=lambda each: each.name.split("/"))
    if scope.left_out:
        scope.notes.append(
            f"{counted(scope.left_out, 'file')} left out by name, as one that commonly holds secrets; "
            "what is named in `paths` is looked at"
        )
    return scope


def counted(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}{'es' if what.endswith('ch') else 's'}"


def is_notebook(name: str) -> bool:
    """Whether a file's name is that of a notebook."""
    return name.lower().endswith(".ipynb")


def _below(
    files: Files, path: str, asked: Asked, scope: Scope, *, private: Private | None, end: float
) -> list[Candidate]:
    """Return the files of one path: itself, or what is below it."""
    base, pattern = _split(files, path)
    target, info = found(files, files.cwd if base == "." else base)
    target = os.path.normpath(target) if files.is_local else posixpath.normpath(target)
    if info.kind == "file" and pattern is None:
        return [_named(files, target, asked, info.size)]
    if info.kind != "folder":
        raise ToolError(f"{target} is not an ordinary file or folder.", hint="Name files and folders only.")
    refuse_made_up(files, target)
    by_path, by_glob = _matcher(pattern), path_filter([*asked.globs])
    walk = Walk(target, ignored=asked.ignored, files=files, seconds=max(0.0, end - time.monotonic()))
    candidates = []
    for entry in walk:
        if entry.is_folder or entry.is_link or not (by_path(entry.name) and by_glob(entry.name)):
            continue
        language = _language(entry.name, asked)
        if language is None and not is_notebook(entry.name):
            continue
        if private is not None and private(entry.path):
            scope.left_out += 1
        else:
            candidates.append(Candidate(entry.path, _shown(files, entry.path), language))
    scope.complete = scope.complete and walk.complete
    if walk.kept:
        scope.notes.append(f"{walk.kept:,} left out: {KEPT}")
    if walk.closed:
        scope.notes.append(f"{walk.closed:,} folders could not be opened")
    if not walk.complete:
        scope.notes.append("not all folders were looked into: there are too many entries; give smaller ones")
    return candidates


def _named(files: Files, target: str, asked: Asked, size: int) -> Candidate:
    """Return a file that was asked for by its path, whatever it is called."""
    name = _shown(files, target)
    if is_notebook(target):
        return Candidate(target, name, None, size)
    language = asked.language or language_of(target)
    if language is None:
        raise ToolError(f"The language of {show_name(name)} is not known.", hint="Give `language`, or use grep.")
    return Candidate(target, name, language, size)


def _language(name: str, asked: Asked) -> Language | None:
    """Return the language to parse a file of a folder in; ``None`` to leave it out."""
    if asked.language is not None:
        last = name.rpartition("/")[2].lower()
        return asked.language if last.rpartition(".")[2] in asked.language.extensions and "." in last else None
    language = language_of(name)
    return None if language is None or (language.is_data and language.name not in asked.data) else language


def _spells_out(texts: Sequence[str], language: Language) -> bool:
    """Whether one of some patterns of names says that it means files of a language."""
    return any(each.lower().endswith(tuple(f".{name}" for name in language.extensions)) for each in texts)


def _split(files: Files, path: str) -> tuple[str, str | None]:
    """Take a path with wildcards apart into the folder to walk and the pattern below it."""
    if not _SPECIAL.search(path):
        return path, None
    try:
        files.stat(files.resolve(path))
    except (OSError, ValueError):
        parts = path.split("/")
        fixed = next(index for index, part in enumerate(parts) if _SPECIAL.search(part))
        base = "/".join(parts[:fixed]) or ("/" if path.startswith("/") else ".")
        return base, "/".join(parts[fixed:])
    return path, None


def _listed(value: Sequence[str] | str) -> Sequence[str]:
    """Return texts as a list, also where they came as one text, or as JSON in one."""
    if not isinstance(value, str):
        return value
    try:
        decoded = json.loads(value)
    except (ValueError, RecursionError):
        return [value]
    return decoded if isinstance(decoded, list) and all(isinstance(each, str) for each in decoded) else [value]


def _alternatives(globs: Sequence[str]) -> list[str]:
    return [
        each.removeprefix("./").removeprefix("/")
        for glob in globs
        if glob.strip()
        for each in expand_braces(name_pattern(glob.strip()))
    ]


def _matcher(pattern: str | None) -> Callable[[str], bool]:
    if pattern is None:
        return lambda _name: True
    regexes = [regex for each in expand_braces(pattern) if (regex := wildcard_regex(os.fsencode(each))) is not None]
    return lambda name: any(regex.fullmatch(os.fsencode(name)) for regex in regexes)


def _shown(files: Files, path: str) -> str:
    """Return a path as a model writes it: relative where it is below the working folder."""
    separator = os.sep if files.is_local else "/"
    return path.removeprefix(files.cwd.rstrip(separator) + separator).replace(separator, "/")

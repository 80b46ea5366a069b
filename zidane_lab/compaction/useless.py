"""Results that tell the model nothing any more: empty ones, failures since got over, and looks taken again later.

A tool that finds nothing says so in its result's metadata (:mod:`zidane_lab.tools.useless`). Leaving such a result out
loses nothing, but makes the provider read again what follows it; so it is done while little follows, or when the
provider's cache has expired anyway.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from zidane_lab.compaction.past_results import Elision, PastResult, elision_of, past_results
from zidane_lab.session.read_state import PLACE, READ, read_entry
from zidane_lab.tools.useless import USELESS
from zidane_lab.turns import Turn
from zidane_lab.wire.markers import MARKERS
from zidane_lab.wire.state import WireState

__all__ = [
    "FAILED_NOTICE",
    "LOOKS",
    "LOOKUPS",
    "SMALL_SUFFIX",
    "SUPERSEDED_NOTICE",
    "USELESS_NOTICE",
    "absolute",
    "drop_superseded",
    "drop_useless",
    "file_key",
    "superseded_calls",
    "useless_calls",
]

USELESS_NOTICE: Final = "[Left out: nothing was found.]"
SUPERSEDED_NOTICE: Final = "[Left out: a later call shows the same, newer.]"
FAILED_NOTICE: Final = "[Left out: this failed; a later call succeeded.]"

SMALL_SUFFIX: Final = 8_000
"""Tokens behind a result up to which reading them anew costs less than carrying the result along."""

LOOKBACK_BLOCKS: Final = 18
"""Blocks behind a result up to which a provider still finds what it stored before it: Anthropic looks 20 back."""

LOOKS: Final = frozenset({"list_variables", "inspect_variable", "list_files", "glob", "grep"})
"""Tools that show the present state of something: of equal calls only the last one counts."""

LOOKUPS: Final = LOOKS | {"read_file", "read_output"}
"""Tools whose failures are of no interest once a later call of the same tool went well."""


def drop_useless(
    turns: Sequence[Turn],
    state: WireState,
    *,
    cache_expired: bool = False,
    suffix: int = SMALL_SUFFIX,
    protected: frozenset[str] = frozenset(),
) -> Elision | None:
    """Decide to leave out results that hold nothing; ``None`` if there is nothing to do.

    Parameters
    ----------
    cache_expired
        The provider no longer has the conversation in its cache: what follows a result does not matter.
    suffix
        Most tokens that may follow a result otherwise.
    protected
        Tools whose results always stay.
    """
    past = past_results(turns, state)
    useless = useless_calls(turns, state)
    texts = [
        (each, FAILED_NOTICE if each.result.is_error else USELESS_NOTICE)
        for each in past
        if each.call.id in useless and _is_open(each, cache_expired, suffix, protected)
    ]
    return elision_of(texts, "results that hold nothing")


def drop_superseded(
    turns: Sequence[Turn],
    state: WireState,
    *,
    cwd: Path | None = None,
    cache_expired: bool = False,
    suffix: int = SMALL_SUFFIX,
    protected: frozenset[str] = frozenset(),
) -> Elision | None:
    """Decide to leave out looks taken again later; parameters as of :func:`drop_useless` and :func:`file_key`."""
    past = past_results(turns, state)
    superseded = superseded_calls(past, cwd)
    texts = [
        (each, SUPERSEDED_NOTICE)
        for each in past
        if each.call.id in superseded and _is_open(each, cache_expired, suffix, protected)
    ]
    return elision_of(texts, "results that a later call shows again")


def useless_calls(turns: Sequence[Turn], state: WireState) -> frozenset[str]:
    """Return the ids of calls whose results tell nothing, also of those behind a summary.

    Errors count only where the same tool went well later; a refusal, or a stop, always tells something.
    """
    found: set[str] = set()
    succeeded: set[str] = set()
    for past in reversed(past_results(turns, state)):
        name, result = past.call.name, past.result
        if not result.is_error:
            succeeded.add(name)
            if result.metadata.get(USELESS) is True:
                found.add(past.call.id)
        elif name in LOOKUPS and name in succeeded and not _is_marker(result.text):
            found.add(past.call.id)
    return frozenset(found)


def superseded_calls(past: Sequence[PastResult], cwd: Path | None = None) -> frozenset[str]:
    """Return the ids of calls that showed what a later call, still sent in full, shows as well."""
    found: set[str] = set()
    later: set[Any] = set()
    for each in reversed(past):
        if each.result.is_error or (key := _subject(each, cwd)) is None:
            continue
        if key in later:
            found.add(each.call.id)
        elif each.sent and not each.is_stub and _shows_all(each):
            later.add(key)
    return frozenset(found)


def file_key(past: PastResult, cwd: Path | None) -> str | None:
    """Return the absolute path of the file a call is about; ``None`` if it names none.

    Parameters
    ----------
    cwd
        What relative paths in the arguments are relative to, where the result's metadata do not have the whole.
    """
    evidence = past.result.metadata.get(READ)
    path = evidence.get("path") if isinstance(evidence, Mapping) else past.call.input.get("path")
    return absolute(path, cwd, past.result.metadata)


def absolute(path: object, cwd: Path | None, metadata: Mapping[str, Any] | None = None) -> str | None:
    """Return ``path`` without ``..``, and absolute if ``cwd`` is known; ``None`` if it is no path.

    A path of another place, as the result's metadata tell, has the place's name before it.
    """
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        return None
    if metadata and (place := metadata.get(PLACE)):
        return f"{place}:{posixpath.normpath(path)}"
    return os.path.normpath(os.path.join(cwd or "", os.path.expanduser(path)))  # noqa: PTH111, PTH118 - texts, no files


def _is_open(past: PastResult, cache_expired: bool, suffix: int, protected: frozenset[str]) -> bool:
    """Whether a result may go now. What the model has not seen yet never does."""
    near = past.behind <= suffix and past.blocks_behind <= LOOKBACK_BLOCKS
    return past.sent and past.seen and past.call.name not in protected and (cache_expired or near)


def _subject(past: PastResult, cwd: Path | None) -> tuple[Any, ...] | None:
    """Return what a call looked at, equal for calls that would show the same; ``None`` for other tools."""
    name, arguments = past.call.name, past.call.input
    if name == "read_file":
        entry = read_entry(past.result, past.said_at)
        if entry is not None:
            return (name, entry.place, *entry.key)
        path = file_key(past, cwd)
        return None if path is None else (name, path, arguments.get("offset", 1), arguments.get("limit"))
    if name in LOOKS:
        given = {key: value for key, value in arguments.items() if value is not None}
        return name, past.result.metadata.get(PLACE, ""), json.dumps(given, sort_keys=True, default=str)
    return None


def _shows_all(past: PastResult) -> bool:
    entry = read_entry(past.result, past.said_at)
    return entry is None or entry.complete


def _is_marker(text: str) -> bool:
    return text.startswith(("Blocked:", *MARKERS))

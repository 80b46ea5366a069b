"""What all sessions below a folder used: per day and model, per day, per day and hour.

Session files are the only source. Every turn counts, whatever its branch: all of them were paid. A turn that
a session took over from another one counts once, for the session it was said in. What cannot be read is
reported and costs only itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final, TypeAlias

from zidane_lab.errors import SessionError
from zidane_lab.session.entries import Entry
from zidane_lab.session.layout import CONSOLE, HIDDEN_FOLDER, is_session_id, paths_of
from zidane_lab.session.reader import read_session
from zidane_lab.session.usage_stats import UNKNOWN_MODEL, Answer
from zidane_lab.turns import Usage

__all__ = [
    "MOST_FOLDERS",
    "SessionUsage",
    "UsageAssistantDayRow",
    "UsageBuckets",
    "UsageRecords",
    "UsageSessionDayRow",
    "UsageUserDayRow",
    "read_session_usage",
    "read_usage",
    "run_usage_aggregates",
    "usage_assistant_daily",
    "usage_session_daily",
    "usage_user_daily",
]

MOST_FOLDERS: Final = 20_000
"""Folders looked into for notebooks' sessions; beyond that the scan ends and says so."""

_SUMMARY: Final = "compact-summary"
_PASSED_OVER: Final = frozenset({"node_modules", "site-packages", "__pycache__"})


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """What one session file holds that counts.

    ``notebook`` is the notebook's path below the folder that was scanned, without suffix; ``""`` for sessions
    without a notebook. ``messages`` are the times a person said something.
    """

    notebook: str
    created: datetime
    answers: tuple[Answer, ...] = ()
    messages: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageRecords:
    """One scan: the sessions, and what could not be read, in words."""

    sessions: tuple[SessionUsage, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageAssistantDayRow:
    """One model's usage on one local day in one notebook: answers, and the summaries of compactions.

    Tokens of ``input`` exclude the cache's. ``cost`` is US dollars, ``None`` where no price is known; ``unpriced``
    counts the calls it leaves out. ``turns`` counts answers only.
    """

    day: str
    model: str
    notebook: str
    input: int
    output: int
    cache_read: int
    cache_creation: int
    cost: float | None
    turns: int
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class UsageSessionDayRow:
    """Sessions begun on one local day in one notebook."""

    day: str
    notebook: str
    sessions: int


@dataclass(frozen=True, slots=True)
class UsageUserDayRow:
    """What a person said in one local hour (0 to 23) of one day in one notebook, as a number of messages."""

    day: str
    hour: int
    notebook: str
    messages: int


@dataclass(frozen=True, slots=True)
class UsageBuckets:
    """The three aggregates of one scan, each split by notebook, in order of the day."""

    assistant: tuple[UsageAssistantDayRow, ...] = ()
    sessions: tuple[UsageSessionDayRow, ...] = ()
    user: tuple[UsageUserDayRow, ...] = ()
    problems: tuple[str, ...] = ()


# --- aggregates -----------------------------------------------------------------------------------


def run_usage_aggregates(folder: Path, *, since: date | None = None, zone: tzinfo | None = None) -> UsageBuckets:
    """Return all aggregates of the sessions below ``folder``, from one scan.

    Parameters
    ----------
    folder
        Folder of notebooks; those in folders below it count as well.
    since
        First local day that counts; all if left out.
    zone
        Whose days and hours; this machine's if left out.
    """
    records = read_usage(folder, since=since, zone=zone)
    first = "" if since is None else since.isoformat()
    return UsageBuckets(
        tuple(row for row in usage_assistant_daily(records, zone) if row.day >= first),
        tuple(row for row in usage_session_daily(records, zone) if row.day >= first),
        tuple(row for row in usage_user_daily(records, zone) if row.day >= first),
        records.problems,
    )


def usage_assistant_daily(records: UsageRecords, zone: tzinfo | None = None) -> tuple[UsageAssistantDayRow, ...]:
    """Add up usage by local day, notebook and model."""
    sums: dict[tuple[str, str, str], tuple[Usage, int, int]] = {}
    for session in records.sessions:
        for answer in session.answers:
            key = (_local(answer.at, zone).date().isoformat(), session.notebook, answer.model)
            usage, turns, unpriced = sums.get(key, (Usage(), 0, 0))
            is_unpriced = answer.usage.cost is None and not answer.usage.is_empty
            sums[key] = (usage + answer.usage, turns + (not answer.is_summary), unpriced + is_unpriced)
    return tuple(
        UsageAssistantDayRow(
            day,
            model,
            notebook,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_creation,
            usage.cost,
            turns,
            unpriced,
        )
        for (day, notebook, model), (usage, turns, unpriced) in sorted(sums.items())
    )


def usage_session_daily(records: UsageRecords, zone: tzinfo | None = None) -> tuple[UsageSessionDayRow, ...]:
    """Count sessions by the local day they began, and by notebook."""
    counts: dict[tuple[str, str], int] = {}
    for session in records.sessions:
        key = (_local(session.created, zone).date().isoformat(), session.notebook)
        counts[key] = counts.get(key, 0) + 1
    return tuple(UsageSessionDayRow(*key, count) for key, count in sorted(counts.items()))


def usage_user_daily(records: UsageRecords, zone: tzinfo | None = None) -> tuple[UsageUserDayRow, ...]:
    """Count what people said by local day and hour, and by notebook."""
    counts: dict[tuple[str, int, str], int] = {}
    for session in records.sessions:
        for moment in session.messages:
            local = _local(moment, zone)
            key = (local.date().isoformat(), local.hour, session.notebook)
            counts[key] = counts.get(key, 0) + 1
    return tuple(UsageUserDayRow(*key, count) for key, count in sorted(counts.items()))


def _local(moment: datetime, zone: tzinfo | None) -> datetime:
    try:
        return moment.astimezone(zone)
    except (OverflowError, OSError, ValueError):  # a time at the edge of the calendar stays as it was written
        return moment


# --- the scan -------------------------------------------------------------------------------------


def read_usage(folder: Path, *, since: date | None = None, zone: tzinfo | None = None) -> UsageRecords:
    """Read every session file below ``folder`` once.

    Folders whose names begin with a dot and those of installed packages are not looked into, symbolic links are
    not followed. Files last written before ``since`` hold nothing of those days and are passed over.
    """
    problems: list[str] = []
    found = [(notebook, path) for notebook, path in _files(folder, problems) if _is_recent(path, since, zone)]
    files = [file for notebook, path in found if (file := _read(notebook, path, problems)) is not None]
    # In the order they began: what a later session took over from an earlier one has been seen by then.
    files.sort(key=lambda file: (file.created, file.session_id))
    seen: set[_Key] = set()
    return UsageRecords(tuple(_count(file, seen) for file in files), tuple(problems))


def read_session_usage(path: Path) -> UsageRecords:
    """Read one session file, all its branches; what it took over from another session counts as well."""
    problems: list[str] = []
    file = _read("", path, problems)
    return UsageRecords(() if file is None else (_count(file, set()),), tuple(problems))


_Key: TypeAlias = tuple[str, str]
"""What tells turns apart: id and time. Ids given by hand may be the same in two sessions."""

_Item: TypeAlias = tuple[_Key, Answer | datetime]
"""A call, or the time a person said something."""


@dataclass(frozen=True, slots=True)
class _File:
    """What counts of a session file (calls, and the times of messages), before turns of other files are left out."""

    notebook: str
    session_id: str
    created: datetime
    items: tuple[_Item, ...]


def _count(file: _File, seen: set[_Key]) -> SessionUsage:
    """Keep what no file before held, and add it to ``seen``."""
    fresh = [item for key, item in file.items if key not in seen]
    seen.update(key for key, _ in file.items)
    return SessionUsage(
        file.notebook,
        file.created,
        tuple(item for item in fresh if isinstance(item, Answer)),
        tuple(item for item in fresh if isinstance(item, datetime)),
    )


def _files(folder: Path, problems: list[str]) -> Iterator[tuple[str, Path]]:
    """Find the session files below ``folder``, each with the name of its notebook."""
    tree = os.walk(folder, onerror=lambda error: problems.append(f"A folder was passed over: {error}."))
    for looked, (root, names, _) in enumerate(tree):
        if looked == MOST_FOLDERS:
            problems.append(f"There are more than {MOST_FOLDERS:,} folders; {root} and those after it were left out.")
            return
        here = Path(root)
        if HIDDEN_FOLDER in names:
            for place in _folders(here / HIDDEN_FOLDER / "sessions", problems):
                notebook = _notebook(here.relative_to(folder), place.name)
                for path in _entries(place, problems):
                    if path.suffix == ".jsonl" and is_session_id(path.stem):
                        yield notebook, path
        names[:] = sorted(name for name in names if _is_looked_into(here / name))


def _is_looked_into(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in _PASSED_OVER:
        return False
    return not (folder / "pyvenv.cfg").exists()


def _folders(sessions: Path, problems: list[str]) -> list[Path]:
    """Return the notebooks' folders in a sessions folder, unless a link leads there."""
    if sessions.is_symlink() or sessions.parent.is_symlink() or not sessions.is_dir():
        return []
    return [place for place in _entries(sessions, problems) if place.is_dir() and not place.is_symlink()]


def _entries(folder: Path, problems: list[str]) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        problems.append(f"A folder was passed over: {error}.")
        return []


def _notebook(below: Path, name: str) -> str:
    """Name a notebook by its path below the scanned folder; a folder's sessions without one by the folder."""
    path = (below if name == CONSOLE else below / name).as_posix()
    return "" if path == "." else path


def _is_recent(path: Path, since: date | None, zone: tzinfo | None) -> bool:
    if since is None:
        return True
    try:
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return True  # reading it will say what is wrong
    return _local(written, zone).date() >= since - timedelta(days=1)  # a day for clocks that disagree


def _read(notebook: str, path: Path, problems: list[str]) -> _File | None:
    try:
        paths = paths_of(path)
        contents = read_session(_bytes(path))
    except (SessionError, OSError) as error:
        problems.append(f"{path} was left out: {error}")
        return None
    problems += [f"{path}: {problem}" for problem in contents.problems]
    created = _moment(contents.header.created_at) or _moment_of(paths.id)
    items = {key: item for entry in contents.entries for key, item in _items(path, entry, created, problems)}
    return _File(notebook, paths.id, created, tuple(items.items()))


def _bytes(path: Path) -> bytes:
    if not path.is_file():  # opening a pipe would wait for ever
        raise SessionError("It is no ordinary file.", hint="Remove it from the sessions folder.")
    return path.read_bytes()


def _items(path: Path, entry: Entry, created: datetime, problems: list[str]) -> Iterator[_Item]:
    """Yield what counts of an entry, whatever its branch.

    The turn's own data are read as they are, leniently: a block that is damaged, or of a newer version, does not
    make the call any cheaper.
    """
    if entry.type != "turn":
        return
    turn = entry.data.get("turn")
    if not (isinstance(turn, Mapping) and isinstance(turn.get("id"), str)):
        problems.append(f"{path}: the turn in entry {entry.id} cannot be read and was not counted.")
        return
    written = at if isinstance(at := turn.get("created_at"), str) else entry.at
    moment = _moment(written) or created
    blocks = turn.get("blocks")
    kinds = {
        kind: block
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, Mapping) and isinstance(kind := block.get("kind"), str)
    }
    if (answer := _answer(turn, kinds, moment)) is not None:
        yield (turn["id"], written), answer
    elif _is_message(turn, kinds):
        yield (turn["id"], written), moment


def _answer(turn: Mapping[str, Any], kinds: Mapping[str, Mapping[str, Any]], moment: datetime) -> Answer | None:
    raw = turn.get("usage")
    is_summary = _SUMMARY in kinds
    if not isinstance(raw, Mapping) and (turn.get("role") != "assistant" or turn.get("injected") or is_summary):
        return None
    model = turn.get("model")
    if not model and is_summary and isinstance(metadata := kinds[_SUMMARY].get("metadata"), Mapping):
        model = metadata.get("model")
    run_id = turn.get("run_id")
    return Answer(
        moment,
        model if isinstance(model, str) and model else UNKNOWN_MODEL,
        _usage(raw) if isinstance(raw, Mapping) else Usage(),
        is_summary,
        run_id if isinstance(run_id, str) else None,
    )


def _is_message(turn: Mapping[str, Any], kinds: Mapping[str, Any]) -> bool:
    """Whether a person said it: not the loop, not a tool, and not only a command."""
    if turn.get("role") != "user" or turn.get("injected"):
        return False
    return bool(kinds.keys() - {"command", "custom"}) and not kinds.keys() & {"tool_result", _SUMMARY}


def _usage(raw: Mapping[str, Any]) -> Usage:
    try:
        return Usage.of(raw)
    except ArithmeticError:  # a number no float can hold is no cost
        return Usage.of({name: count for name, count in raw.items() if name != "cost"})


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _moment_of(session_id: str) -> datetime:
    """Return when a session id was minted, to the second."""
    return datetime.strptime(session_id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)

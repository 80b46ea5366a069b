"""A session: the conversation of one agent, on disk before anybody builds on it.

Made by :meth:`Session.create`, :meth:`Session.open`, :meth:`Session.branch` or :meth:`Session.memory`.
What is appended is in the file when the call returns, so a kernel killed at any moment loses nothing that
was shown.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from zidane_lab.errors import SessionError
from zidane_lab.events import FinishReason, RunStatus
from zidane_lab.session.entries import Entry, Header, new_entry_id
from zidane_lab.session.layout import SessionPaths, mint_session_id, paths_of
from zidane_lab.session.lock import Owner
from zidane_lab.session.state import RunRecord, SessionState, TitleSource, active_branch, title_of
from zidane_lab.session.store import FileStore, MemoryStore, Store, read_file
from zidane_lab.turns import Turn, Usage, turn_to_json
from zidane_lab.wire.pairing import TOOL_USE_INTERRUPTED, missing_results, remint_duplicate_calls
from zidane_lab.wire.state import COMPACT_UNDO, ELIDE, WireState, wire_state
from zidane_lab.wire.tail import TailState, open_calls, tail_state

if TYPE_CHECKING:
    from zidane_lab.secrets.screen import Screen

__all__ = ["Session"]

_BEGINNINGS: Final = frozenset({"run", "turn"})
"""Entries that begin a session on disk; what comes before them waits in memory."""


class Session:
    """Turns, runs and what else a conversation holds.

    A call that changes the session first changes it in memory and then has it written. When writing fails
    with :class:`~zidane_lab.errors.SessionError`, the conversation in memory is complete and goes on
    (``turns[-1]`` is the turn just appended); the entries wait and are written as soon as that works again.

    Methods may be called from any thread.

    Parameters
    ----------
    store
        What keeps it; the session holds it from now on.

    Attributes
    ----------
    screen
        What keeps credentials out of all that is added from now on; ``None`` lets everything through.

    Raises
    ------
    SessionLockedError
        Another process is writing this session.
    SessionError
        It cannot be read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._guard = threading.RLock()
        self._closed = False
        contents = store.load()
        self._state = SessionState()
        for entry in contents.entries:
            self._state.add(entry)
        self._state.cut_runs()
        found = (*contents.problems, *self._state.problems)
        self._repairs = tuple(what for what in found if what not in self._state.mended)
        self._unrecorded = self._repairs
        self._held: list[Entry] = []
        self._begun = bool(contents.entries)
        self._turns: tuple[Turn, ...] | None = None
        self._wire_state: WireState | None = None
        self._lightened = False
        self.screen: Screen | None = None

    # --- constructors -----------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        notebook: Path | str | None = None,
        cwd: Path | str | None = None,
        kernel: str = "",
        parent_session: str | None = None,
    ) -> Self:
        """Begin a session in a sessions folder; no file is made before the first turn.

        Parameters
        ----------
        folder
            From :func:`~zidane_lab.session.layout.sessions_folder`.
        notebook, cwd
            Written into the header, for people.
        kernel
            Id of this kernel, shown to others that want the session.
        parent_session
            Id of the session this one began from.
        """
        header = _header(notebook=notebook, cwd=cwd, parent_session=parent_session)
        return cls(FileStore(SessionPaths(folder, header.id), header, Owner(kernel=kernel)))

    @classmethod
    def open(cls, path: Path, *, kernel: str = "") -> Self:
        """Open a session to go on with it.

        A torn last line is put aside, damaged lines are skipped; ``repairs`` says so. Where the folder
        cannot be written the session opens and the first append says that it is not saved.

        Raises
        ------
        SessionLockedError
            Another process is writing it: take a :meth:`branch`.
        SessionError
            It cannot be read.
        """
        return cls(FileStore(paths_of(path), None, Owner(kernel=kernel)))

    @classmethod
    def branch(cls, path: Path, *, folder: Path | None = None, kernel: str = "") -> Self:
        """Begin a session of its own with the conversation another one holds now.

        The other one is only read, and may be in use. Its active branch is copied, pictures included, and
        is on disk on return.

        Parameters
        ----------
        path
            The other session's file.
        folder
            Sessions folder of the new one; default: beside the other.

        Raises
        ------
        SessionError
            The other cannot be read, or the copy not written.
        """
        other = read_file(path)
        began = other.header
        header = _header(notebook=began.notebook, cwd=began.cwd, parent_session=began.id)
        paths = SessionPaths(folder or path.parent, header.id)
        session = cls(FileStore(paths, header, Owner(kernel=kernel), seed=active_branch(other.entries)))
        if session.folder is not None:
            from zidane_lab.session.kept_results import copy_kept

            copy_kept(paths_of(path).folder, session.folder)
        return session

    @classmethod
    def memory(cls) -> Self:
        """Begin a session that is never written."""
        return cls(MemoryStore(_header()))

    def close(self) -> None:
        """Let go of the session, so that another process can write it; harmless when closed.

        Raises
        ------
        SessionError
            Something could not be written, after one more try.
        """
        with self._guard:
            if not self._closed:
                self._closed = True
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except SessionError as trouble:
            if error is None:
                raise
            error.add_note(str(trouble))  # the first error is the one to see

    def __repr__(self) -> str:
        return f"<Session {self.id}: {self.title!r}, {len(self._state.turns)} turns>"

    # --- what it holds ----------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The session's id."""
        return self._store.header.id

    @property
    def header(self) -> Header:
        """Where and when it began."""
        return self._store.header

    @property
    def path(self) -> Path | None:
        """Its file, which exists from the first turn on; ``None`` in memory."""
        return self._store.path

    @property
    def folder(self) -> Path | None:
        """The folder of its outputs, blobs and tasks, made when needed; ``None`` in memory."""
        return self._store.folder

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation: the active branch from its root to its leaf, as it was said.

        For a provider, send :func:`~zidane_lab.wire.build.wire_turns` of it.
        """
        with self._guard:
            if self._turns is None:
                self._turns = tuple(self._state.turns)
            return self._turns

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """Every run, oldest first, those of other branches too."""
        with self._guard:
            return tuple(self._state.runs.values())

    @property
    def model(self) -> str | None:
        """The model last chosen."""
        return self._state.model

    @property
    def title(self) -> str:
        """Its title: the one given, else the first question, else ``New session``."""
        return self._state.title or title_of(self._state.turns)

    @property
    def title_source(self) -> TitleSource | None:
        """Who gave the title; ``None`` if nobody did."""
        return self._state.title_source

    @property
    def usage(self) -> Usage:
        """Tokens of all turns of the conversation."""
        return sum((turn.usage for turn in self.turns if turn.usage is not None), Usage())

    @property
    def tail_state(self) -> TailState:
        """How the conversation ends: ``clean``, ``interrupted`` (calls nobody answered) or ``completed``."""
        return tail_state(self.turns)

    @property
    def interrupted(self) -> bool:
        """Whether it ends in calls nobody answered, as after the death of a kernel."""
        return self.tail_state == "interrupted"

    @property
    def repairs(self) -> tuple[str, ...]:
        """What opening the session mended or had to leave out, for people; told until it is recorded."""
        return self._repairs

    @property
    def unsaved(self) -> int:
        """Entries that wait for a disk that failed; 0 when all is well."""
        return self._store.unsaved

    def records(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        """Return what :meth:`record` kept under ``kind``, oldest first."""
        with self._guard:
            return tuple(data for name, data in self._state.custom if name == kind)

    @property
    def wire_state(self) -> WireState:
        """What has been decided about how the turns are sent; the same object until something is decided."""
        with self._guard:
            if self._wire_state is None:
                self._wire_state = wire_state(self._state.custom)
            return self._wire_state

    # --- changes ----------------------------------------------------------------------------------

    def append(self, turn: Turn) -> Turn:
        """Add a turn to the conversation; it is on disk on return.

        Returns
        -------
        Turn
            The turn as stored: it follows the one before (``parent_id``), and calls whose id was used
            before have a new one, ``<old>_r<n>``. Run and answer the calls of *this* turn.

        Raises
        ------
        SessionError
            It could not be written; see the class.
        """
        with self._guard:
            before = self._state.turns[-1].id if self._state.turns else None
            turn = dataclasses.replace(turn, parent_id=before)
            if self.screen is not None:
                turn = self.screen.turn(turn)
            if turn.role == "assistant":
                turn, _ = remint_duplicate_calls(turn, self._state.call_ids)
            self._add("turn", {"turn": turn_to_json(turn)}, turn)
            return turn

    def close_calls(self, text: str = TOOL_USE_INTERRUPTED) -> Turn | None:
        """Answer the calls the conversation ends in with error results saying ``text``.

        Returns
        -------
        Turn or None
            The turn of results that was appended; ``None`` if there was nothing to answer.
        """
        with self._guard:
            if not (calls := open_calls(self.turns)):
                return None
            results = missing_results([call.id for call in calls], text)
            return self.append(Turn(role="user", blocks=results, run_id=self._state.turns[-1].run_id))

    def start_run(
        self,
        prompt: str,
        *,
        model: str = "",
        cell_id: str | None = None,
        options: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> RunRecord:
        """Record that a run begins; calls an earlier, dead one left open are answered first.

        Parameters
        ----------
        run_id
            Default: the first free one of ``run_1``, ``run_2``…

        Raises
        ------
        SessionError
            The id is taken, or the record could not be written.
        """
        with self._guard:
            runs = self._state.runs
            new_id = run_id or next(each for n in itertools.count(len(runs) + 1) if (each := f"run_{n}") not in runs)
            if new_id in runs:
                raise SessionError(f"There is a run {new_id!r} already.", hint="Give each run an id of its own.")
            self.close_calls()
            run: dict[str, Any] = {"id": new_id, "prompt": prompt, "model": model, "options": dict(options or {})}
            if cell_id is not None:
                run["cell_id"] = cell_id
            self._add("run", {"run": run, "summary": self._summary()})
            return runs[new_id]

    def end_run(
        self,
        run_id: str,
        status: RunStatus,
        *,
        finish: FinishReason | None = None,
        usage: Usage | None = None,
        seconds: float | None = None,
        error: str | None = None,
    ) -> RunRecord:
        """Record how a run ended.

        Raises
        ------
        SessionError
            There is no such run, or the record could not be written.
        """
        with self._guard:
            if run_id not in self._state.runs:
                raise SessionError(f"There is no run {run_id!r}.", hint="Start it with start_run.")
            data: dict[str, Any] = {"run_id": run_id, "status": status, "finish": finish, "seconds": seconds}
            if usage is not None:
                data["usage"] = {key: value for key, value in dataclasses.asdict(usage).items() if value is not None}
            data |= {"error": error, "summary": self._summary()}
            self._add("run-end", {key: value for key, value in data.items() if value is not None})
            return self._state.runs[run_id]

    def set_model(self, model: str) -> None:
        """Choose the model from here on; nothing is written if it is chosen already."""
        with self._guard:
            if model != self._state.model:
                self._add("model", {"model": model})

    def set_title(self, title: str, *, source: TitleSource = "user") -> None:
        """Give a title, put on one line; an automatic one never replaces a person's, an empty one is ignored."""
        with self._guard:
            line = " ".join(title.split())
            if line and line != self._state.title and not (source == "auto" and self._state.title_source == "user"):
                self._add("title", {"title": line, "source": source})

    def record(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep something that is not part of the conversation (evidence, an extension's state)."""
        with self._guard:
            if kind in (COMPACT_UNDO, ELIDE):
                self._wire_state = None  # what is read next is read with it, also when the disk fails
            self._add("custom", {"kind": kind, "data": dict(data)})

    def move_to(self, turn_id: str | None) -> None:
        """Go on after an earlier turn, on whatever branch (``None``: from nothing); no turn is lost.

        Raises
        ------
        SessionError
            There is no such turn, or the move could not be written.
        """
        with self._guard:
            target = None if turn_id is None else self._state.entry_of(turn_id)
            if turn_id is not None and target is None:
                raise SessionError(f"There is no turn {turn_id!r} in this session.", hint="Choose one of its turns.")
            self._add("leaf", {"target": target})

    def holds(self, turn_id: str) -> bool:
        """Tell whether a turn is in the session, on whatever branch."""
        with self._guard:
            return self._state.entry_of(turn_id) is not None

    def lighten(self, turns: tuple[Turn, ...]) -> None:
        """Hold lighter copies of some turns in memory; the file keeps what was said.

        Parameters
        ----------
        turns
            The conversation with those copies in their places, from
            :func:`~zidane_lab.session.kept_results.release_replaced_turns`.
        """
        with self._guard:
            self._state.lighten(turns)
            self._turns, self._lightened = None, True

    def unlighten(self) -> None:
        """Hold all turns in memory as the file has them, after :meth:`lighten`."""
        with self._guard:
            if self.path is not None and self._lightened:
                state = SessionState()
                for entry in read_file(self.path).entries:
                    state.add(entry)
                self._state.lighten(state.all_turns())
                self._turns, self._lightened = None, False

    def save_output(self, name: str, text: str) -> Path | None:
        """Keep a full output in ``outputs/<n>.<name>.txt``; ``None`` where it cannot be kept on disk."""
        if self.screen is not None:
            text = self.screen.text(text)
        with self._guard:
            return self._store.save_output(name, text)

    def _add(self, kind: str, data: Mapping[str, Any], turn: Turn | None = None) -> None:
        if self._closed:
            raise SessionError("This session is closed.", hint="Open it again to go on.")
        entries = []
        if self._unrecorded:
            entries.append(self._take_in("repair", {"what": list(self._unrecorded)}))
            self._unrecorded = ()
        entries.append(self._take_in(kind, data, turn))
        self._held.extend(entries)
        if not self._begun and kind not in _BEGINNINGS:
            return  # a choice made before the first prompt: written with it, or never
        self._begun = True
        held, self._held = self._held, []
        self._store.append(held)

    def _take_in(self, kind: str, data: Mapping[str, Any], turn: Turn | None = None) -> Entry:
        if self.screen is not None and turn is None:  # a turn has passed already
            data = self.screen.json(data)
        entry = Entry(kind, data, self._state.leaf, new_entry_id(self._state))
        self._state.add(entry, turn)
        self._turns = None
        return entry

    def _summary(self) -> dict[str, Any]:
        return {"turns": len(self._state.turns), "title": self.title, "model": self._state.model}


def _header(
    *, notebook: Path | str | None = None, cwd: Path | str | None = None, parent_session: str | None = None
) -> Header:
    from importlib import metadata

    try:
        version = metadata.version("zidane_lab")
    except metadata.PackageNotFoundError:
        version = "unknown"
    return Header(
        mint_session_id(),
        notebook=None if notebook is None else str(notebook),
        cwd=None if cwd is None else str(cwd),
        parent_session=parent_session,
        zidane_lab=version,
    )

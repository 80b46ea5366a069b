"""Freeze the system prompt of a session: what was sent first is sent again, what changed since is told at the tail.

A new skill, a moved folder or a new day changes the prompt as it would be composed afresh; sending that would make
the provider read the whole conversation anew. So the first prompt is recorded in the session and sent verbatim, and
each section that differs from what the model was last told is announced in a note beside the next prompt.

Everything here is a pure function of the session's records of kind :data:`SYSTEM_SNAPSHOT`, oldest first, of which
there are three shapes: a snapshot (the prompt that was sent), a cleared one (from here on none is frozen) and a note
(what a turn told the model). The caller records what it is given::

    frozen = freeze(session.records(SYSTEM_SNAPSHOT), fresh, key=profile, effort=thinking, turns=ids_of_turns)
    if frozen.record is not None:
        session.record(SYSTEM_SNAPSHOT, frozen.record)
    turn = session.append(prompt_turn_with(frozen.notes))
    for note in frozen.notes:
        session.record(SYSTEM_SNAPSHOT, note.record(turn.id))
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, get_args

from zidane_lab.agent.system_prompt import SystemPrompt
from zidane_lab.providers.base import ThinkingLevel

__all__ = [
    "FROZEN_PROMPT_SECTION_KINDS",
    "SNAPSHOT_VERSION",
    "SYSTEM_SNAPSHOT",
    "FrozenSystem",
    "FrozenSystemPrompt",
    "SectionChangeNote",
    "SystemPromptSnapshot",
    "announced_digest",
    "catalog_change_notes",
    "cleared_record",
    "freeze",
    "latest_system_snapshot",
    "section_digest",
    "section_digests",
]

SYSTEM_SNAPSHOT: Final = "system-snapshot"
"""Kind of the session's records about the system prompt."""

SNAPSHOT_VERSION: Final = 1

FROZEN_PROMPT_SECTION_KINDS: Final = ("skills", "tools", "mcp")
"""The sections the agent adds itself, in the order they are announced; all others follow as they are sent."""

_LISTED: Final = frozenset({"tools"})  # catalogs of which a note lists only what came and went

Records: TypeAlias = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SystemPromptSnapshot:
    """What was noted beside a frozen prompt.

    ``base`` is the digest of its base text, ``digests`` those of its sections by kind; ``key`` names the composition
    it belongs to (a profile, say), ``effort`` the thinking level of the run that captured it; ``host`` is the
    caller's own, and never read here.
    """

    base: str
    digests: Mapping[str, str]
    key: str | None = None
    effort: ThinkingLevel | None = None
    host: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FrozenSystemPrompt:
    """The prompt last frozen: its text and boundary, the texts of its sections, where its record stands."""

    text: str
    boundary: int | None
    sections: Mapping[str, str]
    snapshot: SystemPromptSnapshot
    index: int


@dataclass(frozen=True, slots=True)
class SectionChangeNote:
    """Tells the model of one changed section: ``text`` is for the prompt's turn, ``section`` what it now reads."""

    kind: str
    text: str
    section: str
    key: str | None = None

    @property
    def digest(self) -> str:
        """Digest of the section as it now is; empty when it is gone."""
        return section_digest(self.section) if self.section else ""

    def record(self, turn_id: str) -> dict[str, Any]:
        """Return the record that says the turn ``turn_id`` told the model."""
        note = {"kind": self.kind, "digest": self.digest, "section": self.section, "turn": turn_id}
        return {"v": SNAPSHOT_VERSION, **_keyed(self.key), "note": note}


@dataclass(frozen=True, slots=True)
class FrozenSystem:
    """The prompt of a run.

    ``text`` and ``boundary`` are sent; ``notes`` go into the prompt's turn; ``record``, if there is one, into the
    session, because the fresh prompt was taken. ``effort`` is the thinking level of the run that captured it.
    """

    text: str
    boundary: int | None
    notes: tuple[SectionChangeNote, ...] = ()
    record: Mapping[str, Any] | None = None
    effort: ThinkingLevel | None = None

    def boundary_in(self, text: str) -> int | None:
        """Return the boundary of ``text``, which a hook made of this one; ``None`` if what is above it differs."""
        at = self.boundary
        return at if at is not None and at < len(text) and text.startswith(self.text[:at]) else None


def freeze(
    records: Records,
    fresh: SystemPrompt,
    *,
    key: str | None = None,
    effort: ThinkingLevel | None = None,
    host: Mapping[str, Any] | None = None,
    turns: Collection[str] | None = None,
) -> FrozenSystem:
    """Return what a run sends: the frozen prompt and notes, or the fresh one and a record that freezes it.

    The fresh one is taken when none is frozen for ``key``, and when the base text differs: then the agent itself
    has changed, and what was frozen is about another one.

    Parameters
    ----------
    records
        The session's records of kind :data:`SYSTEM_SNAPSHOT`, oldest first.
    fresh
        The prompt as composed now.
    key
        Which composition it is (a profile's name); each has a frozen prompt of its own.
    effort, host
        Kept beside a fresh one.
    turns
        Ids of the turns of the conversation. Notes in others, on a branch left behind, do not count; ``None``
        counts all.
    """
    frozen = latest_system_snapshot(records, key)
    if frozen is None or frozen.snapshot.base != section_digest(fresh.base):
        return FrozenSystem(
            fresh.text, fresh.boundary, record=_snapshot_record(fresh, key, effort, host), effort=effort
        )
    notes = catalog_change_notes(frozen, fresh.sections, records, turns)
    return FrozenSystem(frozen.text, frozen.boundary, notes, effort=frozen.snapshot.effort)


def cleared_record(key: str | None = None) -> dict[str, Any]:
    """Return the record after which nothing is frozen for ``key``, or for any key if it is left out."""
    return {"v": SNAPSHOT_VERSION, **_keyed(key), "cleared": True}


def latest_system_snapshot(records: Records, key: str | None = None) -> FrozenSystemPrompt | None:
    """Return the prompt last frozen for ``key``.

    A cleared record for this key, or for all, ends the search; records of other keys, notes and damaged records
    are passed over.
    """
    for index in range(len(records) - 1, -1, -1):
        record = records[index]
        own = record.get("key") == key
        if record.get("cleared") is True and (own or "key" not in record):
            return None
        if own and (frozen := _frozen(record, index)) is not None:
            return frozen
    return None


def announced_digest(
    frozen: FrozenSystemPrompt, records: Records, kind: str, turns: Collection[str] | None = None
) -> str | None:
    """Return the digest of a section as the model was last told it.

    That is the newest note about it after the snapshot, else the snapshot's own; ``None`` if as far as the model
    knows there is no such section.
    """
    return _told(frozen, records, kind, turns)[0] or None


def catalog_change_notes(
    frozen: FrozenSystemPrompt,
    sections: Mapping[str, str],
    records: Records,
    turns: Collection[str] | None = None,
) -> tuple[SectionChangeNote, ...]:
    """Return a note for each section that differs from what the model was last told; the same input, the same notes.

    A section that is gone is announced as emptied. Of tools only the entries that came and went are listed.
    """
    kinds = dict.fromkeys((*FROZEN_PROMPT_SECTION_KINDS, *sections, *frozen.sections, *_noted(frozen, records)))
    notes = []
    for kind in kinds:
        now = sections.get(kind, "")
        digest, before = _told(frozen, records, kind, turns)
        if digest != (section_digest(now) if now else ""):
            notes.append(SectionChangeNote(kind, _note_text(kind, before, now), now, frozen.snapshot.key))
    return tuple(notes)


def section_digest(text: str) -> str:
    """Return a short digest of a section's text, the same on every machine."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def section_digests(sections: Mapping[str, str | None]) -> dict[str, str]:
    """Return the digests of the sections that are there, by kind."""
    return {kind: section_digest(text) for kind, text in sections.items() if text is not None}


# --- notes ----------------------------------------------------------------------------------------


def _note_text(kind: str, before: str, now: str) -> str:
    if not now:
        said = f"The section {kind!r} of your system prompt is now empty: what it said no longer holds."
    elif kind in _LISTED and before:
        said = _listed(kind, before, now)
    else:
        change = "has changed" if before else "is new"
        said = f"The section {kind!r} of your system prompt {change} and now reads:\n\n{now}"
    said = said.replace("</system-note", "<\\/system-note")  # what a section says cannot end its note
    return f'<system-note section="{kind}">\n{said}\n</system-note>'


def _listed(kind: str, before: str, now: str) -> str:
    """List the entries of a catalog that came and went; each is a line of it."""
    old, new = (dict.fromkeys(filter(str.strip, text.splitlines())) for text in (before, now))
    added = [line for line in new if line not in old]
    removed = [line for line in old if line not in new]
    said = [f"The section {kind!r} of your system prompt has changed."]
    said += ["Added:", *added] if added else []
    said += ["Removed:", *removed] if removed else []
    if not (added or removed):
        said.append("Its entries are the same in another order.")
    return "\n".join(said)


def _told(frozen: FrozenSystemPrompt, records: Records, kind: str, turns: Collection[str] | None) -> tuple[str, str]:
    """Return digest and text of a section as the model was last told it; both are empty when it is not there."""
    for record in reversed(records[frozen.index + 1 :]):
        note = _note(record, frozen.snapshot.key)
        if note is not None and note["kind"] == kind and (turns is None or note["turn"] in turns):
            return note["digest"], note["section"]
    return frozen.snapshot.digests.get(kind, ""), frozen.sections.get(kind, "")


def _noted(frozen: FrozenSystemPrompt, records: Records) -> list[str]:
    notes = (_note(record, frozen.snapshot.key) for record in records[frozen.index + 1 :])
    return [note["kind"] for note in notes if note is not None]


# --- records --------------------------------------------------------------------------------------


def _keyed(key: str | None) -> dict[str, str]:
    return {} if key is None else {"key": key}


def _snapshot_record(
    fresh: SystemPrompt, key: str | None, effort: ThinkingLevel | None, host: Mapping[str, Any] | None
) -> dict[str, Any]:
    sections = dict(fresh.sections)
    record: dict[str, Any] = {"v": SNAPSHOT_VERSION, **_keyed(key), "text": fresh.text, "boundary": fresh.boundary}
    record |= {"base": section_digest(fresh.base), "digests": section_digests(sections), "sections": sections}
    return record | ({"effort": effort} if effort else {}) | ({"host": dict(host)} if host else {})


def _frozen(record: Mapping[str, Any], index: int) -> FrozenSystemPrompt | None:
    """Read a snapshot; ``None`` for notes, cleared, damaged and newer ones."""
    text, base, boundary = record.get("text"), record.get("base"), record.get("boundary")
    digests, sections = _texts(record.get("digests")), _texts(record.get("sections"))
    if record.get("v") != SNAPSHOT_VERSION or not (isinstance(text, str) and isinstance(base, str)):
        return None
    if digests is None or sections is None:
        return None
    effort, host = record.get("effort"), record.get("host")
    snapshot = SystemPromptSnapshot(
        base,
        digests,
        record.get("key"),
        effort if effort in get_args(ThinkingLevel) else None,
        host if isinstance(host, Mapping) else None,
    )
    at = boundary if type(boundary) is int and 0 < boundary < len(text) else None
    return FrozenSystemPrompt(text, at, sections, snapshot, index)


def _note(record: Mapping[str, Any], key: str | None) -> Mapping[str, str] | None:
    note = _texts(record.get("note"))
    if note is None or record.get("v") != SNAPSHOT_VERSION or record.get("key") != key:
        return None
    return note if {"kind", "digest", "section", "turn"} <= note.keys() else None


def _texts(value: object) -> Mapping[str, str] | None:
    """Return a mapping of texts to texts; a damaged record may hold anything."""
    if not isinstance(value, Mapping):
        return None
    return value if all(isinstance(each, str) for pair in value.items() for each in pair) else None

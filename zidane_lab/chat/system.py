"""The system prompt of a chat: composed for the place and the day, frozen for the conversation.

What the model was told first is sent again word for word, so that the provider's cache holds; what has changed
since is said behind the person's prompt, once.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from zidane_lab.agent.frozen_system import SYSTEM_SNAPSHOT, FrozenSystem, cleared_record, freeze
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.agent.system_prompt import ENV, SystemPrompt, env_block
from zidane_lab.chat.place import Place
from zidane_lab.chat.profiles import Profile
from zidane_lab.events import AgentStart, CompactEnd, UserTurn
from zidane_lab.session.session import Session
from zidane_lab.wire.cutoff import replaced_ids

__all__ = ["PLACES", "SystemRecord", "compose_system", "frozen_system", "was_cleared"]

PLACES: Final = "places"
"""Kind of the section that tells where files and commands are, where that is not simply here."""


def compose_system(
    profile: Profile, place: Place, cwd: Path, today: date, *, secrets: bool = True, places: str = ""
) -> SystemPrompt:
    """Return the system prompt as it would be written now.

    Parameters
    ----------
    secrets
        Credentials are kept from the model.
    places
        Where files and commands are (:meth:`zidane_lab.chat.places.Places.section`).
    """
    environment = env_block(
        cwd=cwd,
        today=today,
        platform=platform.system(),
        language=f"Python {platform.python_version()}",
        notebook=place.notebook,
    )
    return SystemPrompt(profile.system(secrets=secrets)).with_dynamic(ENV, environment).with_dynamic(PLACES, places)


def frozen_system(
    session: Session, profile: Profile, place: Place, cwd: Path, *, secrets: bool = True, places: str = ""
) -> FrozenSystem:
    """Return what is sent in this conversation: what was sent first, and notes about what has changed since."""
    today = date.today()  # noqa: DTZ011 - the person's own day
    return freeze(
        session.records(SYSTEM_SNAPSHOT),
        compose_system(profile, place, cwd, today, secrets=secrets, places=places),
        key=profile.name,
        turns={turn.id for turn in session.turns} - replaced_ids(session.turns, session.wire_state.undone),
    )


def was_cleared(session: Session, key: str) -> bool:
    """Whether the prompt is composed afresh because a compaction ended the one before, and not for the first time."""
    records = [record for record in session.records(SYSTEM_SNAPSHOT) if record.get("key") in (key, None)]
    return bool(records) and records[-1].get("cleared") is True


@dataclass(frozen=True, slots=True)
class SystemRecord:
    """Keeps in the session what the model was told: the prompt at the start of a run, and the notes with its turn.

    A compaction may take the notes into its summary, and the provider reads everything anew after it: so the next
    run begins with a fresh prompt.
    """

    session: Session
    system: FrozenSystem
    key: str

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe."""
        off = [
            hooks.on(AgentStart, self._start),
            hooks.on(UserTurn, self._said),
            hooks.on(CompactEnd, self._compacted),
        ]

        def uninstall() -> None:
            for each in off:
                each()

        return uninstall

    def _start(self, _event: AgentStart) -> None:
        if self.system.record is not None:
            self.session.record(SYSTEM_SNAPSHOT, self.system.record)

    def _said(self, event: UserTurn) -> None:
        if event.how == "prompt":
            for note in self.system.notes:
                self.session.record(SYSTEM_SNAPSHOT, note.record(event.turn.id))

    def _compacted(self, event: CompactEnd) -> None:
        if event.status == "compacted" and event.reason != "rewind":  # what was sent before the checkpoint stays
            self.session.record(SYSTEM_SNAPSHOT, cleared_record(self.key))

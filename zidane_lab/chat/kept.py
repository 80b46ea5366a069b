"""What one conversation has learnt and allowed besides its session: memory only, and gone when another begins."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from zidane_lab.agent.envelopes import Envelopes
from zidane_lab.agent.kit import Continuity
from zidane_lab.agent.repository_notices import RepositoryMemory
from zidane_lab.approvals.decisions import Grants
from zidane_lab.chat.settings import Settings, home
from zidane_lab.session.session import Session

if TYPE_CHECKING:
    from zidane_lab.agent.secret_guard import SecretGuard

__all__ = ["Kept"]

_LONGEST_HEADER: Final = 100_000


@dataclass(slots=True)
class Kept:
    """What the runs of one conversation hand on to each other.

    Parameters
    ----------
    continuity
        The agent's part: what was built for the wire, the cache's state, the models that rest.
    envelopes
        Draws the tags of results.
    repository
        Where the repository stood when the model last had to do with it.
    reminded
        The previews the model was reminded of.
    """

    continuity: Continuity = field(default_factory=Continuity)
    envelopes: Envelopes = field(default_factory=Envelopes)
    repository: RepositoryMemory = field(default_factory=RepositoryMemory)
    reminded: set[str] = field(default_factory=set)
    _grants: dict[str, Grants] = field(default_factory=dict)
    _guard: SecretGuard | None = None
    _made_for: tuple[object, ...] = ()

    def grants_in(self, where: str) -> Grants:
        """Return what was allowed for the session in one place; what is allowed in one does not hold in another."""
        return self._grants.setdefault(where, Grants())

    def guard(self, session: Session, settings: Settings, env: Mapping[str, str]) -> SecretGuard | None:
        """Return what keeps the conversation's credentials; ``None`` where the settings turn it off.

        Placeholders are the same whoever makes them, so one for other settings takes over from the one before.
        """
        if not settings.secrets:
            session.screen, self._guard = None, None
            return None
        made_for = (session.id, settings.secret_names, settings.secret_values, settings.secret_patterns)
        if self._guard is None or self._made_for != made_for:
            from zidane_lab.agent.secret_guard import secret_guard

            before = self._guard if self._made_for[:1] == made_for[:1] else None
            self._guard = secret_guard(
                session,
                home(env),
                origin=_origin(session),
                environ=env,
                names=settings.secret_names,
                values=settings.secret_values,
                patterns=settings.secret_patterns,
            )
            self._made_for = made_for
            if before is not None:
                self._guard.screen.vault.take_over(before.screen.vault)
        session.screen = self._guard.screen
        return self._guard


def _origin(session: Session) -> str:
    """Return the id of the session that a branch goes back to: what was said there is sent again, placeholders too."""
    header, folder = session.header, session.path.parent if session.path is not None else None
    name, met = header.id, {header.id}
    parent = header.parent_session
    while parent and parent not in met:
        met.add(name := parent)
        parent = None
        if folder is not None and Path(name).name == name:
            with contextlib.suppress(OSError, ValueError, AttributeError):
                with (folder / f"{name}.jsonl").open(encoding="utf-8") as file:
                    found = json.loads(file.readline(_LONGEST_HEADER)).get("parent_session")
                parent = found if isinstance(found, str) else None
    return name

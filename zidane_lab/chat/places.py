"""Where the files and commands of one chat are: chosen by the person, opened with the first run, kept over runs.

Only the person's own settings and ``/run-in`` choose. What a session file says about where it ran is shown, never
obeyed: it lies in the project's folder. A place that cannot be reached stops a run; no other takes over in silence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Final

from zidane_lab.approvals.project import checkout_root
from zidane_lab.chat import place_words
from zidane_lab.chat.place_words import PlaceChoice
from zidane_lab.chat.settings import NO_CONTEXT, Settings
from zidane_lab.contexts.base import ContextLostError, ExecutionContext
from zidane_lab.contexts.guarded import GuardedContext
from zidane_lab.contexts.registry import ContextSettings, context_names, open_context, read_context
from zidane_lab.errors import ConfigurationError

__all__ = ["Places"]

CLOSE_SECONDS: Final = 15.0
"""How long a place may take to be left; what is not gone then is ended with the kernel."""


class Places:
    """The place of one chat. It belongs to the event loop it is used on.

    Places that were opened stay open until :meth:`aclose`: background tasks go on there, and what a container keeps in
    memory is there when the person comes back to it.

    Parameters
    ----------
    folder
        Returns the notebook's folder. The project it is in is what a container sees, and what commands that are kept
        inside may write: not the folder the kernel is in, which code can change.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._chosen: str | None = None
        self._open: dict[Hashable, ExecutionContext] = {}
        self._lost: dict[Hashable, ContextLostError] = {}
        self._cwd = Path()
        self._session_id: str | None = None
        self._notices: list[str] = []
        self._told: set[str] = set()

    # --- choosing -----------------------------------------------------------------------------------

    @property
    def chosen(self) -> str | None:
        """What the person chose for this session; ``None`` if the setting counts."""
        return self._chosen

    def name(self, settings: Settings) -> str:
        """Return the name of the place that is used next."""
        return self._chosen if self._chosen is not None else settings.context

    def choose(self, name: str | None, settings: Settings) -> None:
        """Use another place from the next prompt on; ``None`` goes back to the setting.

        Raises
        ------
        ConfigurationError
            There is no such place, or it cannot be used; nothing was changed.
        """
        if name is not None:
            name = name.strip()
            self._read(name, settings)
        self._chosen = name

    def forget(self) -> None:
        """Go back to the setting: the choice was for a session that is left."""
        self._chosen = None
        self._notices.clear()

    def names(self, settings: Settings) -> tuple[str, ...]:
        """Return what can be chosen, for completion; names that end in a colon are to be completed by hand."""
        return context_names(_given(settings, None))

    def where(self, settings: Settings) -> str:
        """Return what tells the place from others, also before it is open; empty for this machine, or a bad name."""
        try:
            return self._read(self.name(settings), settings).where
        except ConfigurationError:
            return ""

    # --- opening and closing ------------------------------------------------------------------------

    async def current(self, settings: Settings, cwd: Path, *, session_id: str | None = None) -> ExecutionContext:
        """Return the place for a run, opened if it is not, and opened again if it was lost.

        Parameters
        ----------
        settings
            The person's settings, as they are now.
        cwd
            Where relative paths of this machine start from.
        session_id
            Whose commands they are.

        Raises
        ------
        ConfigurationError
            There is no such place, or it cannot be used.
        ContextLostError
            It cannot be reached.
        """
        self._cwd, self._session_id = cwd, session_id
        choice = self._read(self.name(settings), settings)
        held = self._open.get(choice.key)
        if held is not None and (lost := await _lost(held)) is not None:
            self._lost[choice.key] = lost  # until it is told: perhaps it cannot be opened now
            del self._open[choice.key]
            await _close(held)
            held = None
        if held is None:
            held = await open_context(choice.found, lambda: self._cwd, choice.settings, project=choice.project)
            self._open[choice.key] = held
            if (lost := self._lost.pop(choice.key, None)) is not None:
                self._notices.append(place_words.reopened(choice, lost))
        if isinstance(held, GuardedContext) and held.reason:
            self._tell_once(f"Commands are {'refused' if held.is_required else 'not kept inside'}: {held.reason}.")
        return held

    def held(self, settings: Settings) -> ExecutionContext | None:
        """Return the place if it is open."""
        try:
            return self._open.get(self._read(self.name(settings), settings).key)
        except ConfigurationError:
            return None

    async def aclose(self) -> None:
        """Leave all places and end what runs there. The next run opens its place anew."""
        places = list(self._open.values())
        self._open.clear()
        await asyncio.gather(*map(_close, places))

    def _read(self, name: str, settings: Settings) -> PlaceChoice:
        if name == NO_CONTEXT:
            problems = "; ".join(each for each in settings.problems if ": context" in each) or "it cannot be read"
            raise ConfigurationError(
                f"Where commands are to run is not known: {problems}.",
                hint="Mend the settings, or choose for this session with %zidane /run-in NAME.",
            )
        given, folder = _given(settings, self._session_id), self._folder()
        project = checkout_root(folder) or folder
        return PlaceChoice(name, read_context(name, folder, given, project=project), given, project)

    # --- telling ------------------------------------------------------------------------------------

    def take_notices(self) -> tuple[str, ...]:
        """Return what has happened to the place since the last time, for the person and the model, each once."""
        notices = tuple(self._notices)
        self._notices.clear()
        return notices

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._notices.append(text)

    def line(self, settings: Settings) -> str:
        """Return one line for the person: where files and commands are."""
        try:
            choice = self._read(self.name(settings), settings)
        except ConfigurationError as error:
            return f"nowhere: {error.message}"
        return place_words.line(choice, self._open.get(choice.key))

    def section(self, settings: Settings) -> str:
        """Return what the model is told of it in its system prompt; empty where all is on this machine, and open."""
        try:
            choice = self._read(self.name(settings), settings)
        except ConfigurationError:
            return ""
        return place_words.section(choice, self._open.get(choice.key))


def _given(settings: Settings, session_id: str | None) -> ContextSettings:
    return ContextSettings(
        contexts=settings.contexts,
        isolation=settings.isolation,
        allow_write=settings.allow_write,
        allow_network=settings.allow_network,
        session_id=session_id,
    )


async def _lost(place: ExecutionContext) -> ContextLostError | None:
    look = getattr(place, "lost", None)
    if look is None:
        return None
    found: ContextLostError | None = await look()
    return found


async def _close(place: ExecutionContext) -> None:
    """Leave a place; one that is gone or does not answer does not hold up the others."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await place.aclose()
    except (TimeoutError, OSError, ContextLostError):
        return

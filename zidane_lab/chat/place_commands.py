"""``/run-in``: where files and commands are, and choosing another place for this session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from zidane_lab.chat.commands import CommandContext, Reply, command
from zidane_lab.chat.place_record import PROCESS, last_place
from zidane_lab.chat.place_words import plain
from zidane_lab.chat.places import Places
from zidane_lab.chat.report import table
from zidane_lab.chat.settings import Settings, load_settings

if TYPE_CHECKING:
    from zidane_lab.session.session import Session

__all__ = ["complete_run_in", "place_note"]

_DEFAULT: Final = "default"
"""Goes back to the setting."""

_USAGE: Final = "/run-in [NAME|process|default]"


@command(
    "run-in",
    _USAGE,
    "where files and commands are; or choose for this session: `/run-in docker:python:3.12`, `/run-in ssh:ada@host`",
)
async def _run_in(context: CommandContext, arguments: str) -> Reply:
    chat = context.chat
    places: Places = chat.places
    settings = chat.settings = load_settings(chat.env)
    if not arguments:
        return Reply(_list(places, settings))
    before = places.where(settings)
    places.choose(None if _is_default(arguments, settings) else arguments, settings)
    lines = [f"From the next prompt on, files and commands are on {_code(places.line(settings))}."]
    if places.where(settings) != before:
        lines.append("What was allowed for the place before does not hold there; what runs there goes on.")
    if chat.agent is not None:
        lines.append("The run that is going on stays where it is.")
    return Reply("\n\n".join(lines))


def complete_run_in(places: Places, settings: Settings, text: str) -> list[str]:
    """Return what may be written behind ``/run-in``, of which the person has written ``text``."""
    known = (*places.names(settings), _DEFAULT)
    return [name for name in dict.fromkeys(known) if name.startswith(text)]


def place_note(session: Session, places: Places, settings: Settings) -> str:
    """Say, when a session is gone back to, that it worked somewhere else; empty where it did not."""
    name, where = last_place(session)
    if where == places.where(settings):
        return ""
    told = "on this machine" if not where else f"in {_code(name)}"
    return (
        f"Its files and commands were {told}; they are now on {_code(places.line(settings))}. "
        f"To go back: `%zidane /run-in` {_code(PROCESS if not where else name)}."
    )


def _is_default(name: str, settings: Settings) -> bool:
    return name == _DEFAULT and name not in settings.contexts


def _list(places: Places, settings: Settings) -> str:
    chosen = places.name(settings)
    rows = [
        (_code(name), _what(name, settings), "used next" if name == chosen else "")
        for name in places.names(settings)
        if not name.endswith(":")
    ]
    if all(state == "" for _, _, state in rows):
        rows.append((_code(chosen), "", "used next"))
    why = "chosen for this session" if places.chosen is not None else "by the setting `context`"
    return (
        f"Files and commands are on {_code(places.line(settings))} ({why}).\n\n{table(('place', '', ''), rows)}\n\n"
        "Any `docker:IMAGE`, `ssh:USER@HOST` or `ssh:USER@HOST:PORT/FOLDER` can be named. Choose for this session "
        f"with `%zidane {_USAGE}`, for all with `%zidane /config context NAME`."
    )


def _what(name: str, settings: Settings) -> str:
    given = settings.contexts.get(name)
    if given is None:
        return "this machine"
    kind = given["kind"]
    return str({"docker": "a container", "ssh": "another machine"}.get(kind, "this machine"))


def _code(text: str) -> str:
    """Write a text that Markdown leaves alone."""
    text = plain(text)
    return text if text.replace(" ", "").isalnum() else f"`{text.replace('`', chr(39))}`"

"""What a front end can ask for from outside the cell: what waits for a person, an answer to it, a stop, a word.

Methods run on whatever thread the request came on. They take locks for moments, touch no asyncio loop but by
``call_soon_threadsafe``, and never wait for the main thread: it may be computing, or waiting for this very answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from zidane_lab import __version__
from zidane_lab.chat.interacting import desk_of
from zidane_lab.chat.typed_answers import how_to_answer
from zidane_lab.errors import ConfigurationError, ZidaneError
from zidane_lab.notebook.interaction_bundles import headline
from zidane_lab.notebook.rpc_control import install
from zidane_lab.notebook.rpc_errors import RpcError
from zidane_lab.notebook.rpc_panel import NAME, SILENCE, Panels, panels_of
from zidane_lab.notebook.rpc_sizes import MOST_LISTED, clipped, shortened
from zidane_lab.session.interactions import Interaction, checked, interaction_record, interactions_in

if TYPE_CHECKING:
    from zidane_lab.agent.agent import Agent
    from zidane_lab.notebook.host import Host
    from zidane_lab.session.session import Session

__all__ = ["METHODS", "Call", "Method"]

_LONGEST_CLIENT: Final = 200
_PATIENCE: Final = 2.0
"""Seconds to wait for the agent's thread."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request: where it is made, and its parameters."""

    shell: Any
    params: Mapping[str, Any]

    def text(self, name: str) -> str:
        """Return a text that is not empty.

        Raises
        ------
        RpcError
            There is none by that name.
        """
        value = self.params.get(name)
        if not isinstance(value, str) or not value.strip():
            raise RpcError("invalid_params", f"{name!r} is missing or no text.")
        return value

    @property
    def client(self) -> str | None:
        """The panel that asks, if it says who it is."""
        if self.params.get("client") is None:
            return None
        name = self.text("client")
        if len(name) > _LONGEST_CLIENT:
            raise RpcError("invalid_params", f"A client's name has at most {_LONGEST_CLIENT} characters.")
        return name

    @property
    def panels(self) -> Panels:
        """The panels of this kernel."""
        return panels_of(self.shell)

    @property
    def is_loaded(self) -> bool:
        """Whether ``%load_ext zidane_lab`` was run here."""
        return hasattr(self.shell, "run_zidane")

    @property
    def host(self) -> Host | None:
        """The host; ``None`` before the first prompt or command.

        Raises
        ------
        RpcError
            The extension is not loaded.
        """
        if not self.is_loaded:
            raise RpcError("not_loaded", "The extension is not loaded here.", hint="Run %load_ext zidane_lab.")
        host: Host | None = getattr(self.shell, "_zidane_host", None)
        return host

    @property
    def agent(self) -> Agent:
        """The agent that runs.

        Raises
        ------
        RpcError
            None does.
        """
        agent = self.host.chat.agent if self.host is not None else None
        if agent is None or not agent.running:
            raise RpcError("not_running", "No run is under way.", hint="Ask with %%zidane.")
        return agent

    @property
    def session(self) -> Session | None:
        """The conversation; ``None`` before the first prompt or command."""
        return None if self.host is None else _session(self.host)


@dataclass(frozen=True, slots=True)
class Method:
    """A method: what it does, its parameters and what it returns in a few words, and the function."""

    summary: str
    params: str
    result: str
    run: Callable[[Call], dict[str, Any]]


METHODS: Final[dict[str, Method]] = {}
"""Methods by name."""


def method(
    summary: str, params: str = "", result: str = ""
) -> Callable[[Callable[[Call], dict[str, Any]]], Callable[[Call], dict[str, Any]]]:
    """Register a method by its function's name; ``client`` may be given to each, and tells that the panel is there."""

    def register(function: Callable[[Call], dict[str, Any]]) -> Callable[[Call], dict[str, Any]]:
        def run(call: Call) -> dict[str, Any]:
            client = call.client
            if client is not None:
                call.panels.hear(client)
            return function(call)

        METHODS[function.__name__.strip("_")] = Method(summary, params, result, run)
        return function

    return register


# --- coming and going -----------------------------------------------------------------------------------


@method(
    "say what there is here, and open the way over the control channel", "", "`version`, `methods`, `loaded`, `control`"
)
def _hello(call: Call) -> dict[str, Any]:
    return {
        "version": __version__,
        "methods": list(METHODS),
        "loaded": call.is_loaded,
        "control": install(getattr(call.shell, "kernel", None)),
    }


@method(
    "a panel is there: from now on it is asked first",
    "`client`: its name; `silence`: seconds until it counts as gone",
    "`silence`: the seconds that hold",
)
def _announce(call: Call) -> dict[str, Any]:
    client = call.client
    if client is None:
        raise RpcError("invalid_params", "'client' is missing or no text.", hint="Name the panel, such as by a UUID.")
    silence = call.params.get("silence", SILENCE)
    if isinstance(silence, bool) or not isinstance(silence, (int, float)) or not silence > 0:
        raise RpcError("invalid_params", "'silence' is no number of seconds.", hint=f"Such as {SILENCE:.0f}.")
    return {"silence": call.panels.announce(client, float(min(silence, 1e9)))}


@method("a panel is gone: the next front is asked", "`client`", "`left`: whether it was there")
def _leave(call: Call) -> dict[str, Any]:
    return {"left": call.panels.leave(call.text("client"))}


# --- what waits for a person ----------------------------------------------------------------------------


@method(
    "what waits for a person, also of a kernel that died",
    "`id`: only this one, whole",
    "`pending`: `id`, `kind`, `title`, `payload`, `how` …; `more`; `announced`: whether this client counts as there",
)
def _pending(call: Call) -> dict[str, Any]:
    there = {"announced": call.client is not None and call.client in call.panels.names}
    session = call.session
    wanted = call.text("id") if call.params.get("id") is not None else None
    waiting = _open(session) if session is not None else ()
    if wanted is not None:
        if session is None:
            raise RpcError("not_found", "Nothing was asked by that id.")
        return {"pending": [_drawn(_find(session, wanted))], "more": 0, **there}
    listed = [shortened(_drawn(each)) for each in waiting[:MOST_LISTED]]
    return {"pending": listed, "more": len(waiting) - len(listed), **there}


def _drawn(interaction: Interaction) -> dict[str, Any]:
    drawn: dict[str, Any] = {**interaction_record(interaction), "title": interaction.kind, "how": ""}
    # A session's file may come from anywhere: what cannot be put into words must not hide the rest.
    with contextlib.suppress(Exception):
        drawn |= {"title": headline(interaction), "how": how_to_answer(interaction)}
    return {**drawn, "shortened": False}


@method(
    "answer what waits; the first answer that fits counts",
    "`id`; `value`: in the shape of its kind",
    "`value`: as it was taken; `running`: whether a run goes on with it",
)
def _answer(call: Call) -> dict[str, Any]:
    name, value = call.text("id"), call.params.get("value")
    session = call.session
    if session is None:
        raise RpcError("not_found", "Nothing was asked by that id.")
    interaction = _find(session, name)
    try:
        taken = checked(interaction, value)
    except ConfigurationError as error:
        raise RpcError("invalid_answer", error.message, hint=error.hint) from error
    if call.host is not None and session.screen is None:
        session.screen = call.host.chat.screen  # a kernel that has run nothing yet keeps credentials all the same
    desk = desk_of(session)
    try:
        desk.answer(name, taken, by=NAME)
    except ConfigurationError as error:
        raise _not_open(session, name) from error
    counted = interactions_in(session).answers.get(name)
    if counted is None:  # the run was stopped in this very moment
        raise _not_open(session, name)
    host = call.host
    return {"value": taken, "running": host is not None and host.chat.agent is not None}


def _open(session: Session) -> tuple[Interaction, ...]:
    """Return what can be answered; what was answered a moment ago is not, though its run has yet to wake up."""
    fold = interactions_in(session)
    return tuple(
        each for each in desk_of(session).pending if each.id not in fold.answers and each.id not in fold.closed
    )


def _find(session: Session, name: str) -> Interaction:
    """Return what can be answered by that very id.

    Raises
    ------
    RpcError
        Nothing can, and why.
    """
    found = next((each for each in _open(session) if each.id == name), None)
    if found is None:
        raise _not_open(session, name)
    return found


def _not_open(session: Session, name: str) -> RpcError:
    fold = interactions_in(session)
    if name in fold.answers:
        return RpcError("answered", "That was answered already; the first answer counts.")
    if name in fold.closed or name in fold.asked:
        return RpcError("closed", "That is not open any more.", hint="The run was stopped, or went on without you.")
    return RpcError("not_found", "Nothing was asked by that id.", hint="`pending` lists what is open.")


# --- the run --------------------------------------------------------------------------------------------


@method("stop the run; what is done is kept", "", "`stopping`: whether one was under way")
def _stop(call: Call) -> dict[str, Any]:
    host = call.host
    if host is None:
        return {"stopping": False}
    under_way = _is_under_way(host)
    host.stop()
    return {"stopping": under_way}


@method("say something to the running agent, which reads it before its next step", "`text`", "`queued`: what waits")
def _steer(call: Call) -> dict[str, Any]:
    agent, text = call.agent, call.text("text")
    try:
        agent.steer(text)
    except ConfigurationError as error:
        raise RpcError("not_running", error.message, hint=error.hint) from error
    return _queued(agent)


@method("say something to the agent for when it has ended what it does", "`text`", "`queued`: what waits")
def _follow_up(call: Call) -> dict[str, Any]:
    agent, text = call.agent, call.text("text")
    agent.follow_up(text)
    return _queued(agent)


def _queued(agent: Agent) -> dict[str, Any]:
    return {"queued": [clipped(text) for text in agent.queued()[:MOST_LISTED]]}


@method(
    "what is going on",
    "",
    "`running`, `model`, `mode`, `queued`, `pending`: how many, `session`: `id`, `turns`, `usage`; `panels`",
)
def _status(call: Call) -> dict[str, Any]:
    host = call.host
    told: dict[str, Any] = {"running": False, "model": None, "mode": None, "queued": [], "pending": 0, "session": None}
    told["panels"] = len(call.panels.names)
    if host is None:
        return told
    chat, agent, session = host.chat, host.chat.agent, _session(host)
    told |= {"running": _is_under_way(host), "mode": chat.settings.mode, "pending": len(_open(session))}
    if agent is not None:
        told |= {"model": agent.model_name, **_queued(agent)}
    else:
        try:
            told["model"] = chat.choose_model().name
        except ZidaneError as error:
            told["problem"] = error.message
    usage = {name: amount for name, amount in asdict(session.usage).items() if amount is not None}
    told["session"] = {"id": session.id, "turns": len(session.turns), "usage": usage}
    return told


def _is_under_way(host: Host) -> bool:
    return host.chat.agent is not None or host._current is not None  # noqa: SLF001 - one that begins has no agent yet


def _session(host: Host) -> Session:
    """Return the conversation of a host; made where it is used, so that there is never a second one.

    Raises
    ------
    RpcError
        The agent's thread does not answer.
    """
    agent = host.chat.agent
    if agent is not None:
        return agent.session
    loop = host.thread.loop
    try:
        if asyncio.get_running_loop() is loop:
            return host.chat.session
    except RuntimeError:  # no loop in this thread
        pass

    async def session() -> Session:
        return host.chat.session

    try:
        return host.thread.call(session(), _PATIENCE)
    except TimeoutError as error:
        raise RpcError("busy", "The agent's thread does not answer.", hint="Try again in a moment.") from error

"""Which front ends draw widgets, and whether a click reaches a kernel whose cell is running.

Nothing tells a kernel that the page it serves draws widgets; a widget shown to one that does not is a question nobody
sees. So front ends are asked to prove it. Two comms are opened: a tiny widget, then one whose target nobody has. Front
ends that speak the protocol close what they do not know. One that closes the second and keeps the first draws widgets,
and the message names the client it comes from: exactly that client is known from then on. Others get ``input()``.

What is measured on JupyterLab with ipykernel: a click reaches an awaiting cell on 7.4 (main loop), on 7.0 to 7.3 where
the front end uses a subshell for widgets, and never on 6.x, where it waits for the end of the cell.
"""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

__all__ = ["WidgetManagers", "client_of", "widget_managers_of"]

HELLO: Final = "zidane_lab.hello"
"""A comm target no front end has."""

WAIT_SECONDS: Final = 1.0
"""Longest wait for the proof; JupyterLab on the same machine takes 0.02 s."""

_PROTOCOL: Final = {"version": "2.1.0"}
_TINY: Final = {
    "_model_module": "@jupyter-widgets/base",
    "_model_module_version": "2.0.0",
    "_model_name": "LayoutModel",
    "_view_module": "@jupyter-widgets/base",
    "_view_module_version": "2.0.0",
    "_view_name": "LayoutView",
}


class WidgetManagers:
    """The clients of one kernel that draw widgets.

    Parameters
    ----------
    shell
        The kernel's shell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._with: set[str] = set()
        self._without: set[str] = set()
        self._comms: list[Any] = []

    @property
    def is_watched(self) -> bool:
        """Whether a person sees the page: who executes notebooks unattended allows no input.

        They would wait for ever, and keep every widget they are sent in the file.
        """
        return bool(getattr(getattr(self._shell, "kernel", None), "_allow_stdin", False))

    def draws(self, client: str) -> bool:
        """Whether a client has proved that it draws widgets."""
        return client in self._with and client not in self._without

    def hello(self) -> None:
        """Ask whoever listens for the proof, unless the request comes from where nobody watches."""
        if not self.is_watched or not _installed():
            return
        from comm import create_comm

        self._forget()
        tiny = create_comm(target_name="jupyter.widget", data={"state": dict(_TINY)}, metadata=dict(_PROTOCOL))
        tiny.on_close(lambda message: self._without.add(client_of(message)))
        unknown = create_comm(target_name=HELLO)
        unknown.on_close(lambda message: self._with.add(client_of(message)))
        self._comms = [tiny, unknown]

    async def find(self, client: str, *, reaches: bool, seconds: float = WAIT_SECONDS) -> bool:
        """Whether a client draws widgets, after asking it if need be; call it on the main loop.

        Parameters
        ----------
        client
            The client's session id.
        reaches
            Whether its messages reach the main loop now.
        seconds
            Longest wait.
        """
        if not self.draws(client) and client not in self._without:
            self.hello()
            end = time.monotonic() + seconds
            while reaches and self._comms and time.monotonic() < end:
                if client in self._with or client in self._without:
                    break
                await asyncio.sleep(0.01)
        self._forget(only_answered=True)
        return self.draws(client)

    def _forget(self, *, only_answered: bool = False) -> None:
        """Take the tiny widget off the page again."""
        if only_answered and not (self._with or self._without):
            return
        for each in self._comms:
            each.on_close(None)
            each.close()
        self._comms = []

    @property
    def reaches_cells(self) -> bool:
        """Whether messages of front ends reach the main loop while a cell awaits (ipykernel 7.4 and newer)."""
        return _ipykernel() >= (7, 4)

    @property
    def clicks_reach_cells(self) -> bool:
        """Whether a click on a widget is handled while a cell awaits."""
        if self.reaches_cells:
            return True
        return _ipykernel() >= (7, 0) and bool(self._subshells())

    def _subshells(self) -> list[str]:
        """Return the subshells there are; a front end that knows them makes one for its widgets."""
        manager = getattr(getattr(self._shell.kernel, "shell_channel_thread", None), "manager", None)
        return list(manager.list_subshell()) if manager is not None else []


def client_of(message: Mapping[str, Any]) -> str:
    """Return the id of the client that sent a message."""
    header = message.get("header") or {}
    return str(header.get("session", ""))


def _installed() -> bool:
    return importlib.util.find_spec("ipywidgets") is not None


def _ipykernel() -> tuple[int, ...]:
    try:
        from ipykernel._version import version_info
    except ImportError:
        return ()
    return tuple(part for part in version_info[:2] if isinstance(part, int))


_MANAGERS: WeakKeyDictionary[Any, WidgetManagers] = WeakKeyDictionary()


def widget_managers_of(shell: Any) -> WidgetManagers:
    """Return the one :class:`WidgetManagers` of a shell."""
    if shell not in _MANAGERS:
        _MANAGERS[shell] = WidgetManagers(shell)
    return _MANAGERS[shell]

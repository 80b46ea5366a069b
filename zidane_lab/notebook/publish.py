"""Send displays to one cell, whatever cell is running now and whatever thread this is.

In a kernel every message names its parent explicitly, so the agent's thread can draw into the cell that
asked even while another runs. Elsewhere (a terminal, an embedded shell) displays go through the shell.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["KernelPublisher", "Publisher", "ShellPublisher", "cell_header", "publisher_for"]


class Publisher(Protocol):
    """A place to draw."""

    def show(self, bundle: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> str:
        """Draw a bundle and return the id it can be updated by."""
        ...

    def update(self, display_id: str, bundle: Mapping[str, Any]) -> None:
        """Replace what an id shows; the bundle is complete in itself."""
        ...


def cell_header(shell: Any) -> Mapping[str, Any]:
    """Return the message header of the cell now running; empty outside a kernel."""
    header = getattr(shell.display_pub, "parent_header", None)
    return dict(header) if header else {}


class KernelPublisher:
    """Publishes over ipykernel's IOPub channel with an explicit parent; any thread may use it.

    Parameters
    ----------
    shell
        The kernel's shell.
    parent
        Message header of the cell to draw into.
    """

    def __init__(self, shell: Any, parent: Mapping[str, Any]) -> None:
        self._channel = shell.display_pub
        self._parent = dict(parent)

    def show(self, bundle: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> str:
        """Draw a bundle and return its id."""
        display_id = secrets.token_hex(8)
        self._send("display_data", bundle, metadata, display_id)
        return display_id

    def update(self, display_id: str, bundle: Mapping[str, Any]) -> None:
        """Replace what an id shows."""
        self._send("update_display_data", bundle, None, display_id)

    def _send(self, kind: str, bundle: Mapping[str, Any], metadata: Mapping[str, Any] | None, display_id: str) -> None:
        content = {"data": dict(bundle), "metadata": dict(metadata or {}), "transient": {"display_id": display_id}}
        session = self._channel.session
        message = session.msg(kind, content, parent=self._parent)
        session.send(self._channel.pub_socket, message, ident=self._channel.topic)


class ShellPublisher:
    """Publishes through the shell's own display machinery (embedded shells and tests)."""

    def __init__(self, shell: Any) -> None:
        self._channel = shell.display_pub

    def show(self, bundle: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> str:
        """Draw a bundle and return its id."""
        display_id = secrets.token_hex(8)
        self._channel.publish(dict(bundle), dict(metadata or {}), transient={"display_id": display_id})
        return display_id

    def update(self, display_id: str, bundle: Mapping[str, Any]) -> None:
        """Replace what an id shows."""
        self._channel.publish(dict(bundle), {}, transient={"display_id": display_id}, update=True)


def publisher_for(shell: Any) -> Publisher:
    """Return the publisher for the cell now running in ``shell``."""
    if hasattr(shell.display_pub, "pub_socket"):
        return KernelPublisher(shell, cell_header(shell))
    return ShellPublisher(shell)

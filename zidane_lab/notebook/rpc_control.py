"""Requests of front ends over the control channel.

ipykernel answers that channel on a thread of its own, whatever runs: a message of our own type gets through during any
cell, on ipykernel 6 as on 7, in a millisecond or two. Unlike an ``execute_request`` on a subshell it does not go
through the machinery that runs cells, which is one for all: there it would switch off ``input()``, draw figures of a
running cell halfway, and take what that cell hands the front end for its next input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["REPLY", "REQUEST", "install"]

REQUEST: Final = "zidane_request"
"""Type of a message whose content is a request."""

REPLY: Final = "zidane_reply"
"""Type of the message that replies; its content is the reply, with ``"status": "ok"`` as in all of Jupyter."""


def install(kernel: Any) -> bool:
    """Let a kernel answer :data:`REQUEST`, once and for all; ``False`` where it has no such channel."""
    handlers = getattr(kernel, "control_handlers", None)
    if not isinstance(handlers, dict):
        return False

    def handle(stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        from zidane_lab.notebook.rpc import answered

        reply = answered(parent.get("content"), shell=kernel.shell)
        kernel.session.send(stream, REPLY, {"status": "ok", **reply}, parent, ident=ident)

    handlers[REQUEST] = handle
    return True

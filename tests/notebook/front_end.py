"""A front end beside the notebook, such as a side panel: a client of its own that calls the one entry."""

from __future__ import annotations

import contextlib
import json
import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.kernels import Kernel
from zidane_lab.notebook.rpc import EXPRESSION
from zidane_lab.notebook.rpc_control import REQUEST


class FrontEnd:
    """Calls methods over the control channel, or by silent execution on a subshell or the main shell.

    ``seconds`` is how long the last reply took.
    """

    def __init__(self, kernel: Kernel, way: str = "control") -> None:
        self.client = kernel.manager.blocking_client()
        self.client.start_channels()
        self.way, self.seconds, self.subshell = way, 0.0, None
        if way == "subshell":
            self.subshell = self._ask("control", "create_subshell_request", {})["subshell_id"]

    def call(self, method: str, *, way: str = "", **params: Any) -> dict[str, Any]:
        """Return the result, or the error with its code."""
        reply = self.send(json.dumps({"v": 1, "method": method, "params": params}), way=way)
        return reply["result"] if "result" in reply else reply["error"]

    def send(self, text: str, *, way: str = "") -> dict[str, Any]:
        if (way or self.way) == "control":
            reply = self._ask("control", REQUEST, json.loads(text))
            assert reply.pop("status") == "ok"
            return reply
        content = {
            "code": "", "silent": True, "store_history": False, "allow_stdin": True, "stop_on_error": False,
            "user_expressions": {"reply": EXPRESSION.format(json.dumps(text))},
        }  # fmt: skip
        return json.loads(
            self._ask("shell", "execute_request", content)["user_expressions"]["reply"]["data"]["text/plain"]
        )

    def asked(self, *, seconds: float = 20, **params: Any) -> dict[str, Any]:
        """Wait until something waits for a person, as a page does that asks again and again."""
        end = time.monotonic() + seconds
        while not (waiting := self.call("pending", **params).get("pending", [])):
            assert time.monotonic() < end, "nothing was asked"
            time.sleep(0.05)
        return waiting[0]

    def post(self, method: str, **params: Any) -> str:
        """Send a call over the control channel; :meth:`reply` gets what comes of it."""
        return self._send("control", REQUEST, {"v": 1, "method": method, "params": params})

    def reply(self, msg_id: str) -> dict[str, Any]:
        reply = self._receive("control", msg_id)
        return reply["result"] if "result" in reply else reply["error"]

    def _ask(self, channel: str, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        start = time.monotonic()
        reply = self._receive(channel, self._send(channel, kind, content))
        self.seconds = time.monotonic() - start
        return reply

    def _send(self, channel: str, kind: str, content: dict[str, Any]) -> str:
        message = self.client.session.msg(kind, content)
        if channel == "shell" and self.subshell is not None:
            message["header"]["subshell_id"] = self.subshell
        getattr(self.client, f"{channel}_channel").send(message)
        return message["header"]["msg_id"]

    def _receive(self, channel: str, msg_id: str) -> dict[str, Any]:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                reply = getattr(self.client, f"get_{channel}_msg")(timeout=0.2)
                if reply["parent_header"].get("msg_id") == msg_id:
                    return reply["content"]
        raise AssertionError("no reply")


@contextmanager
def front_end(kernel: Kernel, way: str = "control") -> Iterator[FrontEnd]:
    front = FrontEnd(kernel, way)
    try:
        yield front
    finally:
        front.client.stop_channels()

"""A page that draws widgets, as far as a kernel can tell: it speaks the widget protocol message by message."""

from __future__ import annotations

import time
from typing import Any

from tests.kernels import Kernel


class WidgetPage:
    """Keeps the widgets it is sent, and presses them.

    Parameters
    ----------
    kernel
        Whose messages it gets, through ``on_message``.
    subshell
        Send messages of widgets on a subshell, as JupyterLab does where the kernel has them.
    draws
        Whether it knows widgets at all; another page closes what it does not know.
    """

    def __init__(self, kernel: Kernel, *, subshell: bool = False, draws: bool = True) -> None:
        self.kernel, self.draws = kernel, draws
        self.widgets: dict[str, dict[str, Any]] = {}
        self.closed: list[str] = []
        self.shown: list[str] = []
        self.subshell = self._make_subshell() if subshell else None

    def __call__(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "comm_open":
            if content["target_name"] == "jupyter.widget" and self.draws:
                self.widgets[content["comm_id"]] = dict(content["data"]["state"])
            else:
                self._send("comm_close", {"comm_id": content["comm_id"], "data": {}}, plain=True)
        elif kind == "comm_msg" and content["comm_id"] in self.widgets:
            self.widgets[content["comm_id"]].update(content["data"].get("state", {}))
        elif kind == "comm_close":
            self.closed.append(content["comm_id"])
        elif kind == "display_data":
            view = content["data"].get("application/vnd.jupyter.widget-view+json")
            if view is not None:
                self.shown.append(view["model_id"])

    def find(self, **state: Any) -> str | None:
        """Return the id of the widget with this state, once its form is on the page."""
        if not self.shown:
            return None
        for name, known in self.widgets.items():
            if all(known.get(key) == value for key, value in state.items()) and name not in self.closed:
                return name
        return None

    def press(self, description: str) -> bool:
        name = self.find(_model_name="ButtonModel", description=description)
        if name is not None:
            self._send("comm_msg", {"comm_id": name, "data": {"method": "custom", "content": {"event": "click"}}})
        return name is not None

    def change(self, name: str, **state: Any) -> None:
        data = {"method": "update", "state": state, "buffer_paths": []}
        self._send("comm_msg", {"comm_id": name, "data": data})

    def _send(self, kind: str, content: dict[str, Any], *, plain: bool = False) -> None:
        client = self.kernel.client
        message = client.session.msg(kind, content)
        if self.subshell and not plain:
            message["header"]["subshell_id"] = self.subshell
        client.shell_channel.send(message)

    def _make_subshell(self) -> str:
        client = self.kernel.client
        message = client.session.msg("create_subshell_request", {})
        client.control_channel.send(message)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            reply = client.get_control_msg(timeout=5)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return reply["content"]["subshell_id"]
        raise AssertionError("no subshell")

"""What ``%load_ext zidane_lab`` does: one input transform, one magic name, one method on the shell, one message type.

It imports nothing heavy and starts nothing: no network, no process, no thread. All of that waits for the
first prompt.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from zidane_lab.notebook.rpc_control import install
from zidane_lab.notebook.transform import rewrite
from zidane_lab.notebook.widget_manager import widget_managers_of

__all__ = ["load", "unload"]

_HOST = "_zidane_host"


def load(shell: Any) -> None:
    """Install into an IPython shell; harmless when installed already."""
    if hasattr(shell, "run_zidane"):
        return
    if not getattr(shell, "autoawait", True):
        print("zidane_lab needs top-level await, which is off here: turn it on with `%autoawait True`.")  # noqa: T201

    async def run_zidane(line: str, cell: str | None = None, *, result: bool = False) -> Any:
        host = getattr(shell, _HOST, None)
        if host is None:
            from zidane_lab.notebook.host import Host

            host = Host(shell)
            setattr(shell, _HOST, host)
        answer = await host.run(line, cell)
        return answer if result else None

    def zidane(line: str, cell: str | None = None) -> Any:
        """Ask the agent that lives in this kernel.

        %%zidane [--model NAME --profile NAME --max-cost X --max-turns N --to NAME --bg --new]
        <prompt, any number of lines>

        %zidane <prompt in one line>
        %zidane /help
        """
        return PendingRun(run_zidane, line, cell)

    # The prompt is taken raw: IPython must not put variables in place of {…} and $…
    zidane._ipython_magic_no_var_expand = True  # type: ignore[attr-defined]  # noqa: SLF001 - IPython's marker
    shell.run_zidane = run_zidane
    shell.register_magic_function(zidane, "line_cell", "zidane")
    shell.input_transformers_cleanup.insert(0, rewrite)
    shell.set_hook("complete_command", _complete_run_in, re_key=re.compile(r"\s*%zidane\s+/run-in\s"))
    widget_managers_of(shell).hello()
    install(getattr(shell, "kernel", None))


def unload(shell: Any) -> None:
    """Take everything out again; the session stays on disk, and panels are told that nothing is loaded."""
    if rewrite in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(rewrite)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("zidane", None)
    shell.__dict__.pop("run_zidane", None)
    host = shell.__dict__.pop(_HOST, None)
    if host is not None:
        host.close()


def _complete_run_in(shell: Any, event: Any) -> list[str]:
    """Complete the names of places; before the first prompt there is nobody to ask."""
    host = getattr(shell, _HOST, None)
    if host is None:
        return []
    from zidane_lab.chat.place_commands import complete_run_in

    return complete_run_in(host.chat.places, host.chat.settings, event.symbol)


class PendingRun:
    """What the magic returns when it is called as a function: await it to ask."""

    def __init__(self, run: Any, line: str, cell: str | None) -> None:
        self._run, self._line, self._cell = run, line, cell

    def __await__(self) -> Generator[Any, None, Any]:
        return self._run(self._line, self._cell, result=True).__await__()  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return "<a zidane prompt that was not sent: write it in a cell of its own, or await this>"

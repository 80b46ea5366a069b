"""A Python shell for scripts: IPython's, over a namespace the caller chooses, printing to standard output."""

from __future__ import annotations

from typing import Any

__all__ = ["embedded_shell"]


def embedded_shell(namespace: dict[str, Any]) -> Any:
    """Return an IPython shell whose variables are ``namespace`` itself, not a copy.

    It keeps no history and installs nothing outside itself.
    """
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    shell: Any = InteractiveShell(config=config, user_ns=namespace)  # type: ignore[no-untyped-call]  # as published
    shell.enable_gui = lambda *_: None  # a script has no event loop of a toolkit to join
    return shell

"""What an executor outside the kernel asks of it: evidence before and after code, and looks at variables.

Each function returns an :class:`Answer`. It is evaluated as a user expression of a silent request, so that
nothing is printed, counted or left in the user's namespace; the answer's own mime type carries JSON past
whatever formatters the user has set.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from zidane_lab.kernel.inside import listing
from zidane_lab.kernel.inside.meanings import meanings
from zidane_lab.kernel.inside.meter import Meter
from zidane_lab.kernel.inside.namespace import compare, snapshot

__all__ = ["MIME", "Answer", "after", "before", "inspect", "names", "variables"]

MIME = "application/vnd.zidane.answer+json"
"""Type under which an answer travels."""

_pending: dict[str, tuple[Any, Meter]] = {}


class Answer:
    """JSON on its way out."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {MIME: self._value}

    def __repr__(self) -> str:
        return "<an answer for zidane_lab>"


def before(token: str) -> Answer:
    """Note the state of the namespace; the executor ``token`` runs its code next."""
    _guard_next_cell()
    meter = Meter()
    _pending[token] = (snapshot(_namespace(), _hidden()), meter)
    meter.start()
    return Answer({})


def after(token: str, code: str) -> Answer:
    """Say what ``code`` did since :func:`before`."""
    state, meter = _pending.pop(token)
    reading = meter.stop()
    changes = compare(state, _namespace(), code)
    return Answer(
        {
            "created": list(changes.created),
            "changed": list(changes.changed),
            "deleted": list(changes.deleted),
            "cpu_seconds": reading.cpu_seconds,
            "peak_memory": reading.peak_memory,
        }
    )


def variables(pattern: str | None, limit: int) -> Answer:
    """List the user's variables; see :func:`~zidane_lab.kernel.inside.listing.list_variables`."""
    return Answer(dict(listing.list_variables(_namespace(), pattern=pattern, limit=limit, hidden=_hidden())))


def names() -> Answer:
    """Say what the names of the namespace stand for; see :mod:`~zidane_lab.kernel.inside.meanings`."""
    return Answer({"meanings": meanings(_namespace())})


def inspect(name: str, budget: int) -> Answer:
    """Describe one variable: ``{"text": …}``, or ``{"missing": why}`` where there is none of that name."""
    try:
        return Answer({"text": listing.inspect(_namespace(), name, budget)})
    except LookupError as error:
        return Answer({"missing": str(error.args[0])})


def _shell() -> Any:
    module = sys.modules.get("IPython.core.getipython")
    return module.get_ipython() if module is not None else None


def _namespace() -> dict[str, Any]:
    shell = _shell()
    names: dict[str, Any] = shell.user_ns if shell is not None else sys.modules["__main__"].__dict__
    return names


def _hidden() -> frozenset[str]:
    """Return the names IPython itself put into the namespace."""
    return frozenset(getattr(_shell(), "user_ns_hidden", ()))


# --- interrupts -----------------------------------------------------------------------------------


def _guard_next_cell() -> None:
    """Make an interrupt reach the next cell also where it is asynchronous.

    While such a cell runs, the kernel's own handler only asks for the cell's task to be cancelled: blocking
    code in it runs on to its end, and a cell that waits is cancelled when the loop next happens to wake. The
    kernel sets that handler just before the cell and takes it back after, so ours, put over it when the cell
    starts, goes with it.
    """
    shell = _shell()
    if shell is None or threading.current_thread() is not threading.main_thread():
        return

    def start(*_: object) -> None:
        shell.events.unregister("pre_run_cell", start)
        kernels = signal.getsignal(signal.SIGINT)
        if callable(kernels) and kernels is not signal.default_int_handler:
            signal.signal(signal.SIGINT, _handler(kernels, shell.user_ns))

    for each in list(shell.events.callbacks["pre_run_cell"]):
        if getattr(each, "__module__", None) == __name__:
            shell.events.unregister("pre_run_cell", each)  # of a request whose code never came
    shell.events.register("pre_run_cell", start)


def _handler(kernels: Callable[..., Any], namespace: dict[str, Any]) -> Callable[[int, Any], None]:
    loop = asyncio.get_running_loop()
    cell = asyncio.current_task(loop)

    def handle(signum: int, frame: Any) -> None:
        seen = frame
        while seen is not None and seen.f_globals is not namespace:
            seen = seen.f_back
        if seen is None:
            kernels(signum, frame)
            loop.call_soon_threadsafe(lambda: None)  # wakes the loop, or the cancellation would wait for it
        elif asyncio.current_task(loop) is cell:
            raise KeyboardInterrupt
        else:
            # A KeyboardInterrupt in a task of its own would end the kernel's loop.
            kernels(signum, frame)
            raise asyncio.CancelledError

    return handle

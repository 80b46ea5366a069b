"""Runs and keeps one detached task. A script of its own, started by :mod:`zidane_lab.contexts.detached`.

It reads its order from standard input, forks so that it is nobody's child, starts the command, says on standard output
that it runs (or why not), lets go of its streams, and stays until the command has ended. Killed itself, it takes the
command along: its own watchman sees to that.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # run by its path: the package is where this file is, behind everything else
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    sys.path[:] = [path for path in sys.path if path != str(Path(__file__).resolve().parent)]

__all__ = ["keep"]


async def keep(order: dict[str, Any]) -> None:
    """Start the command of an order, say that it runs, and see it to its end."""
    from zidane_lab.contexts.base import Command, Completed
    from zidane_lab.contexts.bounded_log import BoundedLog, in_session_folder
    from zidane_lab.contexts.process import LocalProcess
    from zidane_lab.contexts.task import Task
    from zidane_lab.contexts.task_records import TaskRecord, this_process, write_record

    screen = None
    if order["is_masked"]:
        from zidane_lab.secrets.screen import Screen
        from zidane_lab.secrets.vault import Vault

        screen = Screen(Vault(environ=os.environ, values=order["values"]))
    folder, name = Path(order["folder"]), order["id"]
    log = BoundedLog(in_session_folder(folder, f"{name}.log"), limit=order["log_bytes"])
    task = Task(
        name,
        "shell",
        order["label"],
        order["shown"],
        order["cwd"],
        log=log,
        path=folder / "tasks" / f"{name}.log",
        on_line=lambda _task, _watch: None,
        screen=screen,
    )
    record = TaskRecord(name, "shell", order["label"], order["shown"], order["cwd"], this_process(), is_detached=True)
    write_record(folder, record)
    place = LocalProcess(order["cwd"])
    try:
        running = await place.start(Command(order["text"], timeout=order["timeout"]), task.on_output)
    except BaseException:
        (folder / "tasks" / f"{name}.json").unlink()
        raise
    stopping: list[asyncio.Task[Completed]] = []

    def stop() -> None:
        if task.status == "running":
            task.status, task.reason = "cancelled", "cancelled"
            stopping.append(asyncio.ensure_future(running.stop()))

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    _say({"started": os.getpid()})
    completed, trouble = None, ""
    try:
        completed = await running.wait()
    except OSError as error:
        trouble = f"{type(error).__name__}: {error}"
    task.end(completed, trouble)
    with contextlib.suppress(OSError):  # the session may be gone: then nobody asks
        write_record(folder, replace(record.ended(task.info), seconds=task.info.seconds))
    await place.aclose()


def _say(answer: dict[str, Any]) -> None:
    """Answer whoever has started us, once, and let go of our streams."""
    with contextlib.suppress(OSError):
        os.write(1, f"{json.dumps(answer)}\n".encode())
    empty = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(empty, stream)
    os.close(empty)


def _main() -> None:
    order = json.loads(sys.stdin.buffer.read())
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        asyncio.run(keep(order))
    except OSError as error:
        _say({"errno": error.errno or 0, "problem": error.strerror or str(error), "file": error.filename})
    except Exception as error:  # noqa: BLE001 - whoever has started us tells it
        _say({"problem": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    _main()

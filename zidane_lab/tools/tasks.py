"""The tools for background tasks: wait, list, cancel, and read what a task prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from zidane_lab.contexts.task import TaskInfo
from zidane_lab.contexts.task_notices import TAIL_BYTES, tail_text
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.decorator import tool
from zidane_lab.tools.shell_output import SettledLines, visible
from zidane_lab.turns import TextBlock

__all__ = [
    "DEFAULT_SECONDS",
    "cancel_task_tool",
    "list_tasks_tool",
    "read_task_output_tool",
    "task_tools",
    "wait_task_tool",
]

DEFAULT_SECONDS: Final = 30.0
LONGEST_SECONDS: Final = 600.0
PAGE_BYTES: Final = 40_000
"""Most bytes of output in one answer; what is shown stays below what a tool's text may hold."""

TASKS: Final = "tasks"
"""Key of the metadata: how the tasks of an answer stand."""


def task_tools(registry: TaskRegistry) -> tuple[Tool, ...]:
    """Return the four tools for a registry."""
    return (
        wait_task_tool(registry),
        list_tasks_tool(registry),
        cancel_task_tool(registry),
        read_task_output_tool(registry),
    )


def wait_task_tool(registry: TaskRegistry) -> Tool:
    """Return the ``wait_task`` tool."""

    async def wait_task(
        context: ToolContext,
        *,
        ids: Annotated[list[str] | None, "Tasks to wait for; left out, all that run."] = None,
        seconds: Annotated[float, f"Longest wait, at most {LONGEST_SECONDS:.0f}."] = DEFAULT_SECONDS,
    ) -> ToolOutput:
        """Wait until one of some background tasks ends, at most some seconds; tells how all of them stand then.

        Only needed when nothing else can be done meanwhile: the end of a task is told anyway. That none has ended in
        time is no error: look at its output, wait again, or go on with something else.
        """
        running = [info.id for info in registry.tasks() if info.status == "running"]
        waited = [task_id for task_id in (ids if ids is not None else running) if task_id in running]
        if waited and seconds >= 1:
            context.progress("wait", f"waiting for {', '.join(waited)}")
        found = await registry.wait(ids, max(0.0, min(seconds, LONGEST_SECONDS)))
        if not found:
            return _answer("No background tasks run.", ())
        return _answer("\n\n".join(_described(registry, info) for info in found), found)

    return tool(tier="read", concurrency="shared")(wait_task)


def list_tasks_tool(registry: TaskRegistry) -> Tool:
    """Return the ``list_tasks`` tool."""

    async def list_tasks() -> ToolOutput:
        """List the background tasks of this session: what they are and how they stand."""
        found = registry.tasks()
        registry.acknowledge(info.id for info in found)
        if not found:
            return ToolOutput((TextBlock("There are no background tasks."),), metadata={"useless": True})
        return _answer("\n".join(_line(info) for info in found), found)

    return tool(tier="read", concurrency="shared")(list_tasks)


def cancel_task_tool(registry: TaskRegistry) -> Tool:
    """Return the ``cancel_task`` tool."""

    async def cancel_task(task: Annotated[str, "The task, as task-1."]) -> ToolOutput:
        """End a background task, or a monitor, with everything it started."""
        before = registry.get(task)
        info = await registry.cancel(task, reason="cancelled by you")
        first = "" if before.status == "running" else "It had ended already. "
        return _answer(first + _described(registry, info), (info,))

    # It can end only what the agent has started itself, with leave.
    return tool(tier="read")(cancel_task)


def read_task_output_tool(registry: TaskRegistry) -> Tool:
    """Return the ``read_task_output`` tool."""

    async def read_task_output(
        task: Annotated[str, "The task, as task-1."],
        after: Annotated[
            int | None, "Show what came after this byte of the output; left out, the newest lines."
        ] = None,
        lines: Annotated[int, "Most lines to show."] = 200,
    ) -> ToolOutput:
        """Show what a background task has printed: its newest lines, or what came after an earlier look.

        Each answer says where the next look goes on.
        """
        piece, total, info = registry.read(task, after, PAGE_BYTES)
        data, start = _whole_lines(piece.data, piece.start, max(1, lines), newest=after is None)
        end = start + len(data)
        if info is not None and info.status != "running":
            registry.acknowledge([task])
        text = visible(SettledLines().feed(data, final=True)).rstrip("\n")
        how = info.summary if info is not None else "belongs to an earlier kernel"
        notes = [f"[{task} {how}]"]
        if after is not None and start > after:
            notes.insert(0, f"[bytes {after:,}–{start:,} are not kept]")
        where = f"bytes {start:,}–{end:,} of {total:,}" if data else f"nothing after byte {start:,}"
        notes.append(
            f"[{where}; go on with after={end}]" if end < total or _runs(info) else f"[{where}; this is the end]"
        )
        return _answer("\n".join([text, *notes] if text else notes), (info,) if info is not None else ())

    return tool(tier="read", concurrency="shared")(read_task_output)


def _runs(info: TaskInfo | None) -> bool:
    return info is not None and info.status == "running"


def _whole_lines(data: bytes, start: int, lines: int, *, newest: bool) -> tuple[bytes, int]:
    """Return some lines of a piece and where they start: its first, or its newest."""
    parts = data.splitlines(keepends=True)
    if len(parts) <= lines:
        return data, start
    if newest:
        kept = b"".join(parts[-lines:])
        return kept, start + len(data) - len(kept)
    return b"".join(parts[:lines]), start


def _line(info: TaskInfo) -> str:
    label = " ".join(info.label.split())[:120]
    return f"{info.id} ({info.kind}): {label}: {info.summary}"


def _described(registry: TaskRegistry, info: TaskInfo) -> str:
    """Return a task's line and the end of its output."""
    piece, _, _ = registry.read(info.id, None, TAIL_BYTES)
    tail = tail_text(piece.data)
    log = f"\n[whole output: {info.log}]" if info.log is not None else ""
    return f"{_line(info)}\n{tail or '(no output)'}{log}"


def _answer(text: str, infos: Sequence[TaskInfo]) -> ToolOutput:
    stand: list[dict[str, Any]] = [
        {"id": info.id, "status": info.status, "exit_code": info.exit_code, "seconds": round(info.seconds, 3)}
        for info in infos
    ]
    return ToolOutput((TextBlock(text),), metadata={TASKS: stand})

"""The ``monitor`` tool: be told when a command prints a line, instead of looking again and again."""

from __future__ import annotations

from typing import Annotated, Literal

from zidane_lab.contexts.task import Watch
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import ToolInputError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.decorator import tool
from zidane_lab.tools.places import place_of
from zidane_lab.tools.shell import ShellOptions, prepare
from zidane_lab.tools.shell_running import SHELL, start_error
from zidane_lab.turns import TextBlock

__all__ = ["monitor_tool"]


def monitor_tool(registry: TaskRegistry, options: ShellOptions | None = None) -> Tool:
    """Return the tool; its commands are checked as the shell's are."""
    chosen = options or ShellOptions()

    async def monitor(
        context: ToolContext,
        description: Annotated[str, "What is waited for, in a few words."],
        *,
        command: Annotated[str | None, "A command line that prints a line when something happens."] = None,
        task: Annotated[str | None, "Instead: a background task whose output is watched, as task-1."] = None,
        contains: Annotated[str, "Only lines with this text; small letters match capitals too."] = "",
        kind: Annotated[Literal["log", "poll", "watch", "other"], "What sort of watching it is."] = "other",
        persistent: Annotated[bool, "Go on after the first line."] = False,
        timeout: Annotated[float | None, "End the command after this many seconds."] = None,
    ) -> ToolOutput:
        """Watch the standard output of a command, or of a running task: each line is told to you between two turns.

        A command for it prints a line per event and waits between them: `tail -F app.log | grep -i --line-buffered
        error`, or `until curl -sf localhost:8000/health; do sleep 5; done; echo up`. Not persistent, it ends with the
        first line. cancel_task ends it before.
        """
        if (command is None) == (task is None):
            raise ToolInputError("monitor takes either `command` or `task`.")
        watch = Watch(description, contains=contains, persistent=persistent, ends_task=command is not None)
        if command is None:
            info = registry.watch(task or "", watch)
        else:
            place = place_of(context)
            prepared = prepare(chosen, place, command, timeout=timeout)
            try:
                info = await registry.start(place, prepared.command, kind="monitor", label=description, watch=watch)
            except OSError as error:
                raise start_error(prepared.command, error) from error
        until = "goes on until it is cancelled or the kernel ends" if persistent else "ends with the first line"
        text = f"[watching {info.id} for {kind} lines: it {until}; go on with other work, you will be told]"
        evidence = {"task": info.id, "command": info.command, "kind": kind, "persistent": persistent}
        return ToolOutput((TextBlock(text),), metadata={SHELL: evidence})

    return tool(tier="execute")(monitor)

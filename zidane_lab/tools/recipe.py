"""The ``recipe`` tool: run a task that the project defines for itself.

It runs the command line of :func:`~zidane_lab.tools.recipes.command_of`; who judges the call, judges that.
"""

from __future__ import annotations

from typing import Annotated

from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.decorator import tool
from zidane_lab.tools.places import place_of
from zidane_lab.tools.recipes import choose, command_of, find_runners, listing
from zidane_lab.tools.shell import ShellOptions, prepare, run_prepared
from zidane_lab.turns import TextBlock

__all__ = ["recipe_tool"]


def recipe_tool(options: ShellOptions | None = None, *, tasks: TaskRegistry | None = None) -> Tool:
    """Return the tool; what it runs is run as the shell's commands are."""
    chosen = options or ShellOptions()

    async def recipe(
        context: ToolContext,
        op: Annotated[str, "The task and its arguments, as `test -x` or `make:test`; empty lists the tasks."] = "",
        *,
        intent: Annotated[str, "What this step is for, in a few words the person reads while it runs."] = "",
    ) -> ToolOutput:
        """Run one of the project's own tasks: of make, just, task, cargo, package.json or pyproject.toml.

        Where several have a task of the same name, say which: `make:test`, `just:test`, `task:test`, `pkg:test`,
        `py:test`, `cargo:test`. What follows the name is appended to the command as it is.
        """
        place = place_of(context)
        runners = await find_runners(place)
        if not runners:
            return ToolOutput((TextBlock("The project defines no tasks here."),), metadata={"useless": True})
        if not op.strip():
            return ToolOutput((TextBlock(listing(runners)),))
        found, arguments = choose(op, runners)
        prepared = prepare(chosen, place, command_of(found, arguments), cwd=found.cwd)
        return await run_prepared(context, place, prepared, chosen, tasks=tasks, label=intent or f"recipe {op.strip()}")

    return tool(tier="execute")(recipe)

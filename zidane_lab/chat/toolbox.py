"""The tools of a chat, put together from what they work on: the place of its files, its background tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from zidane_lab.approvals.secrets import looks_secret
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.tools.base import Tool

__all__ = ["Toolbox", "build_tools", "plan_tools", "read_tools"]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What the tools of one chat work on.

    Parameters
    ----------
    tasks
        Its background tasks; without them commands run in the foreground only.
    notebook
        Returns the notebook it belongs to, which commands must not write.
    rewind
        Whether the model may set checkpoints and go back to them.
    """

    tasks: TaskRegistry | None = None
    notebook: Callable[[], Path | None] = field(default=lambda: None)
    rewind: bool = False


def read_tools() -> tuple[Tool, ...]:
    """Return the tools that only look: variables, files, what earlier results held."""
    from zidane_lab.tools.fetch_url import url_reader
    from zidane_lab.tools.glob import glob_tool
    from zidane_lab.tools.grep import grep_tool
    from zidane_lab.tools.list_files import list_files_tool
    from zidane_lab.tools.read_file import read_file_tool
    from zidane_lab.tools.read_output import read_output_tool
    from zidane_lab.tools.variables import inspect_variable_tool, list_variables_tool

    return (
        list_variables_tool(),
        inspect_variable_tool(),
        list_files_tool(),
        glob_tool(),
        grep_tool(private=looks_secret),
        *structural_search(),
        read_file_tool(private=looks_secret, read_url=url_reader()),
        read_output_tool(),
    )


def structural_search() -> tuple[Tool, ...]:
    """Return the tool that searches code by its syntax, where the library for it is installed."""
    from zidane_lab.tools.ast_grep import ast_grep_tool
    from zidane_lab.tools.structure.engine import is_available

    return (ast_grep_tool(private=looks_secret),) if is_available() else ()


def structural_edit() -> tuple[Tool, ...]:
    """Return the tool that rewrites code by its syntax, where the library for it is installed."""
    from zidane_lab.tools.ast_edit import ast_edit_tool
    from zidane_lab.tools.structure.engine import is_available

    return (ast_edit_tool(private=looks_secret),) if is_available() else ()


def write_tools() -> tuple[Tool, ...]:
    """Return the tools that change files."""
    from zidane_lab.tools.apply_patch import apply_patch_tool
    from zidane_lab.tools.edit import edit_tool
    from zidane_lab.tools.edit_lines import edit_lines_tool
    from zidane_lab.tools.multi_edit import multi_edit_tool
    from zidane_lab.tools.resolve import resolve_tool
    from zidane_lab.tools.undo_edit import undo_edit_tool
    from zidane_lab.tools.write_file import write_file_tool

    return (
        write_file_tool(),
        edit_tool(),
        multi_edit_tool(),
        edit_lines_tool(),
        apply_patch_tool(),
        *structural_edit(),
        resolve_tool(),
        undo_edit_tool(),
    )


def command_tools(box: Toolbox, names: Callable[[], frozenset[str]]) -> tuple[Tool, ...]:
    """Return the tools that run commands, in the foreground and as tasks."""
    from zidane_lab.tools.monitor import monitor_tool
    from zidane_lab.tools.recipe import recipe_tool
    from zidane_lab.tools.shell import ShellOptions, shell_tool
    from zidane_lab.tools.tasks import task_tools

    def notebook() -> str | None:
        path = box.notebook()
        return None if path is None else str(path)

    options = ShellOptions(tools=names, notebook=notebook, detach=box.tasks is not None)
    found = (shell_tool(options, tasks=box.tasks), recipe_tool(options, tasks=box.tasks))
    return found if box.tasks is None else (*found, monitor_tool(box.tasks, options), *task_tools(box.tasks))


def web_tools() -> tuple[Tool, ...]:
    """Return the tools that use the network."""
    from zidane_lab.tools.fetch_url import fetch_url_tool
    from zidane_lab.tools.web_search import web_search_tool

    return (fetch_url_tool(), web_search_tool())


def build_tools(box: Toolbox) -> tuple[Tool, ...]:
    """Return the tools of the ``build`` profile: run Python and commands, look at and change files."""
    from zidane_lab.tools.rewind import rewind_tools
    from zidane_lab.tools.run_python import RUN_PYTHON
    from zidane_lab.tools.todo import todo_tools

    tools: list[Tool] = []
    tools += (RUN_PYTHON, *read_tools(), *write_tools())
    tools += web_tools()
    tools += command_tools(box, lambda: frozenset(tool.name for tool in tools))
    return (*tools, *interaction_tools(), *todo_tools(), *(rewind_tools() if box.rewind else ()))


def plan_tools(_box: Toolbox) -> tuple[Tool, ...]:
    """Return the tools of the ``plan`` profile: those that only look."""
    from zidane_lab.tools.todo import todo_tools

    return (*read_tools(), *interaction_tools(), *todo_tools())


def interaction_tools() -> tuple[Tool, ...]:
    """Return the tools that ask the person."""
    from zidane_lab.tools.ask_user import ask_user_tool
    from zidane_lab.tools.present_plan import present_plan_tool

    return (ask_user_tool(), present_plan_tool())

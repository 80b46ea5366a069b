"""The ``shell`` tool: run a command line where the project is, in the foreground or as a background task.

The person sees the output as it comes. The model gets both streams as settled lines, the beginning and the end of
what is too long (all of it is kept with the session), and how the command ended; anything but exit code 0 is an
error. There is no time limit unless one is given: the person is told when a command takes long and can stop it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Literal

from zidane_lab.contexts.base import Command, ExecutionContext
from zidane_lab.contexts.tasks import TaskRegistry
from zidane_lab.errors import ConfigurationError, ToolError, ToolInputError, ToolNotAllowedError
from zidane_lab.tools.allowed_commands import why_not_allowed
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.command_line import NON_INTERACTIVE, check_environment, lift_cd
from zidane_lab.tools.decorator import tool
from zidane_lab.tools.places import place_of
from zidane_lab.tools.shell_running import Foreground, start_error, task_output
from zidane_lab.tools.steering import RULES, SteerRule, forgotten, runs_notebook, steer

__all__ = ["BACKGROUND_AFTER", "Prepared", "ShellOptions", "prepare", "run_prepared", "shell_tool", "start_task"]

DESCRIPTION: Final = """\
Run a command line in the project's shell (bash where there is one): builds, tests, git, package managers, programs. \
Each call starts afresh in the working folder; nothing set in one call is there in the next, so join steps with &&. \
Standard input is empty, pagers and editors are off: give every answer as an option. You get stdout and stderr as one \
text and the exit code; what is too long is cut in the middle and kept whole with the session, so no `| head` or \
`| tail` is needed. There is no time limit unless you set one. Do not read, search or change files with it where a \
file tool can, and use run_python for Python that concerns the user's variables."""

BACKGROUND: Final = """ \
A server, a long build or training goes into the background with background=true: you go on at once and are told when \
it ends."""

DETACH: Final = """ \
With detach=true as well it goes on even when the kernel ends; the user is asked about that each time."""

BACKGROUND_AFTER: Final = 60.0
"""Seconds in the foreground where commands go to the background by themselves."""


@dataclass(frozen=True, slots=True)
class ShellOptions:
    """How the shell tool behaves.

    Parameters
    ----------
    steer
        What happens to a command that another tool does better: nothing, a note with its result, or a refusal.
    tools
        Names of the tools there are, or a function that returns them; nothing is steered to a tool that is not there.
    rules
        Which commands those are.
    notebook
        Returns the file of the open notebook; commands that execute it behind the editor's back are refused.
    prefixes
        The commands that may run, by their first words (see :mod:`zidane_lab.tools.allowed_commands`); ``None`` for
        all. With it no variables can be given.
    env
        More variables for every command.
    ci
        Whether ``CI=true`` is set.
    timeout
        Seconds a command may take when the call says nothing; ``None`` for no limit.
    background_after
        Seconds after which a command in the foreground goes on as a task (a second before its time limit at the
        latest); ``None`` for never. :data:`BACKGROUND_AFTER` is what suits most.
    nudge_after
        Seconds after which the person is told that a command still runs.
    shorten
        Whether noise of well-known programs is left out of what the model gets, where the whole can be kept
        (:mod:`zidane_lab.tools.minimise`).
    detach
        Whether tasks are offered that outlive the kernel (:mod:`zidane_lab.contexts.detached`).
    """

    steer: Literal["off", "note", "refuse"] = "note"
    tools: Collection[str] | Callable[[], Collection[str]] = ()
    rules: tuple[SteerRule, ...] = RULES
    notebook: Callable[[], str | None] = lambda: None
    prefixes: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    ci: bool = False
    timeout: float | None = None
    background_after: float | None = None
    nudge_after: float = 60.0
    shorten: bool = True
    detach: bool = False

    def __post_init__(self) -> None:
        for name in ("timeout", "background_after", "nudge_after"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"The shell's {name} is {value}.", hint="Give a number of seconds above 0.")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A command ready to run, and what to say about it."""

    command: Command
    notes: tuple[str, ...] = ()


def prepare(
    options: ShellOptions,
    place: ExecutionContext,
    text: str,
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Prepared:
    """Check a command against the options and complete it: folder, variables, time limit.

    Raises
    ------
    ToolError
        It cannot be run as it is, or another tool should do it.
    """
    if not text.strip() or "\0" in text:
        raise ToolError("There is no command that can be run in this text.", hint="Give a command line without NUL.")
    if timeout is not None and not timeout > 0:
        raise ToolError(f"{timeout} is no time limit.", hint="Give a number of seconds above 0, or leave it out.")
    env = env or {}
    check_environment(env)
    folder, rest = (None, text) if cwd is not None else lift_cd(text)
    if options.prefixes is not None:
        reason = why_not_allowed(rest, options.prefixes) or ("variables are given" if env else None)
        if reason is not None:
            raise ToolNotAllowedError(
                f"This session's shell runs only some commands, and not this one: {reason}.",
                hint=f"It runs {', '.join(options.prefixes)}, joined by |, &&, || and ;.",
            )
    folder = folder if cwd is None else cwd
    return Prepared(
        Command(
            rest,
            cwd=place.resolve(folder) if folder is not None else None,
            env={**NON_INTERACTIVE, **({"CI": "true"} if options.ci else {}), **options.env, **env},
            timeout=timeout if timeout is not None else options.timeout,
        ),
        (*_steered(options, rest), *forgotten(rest)),
    )


def _steered(options: ShellOptions, text: str) -> tuple[str, ...]:
    """Return the note that goes with a command another tool does better.

    Raises
    ------
    ToolNotAllowedError
        It is refused.
    """
    if options.steer == "off":
        return ()
    available = options.tools() if callable(options.tools) else options.tools
    notebook = options.notebook()
    if notebook is not None and "run_python" in available and runs_notebook(text, notebook):
        raise ToolNotAllowedError(
            "This would execute the open notebook in another kernel and may write over it behind its editor.",
            hint="Run the code in the user's kernel with run_python.",
        )
    rule = steer(text, available, options.rules)
    if rule is None:
        return ()
    if options.steer == "refuse":
        raise ToolNotAllowedError(f"Not with the shell: {rule.advice}", hint=f"Call {rule.tool} instead.")
    return (f"next time use {rule.tool} for this: {rule.advice}",)


def shell_tool(options: ShellOptions | None = None, *, tasks: TaskRegistry | None = None) -> Tool:
    """Return the tool.

    Parameters
    ----------
    tasks
        Keeps background tasks; without it there are none.
    """
    chosen = options or ShellOptions()

    async def shell(
        context: ToolContext,
        command: Annotated[str, "The command line."],
        *,
        intent: Annotated[str, "What this step is for, in a few words the person reads while it runs."] = "",
        cwd: Annotated[str | None, "Folder to run in; the working folder if left out."] = None,
        env: Annotated[dict[str, str] | None, "Variables to set for this command."] = None,
        timeout: Annotated[float | None, "End it after this many seconds; leave out for no limit."] = None,
        background: Annotated[bool, "Start it as a background task and go on at once."] = False,
        detach: Annotated[bool, "Let the background task outlive the kernel."] = False,
    ) -> ToolOutput:
        place = place_of(context)
        prepared = prepare(chosen, place, command, cwd=cwd, env=env, timeout=timeout)
        if detach and not (background and chosen.detach):
            raise ToolInputError("detach is only for tasks: it needs background=true, and to be on offer here.")
        if background:
            return await start_task(place, prepared, tasks, label=intent, detach=detach)
        return await run_prepared(context, place, prepared, chosen, tasks=tasks, label=intent)

    if tasks is None:
        return _without(tool(name="shell", description=DESCRIPTION, tier="execute")(shell), "background", "detach")
    description = DESCRIPTION + BACKGROUND + (DETACH if chosen.detach else "")
    made = tool(name="shell", description=description, tier="execute")(shell)
    return made if chosen.detach else _without(made, "detach")


async def run_prepared(
    context: ToolContext,
    place: ExecutionContext,
    prepared: Prepared,
    options: ShellOptions,
    *,
    tasks: TaskRegistry | None = None,
    label: str = "",
) -> ToolOutput:
    """Run a command in the foreground (see :meth:`~zidane_lab.tools.shell_running.Foreground.run`)."""
    return await Foreground(
        place,
        prepared.command,
        label=label,
        tasks=tasks,
        background_after=options.background_after,
        nudge_after=options.nudge_after,
        shorten=options.shorten,
        notes=list(prepared.notes),
    ).run(context)


async def start_task(
    place: ExecutionContext,
    prepared: Prepared,
    tasks: TaskRegistry | None,
    *,
    label: str = "",
    detach: bool = False,
) -> ToolOutput:
    """Start a command as a background task.

    Raises
    ------
    ToolError
        There are no background tasks here, too many run already, or it could not be started.
    """
    if tasks is None:
        raise ToolError("There are no background tasks here.", hint="Run it in the foreground.")
    try:
        start = tasks.start_detached if detach else tasks.start
        info = await start(place, prepared.command, label=label)
    except OSError as error:
        raise start_error(prepared.command, error) from error
    notes = [f"[{note}]" for note in prepared.notes]
    how = ", detached: it goes on when the kernel ends, until it is cancelled or done" if detach else ""
    return task_output(info.id, tasks, "\n".join([f"[started in the background as {info.id}{how}]", *notes]))


def _without(made: Tool, *names: str) -> Tool:
    """Return a tool that does not offer some of its arguments."""
    properties = {key: value for key, value in made.parameters["properties"].items() if key not in names}
    return replace(made, parameters={**made.parameters, "properties": properties})

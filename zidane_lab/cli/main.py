"""``jupyter zidane``: the agent from a command line.

``jupyter zidane run "prompt"`` answers one prompt and ends with a code for scripts; ``jupyter zidane doctor``
checks the installation, ``jupyter zidane usage`` says what was spent. The exit codes are
:data:`zidane_lab.cli.run.EXIT_CODES`; ``--help`` lists them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zidane_lab import __version__
from zidane_lab.chat.amounts import LIMIT_NAMES, read_amount
from zidane_lab.chat.chat import AskOptions, Chat
from zidane_lab.chat.commands import CommandContext, run_command
from zidane_lab.chat.place import find_place
from zidane_lab.cli.output import Pipe
from zidane_lab.cli.run import EXIT_CODES, RunRequest, run
from zidane_lab.cli.usage import add_arguments, usage
from zidane_lab.errors import ZidaneError
from zidane_lab.events import BudgetKind
from zidane_lab.kernel.launch import NATIVE, PRIVATE_VARIABLES

__all__ = ["main", "parser"]

_EVENTS = """\
standard output:
  The final report, as Markdown; nothing else. With --json one JSON object a line instead: every event of the
  run, each with the ids that tie it to its run, turn and call. The first line is agent:start; the last two are
  agent:done and {"event": "result"} with status, exit_code, text, usage, refused, session, output, error and
  error_code. A run that could not begin has the result line only. Progress goes to standard error.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    root = argparse.ArgumentParser(prog="jupyter zidane", description="An agent for Jupyter, from the command line.")
    root.add_argument("--version", action="version", version=f"zidane_lab {__version__}")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _run_parser(commands.add_parser("run", **_formatted("answer one prompt and end")))
    commands.add_parser("doctor", help="check the installation, the keys and the folders")
    add_arguments(commands.add_parser("usage", help="tokens and money of the notebooks in a folder, day by day"))
    return root


def _formatted(summary: str) -> dict[str, Any]:
    codes = "\n".join(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())
    kernel = (
        f"kernel:\n  It does not inherit {' or '.join(PRIVATE_VARIABLES)}, nor MPLBACKEND. Nobody can answer\n"
        "  questions unless standard input and standard error are a terminal: what needs leave is refused then.\n"
    )
    return {
        "help": summary,
        "description": f"{summary[0].upper()}{summary[1:]}.",
        "epilog": f"{_EVENTS}\n{kernel}\nexit codes:\n{codes}",
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def _run_parser(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("prompt", nargs="?", help="what to do; `-` or nothing reads it from standard input")
    add("--data", metavar="FILE", action="append", default=[], help="load a file first, by its extension (repeatable)")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--kernel", metavar="NAME", default=NATIVE, help="kernel to start (default: this Python's own)")
    where.add_argument("--existing", metavar="FILE", help="join the kernel of this connection file; it is left running")
    add("--output", metavar="OUT.ipynb", help="write the run as an executed notebook; an older one is replaced")
    add("--keep-failed", action="store_true", help="keep failed attempts in the notebook, tagged raises-exception")
    add("--json", dest="as_json", action="store_true", help="write events as JSON lines instead of the report")
    add("--model", metavar="NAME", help="who answers: provider/model, or a provider for its default model")
    add("--profile", metavar="NAME", help="`build` works, `plan` only looks")
    add("--max-cost", metavar="DOLLARS", type=_amount("cost"), help="stop when the run has cost this much")
    add("--max-turns", metavar="N", type=_amount("turns"), help="stop after this many answers of the model")
    add("--max-tokens", metavar="TOKENS", type=_amount("tokens"), help="stop when so many went in and out of all calls")
    add("--max-time", metavar="TIME", type=_amount("time"), help="stop after so much work, such as 90s, 10m or 1h30m")
    add("--cwd", metavar="DIR", help="folder to work in (default: that of --output, else the current one)")
    add("--strict", action="store_true", help="end with code 4 when a call was refused")
    add("--quiet", action="store_true", help="no progress on standard error")


def _amount(kind: BudgetKind) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            return read_amount(kind, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} does not fit: {error}") from error

    return read


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code; the entry point of ``jupyter-zidane``."""
    root = parser()
    options = root.parse_args(arguments)
    try:
        if options.command == "doctor":
            return _doctor()
        if options.command == "usage":
            return _usage(options, root)
        return run(_request(options, root))
    except KeyboardInterrupt:  # before there was a run to stop
        return 130


def _request(options: argparse.Namespace, root: argparse.ArgumentParser) -> RunRequest:
    """Check what can be checked without starting anything; complain with code 2."""
    output = _path(options.output) if options.output else None
    if output is not None and (output.suffix != ".ipynb" or not output.parent.is_dir() or output.is_dir()):
        root.error(f"--output {options.output}: name an .ipynb file in an existing folder")
    cwd = _path(options.cwd) if options.cwd else output.parent if output is not None else Path.cwd()
    if not cwd.is_dir():
        root.error(f"--cwd {options.cwd}: there is no such folder")
    return RunRequest(
        prompt=_prompt(options.prompt, root),
        options=AskOptions(options.model, options.profile, **_budgets(options)),
        cwd=cwd,
        data=tuple(_path(file) for file in options.data),
        kernel=options.kernel,
        existing=_existing(options.existing),
        output=output,
        as_json=options.as_json,
        quiet=options.quiet,
        keep_failed=options.keep_failed,
        strict=options.strict,
    )


def _budgets(options: argparse.Namespace) -> dict[str, Any]:
    """Return the limits of the run that are given, by their names in the options of a prompt."""
    given = {
        "cost": options.max_cost,
        "turns": options.max_turns,
        "tokens": options.max_tokens,
        "time": options.max_time,
    }
    return {LIMIT_NAMES[kind]: given[kind] for kind in LIMIT_NAMES if given[kind] is not None}


def _path(text: str) -> Path:
    return Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 - `..` away, links kept


def _existing(file: str | None) -> str | None:
    """Make a path absolute; a mere name is looked up among the running kernels."""
    return str(_path(file)) if file is not None and _path(file).exists() else file


def _prompt(prompt: str | None, root: argparse.ArgumentParser) -> str:
    if prompt is None and (sys.stdin is None or sys.stdin.isatty()):
        root.error("there is no prompt: give it as an argument or on standard input")
    if prompt is None or prompt == "-":
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not prompt.strip():
        root.error("the prompt is empty")
    return prompt.strip()


def _doctor() -> int:
    """Print what ``/doctor`` says, with what only the command line knows."""
    from jupyter_client.kernelspec import KernelSpecManager

    def facts() -> Mapping[str, str]:
        kernels = ", ".join(sorted(KernelSpecManager().find_kernel_specs()))
        return {"host": f"command line ({sys.executable})", "kernels": kernels or "none; install ipykernel"}

    async def check() -> str:
        chat = Chat(find_place())
        try:
            return (await run_command("/doctor", CommandContext(chat, facts))).text
        finally:
            await chat.close()

    try:
        Pipe(sys.stdout).text(asyncio.run(check()))
    except ZidaneError as error:
        Pipe(sys.stderr).text(str(error))
        return 2
    return 0


def _usage(options: argparse.Namespace, root: argparse.ArgumentParser) -> int:
    folder = _path(options.folder)
    if not folder.is_dir():
        root.error(f"--folder {options.folder}: there is no such folder")
    return usage(folder, options.days, Pipe(sys.stdout), as_json=options.as_json)


if __name__ == "__main__":
    raise SystemExit(main())

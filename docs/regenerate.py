"""Write the parts of the documentation that are taken from the code.

    python docs/regenerate.py

Such a part stands between ``<!-- exact: NAME -->`` and ``<!-- /exact -->`` and is replaced whole; everything
around it is left alone. ``tests/docs`` fails when a page and the code disagree.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parent

PART: Final = re.compile(r"(<!-- exact: (?P<name>[^>]+?) -->\n).*?(?=<!-- /exact -->)", re.DOTALL)


SAMPLES: Final = (
    "means = df.groupby('species').mean(numeric_only=True)",
    "pd.read_csv('more.csv').head()",
    "df.plot.scatter('a', 'b')",
    "import sklearn",
    "df['b'] = 1",
    "df.drop(columns='a', inplace=True)",
    "df = df.dropna()",
    "del df",
    "df.to_csv('copy.csv')",
    "import subprocess",
    "!ls",
    "%pip install polars",
    "import os; os.environ['HOME']",
    "pd.read_csv('https://example.org/x.csv')",
    "pd.read_pickle('model.pkl')",
    "eval(text)",
)
"""Code that ``docs/approvals.md`` shows the gate's answer to."""


def render(page: str) -> str:
    """Return a page's text with every part taken anew from the code.

    Raises
    ------
    KeyError
        A part has a name that nothing here writes.
    """
    return PART.sub(lambda match: match[1] + PARTS[match["name"]]() + "\n", page)


def names_in(page: str) -> list[str]:
    """Return the names of the parts of a page, in order."""
    return [match["name"] for match in PART.finditer(page)]


def fenced(text: str, language: str = "text") -> str:
    """Return text as a fenced block that it cannot end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def listed(*texts: str) -> str:
    """Return texts as one fenced block, one a line."""
    return fenced("\n".join(texts))


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table."""
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def first_paragraph(thing: object) -> str:
    """Return the first paragraph of a docstring, on one line, as Markdown."""
    paragraph = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(paragraph.replace("``", "`").split())


# --- what the model sees --------------------------------------------------------------------------


def system() -> str:
    """Return the system prompt."""
    from zidane_lab.chat.prompt import system_prompt

    return fenced(system_prompt("build"))


def plan() -> str:
    """Return what plan mode adds to it."""
    from zidane_lab.chat.prompt import system_prompt

    return fenced(system_prompt("plan").removeprefix(system_prompt("build")).strip())


def tools() -> str:
    """Return every tool: its name, its description, its schema."""
    from zidane_lab.chat.profiles import default_tools

    parts = []
    for tool in default_tools():
        schema = json.dumps(dict(tool.spec.parameters), indent=2, ensure_ascii=False)
        parts.append(f"### {tool.spec.name}\n\n{fenced(tool.spec.description)}\n\n{fenced(schema, 'json')}")
    return "\n\n".join(parts)


def result() -> str:
    """Return the text of a result that has every section, worded by the tool itself."""
    from zidane_lab.kernel.execution import Execution, Output
    from zidane_lab.tools.base import ToolContext
    from zidane_lab.tools.run_python import describe_execution

    execution = Execution(
        code="",
        status="ok",
        outputs=(
            Output("stdout", text="loaded 344 rows\n"),
            Output("stderr", text="a note on standard error\n"),
            Output("display", data={"text/html": "<b>…</b>", "text/plain": "   a  b\n0  1  2"}),
            Output("display", data={"image/png": _png(640, 480), "text/plain": "<Figure size 640x480>"}),
            Output("value", data={"text/plain": "{'rows': 344, 'columns': 8}"}),
        ),
        warnings=("FutureWarning: the default will change",),
        created=("by_species", "penguins"),
        changed=("totals",),
        wall_seconds=1.2,
        cpu_seconds=1.05,
        peak_memory=64_000_000,
    )
    return fenced(describe_execution(execution, ToolContext()).parts[0].text)


def failure() -> str:
    """Return the text of a result of code that failed."""
    from zidane_lab.kernel.execution import ErrorInfo, Execution, Output
    from zidane_lab.tools.base import ToolContext
    from zidane_lab.tools.run_python import describe_execution

    traceback = "  cell, line 2, in <module>\n    total = 1 / len(empty)\nZeroDivisionError: division by zero"
    execution = Execution(
        code="",
        status="error",
        outputs=(Output("stdout", text="starting\n"),),
        error=ErrorInfo("ZeroDivisionError", "division by zero", traceback),
        created=("empty",),
        wall_seconds=0.03,
    )
    return fenced(describe_execution(execution, ToolContext()).parts[0].text)


def _png(width: int, height: int) -> str:
    """Return the start of a picture of that size, as base64 text: all that is looked at."""
    import base64
    import struct

    return base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)).decode()


def markers() -> str:
    """Return the texts of calls that did not run to their end."""
    from zidane_lab.wire.markers import CANCELLED, CASCADED, INTERRUPTED, SUPERSEDED

    return listed(INTERRUPTED, SUPERSEDED, CANCELLED, CASCADED)


def repairs() -> str:
    """Return the texts that mend a history."""
    from zidane_lab.wire.pairing import MISSING_RESULT, ORPHANED_RESULT, TOOL_USE_INTERRUPTED
    from zidane_lab.wire.tail import CONTINUE, EARLIER_OMITTED

    return listed(TOOL_USE_INTERRUPTED, MISSING_RESULT, ORPHANED_RESULT, EARLIER_OMITTED, CONTINUE)


def attachments() -> str:
    """Return what ``@prices and @notes.txt and @nothing`` attach, found as in a notebook."""
    import tempfile

    from zidane_lab.chat.references import resolve
    from zidane_lab.kernel.embedded import embedded_shell
    from zidane_lab.kernel.live import LiveExecutor

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "notes.txt").write_text("remember the milk\n", encoding="utf-8")
        executor = LiveExecutor(embedded_shell({"prices": {"apple": 3, "pear": 2.5}}))
        return fenced(asyncio.run(resolve("@prices and @notes.txt and @nothing", executor, Path(folder))))


def refusals() -> str:
    """Return the result of a refused call: nobody to ask, a person said no, plan mode."""
    from zidane_lab.approvals.gate import Ask, Gate, Question
    from zidane_lab.events import Ids, ToolGate

    async def nobody(_question: Question) -> bool | None:
        return None

    async def no(_question: Question) -> bool | None:
        return False

    def refused(ask: Ask, mode: str) -> str:
        event = ToolGate(Ids(), "run_python", {"code": "penguins.to_csv('copy.csv')", "intent": "Save a copy"})
        asyncio.run(Gate(ask, mode=mode)(event))
        return f"Blocked: {event.block}"

    return listed(refused(nobody, "auto"), refused(no, "auto"), refused(nobody, "plan"))


# --- approvals, commands, settings, the command line ---------------------------------------------------------


def verdicts() -> str:
    """Return pieces of code and what the gate says of them, where ``df`` is the person's own table."""
    from zidane_lab.approvals.python_code import classify

    known = {"df": "pandas.DataFrame()", "pd": "pandas"}
    rows = []
    for code in SAMPLES:
        verdict = classify(code, protected=frozenset({"df"}), known=known)
        whys = "; ".join(dict.fromkeys(reason.why for reason in verdict.reasons))
        rows.append((f"`{code}`", "runs" if verdict.risk == "pure" else f"asks: {whys}"))
    return table(("code", "in mode `auto`"), rows)


def commands() -> str:
    """Return the slash commands."""
    import zidane_lab.chat.builtin_commands  # noqa: F401 - registers them
    from zidane_lab.chat.commands import COMMANDS

    return table(("command", "does"), ((f"`%zidane {each.usage}`", each.summary) for each in COMMANDS.values()))


def providers() -> str:
    """Return the built-in providers and their default models."""
    from zidane_lab.providers.registry import create_provider

    keys = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"}
    needs = {
        "anthropic": ("Anthropic's Messages API", "`ANTHROPIC_API_KEY`, or `ANTHROPIC_BASE_URL`"),
        "openai": (
            "OpenAI's Chat Completions API and every server that speaks it",
            "`OPENAI_API_KEY`, or `OPENAI_BASE_URL`",
        ),
        "offline": ("a planner with fixed rules, see below", "nothing"),
        "scripted": (
            "answers from a file, see [Testing with scripts](testing-with-scripts.md)",
            "the file's path as model",
        ),
    }
    rows = ((f"`{name}`", *what, f"`{create_provider(name, env=keys).default_model}`") for name, what in needs.items())
    return table(("provider", "speaks", "needs", "default model"), rows)


def settings() -> str:
    """Return the settings, their defaults and the variables that overrule them."""
    from zidane_lab.chat.settings import _VARIABLES, KEYS, Settings

    defaults = Settings()
    rows = (
        (
            f"`{key}`",
            f"`{getattr(defaults, key)}`" if getattr(defaults, key) is not None else "none",
            f"`{_VARIABLES[key]}`" if key in _VARIABLES else "",
        )
        for key in KEYS
    )
    return table(("setting", "default", "overruled by"), rows)


def run_options() -> str:
    """Return the options of ``jupyter zidane run``."""
    from zidane_lab.cli.main import parser

    subcommands = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001 - argparse shows its options no other way
    rows = []
    for action in subcommands.choices["run"]._actions:  # noqa: SLF001 - same
        if action.dest == "help":
            continue
        written = action.option_strings[-1] if action.option_strings else "PROMPT"
        value = f" {action.metavar}" if action.option_strings and action.metavar else ""
        rows.append((f"`{written}{value}`", action.help or ""))
    return table(("option", "does"), rows)


def exit_codes() -> str:
    """Return the exit codes."""
    from zidane_lab.cli.run import EXIT_CODES

    return table(("code", "means"), EXIT_CODES.items())


# --- Python ---------------------------------------------------------------------------------------


def events() -> str:
    """Return the events of the bus."""
    from zidane_lab.events import EVENTS

    rows = ((f"`{name}`", f"`{cls.__name__}`", first_paragraph(cls)) for name, cls in EVENTS.items())
    return table(("event", "class", "when"), rows)


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "system prompt": system,
    "plan": plan,
    "tools": tools,
    "result": result,
    "failure": failure,
    "markers": markers,
    "repairs": repairs,
    "attachments": attachments,
    "refusals": refusals,
    "verdicts": verdicts,
    "commands": commands,
    "settings": settings,
    "providers": providers,
    "run options": run_options,
    "exit codes": exit_codes,
    "events": events,
}


def main() -> int:
    """Rewrite the pages that are behind, and name them."""
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        fresh = render(page)
        if fresh != page:
            path.write_text(fresh, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(DOCS)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

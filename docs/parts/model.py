"""What the model sees: the system prompt, the tools, results, and the texts that mend a conversation."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from parts.text import fenced, listed


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

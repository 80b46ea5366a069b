"""``run_python``: run code in the user's live namespace and return the evidence.

The person sees the outputs as ordinary outputs while the code runs; this module words the evidence for the
model. Each section starts with a label line; the last line says how it ended:

    [stdout]
    loaded 344 rows
    [value]
    {'rows': 344, 'columns': 8}
    [figure 1: 640x480 PNG attached]
    [done in 0.12 s; created: penguins; changed: none]
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from zidane_lab.errors import ToolError
from zidane_lab.kernel.execution import Execution, Output
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput, reject
from zidane_lab.tools.images import for_model
from zidane_lab.tools.terminal import settled
from zidane_lab.tools.truncate import fit, truncate
from zidane_lab.turns import ImageBlock, TextBlock
from zidane_lab.wire.markers import INTERRUPTED

__all__ = ["RUN_PYTHON", "describe_execution"]

DESCRIPTION: Final = """\
Run Python in the user's live Jupyter kernel, in their namespace: their variables are yours to read, and what
you assign stays for them. It behaves like a notebook cell: top-level await, magics, `!` and plots work, the
value of the last expression is shown, and the person sees every output as it appears. You get back stdout,
stderr, displayed values, figures as images, warnings, the traceback of an error, and the names created,
changed or deleted. There is no time limit unless you set one. Prefer small steps that show their result;
do not overwrite the user's variables: derive new ones. Do not use it to read or write project files when a
file tool can. Say in `intent` what this step is for, in a few words a person reads while it runs."""

MOST_FIGURES: Final = 8
"""Figures of one step that are sent; the person sees all of them."""

KEEP_CHARACTERS: Final = 200_000
"""Longest text form of one display kept in the session file; the page has it all the same."""

NOTABLE_BYTES: Final = 50_000_000
"""Growth of peak memory worth a word; below it is noise."""

PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "description": "Python code, as in a notebook cell."},
        "intent": {"type": "string", "description": "What this step is for, in a few words."},
        "timeout": {
            "type": ["number", "null"],
            "description": "Interrupt the code after this many seconds; leave out for no limit.",
            "exclusiveMinimum": 0,
        },
    },
    "required": ["code", "intent"],
    "additionalProperties": False,
}


def _validate(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    code, intent, timeout = arguments.get("code"), arguments.get("intent", ""), arguments.get("timeout")
    problems = [f"`{name}`: there is no such argument" for name in arguments if name not in PARAMETERS["properties"]]
    if not isinstance(code, str) or not code.strip():
        problems.append("`code`: expected Python source text")
    if not isinstance(intent, str):
        problems.append("`intent`: expected a short text")
    if isinstance(timeout, bool) or not (timeout is None or (isinstance(timeout, (int, float)) and timeout > 0)):
        problems.append("`timeout`: expected a number of seconds above 0, or nothing")
    if problems:
        raise reject("run_python", problems)
    return {"code": code, "intent": intent, "timeout": timeout}


async def _run(context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
    if context.executor is None:
        raise ToolError("There is no kernel to run code in.", hint="Answer without running code.")
    execution = await context.executor.execute(arguments["code"], timeout=arguments["timeout"])
    return await asyncio.to_thread(describe_execution, execution, context)


def describe_execution(execution: Execution, context: ToolContext) -> ToolOutput:
    """Word the evidence for the model: text within the limits, figures as images; all of it in the metadata."""
    images: list[ImageBlock] = []
    sections = [_section(output, images) for output in execution.outputs]
    shown = "\n".join(sections)
    unseen = [each for each in execution.warnings if each not in shown]
    if unseen:
        sections.append("[warnings]\n" + "\n".join(unseen))
    if execution.error is not None:
        sections.append(f"[error]\n{execution.error.traceback}")
    if not sections:
        sections.append("(no output)")
    name = f"{context.ids.call_id or 'call'}.run_python"
    first = [INTERRUPTED] if execution.status == "interrupted" else []
    text, path = fit("\n".join([*first, *sections, _ending(execution)]), name, context.outputs)
    evidence = _evidence(execution)
    if path is not None:
        evidence["full_output"] = str(path)
    return ToolOutput(
        (TextBlock(text), *images),
        is_error=execution.status != "ok",
        metadata={"execution": evidence},
    )


def _section(output: Output, images: list[ImageBlock]) -> str:
    """Word one output; a picture is added to ``images``, if there is room for it."""
    if output.kind in ("stdout", "stderr"):
        return f"[{output.kind}]\n{settled(output.text).rstrip()}"
    picture = _picture(output)
    if picture is None:
        return f"[{output.kind}]\n{_text_of(output)}"
    if len(images) == MOST_FIGURES:
        return f"[figure not attached: at most {MOST_FIGURES} figures of one step are sent]"
    image, note = for_model(*picture)
    if image is None:
        return f"[figure not attached: {note}]"
    images.append(image)
    return f"[figure {len(images)}: {note} attached]"


def _evidence(execution: Execution) -> dict[str, Any]:
    """Return the execution for the session, its long texts cut as for the model: the whole is in ``outputs/``."""
    evidence = asdict(execution)
    for output in evidence["outputs"]:
        output["text"] = truncate(output["text"]).text
        large = [mime for mime, value in output["data"].items() if _is_large(mime, value)]
        if large:
            output["data"] = {mime: value for mime, value in output["data"].items() if mime not in large}
            output["left_out"] = large
    return evidence


def _is_large(mime: str, value: object) -> bool:
    """Whether a text form is too large for the session file (pictures are kept beside it)."""
    return isinstance(value, str) and not mime.startswith(("image/p", "image/j")) and len(value) > KEEP_CHARACTERS


def _picture(output: Output) -> tuple[str, str] | None:
    for media_type in ("image/png", "image/jpeg"):
        encoded = output.data.get(media_type)
        if isinstance(encoded, str):
            return media_type, encoded
    return None


def _text_of(output: Output) -> str:
    """Choose what reads best as text: Markdown or LaTeX before a plain repr, then JSON, then a note."""
    for mime in ("text/markdown", "text/latex", "text/plain"):
        text = output.data.get(mime)
        if isinstance(text, str) and text.strip():
            return text.rstrip()
    if "application/json" in output.data:
        import json

        return json.dumps(output.data["application/json"], ensure_ascii=False)
    return f"(an output of type {', '.join(sorted(output.data)) or 'unknown'}; it has no text form)"


def _ending(execution: Execution) -> str:
    how = {"ok": "done in", "error": "failed after", "interrupted": "interrupted after", "timeout": "timed out after"}
    parts = [f"{how[execution.status]} {execution.wall_seconds:.2f} s"]
    if execution.cpu_seconds is not None and execution.wall_seconds >= 1:
        parts.append(f"cpu {execution.cpu_seconds:.2f} s")
    if execution.peak_memory is not None and execution.peak_memory >= NOTABLE_BYTES:
        parts.append(f"peak memory +{execution.peak_memory / 1e6:.0f} MB")
    left = {"created": execution.created, "changed": execution.changed, "deleted": execution.deleted}
    named = [f"{verb}: {_names(names)}" for verb, names in left.items() if names]
    if execution.status == "ok":
        parts.extend(named)
    elif named:
        parts.append("what ran before stays (" + "; ".join(named) + ")")
    else:
        parts.append("no variable was created, changed or deleted")
    return f"[{'; '.join(parts)}]"


def _names(names: tuple[str, ...], most: int = 30) -> str:
    listed = ", ".join(names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"


RUN_PYTHON: Final = Tool(
    name="run_python",
    description=DESCRIPTION,
    parameters=PARAMETERS,
    handler=_run,
    validate=_validate,
    tier="execute",
    concurrency="exclusive",
)

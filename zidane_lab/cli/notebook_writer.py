"""Write what a run did as an ordinary, executed notebook that runs again from a clean kernel.

The conversation gives the order: the prompt, the model's text as Markdown, and in place of each call of
``run_python`` the code cell with the outputs it had. Failed attempts are left out, unless something that is
kept builds on what they left behind.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.events import ToolAfter, ToolBefore
from zidane_lab.kernel.execution import Execution
from zidane_lab.kernel.remote import KernelFacts
from zidane_lab.kernel.remote_outputs import NotebookOutput, shown
from zidane_lab.notebook.markdown import plain_markdown, safe_markdown
from zidane_lab.turns import TextBlock, ToolCallBlock, Turn

__all__ = ["Piece", "Recorder", "compose", "dump", "kept", "write_notebook"]

RAISES: Final = "raises-exception"
"""Tag of a cell whose error is expected: running the notebook goes on after it."""

SKIP: Final = "skip-execution"
"""Tag of a cell that is not to run again: it was stopped, or took the kernel with it."""


_TEXTS: Final = ("application/javascript", "image/svg+xml")
"""Types written line by line, besides ``text/…``."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of code that ran. ``call_id`` is the call it was for; ``None`` for loading data."""

    execution: Execution
    outputs: list[NotebookOutput]
    count: int | None
    call_id: str | None = None
    intent: str = ""


@dataclass(slots=True)
class Recorder:
    """Collects the pieces of a run: give :meth:`on_execution` to the executor and install it on the bus."""

    pieces: list[Piece] = field(default_factory=list)
    _call_id: str | None = None
    _intent: str = ""

    def on_execution(self, _code: str, execution: Execution, outputs: list[NotebookOutput], count: int | None) -> None:
        """Keep one piece; see :data:`~zidane_lab.kernel.remote.OnExecution`."""
        self.pieces.append(Piece(execution, outputs, count, self._call_id, self._intent))

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe to the calls, which run their code one at a time."""
        off = [hooks.on(ToolBefore, self._before), hooks.on(ToolAfter, self._after)]

        def uninstall() -> None:
            for each in off:
                each()

        return uninstall

    def _before(self, event: ToolBefore) -> None:
        if event.tool == "run_python":
            self._call_id, self._intent = event.ids.call_id, str(event.input.get("intent", ""))

    def _after(self, event: ToolAfter) -> None:
        if event.ids.call_id == self._call_id:
            self._call_id, self._intent = None, ""


# --- which pieces -----------------------------------------------------------------------------------


def kept(pieces: Sequence[Piece], *, keep_failed: bool = False) -> list[Piece]:
    """Choose the pieces of the notebook.

    All that succeeded, and of those that failed the ones whose names (a table that was loaded before the
    error, say) a later chosen piece reads; with ``keep_failed`` all. Names are found by reading the code, so
    a use through ``eval`` or another file is not seen.
    """
    chosen: list[Piece] = []
    needed: set[str] = set()
    for piece in reversed(pieces):
        left = {*piece.execution.created, *piece.execution.changed, *piece.execution.deleted}
        if keep_failed or piece.execution.status == "ok" or left & needed:
            chosen.append(piece)
            reads, binds = _names(piece.execution.code)
            needed = (needed - binds if piece.execution.status == "ok" else needed) | reads
    return chosen[::-1]


def _names(code: str) -> tuple[set[str], set[str]]:
    """Return the names that code reads before it binds them itself, and the names it surely binds.

    What Python alone cannot parse (magics) counts as reading every name in it.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return set(re.findall(r"[^\W\d]\w*", code)), set()
    reads: set[str] = set()
    binds: set[str] = set()
    for statement in tree.body:
        nodes = list(ast.walk(statement))
        reads |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)} - binds
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            reads |= {statement.target.id} - binds
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            bound = (node for target in targets for node in ast.walk(target))
            binds |= {node.id for node in bound if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            binds |= {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            binds.add(statement.name)
    return reads, binds


# --- the notebook -----------------------------------------------------------------------------------


def compose(
    prompt: str,
    turns: Sequence[Turn],
    pieces: Sequence[Piece],
    facts: KernelFacts | None,
    provenance: Mapping[str, str],
    *,
    keep_failed: bool = False,
) -> dict[str, Any]:
    """Return the notebook of a run (format 4.5, valid).

    Parameters
    ----------
    prompt
        What was asked, as the person wrote it.
    turns
        The conversation: the prompt's turn first; it may break off anywhere.
    pieces
        The code that ran.
    facts
        The kernel; ``None`` when none was started.
    provenance
        For the notebook's metadata; ``version`` and ``model`` are also told to the reader.
    """
    chosen = kept(pieces, keep_failed=keep_failed)
    by_call: dict[str | None, list[Piece]] = {}
    for piece in chosen:
        by_call.setdefault(piece.call_id, []).append(piece)
    cells = [_markdown(f"{_quoted(prompt)}\n\n{_provenance_line(provenance)}")]
    cells += [_code(piece) for piece in by_call.pop(None, ())]
    for turn in turns[1:]:
        cells += _turn_cells(turn, by_call)
    cells += [_code(piece) for group in by_call.values() for piece in group]
    for number, cell in enumerate(cells, 1):
        cell["id"] = f"zidane-{number}"
    metadata: dict[str, Any] = {"zidane": dict(provenance)}
    if facts is not None:
        metadata["kernelspec"] = {"name": facts.name, "display_name": facts.display_name, "language": "python"}
        metadata["language_info"] = dict(facts.language_info)
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _turn_cells(turn: Turn, by_call: dict[str | None, list[Piece]]) -> list[dict[str, Any]]:
    """Return the cells of one turn, taking the pieces of its calls out of ``by_call``."""
    if turn.role == "user":
        said = turn.injected is None and turn.text.strip()
        return [_markdown(_quoted(turn.text))] if said else []
    cells: list[dict[str, Any]] = []
    for block in turn.blocks:
        if isinstance(block, TextBlock) and block.text.strip():
            cells.append(_markdown(safe_markdown(block.text.strip())))
        elif isinstance(block, ToolCallBlock):
            for piece in by_call.pop(block.id, ()):
                # The model's own text just above says what the code is for; else the intent does.
                if piece.intent.strip() and not (cells and cells[-1]["cell_type"] == "markdown"):
                    cells.append(_markdown(f"*{plain_markdown(' '.join(piece.intent.split()))}*"))
                cells.append(_code(piece))
    return cells


def dump(notebook: Mapping[str, Any]) -> str:
    """Return the text of a notebook file, byte for byte as ``nbformat`` writes it.

    Written here because importing ``nbformat`` can take seconds: it loads a JSON Schema validator with all
    its format checkers. The tests hold this against ``nbformat`` itself.
    """
    cells = [{**cell, "source": cell["source"].splitlines(keepends=True)} for cell in notebook["cells"]]
    for cell in cells:
        if "outputs" in cell:
            cell["outputs"] = [_split(output) for output in cell["outputs"]]
    return json.dumps({**notebook, "cells": cells}, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _split(output: NotebookOutput) -> NotebookOutput:
    """Return an output with its texts as lists of lines."""
    if output["output_type"] == "stream":
        return {**output, "text": output["text"].splitlines(keepends=True)}
    if "data" not in output:
        return output
    data = {
        mime: value.splitlines(keepends=True)
        if isinstance(value, str) and (mime.startswith("text/") or mime in _TEXTS)
        else value
        for mime, value in output["data"].items()
    }
    return {**output, "data": data}


def _is_json(mime: str) -> bool:
    return mime.endswith(("/json", "+json"))


def write_notebook(notebook: Mapping[str, Any], path: Path) -> None:
    """Write a notebook so that the file is at every moment either the old one or the new one, whole.

    Raises
    ------
    OSError
        It cannot be written; the old file, if any, is untouched.
    """
    target = Path(os.path.realpath(path))
    fresh = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        with fresh.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(dump(notebook))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def _provenance_line(provenance: Mapping[str, str]) -> str:
    by = f" with {plain_markdown(provenance['model'])}" if provenance.get("model") else ""
    return f"*Answered by zidane\\_lab {plain_markdown(provenance['version'])}{by}.*"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in safe_markdown(text.strip()).split("\n"))


def _markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(piece: Piece) -> dict[str, Any]:
    execution = piece.execution
    own: dict[str, str] = {"call_id": piece.call_id, "intent": piece.intent} if piece.call_id else {"role": "data"}
    metadata: dict[str, Any] = {"zidane": own}
    if execution.status != "ok":
        ended = (
            execution.status == "error" and execution.error is not None and execution.error.name != "KernelLostError"
        )
        metadata["tags"] = [RAISES] if ended else [RAISES, SKIP]
    return {
        "cell_type": "code",
        "execution_count": piece.count,
        "metadata": metadata,
        "outputs": [_valid(output) for output in shown(piece.outputs)],
        "source": execution.code,
    }


def _valid(output: NotebookOutput) -> NotebookOutput:
    """Return an output whose bundle a notebook may hold: text, except for JSON types."""
    if "data" not in output:
        return output
    data = {
        mime: value if isinstance(value, str) or _is_json(mime) else str(value)
        for mime, value in output["data"].items()
    }
    return {**output, "data": data}

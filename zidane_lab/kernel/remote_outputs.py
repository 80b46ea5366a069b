"""From a kernel's messages to the outputs of one piece of code.

:class:`OutputLog` applies messages of the Jupyter protocol in the order they arrive, as a front end does
(https://jupyter-client.readthedocs.io/en/stable/messaging.html), and holds the result as notebook outputs;
:func:`outputs_of` reads them as the value types of :mod:`zidane_lab.kernel.execution`. No kernel is needed
for any of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from zidane_lab.kernel.capture import KEEP_CHARACTERS, SHOW_CHARACTERS
from zidane_lab.kernel.execution import ErrorInfo, Output
from zidane_lab.kernel.traceback import MESSAGE_CHARACTERS

__all__ = ["NotebookOutput", "OutputLog", "error_of", "outputs_of", "shown"]

NotebookOutput: TypeAlias = dict[str, Any]
"""An output as in a notebook file; a display that can be updated keeps its id under ``transient``."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_FRAME: Final = re.compile(r"^(?P<place>(?:Cell |File |\S+ in )\S.*)(?:\n|$)")
_LIBRARY: Final = re.compile(r"site-packages|[\\/]lib[\\/]python|<frozen |[\\/]Lib[\\/]")
_ARROW: Final = re.compile(r"^-+> ?\d+ ?")
_TRACEBACK_CHARACTERS: Final = 12_000
"""Longest traceback kept whole; deep recursion and some libraries write far more."""


class OutputLog:
    """The outputs of one piece of code, growing while messages arrive.

    Streams and bundles are kept up to ``limit`` characters in all; what is beyond is counted and said, so
    that code which prints for ever does not fill our memory.
    """

    def __init__(
        self, displays: dict[str, list[NotebookOutput]] | None = None, *, limit: int = KEEP_CHARACTERS
    ) -> None:
        self.outputs: list[NotebookOutput] = []
        self.execution_count: int | None = None
        self._displays = displays if displays is not None else {}
        self._limit = limit
        self._kept = self._dropped = self._dropped_displays = 0
        self._clear_pending = False
        self._pieces: list[str] = []

    def add(self, kind: str, content: Mapping[str, Any]) -> None:
        """Apply one message by its type and content; types that are no output are ignored."""
        if kind == "execute_input":
            self.execution_count = content.get("execution_count")
        elif kind == "clear_output":
            if content.get("wait"):
                self._clear_pending = True
            else:
                self._clear()
        elif kind == "update_display_data":
            self._update(content)
        elif kind in {"stream", "display_data", "execute_result", "error"}:
            if self._clear_pending:
                self._clear()
            if kind == "stream":
                self._stream(content)
            else:
                self._display(kind, content)

    def finish(self, note: str | None = None) -> list[NotebookOutput]:
        """Return the outputs, with a note of what was dropped or, if given, of what else is missing."""
        self._join()
        lost = []
        if self._dropped:
            lost.append(f"{self._dropped:,} more characters were printed and not kept")
        if self._dropped_displays:
            lost.append(f"{self._dropped_displays:,} more displays were too large together and not kept")
        if note:
            lost.append(note)
        if lost:
            self.outputs.append(_stream("stderr", "".join(f"[{each}]\n" for each in lost)))
        return self.outputs

    def _clear(self) -> None:
        self._pieces.clear()
        self.outputs.clear()
        self._clear_pending = False
        self._kept = 0

    def _stream(self, content: Mapping[str, Any]) -> None:
        name, text = content.get("name", "stdout"), str(content.get("text", ""))
        room = max(0, self._limit - self._kept)
        self._dropped += max(0, len(text) - room)
        text = text[:room]
        if not text:
            return
        self._kept += len(text)
        last = self.outputs[-1] if self.outputs else None
        if last is None or last["output_type"] != "stream" or last["name"] != name:
            self._join()
            self.outputs.append(_stream(name, ""))
        self._pieces.append(text)

    def _join(self) -> None:
        """Complete the last stream (text is joined once, not at every message)."""
        if self._pieces:
            self.outputs[-1]["text"] += "".join(self._pieces)
            self._pieces.clear()

    def _display(self, kind: str, content: Mapping[str, Any]) -> None:
        self._join()
        output: NotebookOutput = {"output_type": kind}
        if kind == "error":
            output |= {
                "ename": str(content.get("ename", "")),
                "evalue": str(content.get("evalue", "")),
                "traceback": [str(line) for line in content.get("traceback", ())],
            }
            self.outputs.append(output)
            return
        data = dict(content.get("data", {}))
        size = _size(data)
        if self._kept + size > self._limit:
            self._dropped_displays += 1
            return
        self._kept += size
        if kind == "execute_result":
            output["execution_count"] = content.get("execution_count")
        output |= {"data": data, "metadata": dict(content.get("metadata", {}))}
        display_id = _display_id(content)
        if display_id is not None:
            output["transient"] = {"display_id": display_id}
            self._displays.setdefault(display_id, []).append(output)
        self.outputs.append(output)

    def _update(self, content: Mapping[str, Any]) -> None:
        """Replace every display of that id, of earlier code too, as a page does."""
        data = dict(content.get("data", {}))
        if _size(data) > self._limit:
            self._dropped_displays += 1
            return
        for output in self._displays.get(_display_id(content) or "", ()):
            output["data"], output["metadata"] = data, dict(content.get("metadata", {}))


def _stream(name: str, text: str) -> NotebookOutput:
    return {"output_type": "stream", "name": name, "text": text}


def _size(data: Mapping[str, Any]) -> int:
    """Characters of a bundle; parts that are JSON count by a cheap bound on their written form."""
    return sum(len(value) if isinstance(value, str) else len(repr(value)) for value in data.values())


def _display_id(content: Mapping[str, Any]) -> str | None:
    transient = content.get("transient")
    found = transient.get("display_id") if isinstance(transient, Mapping) else None
    return found if isinstance(found, str) else None


# --- reading them ---------------------------------------------------------------------------------


def outputs_of(outputs: Iterable[NotebookOutput]) -> tuple[Output, ...]:
    """Return notebook outputs as values; errors are not among them (see :func:`error_of`)."""
    found: list[Output] = []
    for output in outputs:
        match output["output_type"]:
            case "stream":
                found.append(Output("stderr" if output["name"] == "stderr" else "stdout", text=output["text"]))
            case "execute_result":
                found.append(Output("value", data=dict(output["data"]), metadata=dict(output["metadata"])))
            case "display_data":
                display_id = _display_id(output)
                data, metadata = dict(output["data"]), dict(output["metadata"])
                found.append(Output("display", data=data, metadata=metadata, display_id=display_id))
    return tuple(found)


def shown(outputs: Iterable[NotebookOutput], limit: int = SHOW_CHARACTERS) -> list[NotebookOutput]:
    """Return the outputs as a notebook file should hold them: nothing transient, streams up to ``limit`` in all."""
    found: list[NotebookOutput] = []
    room = limit
    for output in outputs:
        copy = {key: value for key, value in output.items() if key != "transient"}
        if copy["output_type"] == "stream":
            text = copy["text"]
            if room <= 0:
                continue
            if len(text) > room:
                copy["text"] = (
                    f"{text[:room]}\n[more than {limit:,} characters were printed: the rest is left out here]\n"
                )
            room -= len(text)
        found.append(copy)
    return found


def error_of(name: str, message: str, traceback: Iterable[str]) -> ErrorInfo:
    """Return an error as a kernel reported it, its traceback without colours and trimmed.

    Frames of the user's own code are kept; library frames between them are counted, except the last one,
    which shows where it broke.
    """
    lines: list[str] = []
    hidden: list[str] = []
    for part in (_ANSI.sub("", part).strip("\n") for part in traceback):
        if part.endswith("Traceback (most recent call last)"):
            continue  # the same name stands in the last line, with the message
        frame = _FRAME.match(part)
        if frame and _LIBRARY.search(frame["place"]):
            hidden.append(part)
            continue
        if hidden and (frame or part.strip("-")):
            lines.extend(_fold(hidden, keep_last=not frame))
            hidden = []
        if part.strip("-"):
            lines.append(part)
    lines.extend(_fold(hidden, keep_last=True))
    return ErrorInfo(
        name, _middle_out(message, MESSAGE_CHARACTERS), _middle_out("\n".join(lines), _TRACEBACK_CHARACTERS)
    )


def _fold(frames: list[str], *, keep_last: bool) -> list[str]:
    counted = frames[:-1] if keep_last else frames
    lines = [f"  … {len(counted)} library frame{'s' if len(counted) > 1 else ''} …"] if counted else []
    if keep_last and frames:
        place, *source = frames[-1].split("\n")
        lines.append("\n".join([place, *(f"    {_ARROW.sub('', line)}" for line in source if _ARROW.match(line))]))
    return lines


def _middle_out(text: str, most: int) -> str:
    """Cut the middle of a long text: a traceback begins at the user's line and ends with the cause."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 5, most * 3 // 5
    return f"{text[:head]}\n… {len(text) - head - tail:,} characters left out …\n{text[-tail:]}"

"""Large tool results in files of their own: the model gets a short stand-in that says where the whole is.

``<session folder>/tool-results/<call id>.txt`` holds a result; ``tool-results/released/`` those taken out of memory
after a summary. The stand-in holds no time and nothing random, so it is sent again byte for byte::

    <persisted-output tool="run_sql" bytes="81920" path="/…/tool-results/call_7.txt">
    …the first 2 KiB…
    </persisted-output>
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeAlias

from zidane_lab.session.blob_writer import BlobWriter, LocalWriter, encode
from zidane_lab.session.layout import safe_name
from zidane_lab.turns import ResultPart, TextBlock, ToolResultBlock

__all__ = [
    "DEFAULT_EXCLUDED_TOOLS",
    "DEFAULT_THRESHOLD",
    "PERSISTED",
    "PERSISTED_STUB_PREFIX",
    "PERSISTENCE_PREVIEW_BYTES",
    "RELEASED",
    "TOOL_RESULTS",
    "Evicted",
    "PersistFailed",
    "PersistInput",
    "PersistOutcome",
    "PersistSkip",
    "Persisted",
    "SkipReason",
    "build_persisted_stub",
    "is_safe_call_id",
    "maybe_persist_tool_result",
    "resolve_persist_dir",
    "saved_output",
]

TOOL_RESULTS: Final = "tool-results"
RELEASED: Final = "released"

PERSISTED_STUB_PREFIX: Final = '<persisted-output tool="'
"""How every stand-in begins; whoever shortens results keeps those, or the way to the file is lost."""

PERSISTENCE_PREVIEW_BYTES: Final = 2_048
"""UTF-8 bytes of the beginning of a result that are shown in its stand-in."""

PERSISTED: Final = "persisted"
"""Key of the metadata of a result kept in a file: ``{"path", "bytes"}``, or ``{"bytes", "error", "text"}``."""

DEFAULT_THRESHOLD: Final = 30_000
"""UTF-8 bytes of a result that are sent as they are (about 7 500 tokens); a longer one goes to a file.

It is below the 51 200 bytes to which tools shorten their own texts, so those that do are held to it as well.
"""

DEFAULT_EXCLUDED_TOOLS: Final = frozenset(
    {
        "read_file",
        "tool_search",
        "skills_use",
        "skills_read",
        "read_chat_turns",
        "present_plan",
        "ask_user",
        "spawn",
        "codemode",
        "read_output",
        "think",
    }
)
"""Tools whose results always reach the model: they bring in what was asked for by name, or read a file back."""

SkipReason: TypeAlias = Literal[
    "disabled", "excluded", "under-threshold", "unsupported-shape", "unsafe-call-id", "invalid-persist-dir"
]

_SAFE_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", re.ASCII)
_TAG: Final = re.compile(r"<(?=\s*/?\s*persisted-output)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PersistInput:
    """A result to keep in a file if it is large.

    Parameters
    ----------
    tool_name, call_id
        Whose result it is; the id becomes the file's name.
    output
        A text, or the parts of a result after every other handler had its say.
    persist_dir
        Absolute path of the folder, made on the first write; ``None`` keeps everything inline.
    threshold
        UTF-8 bytes; a text of at most so many stays inline. 0 and below, or no number: everything does.
    exclude_tools
        Tools whose results stay inline; a list of one's own replaces the default.
    max_bytes
        Most bytes of ``*.txt`` files in the folder: the oldest go, never the one just written. No effect with a
        writer of one's own, whose disk cannot be looked at from here.
    write_blob
        Writes the file where the model's tools can read it; default: on this machine, whole or not at all.
    should_rethrow_error
        Which errors of the writer are raised instead of ending in a shortened result.
    saved
        A file that holds the whole already; nothing is written then.
    closing
        Text put after the stand-in: the end of a result that says how it ended.
    """

    tool_name: str
    call_id: str
    output: str | tuple[ResultPart, ...]
    persist_dir: Path | None
    threshold: float = DEFAULT_THRESHOLD
    exclude_tools: frozenset[str] = DEFAULT_EXCLUDED_TOOLS
    max_bytes: float | None = None
    write_blob: BlobWriter | None = None
    should_rethrow_error: Callable[[BaseException], bool] | None = None
    saved: Path | None = None
    closing: str = ""


@dataclass(frozen=True, slots=True)
class Evicted:
    """What had to go to stay within the folder's limit."""

    bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class PersistSkip:
    """The result stays as it is, and why."""

    kind: ClassVar[str] = "skip"
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class Persisted:
    """The result is in a file; ``output`` is what the model gets."""

    kind: ClassVar[str] = "persisted"
    output: str
    persisted_path: Path
    original_bytes: int
    evicted: Evicted | None = None


@dataclass(frozen=True, slots=True)
class PersistFailed:
    """The file could not be written; ``output`` is the beginning of the result, and says so."""

    kind: ClassVar[str] = "error"
    reason: ClassVar[str] = "write-failed"
    output: str
    original_bytes: int
    error: Exception


PersistOutcome: TypeAlias = PersistSkip | Persisted | PersistFailed


def resolve_persist_dir(folder: Path | None) -> Path | None:
    """Return where the results of a session go, from the session's folder; ``None`` for one in memory."""
    return None if folder is None else Path(os.path.abspath(folder)) / TOOL_RESULTS  # noqa: PTH100 - links kept


def is_safe_call_id(call_id: str) -> bool:
    """Whether an id, which a service chose, can name a file on every system without becoming a path."""
    return _SAFE_ID.fullmatch(call_id) is not None and safe_name(call_id) == call_id


def saved_output(metadata: Mapping[str, Any]) -> Path | None:
    """Return the file that holds the whole of a result the tool itself had shortened; ``None`` if there is none."""
    execution = metadata.get("execution")
    evidence = execution.get("full_output") if isinstance(execution, Mapping) else None
    path = evidence or metadata.get("output_path")
    return Path(path) if isinstance(path, str) and path else None


async def maybe_persist_tool_result(request: PersistInput) -> PersistOutcome:
    """Keep a large result in a file and return what the model gets instead; see :class:`PersistInput`."""
    if request.persist_dir is None or not (math.isfinite(request.threshold) and request.threshold > 0):
        return PersistSkip("disabled")
    if request.tool_name in request.exclude_tools:
        return PersistSkip("excluded")
    text = _text_of(request.output)
    if text is None:
        return PersistSkip("unsupported-shape")
    data = encode(text)
    if len(data) <= request.threshold:
        return PersistSkip("under-threshold")
    if not is_safe_call_id(request.call_id):
        return PersistSkip("unsafe-call-id")
    if not request.persist_dir.is_absolute():
        return PersistSkip("invalid-persist-dir")
    if request.saved is not None and (size := _size(request.saved)) is not None:
        return Persisted(_stub(request, text, size, request.saved), request.saved, size)
    path = request.persist_dir / f"{request.call_id}.txt"
    writer = request.write_blob or LocalWriter(request.max_bytes)
    try:
        written = await writer.write(path, text)
    except Exception as error:
        if request.should_rethrow_error is not None and request.should_rethrow_error(error):
            raise
        return PersistFailed(_degraded(request, text, len(data), error), len(data), error)
    evicted = Evicted(written.evicted_bytes, written.evicted_files) if written.evicted_files else None
    return Persisted(_stub(request, text, len(data), written.path), written.path, len(data), evicted)


def build_persisted_stub(
    tool_name: str, original_bytes: int, path: Path | str | None, output: str, *, call_id: str = "", note: str = ""
) -> str:
    """Return the stand-in for a result: the same arguments always give the same bytes.

    Parameters
    ----------
    path
        Absolute path of the file; ``None`` where there is none.
    output
        The result, of which the beginning is shown.
    call_id
        Named in the hint how to read the rest.
    note
        Said instead of that hint.
    """
    where = "" if path is None else f' path="{_attribute(str(path))}"'
    head = encode(output)[:PERSISTENCE_PREVIEW_BYTES].decode("utf-8", "ignore")  # never half a character
    preview = _TAG.sub("&lt;", head).rstrip("\n")
    which = f'call_id="{_attribute(call_id)}"' if call_id else "path=…"
    hint = note or f"The beginning is shown; read_output({which}) reads on, by lines or with a query."
    return (
        f'{PERSISTED_STUB_PREFIX}{_attribute(tool_name)}" bytes="{original_bytes}"{where}>\n'
        f"[{hint}]\n{preview}\n</persisted-output>"
    )


def _stub(request: PersistInput, text: str, size: int, path: Path) -> str:
    stub = build_persisted_stub(request.tool_name, size, path, text, call_id=request.call_id)
    return f"{stub}\n{request.closing}" if request.closing else stub


def _degraded(request: PersistInput, text: str, size: int, error: Exception) -> str:
    reason = _TAG.sub("&lt;", " ".join(str(error).split())[:200])
    note = (
        f"Only the beginning is shown: the result is too long to be sent, and could not be kept in a file ({reason}). "
        f'It is kept in memory: read_output(call_id="{_attribute(request.call_id)}") reads on.'
    )
    stub = build_persisted_stub(request.tool_name, size, None, text, note=note)
    return f"{stub}\n{request.closing}" if request.closing else stub


def _text_of(output: str | tuple[ResultPart, ...]) -> str | None:
    """Return the text of a result; ``None`` if there is more to it: a picture is the point of the call."""
    if isinstance(output, str):
        return output
    if not all(isinstance(part, TextBlock) for part in output):
        return None
    return ToolResultBlock("", output).text


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _attribute(text: str) -> str:
    """Write a text as an attribute's value, on one line."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return "".join(char if char.isprintable() else f"&#{ord(char)};" for char in escaped)

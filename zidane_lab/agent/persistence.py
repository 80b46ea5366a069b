"""Keep large tool results in files: a hook bundle that swaps them for a short stand-in on their way to the model.

Install it after every other handler of ``tool:transform``: what it decides about is the result as the model would
see it. The result's metadata say where the whole is, for the card (``{"persisted": {"path", "bytes"}}``); what could
not be written stays in them (``{"bytes", "error", "text"}``), so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.events import ResultPersisted, ToolTransform
from zidane_lab.session.blob_writer import BlobWriter
from zidane_lab.session.persisted import (
    DEFAULT_EXCLUDED_TOOLS,
    DEFAULT_THRESHOLD,
    PERSISTED,
    Persisted,
    PersistFailed,
    PersistInput,
    maybe_persist_tool_result,
    resolve_persist_dir,
    saved_output,
)
from zidane_lab.turns import TextBlock, ToolResultBlock

__all__ = ["Persistence", "PersistenceSettings"]

_CLOSING: Final = 2_000
"""Characters kept of the end of an execution's evidence: its error, and how it ended."""


class HasFolder(Protocol):
    """A session, of which only the folder matters here."""

    @property
    def folder(self) -> Path | None:
        """The session's own folder; ``None`` in memory."""
        ...


@dataclass(frozen=True, slots=True)
class PersistenceSettings:
    """What is kept in files; see :class:`~zidane_lab.session.persisted.PersistInput`."""

    threshold: float = DEFAULT_THRESHOLD
    max_bytes: float | None = None
    exclude_tools: frozenset[str] = DEFAULT_EXCLUDED_TOOLS
    writer: BlobWriter | None = None


@dataclass(frozen=True, slots=True)
class Persistence:
    """Keeps the large results of one session in its folder.

    Parameters
    ----------
    session
        Whose results they are; one in memory keeps everything inline.
    settings
        Limits and exceptions.
    """

    session: HasFolder
    settings: PersistenceSettings = field(default_factory=PersistenceSettings)

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe; call it last, see the module's text."""

        async def persist(event: ToolTransform) -> None:
            await self._persist(event, hooks)

        return hooks.on(ToolTransform, persist)

    async def _persist(self, event: ToolTransform, hooks: HookBus) -> None:
        result, settings = event.result, self.settings
        if PERSISTED in result.metadata:  # a result answered from an earlier one
            return
        outcome = await maybe_persist_tool_result(
            PersistInput(
                tool_name=event.tool,
                call_id=event.ids.call_id or result.call_id,
                output=result.parts,
                persist_dir=resolve_persist_dir(self.session.folder),
                threshold=settings.threshold,
                exclude_tools=settings.exclude_tools,
                max_bytes=settings.max_bytes,
                write_blob=settings.writer,
                saved=saved_output(result.metadata),
                closing=_closing(result),
            )
        )
        if isinstance(outcome, Persisted):
            record: dict[str, Any] = {"path": str(outcome.persisted_path), "bytes": outcome.original_bytes}
            told = ResultPersisted(event.ids, event.tool, outcome.original_bytes, str(outcome.persisted_path))
        elif isinstance(outcome, PersistFailed):
            error = f"{type(outcome.error).__name__}: {outcome.error}"
            record = {"bytes": outcome.original_bytes, "error": error, "text": result.text}
            told = ResultPersisted(event.ids, event.tool, outcome.original_bytes, error=error)
        else:
            return
        event.result = replace(
            result, parts=(TextBlock(outcome.output),), metadata={**result.metadata, PERSISTED: record}
        )
        await hooks.emit(told)


def _closing(result: ToolResultBlock) -> str:
    """Return the end of an execution's evidence, from its error on; nothing for other results.

    The beginning alone would hide what the model has to know first: whether the code failed, and what it left.
    """
    if not isinstance(result.metadata.get("execution"), Mapping):
        return ""
    text = result.text
    start = text.rfind("\n[error]\n")
    end = text[start + 1 :] if start >= 0 else text.rpartition("\n")[2]
    return end if len(end) <= _CLOSING else f"…{end[-_CLOSING:]}"

"""Draw a stored conversation again, without running anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from zidane_lab.notebook import bundles
from zidane_lab.notebook.bundles import CallStatus
from zidane_lab.notebook.publish import Publisher
from zidane_lab.notebook.render import card_for
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.markers import CANCELLED, CASCADED, INTERRUPTED, SUPERSEDED

__all__ = ["repaint"]


def repaint(turns: Sequence[Turn], publisher: Publisher) -> None:
    """Draw every turn: prompts, text, calls with the outputs they had, notices."""
    results = {result.call_id: result for turn in turns for result in turn.tool_results}
    for turn in turns:
        if turn.role == "user" and turn.text:
            publisher.show(bundles.prompt(turn.text, turn.injected or "prompt"))
        for block in turn.blocks:
            if isinstance(block, ThinkingBlock) and block.text:
                publisher.show(bundles.thinking(block.text, done=True))
            elif isinstance(block, TextBlock) and turn.role == "assistant":
                publisher.show(bundles.markdown(block.text))
            elif isinstance(block, ToolCallBlock):
                _call(block, results.get(block.id), publisher)
            elif isinstance(block, CompactSummaryBlock):
                publisher.show(bundles.banner("info", "Earlier turns are summarised here.", block.text))


def _call(call: ToolCallBlock, result: ToolResultBlock | None, publisher: Publisher) -> None:
    card = replace(card_for(call.id, call.name, call.input), status=_status(result))
    execution = result.metadata.get("execution") if result is not None else None
    if execution is None:
        publisher.show(bundles.tool_card(replace(card, result=result.text if result is not None else "")))
        return
    publisher.show(bundles.tool_card(replace(card, seconds=execution.get("wall_seconds"))))
    for output in execution.get("outputs", ()):
        bundle = _output(output)
        if bundle:
            publisher.show(bundle)
    error = execution.get("error")
    if error:
        publisher.show(bundles.traceback(error["name"], error["message"], error["traceback"]))


def _output(output: Mapping[str, Any]) -> Mapping[str, Any]:
    if output.get("kind") in ("stdout", "stderr"):
        return {"text/plain": str(output.get("text", "")).rstrip("\n")}
    data = output.get("data")
    return data if isinstance(data, Mapping) else {}


def _status(result: ToolResultBlock | None) -> CallStatus:
    if result is None:
        return "interrupted"
    text = result.text
    for marker, status in ((INTERRUPTED, "interrupted"), (SUPERSEDED, "skipped"), (CANCELLED, "cancelled")):
        if text.startswith(marker):
            return status  # type: ignore[return-value]  # the three literals
    if text == CASCADED:
        return "cancelled"
    if result.is_error:
        return "blocked" if text.startswith("Blocked: ") else "error"
    return "ok"

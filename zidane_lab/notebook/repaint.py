"""Draw a stored conversation again, without running anything.

It reads as it did when it was said: a summary is the divider it was, with what was put back behind it named there;
what nobody wrote (attachments, notes about a changed system prompt) is not shown as a person's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from zidane_lab.notebook import bundles
from zidane_lab.notebook.bundles import CallStatus
from zidane_lab.notebook.card_results import ended
from zidane_lab.notebook.cards import card_for
from zidane_lab.notebook.context_bundles import Divider, divider
from zidane_lab.notebook.injected_bundles import added
from zidane_lab.notebook.publish import Publisher
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.build import NO_STATE
from zidane_lab.wire.markers import CANCELLED, CASCADED, INTERRUPTED, SUPERSEDED
from zidane_lab.wire.state import WireState

__all__ = ["repaint"]

_PUT_BACK: Final = re.compile(r"compact-restore-(?P<kind>file|skill|variable)-")
"""Ids of the calls a compaction puts back say what they show."""


def repaint(turns: Sequence[Turn], publisher: Publisher, state: WireState = NO_STATE) -> None:
    """Draw every turn: prompts, text, calls with the outputs they had, compactions.

    Parameters
    ----------
    turns
        The conversation.
    publisher
        The cell.
    state
        What has been decided about how it is sent: which compactions were undone.
    """
    results = {result.call_id: result for turn in turns for result in turn.tool_results}
    summaries = {turn.id: block for turn in turns for block in _summaries(turn)}
    for index, turn in enumerate(turns):
        if turn.injected == "restore":
            continue  # part of the divider above it
        for block in _summaries(turn):
            behind = _put_back(turns[index + 1 :])
            mark = _divider(turn, block, behind, results, summaries)
            publisher.show(divider(replace(mark, undone=turn.id in state.undone)))
        if turn.role == "user":
            _said(turn, publisher)
        else:
            _answer(turn, results, publisher)


def _said(turn: Turn, publisher: Publisher) -> None:
    """Draw what a person wrote, which is the first text of a prompt, or what was said in their place."""
    text = next((block.text for block in turn.blocks if isinstance(block, TextBlock)), "")
    if text:
        publisher.show(bundles.prompt(text) if turn.injected is None else added(turn.injected, text))


def _answer(turn: Turn, results: Mapping[str, ToolResultBlock], publisher: Publisher) -> None:
    for block in turn.blocks:
        if isinstance(block, ThinkingBlock) and block.text:
            publisher.show(bundles.thinking(block.text, done=True))
        elif isinstance(block, TextBlock):
            publisher.show(bundles.markdown(block.text))
        elif isinstance(block, ToolCallBlock):
            _call(block, results.get(block.id), publisher)


# --- compactions ----------------------------------------------------------------------------------


def _summaries(turn: Turn) -> tuple[CompactSummaryBlock, ...]:
    return tuple(block for block in turn.blocks if isinstance(block, CompactSummaryBlock))


def _put_back(following: Iterable[Turn]) -> Iterator[ToolCallBlock]:
    """Yield the calls a compaction put back, from the turns behind its summary."""
    for turn in following:
        if turn.injected != "restore":
            return
        yield from turn.tool_calls


def _divider(
    turn: Turn,
    block: CompactSummaryBlock,
    put_back: Iterable[ToolCallBlock],
    results: Mapping[str, ToolResultBlock],
    summaries: Mapping[str, CompactSummaryBlock],
) -> Divider:
    """Return the divider as it was drawn when the summary was made."""
    names: dict[str, list[str]] = {"file": [], "skill": [], "variable": []}
    for call in put_back:
        result, kind = results.get(call.id), _PUT_BACK.match(call.id)
        if kind is not None and result is not None and not result.is_error:  # an error names what is gone
            names[kind["kind"]].append(str(call.input.get("path" if kind["kind"] == "file" else "name", "")))
    # It names what an earlier summary stood for along with that summary; only the latter was sent.
    taken_in = {name for each in block.replaces if each in summaries for name in summaries[each].replaces}
    missing = block.metadata.get("missing")
    # Who asks between runs is a person: such a summary belongs to no run.
    reason = block.metadata.get("reason") or ("auto" if turn.run_id else "manual")
    return Divider(
        turn_id=turn.id,
        summary=block.text,
        replaced=len(set(block.replaces) - taken_in),
        before=_count(block.metadata.get("before")),
        after=_count(block.metadata.get("after")),
        reason=str(reason),
        model=str(block.metadata.get("model") or turn.model or ""),
        files=tuple(names["file"]),
        skills=tuple(names["skill"]),
        variables=tuple(names["variable"]),
        missing=tuple(map(str, missing)) if isinstance(missing, list) else (),
        cost=turn.usage.cost if turn.usage is not None else None,
    )


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


# --- calls ----------------------------------------------------------------------------------------


def _call(call: ToolCallBlock, result: ToolResultBlock | None, publisher: Publisher) -> None:
    card = card_for(call.id, call.name, call.input)
    if result is None:
        publisher.show(bundles.tool_card(replace(card, status="interrupted")))
        return
    card = ended(card, _status(result), result)
    execution = result.metadata.get("execution")
    if execution is None:
        publisher.show(bundles.tool_card(card))
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


def _status(result: ToolResultBlock) -> CallStatus:
    text = result.text
    for marker, status in ((INTERRUPTED, "interrupted"), (SUPERSEDED, "skipped"), (CANCELLED, "cancelled")):
        if text.startswith(marker):
            return status  # type: ignore[return-value]  # the three literals
    if text == CASCADED:
        return "cancelled"
    if result.is_error:
        return "blocked" if text.startswith("Blocked: ") else "error"
    return "ok"

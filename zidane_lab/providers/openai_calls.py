"""Putting streamed tool calls of the chat format together, however a server cuts them.

OpenAI sends a call in fragments that carry its ``index``: the first has id and name, the others pieces of the
arguments. Other servers leave out the index or the id, give every call the index 0, repeat id and name in each
fragment, send the name late, give two calls the same id, or send a whole call at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from zidane_lab.providers.base import StreamEvent, ToolCallDelta, ToolCallEnd, ToolCallStart
from zidane_lab.providers.payload import encode_arguments, parse_arguments
from zidane_lab.turns import new_id

__all__ = ["CallAssembler"]

UNNAMED: Final = "unnamed_tool"
"""Name of a call whose name never came: no tool has it, so the model is told and can call again."""


@dataclass(slots=True)
class _Call:
    """A call under construction; ``given_id`` is the server's, ``id`` the one we have announced."""

    index: int
    given_id: str = ""
    name: str = ""
    id: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are a complete JSON object already."""
        text = self.text
        return bool(text.strip()) and parse_arguments(text)[1] is None


class CallAssembler:
    """Collects the fragments of one answer's calls."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._ids: set[str] = set()

    def __bool__(self) -> bool:
        return any(call.name or call.pieces for call in self._calls)

    def feed(self, fragments: Sequence[Any]) -> Iterator[StreamEvent]:
        """Take the ``tool_calls`` of one delta."""
        for fragment in fragments:
            if isinstance(fragment, Mapping):
                yield from self._take(fragment)

    def finish(self) -> Iterator[StreamEvent]:
        """Complete every call, in the order they began."""
        for call in self._calls:
            if not (call.name or call.pieces):
                continue
            call.name = call.name or UNNAMED
            yield from self._announce(call)
            arguments, raw = parse_arguments(call.text)
            yield ToolCallEnd(call.index, call.id, call.name, arguments, raw)

    def _take(self, fragment: Mapping[str, Any]) -> Iterator[StreamEvent]:
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        index, call_id, name = fragment.get("index"), fragment.get("id"), function.get("name")
        index = index if isinstance(index, int) else None
        call_id = call_id if isinstance(call_id, str) else ""
        name = name if isinstance(name, str) else ""
        arguments = function.get("arguments")
        text = encode_arguments(arguments) if isinstance(arguments, Mapping) else arguments
        text = text if isinstance(text, str) else ""

        call = self._find(index, call_id)
        if call is None or _begins_another(call, index, call_id, name, text):
            call = _Call(len(self._calls))
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        call.given_id = call.given_id or call_id
        call.name = call.name or name
        was_announced = bool(call.id)
        if text:
            call.pieces.append(text)
        if not was_announced:
            yield from self._announce(call)
        elif text:
            yield ToolCallDelta(call.index, text)

    def _find(self, index: int | None, call_id: str) -> _Call | None:
        """Return the call a fragment belongs to by its index, its id, or its place after the last one."""
        if index is not None:
            return self._by_index.get(index)
        if call_id:
            same = next((call for call in reversed(self._calls) if call.given_id == call_id), None)
            if same is not None:
                return same
        last = self._calls[-1] if self._calls else None
        return None if last is None or (call_id and last.given_id) else last

    def _announce(self, call: _Call) -> Iterator[StreamEvent]:
        """Say that a call begins, once its name is known, with the arguments that came before the name."""
        if call.id or not call.name:
            return
        wanted = call.given_id or new_id("call")
        call.id, n = wanted, 0
        while call.id in self._ids:
            n += 1
            call.id = f"{wanted}_r{n}"
        self._ids.add(call.id)
        yield ToolCallStart(call.index, call.id, call.name)
        if call.pieces:
            yield ToolCallDelta(call.index, call.text)


def _begins_another(call: _Call, index: int | None, call_id: str, name: str, text: str) -> bool:
    """Whether a fragment that points at ``call`` is in truth the beginning of the next one."""
    if not (name and call.name):
        return False
    if text.strip() and call.is_whole:
        return True
    other_id = bool(call_id and call.given_id and call_id != call.given_id)
    if other_id and call.is_whole:
        return True
    same_id = bool(call_id and call_id == call.given_id)
    return name != call.name and not same_id and (other_id or index is None)

"""A provider that plays answers written beforehand: for tests, demonstrations and notebooks in CI.

It is a complete provider: it streams in pieces, thinks, calls tools, counts tokens, can be slow or silent, can fail and
can be cut off. No network, no key, the same answers every time::

    provider = ScriptedProvider([
        [think("pandas has a method for that."), call("run_python", code="df.a.mean()")],
        "The mean of column a is 3.5.",
    ])

The same from a file, named as a model: ``scripted/answers.json``; see :meth:`ScriptedProvider.from_file`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from zidane_lab.errors import ConfigurationError, StreamInterruptedError
from zidane_lab.providers.base import (
    Capabilities,
    Finish,
    Request,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from zidane_lab.providers.payload import encode_arguments
from zidane_lab.turns import Block, TextBlock, ThinkingBlock, ToolCallBlock, Turn, Usage

__all__ = ["Answer", "ScriptedProvider", "Stall", "Step", "call", "fail", "say", "stall", "think"]


@dataclass(frozen=True, slots=True)
class Stall:
    """Silence of so many seconds in the middle of an answer."""

    seconds: float


Step: TypeAlias = str | Block | StreamEvent | Stall | Exception
"""A piece of an answer: text, a block to be streamed, a stream event as it is, silence, or a failure at this point."""

Answer: TypeAlias = Step | Turn | Sequence[Step] | Callable[[Request], Any]
"""What one request is answered with; a function gets the request and returns (or awaits) any of the others."""

CHUNK_SIZE: Final = 16
"""Characters of text in one piece, unless said otherwise."""

_EVENTS: Final = get_args(StreamEvent)


def say(text: str) -> TextBlock:
    """Return a piece of an answer that says ``text``."""
    return TextBlock(text)


def think(text: str) -> ThinkingBlock:
    """Return a piece of an answer that reasons."""
    return ThinkingBlock(text)


def call(name: str, /, **arguments: Any) -> ToolCallBlock:
    """Return a piece of an answer that calls the tool ``name``; its id is given when it is played."""
    return ToolCallBlock("", name, arguments)


def stall(seconds: float) -> Stall:
    """Return a piece of an answer that is silence."""
    return Stall(seconds)


def fail(error: Exception, *after: Step, times: int = 1) -> list[Answer]:
    """Return ``times`` answers that fail with ``error``, each after what else it says.

    Examples
    --------
    >>> provider = ScriptedProvider([*fail(OverloadedError("Too busy."), times=2), "The third attempt works."])
    """
    return [[*after, error] for _ in range(times)]


@dataclass(slots=True)
class Script:
    """Answers, how to play them, and how far they have been played."""

    answers: Sequence[Answer]
    chunk_size: int = CHUNK_SIZE
    delay: float = 0.0
    usage: Usage | None = None
    loop: bool = False
    played: int = 0

    def next(self) -> Answer:
        """Return the next answer.

        Raises
        ------
        ConfigurationError
            All answers have been given.
        """
        if not self.answers or (self.played >= len(self.answers) and not self.loop):
            raise ConfigurationError(
                f"The script is used up: it has {len(self.answers)} answer(s), and this is request {self.played + 1}.",
                hint="Add an answer to it, or play it with `loop`.",
            )
        answer = self.answers[self.played % len(self.answers)]
        self.played += 1
        return answer


class ScriptedProvider:
    """Plays a list of answers, one for each request.

    Parameters
    ----------
    answers
        One :data:`Answer` for each request. A list is played item by item; as soon as it holds a stream event
        it is taken for the whole stream, so one without ``Finish`` plays an answer that is cut off. All else
        ends by itself, with ``tool-calls`` if it calls tools. Left out, each request's ``model`` is the path
        of a script file.
    chunk_size
        Characters of text, reasoning or arguments in one piece.
    delay
        Seconds before each piece.
    usage
        Tokens reported for each answer; that of a ``Turn`` goes first. Without, none are reported.
    loop
        Start again after the last answer.

    Attributes
    ----------
    requests
        Every request received, in order.

    Examples
    --------
    >>> provider = ScriptedProvider([call("add", a=1, b=2), lambda request: request.turns[-1].tool_results[0].text])
    """

    name = "scripted"
    default_model = "script"
    capabilities = Capabilities(thinking=True, metered=False)

    def __init__(
        self,
        answers: Iterable[Answer] | None = None,
        *,
        chunk_size: int = CHUNK_SIZE,
        delay: float = 0.0,
        usage: Usage | None = None,
        loop: bool = False,
    ) -> None:
        self.requests: list[Request] = []
        self._script = None if answers is None else Script(tuple(answers), max(1, chunk_size), delay, usage, loop)
        self._files: dict[str, Script] = {}
        self._calls = 0

    @classmethod
    def from_file(cls, path: str | Path) -> ScriptedProvider:
        """Make a provider that plays a JSON file.

        The file holds one object (or just its list of answers)::

            {
              "answers": [
                {"thinking": "pandas has a method for that.",
                 "calls": [{"name": "run_python", "arguments": {"code": "df.a.mean()"}}]},
                "The mean of column a is 3.5."
              ],
              "chunk_size": 12, "delay": 0.01, "loop": false,
              "usage": {"input": 120, "output": 30}
            }

        All but ``answers`` may be left out. An answer is a text, or an object with any of

        - ``thinking``, ``text`` (texts) and ``calls`` (a list of ``name`` and ``arguments``), played in this order;
        - ``usage`` (``input``, ``output``, ``cache_read``, ``cache_creation``, ``reasoning``, ``cost``);
        - ``error``, to fail as a service would, after what else the answer holds: an object with ``code``
          (``auth``, ``rate_limit``, ``quota``, ``overloaded``, ``network``, ``stream_interrupted``,
          ``bad_request`` or ``context_exceeded``), a ``message`` and perhaps ``retry_after`` in seconds.

        Raises
        ------
        ConfigurationError
            The file cannot be read, or is not of this form.
        """
        from zidane_lab.providers.script_file import read_script

        provider = cls(())
        provider._script = read_script(path)
        return provider

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Play the next answer; see :class:`~zidane_lab.providers.base.Provider`.

        Raises
        ------
        ConfigurationError
            All answers have been given, or the request's model is no script file.
        Exception
            The failure that the script holds at this point.
        """
        self.requests.append(request)
        script = self._script or self._file(request.model)
        answer = script.next()
        while callable(answer):
            answer = answer(request)
            if inspect.isawaitable(answer):
                answer = await answer
        steps, usage = _steps(answer, script.usage)
        self._calls = max(self._calls, sum(len(turn.tool_calls) for turn in request.turns))
        is_whole_stream = any(isinstance(step, _EVENTS) for step in steps)
        is_finished = False
        for index, step in enumerate(steps):
            if isinstance(step, Exception):
                raise _fresh(step)
            if isinstance(step, Stall):
                await asyncio.sleep(step.seconds)
                continue
            for event in self._events(index, step, script.chunk_size):
                # Also without delay: it lets the reader be cancelled between two pieces.
                await asyncio.sleep(script.delay)
                is_finished = is_finished or isinstance(event, Finish)
                yield event
        if is_whole_stream and not is_finished:
            raise StreamInterruptedError("scripted: the script cuts the answer off here.", provider=self.name)
        if not is_whole_stream:
            if usage is not None:
                yield UsageUpdate(usage)
            yield Finish("tool-calls" if any(isinstance(step, ToolCallBlock) for step in steps) else "stop")

    def price_known(self, _model: str) -> bool:
        """Whether a price applies: a script costs nothing and has none."""
        return False

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _file(self, path: str) -> Script:
        from zidane_lab.providers.script_file import read_script

        if path not in self._files:
            self._files[path] = read_script(path)
        return self._files[path]

    def _events(self, index: int, step: Step, size: int) -> Iterator[StreamEvent]:
        match step:
            case str() | TextBlock():
                for piece in _pieces(step if isinstance(step, str) else step.text, size):
                    yield TextDelta(piece)
            case ThinkingBlock():
                for piece in _pieces(step.text, size):
                    yield ThinkingDelta(piece)
                yield ThinkingEnd(step.signature, step.redacted)
            case ToolCallBlock():
                yield from self._call(index, step, size)
            case _ if isinstance(step, _EVENTS):
                yield step
            case _:
                raise ConfigurationError(
                    f"A script cannot answer with a {type(step).__name__}.",
                    hint="Models answer with text, thinking and tool calls: use `say`, `think` and `call`.",
                )

    def _call(self, index: int, block: ToolCallBlock, size: int) -> Iterator[StreamEvent]:
        self._calls += 1
        call_id = block.id or f"call_{self._calls}"
        yield ToolCallStart(index, call_id, block.name)
        for piece in _pieces(block.raw if block.raw is not None else encode_arguments(block.input), size):
            yield ToolCallDelta(index, piece)
        yield ToolCallEnd(index, call_id, block.name, block.input, block.raw)


def _steps(answer: Any, usage: Usage | None) -> tuple[Sequence[Step], Usage | None]:
    if isinstance(answer, Turn):
        return answer.blocks, answer.usage or usage
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return answer, usage
    return (answer,), usage


def _fresh(error: Exception) -> Exception:
    """Return a copy, since whoever catches an error may add to it, and a script may play it again."""
    copy = type(error).__new__(type(error))
    copy.__dict__.update(error.__dict__)
    copy.args = error.args
    copy.__cause__ = error.__cause__
    return copy


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]

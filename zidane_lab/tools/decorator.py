"""``@tool``: make a tool from a typed Python function.

>>> @tool
... def distance(start: float, end: float = 0.0) -> float:
...     '''Measure the distance between two points.
...
...     Parameters
...     ----------
...     start, end
...         Positions in metres.
...     '''
...     return abs(end - start)

Where a function runs: an ``async`` one on the agent's loop. A synchronous one of tier ``execute`` (the tier
of a function that says nothing) runs inline too, in the thread the agent runs in, because such functions
touch what belongs to one thread: live variables, figures, database connections; it holds up the agent while
it works. A synchronous one of any other tier runs in a worker thread, so that a slow disk or service does not
hold up anything; stopping the run then drops its result, but cannot end it halfway. ``thread=True`` or
``thread=False`` decides otherwise.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast, overload

from zidane_lab.errors import ConfigurationError
from zidane_lab.tools.base import Concurrency, Tier, Tool, ToolContext, ToolOutput
from zidane_lab.tools.docstrings import parse_docstring
from zidane_lab.tools.schema import arguments_of
from zidane_lab.tools.truncate import fit
from zidane_lab.turns import AudioBlock, DocumentBlock, ImageBlock, ResultPart, TextBlock, VideoBlock

__all__ = ["tool"]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Every provider's rule for the name of a tool."""

_PARTS: Final = (TextBlock, ImageBlock, DocumentBlock, AudioBlock, VideoBlock)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    tier: Tier = "execute",
    concurrency: Concurrency | Callable[[Mapping[str, Any]], Concurrency] = "exclusive",
    thread: bool | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    tier: Tier = "execute",
    concurrency: Concurrency | Callable[[Mapping[str, Any]], Concurrency] = "exclusive",
    thread: bool | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Turn a typed function into a :class:`~zidane_lab.tools.base.Tool`.

    A first parameter annotated :class:`~zidane_lab.tools.base.ToolContext` receives the context and is not
    shown to the model. Whatever the function returns becomes the result: text as it is, a content block or a
    :class:`~zidane_lab.tools.base.ToolOutput` as it is, the rest as JSON or ``repr``; long text is shortened,
    the whole of it kept with the session.

    Parameters
    ----------
    name
        The tool's name; the function's own unless given.
    description
        What it does and when to use it; the docstring's prose unless given.
    tier
        What it can do at most. The default, ``execute``, is asked about before it runs.
    concurrency
        Whether a call may overlap others of its batch.
    thread
        Where a synchronous function runs; see the module's text.

    Raises
    ------
    ConfigurationError
        The name, the tier or the signature cannot be a tool's.
    """
    if function is None:
        return functools.partial(
            _make, name=name, description=description, tier=tier, concurrency=concurrency, thread=thread
        )
    return _make(function, name=name, description=description, tier=tier, concurrency=concurrency, thread=thread)


def _make(
    function: Callable[..., Any],
    *,
    name: str | None,
    description: str | None,
    tier: Tier,
    concurrency: Concurrency | Callable[[Mapping[str, Any]], Concurrency],
    thread: bool | None,
) -> Tool:
    if not callable(function):
        raise ConfigurationError(f"{function!r} is not a function.", hint="Put `@tool` above a `def`.")
    label = name if name is not None else getattr(function, "__name__", "")
    if not _NAME.fullmatch(label):
        raise ConfigurationError(
            f"{label!r} cannot be the name of a tool.",
            hint="Use 1 to 64 letters, digits, `_` and `-`: `@tool(name='…')`.",
        )
    _one_of("tier", tier, typing.get_args(Tier), label)
    if not callable(concurrency):
        _one_of("concurrency", concurrency, typing.get_args(Concurrency), label)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(f"Tool {label} is a generator.", hint="Return the whole result instead of yielding.")
    documentation = parse_docstring(getattr(function, "__doc__", None))
    arguments = arguments_of(function, tool=label, descriptions=documentation.parameters)
    return Tool(
        name=label,
        description=description or documentation.description or f"Calls {label}{inspect.signature(function)}.",
        parameters=arguments.schema,
        handler=_handler(function, label, wants_context=arguments.wants_context, thread=_threaded(tier, thread)),
        validate=arguments.validate,
        tier=tier,
        concurrency=concurrency,
    )


def _one_of(what: str, value: object, allowed: tuple[str, ...], label: str) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{value!r} is no {what} of tool {label}.", hint=f"One of: {', '.join(allowed)}.")


def _threaded(tier: Tier, thread: bool | None) -> bool:
    return tier != "execute" if thread is None else thread


def _handler(
    function: Callable[..., Any], label: str, *, wants_context: bool, thread: bool
) -> Callable[[ToolContext, Mapping[str, Any]], Awaitable[ToolOutput]]:
    """Return the function as a tool's handler."""
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose call is async
    )

    async def handler(context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
        call = functools.partial(function, *([context] if wants_context else []), **arguments)
        value = await asyncio.to_thread(call) if thread and not is_async else call()
        if inspect.isawaitable(value):
            value = await value
        return _bounded(_output(value), label, context)

    return handler


def _output(value: object) -> ToolOutput:
    """Wrap what the function returned; content blocks and pydantic models are known, the rest is JSON or text."""
    if isinstance(value, _PARTS):
        return ToolOutput((value,))
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, _PARTS) for part in value):
        return ToolOutput(tuple(cast("list[ResultPart]", value)))
    dump = getattr(type(value), "model_dump_json", None)
    return ToolOutput.of(dump(value) if callable(dump) else value)


def _bounded(output: ToolOutput, label: str, context: ToolContext) -> ToolOutput:
    """Shorten the texts that are too long for the model."""
    parts: list[ResultPart] = []
    metadata = dict(output.metadata)
    for part in output.parts:
        if isinstance(part, TextBlock):
            text, path = fit(part.text, label, context.outputs)
            parts.append(part if text is part.text else TextBlock(text))
            if path is not None:
                metadata["output_path"] = str(path)
        else:
            parts.append(part)
    return ToolOutput(tuple(parts), output.is_error, metadata)

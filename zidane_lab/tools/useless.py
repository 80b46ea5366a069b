"""Mark results that tell the model nothing, so that they are the first to go when room is made."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from zidane_lab.tools.base import ToolOutput
from zidane_lab.turns import TextBlock

__all__ = ["USELESS", "flag_useless"]

USELESS: Final = "useless"
"""Key of the metadata of a result that holds nothing worth keeping."""


def flag_useless(is_useless: Callable[[str], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for a tool's function, below ``@tool``, that marks the texts ``is_useless`` says yes to."""

    def marked(value: Any) -> Any:
        if isinstance(value, str) and is_useless(value):
            return ToolOutput((TextBlock(value),), metadata={USELESS: True})
        return value

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def waiting(*arguments: Any, **named: Any) -> Any:
                return marked(await function(*arguments, **named))

            return waiting

        @functools.wraps(function)
        def plain(*arguments: Any, **named: Any) -> Any:
            return marked(function(*arguments, **named))

        return plain

    return decorate

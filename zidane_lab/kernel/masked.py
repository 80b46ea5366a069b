"""Keep credentials out of what code leaves behind: its outputs, its error, and the code itself.

What the code of an agent shows a person is masked while it appears (:mod:`zidane_lab.kernel.capture`); here it is done
to the evidence, and for kernels elsewhere to the outputs that a notebook file will hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from zidane_lab.kernel.execution import Execution, Executor, Output
from zidane_lab.kernel.inside.privacy import is_secret_name
from zidane_lab.secrets.checks import is_random
from zidane_lab.secrets.screen import Screen

if TYPE_CHECKING:  # it brings in the client of kernels, which a kernel does not need
    from zidane_lab.kernel.remote import OnExecution
    from zidane_lab.kernel.remote_outputs import NotebookOutput

__all__ = ["MaskedExecutor", "mask_execution", "masked_listener", "secrets_under_names"]

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_STRONG_WORDS: Final = "password passwd passphrase secret secrets apikey credential credentials key"
_ABOUT_WORDS: Final = (
    "column columns col cols field fields name names pattern regex path file url type kind length size count id "
    "ids index rate policy hint prompt help label title"
)
_STRONG: Final = frozenset(_STRONG_WORDS.split())
_ABOUT: Final = frozenset(_ABOUT_WORDS.split())
"""A name that ends so tells something about a credential, and its value is none: ``password_column``."""

_LONGEST: Final = 4_096
"""Characters of the longest text in a variable that is taken for a credential because of its name."""


def secrets_under_names(namespace: dict[str, Any]) -> Callable[[], Iterator[str]]:
    """Return a source for :meth:`~zidane_lab.secrets.vault.Vault.watch`: texts in variables with a credential's name.

    Asking again costs next to nothing as long as no name has come or gone: only those that tell are looked at.
    """
    asked: tuple[int, object] = (-1, None)
    judged: dict[str, bool | None] = {}
    told: list[str] = []
    seen: dict[str, str] = {}

    def source() -> Iterator[str]:
        nonlocal asked, told
        now = (len(namespace), next(reversed(namespace), None))
        if now != asked:
            asked = now
            for name in list(namespace):
                if name not in judged:
                    judged[name] = _tells(name)
            told = [name for name in judged if judged[name] is not None and name in namespace]
        for name in told:
            value = namespace.get(name)
            if type(value) is not str or value is seen.get(name):
                continue
            seen[name] = value
            if len(value) <= _LONGEST and is_random(value, weak=judged[name] is True):
                yield value

    return source


def _tells(name: str) -> bool | None:
    """Whether a variable's name says that it holds a credential, and is weak, as ``token`` is, which texts have too."""
    words = [word.lower() for word in _WORDS.findall(name)] if is_secret_name(name) else []
    return None if not words or words[-1] in _ABOUT else not any(word in _STRONG for word in words)


def mask_execution(execution: Execution, screen: Screen) -> Execution:
    """Return the evidence with placeholders for credentials."""
    error = execution.error
    if error is not None:
        error = replace(error, message=screen.text(error.message), traceback=screen.text(error.traceback))
    return replace(
        execution,
        code=screen.text(execution.code),
        outputs=tuple(_output(each, screen) for each in execution.outputs),
        error=error,
        warnings=screen.json(execution.warnings),
    )


def _output(output: Output, screen: Screen) -> Output:
    return replace(
        output,
        text=screen.text(output.text),
        data=screen.json(output.data),
        metadata=screen.json(output.metadata),
    )


class MaskedExecutor:
    """An executor whose answers hold no credentials; all else is the executor's own.

    Parameters
    ----------
    executor
        Runs the code.
    screen
        Of the conversation.
    """

    def __init__(self, executor: Executor, screen: Screen) -> None:
        self._executor, self._screen = executor, screen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    async def execute(self, code: str, *, timeout: float | None = None) -> Execution:
        """Run code as a cell would; see :class:`~zidane_lab.kernel.execution.Executor`."""
        execution = await self._executor.execute(code, timeout=timeout)
        self._learn()
        return mask_execution(execution, self._screen)

    async def list_variables(self, *, pattern: str | None = None, limit: int = 200) -> Mapping[str, Any]:
        """Summaries of the user's variables; see :class:`~zidane_lab.kernel.execution.Executor`."""
        self._learn()
        return self._screen.json(await self._executor.list_variables(pattern=pattern, limit=limit))

    async def inspect_variable(self, name: str, *, budget: int = 4000) -> str:
        """Describe one variable; see :class:`~zidane_lab.kernel.execution.Executor`."""
        self._learn()
        return self._screen.text(await self._executor.inspect_variable(name, budget=budget))

    def _learn(self) -> None:
        """Take in what variables with a credential's name hold, where they can be seen."""
        namespace = getattr(self._executor, "namespace", None)
        if isinstance(namespace, dict):
            for value in secrets_under_names(namespace)():
                self._screen.vault.add(value)


def masked_listener(listener: OnExecution, screen: Screen) -> OnExecution:
    """Return a listener of a kernel elsewhere that hears of no credentials; outputs are changed where they are.

    Displays that later code may still update are gone over again after each piece of code.
    """
    living: list[NotebookOutput] = []

    def hear(code: str, execution: Execution, outputs: list[NotebookOutput], count: int | None) -> None:
        living.extend(each for each in outputs if "transient" in each)
        for output in [*living, *outputs]:
            output.update(screen.json(output))
        listener(screen.text(code), mask_execution(execution, screen), outputs, count)

    return hear

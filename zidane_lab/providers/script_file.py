"""Reading the JSON files that :class:`~zidane_lab.providers.scripted.ScriptedProvider` plays.

The format is described at :meth:`~zidane_lab.providers.scripted.ScriptedProvider.from_file`. It is checked
strictly, since a key that is misspelt and ignored would play a wrong answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from zidane_lab.errors import (
    AuthError,
    BadRequestError,
    ConfigurationError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
    StreamInterruptedError,
)
from zidane_lab.providers.scripted import CHUNK_SIZE, Answer, Script, Step
from zidane_lab.turns import TextBlock, ThinkingBlock, ToolCallBlock, Turn, Usage

__all__ = ["ERRORS", "read_script"]

ERRORS: Final[Mapping[str, type[ProviderError]]] = {
    kind.code: kind
    for kind in (
        AuthError,
        RateLimitError,
        QuotaError,
        OverloadedError,
        NetworkError,
        StreamInterruptedError,
        BadRequestError,
        ContextExceededError,
    )
}
"""The failures a script can play, by code."""

_SCRIPT: Final = frozenset({"answers", "chunk_size", "delay", "loop", "usage"})
_ANSWER: Final = frozenset({"thinking", "text", "calls", "usage", "error"})
_CALL: Final = frozenset({"name", "arguments"})
_ERROR: Final = frozenset({"code", "message", "retry_after"})
_USAGE: Final = frozenset({"input", "output", "cache_read", "cache_creation", "reasoning", "cost"})


def read_script(path: str | Path) -> Script:
    """Read a script file.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or is not of the form described.
    """
    try:
        raw = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"The script {str(path)!r} cannot be read: {error}.",
            hint="Name a JSON file after the provider, as in `scripted/answers.json`.",
        ) from error
    return _Reader(str(path)).script(raw)


class _Reader:
    """Checks one file; every complaint names the file and the place in it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def script(self, raw: Any) -> Script:
        if isinstance(raw, list):
            raw = {"answers": raw}
        fields = self._object(raw, "the script", _SCRIPT)
        answers = self._list(fields.get("answers"), "answers")
        return Script(
            [self._answer(answer, f"answer {number}") for number, answer in enumerate(answers, 1)],
            chunk_size=int(self._number(fields, "chunk_size", "the script", default=CHUNK_SIZE, least=1)),
            delay=self._number(fields, "delay", "the script", default=0, least=0),
            usage=self._usage(fields, "the script"),
            loop=fields.get("loop") is True,
        )

    def _answer(self, raw: Any, where: str) -> Answer:
        if isinstance(raw, str):
            return raw
        fields = self._object(raw, where, _ANSWER)
        blocks: list[ThinkingBlock | TextBlock | ToolCallBlock] = []
        if "thinking" in fields:
            blocks.append(ThinkingBlock(self._text(fields, "thinking", where)))
        if "text" in fields:
            blocks.append(TextBlock(self._text(fields, "text", where)))
        for raw_call in self._list(fields.get("calls", []), f"calls of {where}"):
            call = self._object(raw_call, f"a call of {where}", _CALL)
            arguments = call.get("arguments", {})
            if not isinstance(arguments, Mapping):
                self._complain(f"the arguments of a call of {where} are no object")
            blocks.append(ToolCallBlock("", self._text(call, "name", f"a call of {where}"), arguments))
        if "error" in fields:
            failing: list[Step] = [*blocks, self._error(fields["error"], f"the error of {where}")]
            return failing
        return Turn("assistant", tuple(blocks), usage=self._usage(fields, where))

    def _error(self, raw: Any, where: str) -> ProviderError:
        fields = self._object(raw, where, _ERROR)
        kind = ERRORS.get(self._text(fields, "code", where))
        if kind is None:
            self._complain(f"{where} has an unknown code; known are {', '.join(ERRORS)}")
        wait = self._number(fields, "retry_after", where, default=0, least=0) if "retry_after" in fields else None
        message = self._text(fields, "message", where) if "message" in fields else "The script fails here."
        return kind(message, provider="scripted", retry_after=wait)

    def _usage(self, fields: Mapping[str, Any], where: str) -> Usage | None:
        if fields.get("usage") is None:
            return None
        return Usage.of(self._object(fields["usage"], f"the usage of {where}", _USAGE))

    def _object(self, raw: Any, where: str, known: frozenset[str]) -> Mapping[str, Any]:
        if not isinstance(raw, Mapping):
            self._complain(f"{where} is no JSON object")
        unknown = sorted(set(raw) - known)
        if unknown:
            self._complain(f"{where} has the unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")
        return raw

    def _list(self, raw: Any, where: str) -> list[Any]:
        if not isinstance(raw, list):
            self._complain(f"{where} should be a list")
        return raw

    def _text(self, fields: Mapping[str, Any], name: str, where: str) -> str:
        if not isinstance(fields.get(name), str):
            self._complain(f"{name!r} of {where} should be a text")
        return str(fields[name])

    def _number(self, fields: Mapping[str, Any], name: str, where: str, *, default: float, least: float) -> float:
        value = fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= least:
            self._complain(f"{name!r} of {where} should be a number of at least {least:g}")
        return float(value)

    def _complain(self, what: str) -> NoReturn:
        raise ConfigurationError(
            f"The script {self._path!r} cannot be played: {what}.",
            hint="The format is described by `help(zidane_lab.providers.scripted.ScriptedProvider.from_file)`.",
        )

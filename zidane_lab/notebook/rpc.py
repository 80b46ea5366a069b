"""The one entry a front end calls in the kernel from outside the cell: JSON in, JSON out.

A request is ``{"v": 1, "method": …, "params": {…}}``, a reply ``{"v": 1, "result": {…}}`` or ``{"v": 1, "error":
{"code", "message", "hint"}}``. :func:`rpc` never raises, prints nothing, and may be called from any thread, also while
a cell runs. Two ways lead to it:

* a message of type :data:`~zidane_lab.notebook.rpc_control.REQUEST` on the control channel, whose content is the
  request (:mod:`zidane_lab.notebook.rpc_control`). It is answered at once on every ipykernel, and touches nothing;
* a silent ``execute_request`` with ``store_history`` off and :data:`EXPRESSION` as a user expression, on a subshell
  (ipykernel 7 and newer) or while the kernel is idle. Send it with ``allow_stdin`` on, or a running cell loses its
  input box, and rarely: on a subshell it draws the figures of a running cell before they are ready, and takes its
  payloads.

Whoever can send either can run any code there, so calls are not authorised; answers are checked all the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from zidane_lab.errors import ZidaneError
from zidane_lab.notebook.rpc_errors import RpcError

__all__ = ["EXPRESSION", "LONGEST_REPLY", "LONGEST_REQUEST", "VERSION", "Reply", "answered", "rpc"]

VERSION: Final = 1
"""Of the protocol. Methods and members are added to it; what is there does not change."""

LONGEST_REQUEST: Final = 1_000_000
"""Characters of a request's JSON."""

LONGEST_REPLY: Final = 4_000_000
"""Characters of a reply's JSON."""

_LONGEST_MESSAGE: Final = 1000

EXPRESSION: Final = '__import__("zidane_lab.notebook.rpc", fromlist=["rpc"]).rpc({})'
"""The user expression; in place of the braces the request's JSON, quoted once more as JSON."""


class Reply(str):
    """The JSON of a reply. As a user expression's value its ``text/plain`` is that JSON, not a Python literal."""

    __slots__ = ()

    __repr__ = str.__str__


def rpc(request: object, *, shell: Any = None) -> Reply:
    """Answer a request that is JSON text.

    Parameters
    ----------
    request
        The text.
    shell
        The kernel's shell; the one that runs here if left out.
    """
    try:
        if not isinstance(request, str):
            raise RpcError("malformed", "A request is JSON text.")  # noqa: TRY301 - every failure becomes a reply here
        if len(request) > LONGEST_REQUEST:
            raise _too_large()  # noqa: TRY301 - as above
        return _dumped(_answered(_parsed(request), shell))
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - never raises
        return _dumped(_failure(error))


def answered(request: object, *, shell: Any = None) -> dict[str, Any]:
    """Answer a request that has been read from JSON already; otherwise as :func:`rpc`."""
    try:
        text = json.dumps(request)
    except (ValueError, TypeError, RecursionError):
        text = ""
    reply: dict[str, Any] = json.loads(rpc(text, shell=shell))
    return reply


def _answered(request: object, shell: Any) -> dict[str, Any]:
    from zidane_lab.notebook.rpc_methods import METHODS, Call

    if not isinstance(request, Mapping):
        raise RpcError("malformed", "A request is an object.", hint='Such as {"v": 1, "method": "hello"}.')
    version, name, params = request.get("v"), request.get("method"), request.get("params", {})
    if type(version) is not int or version != VERSION:
        raise RpcError("version", f"This kernel speaks version {VERSION}.", hint=f'Send "v": {VERSION}.')
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        raise RpcError("unknown_method", "There is no such method.", hint=f"There are {', '.join(METHODS)}.")
    if not isinstance(params, Mapping):
        raise RpcError("invalid_params", "The params are not an object.", hint='Such as {"client": "…"}.')
    return {"v": VERSION, "result": method.run(Call(_shell(shell), params))}


def _shell(shell: Any) -> Any:
    if shell is None:
        from IPython import get_ipython

        shell = get_ipython()
    if shell is None:
        raise RpcError("not_loaded", "No IPython shell runs here.", hint="Call it in a Jupyter kernel.")
    return shell


def _parsed(request: str) -> object:
    try:
        value = json.loads(request)
    except (ValueError, RecursionError) as error:
        raise RpcError("malformed", f"The request is not JSON: {error}.") from error
    try:
        request.encode()
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Half a character, which no file takes: JSON can say it, text cannot.
        value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    return value


def _dumped(reply: Mapping[str, Any]) -> Reply:
    try:
        text = json.dumps(reply, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        text = json.dumps(_failure(error))
    if len(text) > LONGEST_REPLY:
        text = json.dumps(_failure(_too_large("reply")))
    return Reply(text)


def _too_large(what: str = "request") -> RpcError:
    longest = LONGEST_REQUEST if what == "request" else LONGEST_REPLY
    return RpcError("too_large", f"The {what} has more than {longest:,} characters.", hint="Do it in a cell.")


def _failure(error: BaseException) -> dict[str, Any]:
    match error:
        case RpcError():
            code, message, hint = error.why, error.message, error.hint
        case ZidaneError():
            code, message, hint = error.code, error.message, error.hint
        case _:
            code, message, hint = "internal", f"{type(error).__name__}: {error}", ""
    return {"v": VERSION, "error": {"code": code, "message": message[:_LONGEST_MESSAGE], "hint": hint}}

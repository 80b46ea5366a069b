"""Credentials stay with the person: a model, the session, logs and pages get placeholders, and only tools the values.

One guard belongs to one conversation. It stands at every door: what the person says (:meth:`SecretGuard.prompt`), what
tools get and give (:meth:`SecretGuard.tool`), what the session keeps (:meth:`SecretGuard.attach`), and, as a hook
bundle, whatever else is about to be sent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from zidane_lab.agent.guards.bundle import subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.agent.inbox import Prompt
from zidane_lab.agent.secret_writing import MASKED_TOOLS, TOLD, writer_of
from zidane_lab.approvals.assess import Surroundings
from zidane_lab.approvals.gate import STATE
from zidane_lab.approvals.judging import assess
from zidane_lab.errors import AbortedError, ToolError
from zidane_lab.events import ContextTransform, SystemTransform, ToolGate, ToolTransform, TurnBoundary
from zidane_lab.kernel.execution import Executor
from zidane_lab.kernel.live import LiveExecutor
from zidane_lab.kernel.masked import MaskedExecutor
from zidane_lab.secrets.masking import placeholders_in, unmask_arguments
from zidane_lab.secrets.screen import Screen
from zidane_lab.secrets.streaming import StreamMask
from zidane_lab.secrets.vault import Vault, session_key
from zidane_lab.session.session import Session
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.reading.targets import is_url
from zidane_lab.turns import Block, Turn

__all__ = ["SECRETS_SYSTEM", "SecretGuard", "secret_guard"]

SECRETS_SYSTEM: Final = """\
Credentials are kept from you: a text like [secret:openai-key:3f9a2c71d0] stands for one. Use it exactly as it is in a \
tool's arguments (in Python, inside a string) and the real value takes its place there; do not take it apart, decode \
it, or ask for the value."""
"""For the system prompt."""


def secret_guard(
    session: Session,
    home: Path | None,
    *,
    origin: str = "",
    environ: Mapping[str, str] | None = None,
    names: Collection[str] = (),
    values: Collection[str] = (),
    patterns: Collection[str] = (),
) -> SecretGuard:
    """Return the guard of a conversation.

    Parameters
    ----------
    home
        The user's folder, where the key of all placeholders lies; ``None`` for placeholders that end with the process.
    origin
        The session it was branched from, whose placeholders it goes on with.
    environ
        Environment variables; the process's own if left out.
    names
        Variables that hold credentials although their names do not say so.
    values
        More credentials.
    patterns
        Regular expressions that find more.
    """
    vault = Vault(
        session_key(home, origin or session.id),
        environ=os.environ if environ is None else environ,
        names=names,
        values=values,
        patterns=patterns,
    )
    return SecretGuard(Screen(vault))


@dataclass(slots=True)
class SecretGuard:
    """Keeps the credentials of one conversation; see :func:`secret_guard`.

    Parameters
    ----------
    screen
        Masks with the conversation's vault.
    """

    screen: Screen
    _network: set[str] = field(default_factory=set)
    _known: int = 0
    _seen: dict[int, tuple[Turn, Turn]] = field(default_factory=dict)

    # --- the doors ------------------------------------------------------------------------------------------

    def attach(self, session: Session, executor: Executor | None = None) -> None:
        """Keep credentials out of all that a session is given from now on, and of what code shows in this kernel."""
        session.screen = self.screen
        if isinstance(executor, LiveExecutor):
            executor.screen = self.screen

    def prompt(self, prompt: Prompt) -> Prompt:
        """Mask what a person says, or what is attached to it: a key pasted into a prompt is not sent."""
        if isinstance(prompt, str):
            return self.screen.text(prompt)
        blocks: tuple[Block, ...] = tuple(prompt)
        return self.screen.blocks(blocks)

    def tools(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return the tools as :meth:`tool` makes them."""
        return [self.tool(tool) for tool in tools]

    def tool(self, tool: Tool) -> Tool:
        """Return a tool that gets the real values, after its call was allowed, and gives back placeholders."""
        if tool.tier == "network":
            self._network.add(tool.name)

        async def handler(context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
            shown = _Shown(context.progress, self.screen)
            executor = context.executor
            masked = replace(
                context,
                executor=MaskedExecutor(executor, self.screen) if executor is not None else None,
                progress=shown.show,
            )
            try:
                output = await tool.handler(masked, self.restored(tool.name, arguments))
            except AbortedError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a tool raises becomes text
                raise self._masked(error) from None  # its own traceback may tell
            finally:
                shown.finish()
            return self._output(output)

        return replace(tool, handler=handler)

    # --- arguments ------------------------------------------------------------------------------------------

    def restored(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a call's arguments with the real values; the very same ones where there are none to put in.

        Raises
        ------
        ToolError
            A value is not known in this process, or cannot be put where its placeholder stands.
        """
        wanted = placeholders_in(arguments)
        if not wanted or tool in TOLD or tool in MASKED_TOOLS:
            return arguments
        vault = self.screen.vault
        if unknown := sorted(each for each in wanted if vault.value_of(each) is None):
            raise ToolError(
                f"What {unknown[0]} stands for is not known in this kernel (any more); the tool has not run.",
                hint="Read it again where it comes from, or have the code take it from the environment or a file.",
            )
        out = unmask_arguments(arguments, vault)
        for name, value in arguments.items():
            if name in TOLD:
                out[name] = value
            elif isinstance(value, str) and (write := writer_of(tool, name, arguments)) is not None:
                written = write(value, vault)
                if written is None:
                    raise ToolError(
                        f"A credential cannot be put into `{name}` where its placeholder stands; the tool has not run.",
                        hint="Put it alone between quotes, or take the value from the environment or a file.",
                    )
                out[name] = written
        return out

    def _output(self, output: ToolOutput) -> ToolOutput:
        parts, metadata = self.screen.blocks(output.parts), self.screen.json(output.metadata)
        same = parts is output.parts and metadata is output.metadata
        return output if same else replace(output, parts=parts, metadata=metadata)

    def _masked(self, error: Exception) -> Exception:
        text = str(error) if isinstance(error, ToolError) else f"{type(error).__name__}: {error}"
        masked = self.screen.text(text)
        return error if masked == text else ToolError(masked, hint="")

    # --- the bundle -----------------------------------------------------------------------------------------

    def install(self, hooks: HookBus) -> Uninstall:
        """Subscribe, after the gate and after everything that adds to results or to what is said."""
        return subscribe(
            hooks,
            {
                ToolGate: self._gate,
                ToolTransform: self._result,
                TurnBoundary: self._boundary,
                SystemTransform: self._system,
                ContextTransform: self._context,
            },
        )

    def _gate(self, event: ToolGate) -> None:
        """Let a credential leave this machine only if a person has allowed this very call."""
        if event.block is not None or event.tool in TOLD or isinstance(event.resume_state.get(STATE), Mapping):
            return
        wanted = sorted(placeholders_in(event.input))
        if wanted and (event.tool in self._network or _goes_out(event)):
            event.block = (
                f"refused: {wanted[0]} would leave this machine, and nobody was asked about that. "
                "Leave it out, or tell the user what you would send where."
            )

    def _result(self, event: ToolTransform) -> None:
        event.result = self.screen.blocks((event.result,))[0]

    def _boundary(self, event: TurnBoundary) -> None:
        event.inject[:] = [replace(each, text=self.screen.text(each.text)) for each in event.inject]

    def _system(self, event: SystemTransform) -> None:
        event.system = self.screen.text(event.system)

    def _context(self, event: ContextTransform) -> None:
        """Mask what was said before there was a guard, or before a value was known; each turn once."""
        vault = self.screen.vault
        vault.refresh()
        if len(vault.known) != self._known:
            self._seen = {}
        pairs = [self._seen.get(id(turn)) or (turn, self.screen.turn(turn)) for turn in event.turns]
        if any(masked is not turn for turn, masked in pairs):
            pairs = [(turn, self.screen.turn(masked)) for turn, masked in pairs]  # one may tell what another holds
            event.turns = tuple(masked for _, masked in pairs)
        self._known = len(vault.known)
        self._seen = {id(turn): (turn, masked) for turn, masked in pairs}  # holding the turn keeps its id its own


def _goes_out(event: ToolGate) -> bool:
    """Whether a call uses the network, whatever was allowed of it once and for all."""
    if event.tool == "read_file" and is_url(str(event.input.get("path", ""))):
        return True
    if not {"code", "command"} & event.input.keys():
        return False
    found = assess(event.tool, event.input, "execute", Surroundings())
    return found.reach == "network" or any("network" in reason for reason in found.reasons)


class _Shown:
    """What a tool shows while it runs, masked; its streams may be cut anywhere."""

    def __init__(self, show: Callable[[str, str], None], screen: Screen) -> None:
        self._show, self._screen = show, screen
        self._streams: dict[str, StreamMask] = {}

    def show(self, stream: str, text: str) -> None:
        """Show a piece, or what of it can be shown yet."""
        if stream in ("stdout", "stderr", "output"):
            text = self._streams.setdefault(stream, self._screen.stream()).feed(text)
        else:
            text = self._screen.text(text)
        if text:
            self._show(stream, text)

    def finish(self) -> None:
        """Show the rest."""
        for stream, masked in self._streams.items():
            if rest := masked.finish():
                self._show(stream, rest)

"""Where a cell's questions are put: the front end that announced itself first, else ``input()``, else nowhere.

Three places can show an interaction: the side panel, once it has announced itself; a form of widgets in the cell, where
the page has proved that it draws them and a click reaches the running cell; and an input box, where the request allows
one. The setting ``interaction`` (``ZIDANE_INTERACTION``) forces one of them. Where none is there, policy decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from zidane_lab.chat.interacting import Front
from zidane_lab.chat.typed_answers import ask_typed
from zidane_lab.kernel.portal import Portal
from zidane_lab.notebook import bundles
from zidane_lab.notebook.bundles import Bundle
from zidane_lab.notebook.input_line import InputLine
from zidane_lab.notebook.interaction_bundles import asked_bundle, settled_bundle, waiting_bundle
from zidane_lab.notebook.publish import Publisher
from zidane_lab.notebook.widget_manager import WAIT_SECONDS, client_of, widget_managers_of
from zidane_lab.notebook.widgets_form import Form
from zidane_lab.session.interactions import Interaction, InteractionAnswer

__all__ = ["Announced", "CellFront", "announced_at"]

_NO_WIDGETS: Final = (
    "This page has not shown that it draws widgets and that clicks reach a running cell. It takes ipywidgets beside "
    "the kernel, a page that draws it, and ipykernel 7 or newer."
)


@dataclass(slots=True)
class Announced:
    """The front ends that announced themselves to a kernel, in that order. Any thread may use it."""

    _fronts: dict[str, Front] = field(default_factory=dict)

    def announce(self, name: str, front: Front) -> None:
        """Say that a front end can show interactions; one that is known already keeps its place."""
        self._fronts[name] = front

    def leave(self, name: str) -> None:
        """Say that it is gone."""
        self._fronts.pop(name, None)

    def get(self, name: str) -> Front | None:
        """Return a front end by name."""
        return self._fronts.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, first come first."""
        return tuple(self._fronts)


_ANNOUNCED: WeakKeyDictionary[Any, Announced] = WeakKeyDictionary()


def announced_at(shell: Any) -> Announced:
    """Return the one :class:`Announced` of a shell."""
    return _ANNOUNCED.setdefault(shell, Announced())  # threads meet here


@dataclass(frozen=True, slots=True)
class CellFront:
    """Shows interactions of one cell (a :data:`~zidane_lab.chat.interacting.Front`).

    Parameters
    ----------
    portal
        The way to the main thread, where input is read and widgets are made.
    shell
        The shell; a terminal's asks at the terminal.
    setting
        One of :data:`zidane_lab.chat.settings.INTERACTIONS`.
    on_interrupt
        Called when the person interrupts instead of answering.
    publisher
        The cell to draw into.
    parent
        Message header of the cell: its client is the page.
    background
        The cell has ended: nothing can be typed there, and messages reach the kernel whatever its version.
    taken
        Returns the answer that counts of an interaction, by its id, also one that was given elsewhere.
    masked
        Puts placeholders for credentials into an answer before it is drawn: what is drawn stays in the notebook.
    """

    portal: Portal
    shell: Any
    setting: str
    on_interrupt: Callable[[], None]
    publisher: Publisher
    parent: Mapping[str, Any] = field(default_factory=dict)
    background: bool = False
    taken: Callable[[str], InteractionAnswer | None] = lambda _name: None
    masked: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda value: value

    async def __call__(self, interaction: Interaction) -> InteractionAnswer | None:
        """Show an interaction where the setting says, or where somebody is."""
        match self.setting:
            case "none":
                return None
            case "stdin":
                return await self._typed(interaction)
            case "panel":
                return await self._panel(interaction, announced_at(self.shell).get("panel"))
            case "widget":
                answered = await self._widget(interaction, trusted=True)
                return answered[0] if answered is not None else await self._without_widgets(interaction)
            case _:
                return await self._first(interaction)

    async def _first(self, interaction: Interaction) -> InteractionAnswer | None:
        announced = announced_at(self.shell)
        order = announced.names if "widget" in announced.names else (*announced.names, "widget")
        for name in order:
            if name == "widget":
                answered = await self._widget(interaction)
                if answered is not None:
                    return answered[0]
            elif (answer := await self._panel(interaction, announced.get(name))) is not None:
                return answer
        return await self._typed(interaction)

    async def _panel(self, interaction: Interaction, front: Front | None) -> InteractionAnswer | None:
        """Let a front end beside the notebook answer; the cell says that it waits, and then what was decided."""
        if front is None:
            return None
        display_id = self.publisher.show(waiting_bundle(interaction))
        answer: InteractionAnswer | None = None
        try:
            answer = await front(interaction)
            return answer
        finally:
            self.publisher.update(display_id, self._settled(interaction, answer))

    def _settled(self, interaction: Interaction, answer: InteractionAnswer | None) -> Bundle:
        answer = answer or self.taken(interaction.id)
        if answer is not None and answer.value is not None:
            answer = replace(answer, value=self.masked(answer.value))
        return settled_bundle(interaction, answer, "Not needed any more.")

    async def _without_widgets(self, interaction: Interaction) -> InteractionAnswer | None:
        self.publisher.show(bundles.banner("info", "The question is asked in an input box.", _NO_WIDGETS))
        return await self._typed(interaction)

    # --- standard input -----------------------------------------------------------------------------

    async def _typed(self, interaction: Interaction) -> InteractionAnswer | None:
        if self.background:
            return None

        line = InputLine(self.shell, forced=self.setting == "stdin", on_interrupt=self.on_interrupt)

        async def read(prompt: str) -> str | None:
            async def on_main() -> str | None:
                return line.read(prompt)

            return await self.portal.call(on_main)

        try:
            value = await ask_typed(interaction, read)
        finally:
            line.drop()  # answered elsewhere: the main thread must not wait for a return
        return None if value is None else InteractionAnswer(interaction.id, value, "stdin")

    # --- widgets ------------------------------------------------------------------------------------

    async def _widget(
        self, interaction: Interaction, *, trusted: bool = False
    ) -> tuple[InteractionAnswer | None] | None:
        """Show a form and wait; ``None`` when there cannot be one here.

        A person who forces widgets is trusted to see them, but not to be heard: clicks must reach the kernel.
        """
        if not hasattr(self.shell, "kernel"):
            return None
        answered: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        drawing = _Drawing(interaction, answered)
        answer: InteractionAnswer | None = None
        try:
            if not await self.portal.call(lambda: self._show(drawing, trusted=trusted)):
                return None
            answer = InteractionAnswer(interaction.id, await answered, "widget")
            return (answer,)
        finally:
            drawing.dropped = True
            settled = self._settled(interaction, answer)
            self.portal.soon(lambda: self._settle(drawing, settled))

    async def _show(self, drawing: _Drawing, *, trusted: bool) -> bool:
        """Draw the form; on the main thread, so that the front end's messages come back to it."""
        managers = widget_managers_of(self.shell)
        if not managers.is_watched:
            return False
        reaches = self.background or managers.reaches_cells
        drawn = await managers.find(client_of({"header": self.parent}), reaches=reaches, seconds=WAIT_SECONDS)
        if not (drawn or trusted) or not (self.background or managers.clicks_reach_cells) or drawing.dropped:
            return False
        answered = drawing.answered

        def submit(value: Mapping[str, Any]) -> None:
            answered.get_loop().call_soon_threadsafe(_tell, answered, value)

        try:
            form = Form(drawing.interaction, submit)
        except ImportError:
            return False
        drawing.form = form
        drawing.display_id = self.publisher.show(asked_bundle(drawing.interaction, form.view()))
        announced_at(self.shell).announce("widget", self)
        return True

    def _settle(self, drawing: _Drawing, settled: Mapping[str, Any]) -> None:
        """Put what was decided in the place of the form."""
        if drawing.form is not None:
            drawing.form.lock()
            self.publisher.update(drawing.display_id, settled)
            drawing.form.close()


@dataclass(slots=True)
class _Drawing:
    """A form on its way to the page; ``dropped`` once nobody waits for it any more."""

    interaction: Interaction
    answered: asyncio.Future[Mapping[str, Any]]
    form: Form | None = None
    display_id: str = ""
    dropped: bool = False


def _tell(future: asyncio.Future[Mapping[str, Any]], value: Mapping[str, Any]) -> None:
    if not future.done():
        future.set_result(value)

"""A limit on the text that the tools of one turn return: past it, the model is asked to consolidate first.

A turn that brings in hundreds of kilobytes fills the window with what is mostly never needed again. Nothing is cut
or refused: at the boundary of the turn the model is told to say what matters and to ask for less.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from zidane_lab.agent.guards.bundle import announcer, subscribe
from zidane_lab.agent.hooks import HookBus, Uninstall
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import Injection, TurnBoundary
from zidane_lab.wire.sizes import result_text_bytes

__all__ = ["BUDGET_EXEMPT_TOOLS", "OutputBudget"]

BUDGET_EXEMPT_TOOLS: Final = frozenset(
    {"tool_search", "skills_use", "skills_read", "read_chat_turns", "present_plan", "ask_user"}
)
"""Tools that exist to load context or to talk to the person: counting them would steer the model away from them.

Reading files and reports of subagents do count: a huge file is what the limit is for.
"""


@dataclass(frozen=True, slots=True)
class OutputBudget:
    """A hook bundle: at most about ``limit`` bytes of tool text a turn, or a word to the model.

    Parameters
    ----------
    limit
        Bytes of UTF-8; a turn that is over it leads to an injection (reason ``tool-output-budget``).
    exempt
        Tools that are not counted.

    Raises
    ------
    ConfigurationError
        The limit is below 1.
    """

    limit: int
    exempt: Collection[str] = BUDGET_EXEMPT_TOOLS

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ConfigurationError(
                f"A budget of {self.limit} bytes of tool output is none.",
                hint="Give a number of bytes above 0, or None for no budget.",
            )

    def install(self, hooks: HookBus) -> Uninstall:
        """Watch the boundaries of turns."""
        announce = announcer(hooks, "output-budget")

        async def at_boundary(event: TurnBoundary) -> None:
            tools = {call.id: call.name for call in event.turn.tool_calls}
            results = event.results.tool_results if event.results is not None else ()
            sizes: dict[str, int] = {}
            for result in results:
                tool = tools.get(result.call_id, "")
                if tool not in self.exempt:
                    sizes[tool] = sizes.get(tool, 0) + result_text_bytes(result)
            total = sum(sizes.values())
            if total > self.limit:
                event.inject.append(Injection("tool-output-budget", _nudge(total, self.limit)))
                largest = max(sizes, key=lambda name: sizes[name])
                await announce(event.ids, largest, f"{_kb(total)} of tool output in one turn, over {_kb(self.limit)}")

        return subscribe(hooks, {TurnBoundary: at_boundary})


def _nudge(total: int, limit: int) -> str:
    return (
        f"The tools of this turn returned {_kb(total)} of text; {_kb(limit)} is what one turn should stay within. "
        "Before you call more tools, write down in a few lines what you have learnt that matters for the task. "
        "Then ask for less at a time: fewer lines, one file, or a summary computed with run_python."
    )


def _kb(size: int) -> str:
    return f"{size / 1024:,.1f} KB"

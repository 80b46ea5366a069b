"""``/compact``: summarise the conversation now, or take the last summary back."""

from __future__ import annotations

import re
from typing import Final

from zidane_lab.chat.commands import CommandContext, Reply, command
from zidane_lab.chat.report import table
from zidane_lab.errors import ConfigurationError
from zidane_lab.turns import Turn

__all__: list[str] = []

_MARKS: Final = re.compile(r"[\\`*_\[\]<>!#$~]")
"""What would mean something in Markdown: what turns say is shown, not drawn."""

_GIST: Final = 80
"""Characters of a turn that are shown."""

_COUNT: Final = re.compile(r"0*[1-9][0-9]{0,8}")

_SCOPES: Final = frozenset({"full", "tail", "from", "up_to", "up-to"})


@command(
    "compact",
    "/compact [full|tail N|from TURN|up_to TURN] [what to keep]",
    "summarise the conversation so far, to make room; `/compact undo` takes the last one back",
)
async def _compact(context: CommandContext, arguments: str) -> Reply:
    chat = context.chat
    words = arguments.lower().split()
    if words[:1] == ["undo"]:
        if len(words) > 1:
            raise ConfigurationError("/compact undo takes nothing behind it.", hint="It takes the newest one back.")
        turn_id = chat.undo_compaction()
        return Reply(
            f"The summary `{turn_id}` no longer counts: the turns it stood for are sent again. "
            "Where the window is full, the next run may compact them anew, unless `%zidane /config auto_compact off`."
        )
    scope, instructions = split_scope(arguments)
    await chat.compact(scope, instructions=instructions, executor=context.executor, bundles=context.bundles())
    return Reply("")


@command("turns", "/turns [N]", "the last turns with their ids, as `/compact from TURN` and `up_to TURN` take them")
async def _turns(context: CommandContext, arguments: str) -> Reply:
    turns = context.chat.session.turns
    if arguments and not _COUNT.fullmatch(arguments):
        raise ConfigurationError(f"{arguments!r} is no number of turns.", hint="Write `%zidane /turns 50`.")
    shown = turns[-(int(arguments) if arguments else 20) :] if turns else ()
    if not shown:
        return Reply("Nothing has been said in this session yet.")
    rows = [(f"`{turn.id}`", turn.injected or turn.role, _MARKS.sub(r"\\\g<0>", _gist(turn))) for turn in shown]
    left = len(turns) - len(shown)
    more = f"\n\n{left} earlier ones are not listed." if left > 0 else ""
    return Reply(f"{table(('turn', 'by', 'begins'), rows)}{more}")


def _gist(turn: Turn) -> str:
    """Return how a turn begins: its first words, else the tools it called or that answered."""
    words = " ".join(turn.text.split())
    if not words:
        words = ", ".join(call.name for call in turn.tool_calls) or f"{len(turn.tool_results)} results"
    return words if len(words) <= _GIST else f"{words[: _GIST - 1]}…"


def split_scope(arguments: str) -> tuple[str, str]:
    """Split ``tail 6 keep the numbers`` into the scope and what the summary should pay attention to."""
    words = arguments.split()
    scope = words[0].lower() if words else ""
    if scope not in _SCOPES:
        return "tail", arguments
    numbered = scope == "tail" and len(words) > 1 and words[1].isascii() and words[1].isdigit()
    taken = 2 if numbered or scope in {"from", "up_to", "up-to"} else 1
    return " ".join(words[:taken]), " ".join(words[taken:])

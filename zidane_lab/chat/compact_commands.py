"""``/compact``: summarise the conversation now, or take the last summary back."""

from __future__ import annotations

from typing import Final

from zidane_lab.chat.commands import CommandContext, Reply, command

__all__: list[str] = []

_SCOPES: Final = frozenset({"full", "tail", "from", "up_to", "up-to"})


@command(
    "compact",
    "/compact [full|tail N|from TURN|up_to TURN] [what to keep]",
    "summarise the conversation so far, to make room; `/compact undo` takes the last one back",
)
async def _compact(context: CommandContext, arguments: str) -> Reply:
    chat = context.chat
    if arguments == "undo":
        turn_id = chat.undo_compaction()
        return Reply(
            f"The summary `{turn_id}` no longer counts: the turns it stood for are sent again. "
            "Where the window is full, the next run may compact them anew, unless `%zidane /config auto_compact off`."
        )
    scope, instructions = split_scope(arguments)
    await chat.compact(scope, instructions=instructions, executor=context.executor, bundles=context.bundles())
    return Reply("")


def split_scope(arguments: str) -> tuple[str, str]:
    """Split ``tail 6 keep the numbers`` into the scope and what the summary should pay attention to."""
    words = arguments.split()
    if not words or words[0] not in _SCOPES:
        return "tail", arguments
    numbered = words[0] == "tail" and len(words) > 1 and _is_count(words[1])
    taken = 2 if numbered or words[0] in {"from", "up_to", "up-to"} else 1
    return " ".join(words[:taken]), " ".join(words[taken:])


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit()

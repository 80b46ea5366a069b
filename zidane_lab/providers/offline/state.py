"""Where the conversation stands, read from its turns and nothing else.

The planner keeps no memory: each request holds the prompt, the planner's own calls and their results. A call
of ours is known by its id, ``offline_<digest>_<step>_<number>``, which names the step it was made for; the digest,
of all that was said before, keeps ids apart in a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from zidane_lab.providers.offline.results import Outcome, outcome_of
from zidane_lab.providers.offline.summary import REQUEST_LINE, SUMMARY_MARK, VARIABLES_LINE, line_of
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn

__all__ = ["Key", "State", "call_id", "read_state"]

Key = tuple[str, int]
"""A step and the number of the table (or file) it is for."""

_ID: Final = re.compile(r"offline_[0-9a-f]{10}_([a-z_]+)_(\d+)")
_GO_ON: Final = re.compile(r"\s*(continue|go on|carry on|proceed|keep going|resume)\s*[.!…]*\s*", re.IGNORECASE)
_NOTE: Final = re.compile(r"\s*\[[^\[\]]*\]\s*")
_FRAME: Final = re.compile(r"^\s*<[a-z][\w-]*[\s>].*", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class State:
    """What the planner may go by.

    Parameters
    ----------
    prompt
        The last thing a person asked; empty if there is none.
    earlier
        What they asked before, newest first.
    outcomes
        Results of our calls since that prompt, by step.
    made
        Variables that our calls of the whole conversation created.
    digest
        Short hash of everything said so far.
    """

    prompt: str
    earlier: tuple[str, ...]
    outcomes: Mapping[Key, Outcome]
    made: frozenset[str]
    digest: str


def read_state(turns: tuple[Turn, ...]) -> State:
    """Read a conversation.

    A prompt is the first text of a user turn that holds no tool results and was not put in by the loop. A
    bracketed note, or a bare "continue", is no new prompt: work goes on with the one before. So it does behind a
    summary of our own, which names the request that was under way.
    """
    prompts: list[str] = []
    pending: dict[str, Key] = {}
    outcomes: dict[Key, Outcome] = {}
    made: set[str] = set()
    for turn in turns:
        prompt = _prompt_of(turn)
        if prompt is not None and prompt.startswith(SUMMARY_MARK):
            made |= set(filter(None, line_of(prompt, VARIABLES_LINE).split(", ")))
            prompt = line_of(prompt, REQUEST_LINE) or None
        if prompt is not None:
            if prompts and _GO_ON.fullmatch(prompt):
                continue
            prompts.append(prompt)
            outcomes = {}
        for block in turn.blocks:
            if isinstance(block, ToolCallBlock) and (match := _ID.fullmatch(block.id)):
                pending[block.id] = (match[1], int(match[2]))
            elif isinstance(block, ToolResultBlock) and block.call_id in pending:
                outcome = outcome_of(block)
                outcomes[pending.pop(block.call_id)] = outcome
                made |= outcome.created
    *before, last = prompts or [""]
    return State(last, tuple(reversed(before)), outcomes, frozenset(made), _digest(turns))


def call_id(digest: str, key: Key) -> str:
    """Return the id of the call made for a step."""
    return f"offline_{digest}_{key[0]}_{key[1]}"


def _prompt_of(turn: Turn) -> str | None:
    if turn.role != "user" or turn.injected is not None or turn.tool_results:
        return None
    texts = [block.text for block in turn.blocks if isinstance(block, TextBlock)]
    if not texts or _NOTE.fullmatch(texts[0]):
        return None
    # What is attached follows in a block of its own, or in a frame that starts with a tag.
    return _FRAME.sub("", texts[0]) or texts[0]


def _digest(turns: tuple[Turn, ...]) -> str:
    found = blake2b(digest_size=5)
    for turn in turns:
        for block in turn.blocks:
            if isinstance(block, TextBlock):
                found.update(block.text.encode("utf-8", "surrogatepass"))
            elif isinstance(block, ToolCallBlock):
                found.update(block.id.encode("utf-8", "surrogatepass"))
            elif isinstance(block, ToolResultBlock):
                found.update(block.text.encode("utf-8", "surrogatepass"))
            found.update(b"\0")
    return found.hexdigest()

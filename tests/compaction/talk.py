"""Conversations of calls and results, a line each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from zidane_lab.session.read_state import read_evidence
from zidane_lab.turns import CompactSummaryBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class Talk:
    """Builds the turns of a conversation; every step is later than the one before."""

    def __init__(self):
        self.turns: tuple[Turn, ...] = ()

    def say(self, role, *blocks, **fields):
        count = len(self.turns)
        turn = Turn(role, blocks, id=f"t{count}", created_at=BEGINNING + timedelta(minutes=count), **fields)
        self.turns += (turn,)
        return turn

    def ask(self, text="go on"):
        self.say("user", TextBlock(text))
        return self

    def answer(self, text="done"):
        self.say("assistant", TextBlock(text))
        return self

    def call(self, *steps):
        """One batch: each step is (id, tool, input, text) and may end in a dict of result fields."""
        self.say("assistant", *(ToolCallBlock(step[0], step[1], step[2]) for step in steps))
        self.say(
            "user",
            *(ToolResultBlock(step[0], (TextBlock(step[3]),), **(step[4] if len(step) > 4 else {})) for step in steps),
        )
        return self

    def read(self, call_id, path, text="x" * 400, *, offset=1, limit=300, **evidence):
        known = {"mtime": 1.5, "size": 400} | evidence
        fields = {"metadata": read_evidence(path, offset, limit, **known)}
        return self.call((call_id, "read_file", {"path": path, "offset": offset, "limit": limit}, text, fields))

    def summarise(self, *turn_ids):
        return self.say("user", CompactSummaryBlock("summary", turn_ids))


def tokens(count):
    """A text of about so many tokens."""
    return "abcd" * count

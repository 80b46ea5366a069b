"""Conversations, and a loop whose time passes only while nothing happens."""

from __future__ import annotations

import asyncio
import selectors

from hypothesis import strategies as st

from zidane_lab.turns import CompactSummaryBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn


def user(text, turn_id, **options):
    return Turn("user", (TextBlock(text),), id=turn_id, **options)


def answer(text, turn_id, *, calls=(), **options):
    blocks = (TextBlock(text),) if text else ()
    return Turn(
        "assistant",
        (*blocks, *(ToolCallBlock(call, "run_python", {"code": f"{call} = 1"}) for call in calls)),
        id=turn_id,
        **options,
    )


def results(turn_id, *calls, text="done"):
    return Turn("user", tuple(ToolResultBlock(call, (TextBlock(text),)) for call in calls), id=turn_id)


def marker(turn_id, *replaces, text="An earlier summary.", **metadata):
    return Turn("user", (CompactSummaryBlock(text, replaces, metadata),), id=turn_id)


def ids(turns):
    return [turn.id for turn in turns]


def plain(count):
    """A conversation of ``count`` turns: questions and answers by turns, ids from t1 on."""
    return tuple(
        user(f"question {n}", f"t{n}") if n % 2 else answer(f"answer {n}", f"t{n}") for n in range(1, count + 1)
    )


@st.composite
def conversations(draw, min_size=1, max_size=14):
    """Sound conversations: prompts, answers with and without calls, results right after calls."""
    turns: list[Turn] = []
    for _ in range(draw(st.integers(min_size, max_size))):
        n = len(turns)
        said = draw(st.text("ab é\U0001f600", min_size=1, max_size=30)).strip() or "x"
        match draw(st.sampled_from(["user", "answer", "calls", "steer"])):
            case "user" | "steer":
                turns.append(user(said, f"t{n}"))
            case "answer":
                turns.append(answer(said, f"t{n}"))
            case "calls":
                made = [f"c{n}_{k}" for k in range(draw(st.integers(1, 3)))]
                turns += [answer(said, f"t{n}", calls=made), results(f"t{n + 1}", *made, text=said)]
    return tuple(turns)


def calls_are_answered(turns):
    """Whether every call has its result in ``turns``, and every result its call."""
    made = {call.id for turn in turns for call in turn.tool_calls}
    answered = {result.call_id for turn in turns for result in turn.tool_results}
    return made == answered


class _Selector(selectors.DefaultSelector):
    loop = None

    def select(self, timeout=None):
        if timeout:
            self.loop.moment += timeout
        return super().select(0)


class QuickLoop(asyncio.SelectorEventLoop):
    """Sleeping takes no time: the clock jumps to the next thing that is due."""

    moment = 0.0

    def __init__(self):
        selector = _Selector()
        super().__init__(selector)
        selector.loop = self

    def time(self):
        return self.moment


def run_quickly(main):
    """Run a coroutine on a :class:`QuickLoop`."""
    with asyncio.Runner(loop_factory=QuickLoop) as runner:
        return runner.run(main)

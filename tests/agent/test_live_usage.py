"""Counting while an answer streams: what the service said, what is estimated, and what it costs so far."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent import assemble as assemble_module
from zidane_lab.agent.assemble import Assembly, assemble
from zidane_lab.agent.live_usage import LiveUsage, running_cost
from zidane_lab.errors import StreamInterruptedError
from zidane_lab.events import Ids, StreamEnd, StreamProgress
from zidane_lab.providers.base import (
    Finish,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallStart,
    UsageUpdate,
)
from zidane_lab.turns import Usage


def after(*events):
    live = LiveUsage()
    for event in events:
        live = live.after(event)
    return live


def cents(usage):
    """A price list: 1 cent a token in, 10 a token out, a tenth of a cent a cached one."""
    return usage.input + 10 * usage.output + usage.cache_read / 10 + 2 * usage.cache_creation


def test_without_a_count_four_units_are_a_token_rounded_up():
    live = after(TextDelta("abcde"), ThinkingDelta("fg"), ToolCallDelta(0, "hi"))
    assert (live.output, live.is_estimated) == (3, True)


def test_letters_outside_the_basic_plane_are_two_units():
    assert after(TextDelta("😀" * 4)).output == 2
    assert after(TextDelta("ü" * 4)).output == 1


def test_a_placeholder_at_the_beginning_does_not_freeze_the_count():
    live = after(UsageUpdate(Usage(input=100, output=3)), TextDelta("x" * 40))
    assert (live.output, live.is_estimated) == (10, True)


def test_a_running_total_is_taken_and_what_came_after_it_estimated():
    live = after(TextDelta("x" * 400), UsageUpdate(Usage(output=7)))
    assert (live.output, live.is_estimated) == (7, False)
    live = live.after(TextDelta("y" * 8))
    assert (live.output, live.is_estimated) == (9, True)


def test_an_update_that_repeats_the_count_leaves_the_estimate_moving():
    live = after(TextDelta("x" * 40), UsageUpdate(Usage(output=7)), TextDelta("y" * 40), UsageUpdate(Usage(5, 7)))
    assert (live.output, live.is_estimated) == (17, True)


def test_the_final_count_wins_whatever_was_estimated():
    live = after(UsageUpdate(Usage(9, 1)), TextDelta("x" * 400), UsageUpdate(Usage(9, 20)), Finish("stop"))
    assert (live.output, live.is_estimated) == (20, False)
    hidden = after(UsageUpdate(Usage(9, 500)), Finish("stop"))  # reasoning that was never shown
    assert (hidden.output, hidden.is_estimated) == (500, False)


def test_a_service_that_never_counts_ends_in_an_estimate():
    live = after(TextDelta("x" * 40), Finish("stop"))
    assert (live.output, live.is_estimated) == (10, True)
    assert (after(Finish("stop")).output, after(Finish("stop")).is_estimated) == (0, False)


def test_events_that_say_nothing_give_the_same_object():
    live = after(TextDelta("x"))
    for event in (TextDelta(""), ThinkingEnd("seal"), ToolCallStart(0, "c", "look")):
        assert live.after(event) is live


PREVIOUS = Usage(input=10, output=999, cache_read=90, cache_creation=5, cost=1.0)


def test_the_prompt_before_stands_in_until_this_one_is_counted():
    live = after(TextDelta("x" * 40))
    assert live.so_far(PREVIOUS) == Usage(10, 10, 90, 5)
    assert live.so_far() == Usage(output=10)  # the first answer prices its output only
    live = live.after(UsageUpdate(Usage(input=300, output=1, cache_read=7)))
    assert (live.so_far(PREVIOUS).input, live.so_far(PREVIOUS).cache_read, live.so_far(PREVIOUS).context) == (
        300, 7, 307,
    )  # fmt: skip


def test_the_running_price_follows_the_text():
    live = after(UsageUpdate(Usage(input=100, output=1, cost=0.5)))
    assert running_cost(live, price=cents) == 0.5
    live = live.after(TextDelta("x" * 40))
    assert running_cost(live, price=cents) == 100 + 100
    assert running_cost(after(TextDelta("x" * 40)), PREVIOUS, cents) == 10 + 100 + 9 + 10


def test_a_told_cost_is_final_when_nothing_is_estimated():
    live = after(TextDelta("x" * 40), UsageUpdate(Usage(100, 20, cost=0.25)), Finish("stop"))
    assert running_cost(live, PREVIOUS, cents) == 0.25


def test_without_a_price_list_the_told_cost_is_the_least():
    live = after(UsageUpdate(Usage(100, 1, cost=0.5)), TextDelta("x" * 40))
    assert running_cost(live) == 0.5
    assert running_cost(after(TextDelta("x"))) is None


@pytest.mark.parametrize("price", [lambda _: None, lambda _: 0.0])
def test_traffic_without_a_price_shows_none_and_never_zero(price):
    assert running_cost(after(UsageUpdate(Usage(100, 1)), TextDelta("x")), PREVIOUS, price) is None
    assert running_cost(after(UsageUpdate(Usage(100, 1, cost=0.0))), PREVIOUS) is None


@given(st.lists(st.text(max_size=30), max_size=20))
def test_the_estimate_does_not_depend_on_how_text_is_cut(pieces):
    whole = "".join(pieces)
    assert after(*map(TextDelta, pieces)).output == after(TextDelta(whole)).output


# --- in the loop's assembly -------------------------------------------------------------------------


async def told(*events, ended=True, **options):
    seen = []

    async def stream():
        for event in events:
            yield event

    async def emit(event):
        seen.append(event)

    if ended:
        await assemble(stream(), Assembly("p"), emit, Ids("run_1"), **options)
    else:
        with pytest.raises(StreamInterruptedError):
            await assemble(stream(), Assembly("p"), emit, Ids("run_1"), **options)
    return seen


@pytest.mark.asyncio
async def test_progress_tells_context_and_cost(monkeypatch):
    monkeypatch.setattr(assemble_module, "PROGRESS_SECONDS", 0.0)
    seen = await told(
        TextDelta("x" * 40),
        UsageUpdate(Usage(input=300, output=20, cost=0.25)),
        Finish("stop"),
        previous=PREVIOUS,
        price=cents,
    )
    first, *_, last = [event for event in seen if isinstance(event, StreamProgress)]
    assert (first.output_tokens, first.estimated, first.context, first.cost) == (10, True, 105, 129.0)
    assert (last.output_tokens, last.estimated, last.context, last.cost) == (20, False, 300, 0.25)
    assert isinstance(seen[-1], StreamEnd)
    assert seen[-2] is last


@pytest.mark.asyncio
async def test_without_options_progress_tells_what_the_stream_told():
    seen = await told(UsageUpdate(Usage(5, 2)), TextDelta("hi"), Finish("stop"))
    (progress,) = [event for event in seen if isinstance(event, StreamProgress)]
    assert (progress.context, progress.cost, progress.output_tokens) == (5, None, 2)
    assert isinstance((await told(TextDelta("hi"), ended=False))[-1], StreamEnd)

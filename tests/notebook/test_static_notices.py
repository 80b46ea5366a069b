"""Notices of a page that is drawn once: the same every time, and nothing that is not worth a line."""

from __future__ import annotations

import pytest

from tests.notebook.support import Page
from zidane_lab.agent.hooks import HookBus
from zidane_lab.events import CompactEnd, ContextPruned, Ids
from zidane_lab.notebook.bundles import MIME
from zidane_lab.notebook.context_notices import ContextNotices
from zidane_lab.turns import CompactSummaryBlock, Turn

pytestmark = pytest.mark.asyncio

IDS = Ids("run_2")


async def page_after(*events, live):
    page, hooks = Page(), HookBus()
    for event, handler in ContextNotices(page, live=live).subscriptions():
        hooks.on(event, handler)
    for event in events:
        await hooks.emit(event)
    return page


def compacted(before, after):
    turn = Turn("user", (CompactSummaryBlock("So far.", ("a",)),))
    return CompactEnd(IDS, "auto", "compacted", "p/m", 1.0, turn, 1, before, after)


async def test_dividers_do_not_depend_on_ids_or_on_a_few_tokens():
    first = await page_after(compacted(5_661, 2_541), compacted(5_702, 2_498), live=False)
    second = await page_after(compacted(5_658, 2_539), compacted(5_697, 2_503), live=False)
    assert first.final == second.final
    assert [bundle[MIME]["turn_id"] for bundle in first.final] == ["run_2.summary0", "run_2.summary1"]


async def test_a_live_divider_has_the_numbers_as_they_are():
    event = compacted(5_651, 2_541)
    (bundle,) = (await page_after(event, live=True)).final
    assert (bundle[MIME]["before"], bundle[MIME]["after"]) == (5_651, 2_541)
    assert bundle[MIME]["turn_id"] == event.summary_turn.id


@pytest.mark.parametrize(("tokens", "lines"), [(43, 0), (999, 0), (1_000, 1), (24_000, 1)])
async def test_little_that_was_left_out_is_not_worth_a_line(tokens, lines):
    page = await page_after(ContextPruned(IDS, ("c1",), tokens, "old tool output"), live=True)
    assert len(page.final) == lines

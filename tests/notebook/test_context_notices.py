"""What a page shows of compactions, cache breaks, retries and budgets."""

from __future__ import annotations

import pytest

from tests.notebook.support import Page, stripped
from zidane_lab.agent.hooks import HookBus
from zidane_lab.events import (
    BudgetWarning,
    CacheBreak,
    CompactEnd,
    CompactProgress,
    CompactStart,
    ContextPruned,
    FallbackSwitch,
    GuardHit,
    Ids,
    ResultPersisted,
    RetryWait,
)
from zidane_lab.notebook.bundles import MIME
from zidane_lab.notebook.context_bundles import money, tokens
from zidane_lab.notebook.context_notices import ContextNotices, amount, seconds
from zidane_lab.turns import CompactSummaryBlock, Turn, Usage

pytestmark = pytest.mark.asyncio

IDS = Ids("run_1")
SUMMARY = Turn("user", (CompactSummaryBlock("<b>The data</b> have 344 rows.", ("a", "b")),), id="turn_s")
END = CompactEnd(
    IDS,
    "auto",
    "compacted",
    "p/m",
    3.2,
    summary_turn=SUMMARY,
    replaced=41,
    before=116_900,
    after=12_300,
    files=("a.py", "b.csv"),
    variables=("df",),
    usage=Usage(1, 2, cost=0.48),
)


def page_of(*, live=True, now=lambda: 0.0):
    page, hooks = Page(), HookBus()
    for event, handler in ContextNotices(page, live=live, clock=now).subscriptions():
        hooks.on(event, handler)
    return page, hooks


async def test_a_compaction_ends_as_one_divider_with_its_numbers():
    page, hooks = page_of()
    await hooks.emit(CompactStart(IDS, "auto", "tail", "p/m", 41, 4, 116_900))
    assert page.text == "Compacting 41 turns…"
    await hooks.emit(END)
    (bundle,) = page.final
    head = bundle["text/plain"].split("\n")[0]
    assert head == (
        "──── compacted (the window was full): 41 turns → a summary · 116.9k → ~12.3k tokens · "
        "2 files, 1 variable put back · $0.48 ────"
    )
    assert "344 rows" in bundle["text/plain"]
    assert "/compact undo" in bundle["text/plain"]
    html = stripped(bundle["text/html"])
    assert html.tags == {"details", "summary", "div", "span"}  # the model's <b> is text
    assert "<b>The data</b>" in "".join(html.text)
    assert bundle[MIME]["kind"] == "compaction"
    assert bundle[MIME]["turn_id"] == "turn_s"


async def test_progress_is_drawn_at_most_twice_a_second():
    moment = [0.0]
    page, hooks = page_of(now=lambda: moment[0])
    await hooks.emit(CompactStart(IDS, "manual", "full", "p/m", 2, 0, 10))
    for step in range(100):
        moment[0] = step / 100
        await hooks.emit(CompactProgress(IDS, step * 10, 1, "initial"))
    assert len([kind for kind, *_ in page.sends if kind == "update"]) == 1
    assert "~500 tokens" in page.text


async def test_drawn_once_shows_nothing_before_the_end():
    page, hooks = page_of(live=False)
    await hooks.emit(CompactStart(IDS, "auto", "tail", "p/m", 41, 4, 116_900))
    await hooks.emit(CompactProgress(IDS, 10, 1, "initial"))
    assert page.sends == []
    await hooks.emit(END)
    assert [kind for kind, *_ in page.sends] == ["show"]


@pytest.mark.parametrize(("status", "words"), [("aborted", "was stopped"), ("failed", "could not be compacted")])
async def test_a_compaction_that_did_not_happen_says_so(status, words):
    page, hooks = page_of()
    await hooks.emit(CompactStart(IDS, "auto", "tail", "p/m", 41, 4, 116_900))
    await hooks.emit(CompactEnd(IDS, "auto", status, "p/m", 1.0, error="too long"))
    assert words in page.text
    assert "Compacting" not in page.text


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            CacheBreak(IDS, 116_900, 0.48, "message 16 of 41→43 rewritten", "a hook rewrote it"),
            "⟳ cache break ↑116.9k tokens ~$0.48\n    message 16 of 41→43 rewritten\n    likely a hook rewrote it",
        ),
        (CacheBreak(IDS, 2_000, None), "⟳ cache break ↑2.0k tokens"),
        (
            ContextPruned(IDS, ("c1",), 24_000, "old tool output"),
            "✂ 1 old result left out of the context: ~24.0k tokens fewer (old tool output)",
        ),
        (
            BudgetWarning(IDS, "cost", "session", 2.0, 1.7),
            "⚠ 85 % of the cost budget of this session used: $1.70 of $2.00",
        ),
        (
            RetryWait(IDS, 1, 3, 4.2, "Claude is overloaded.", "overloaded"),
            "↻ Claude is overloaded. Trying again in 4 s (1 of 3).",
        ),
        (FallbackSwitch(IDS, "a/x", "b/y", "quota"), "⇄ a/x failed; b/y goes on.\n    quota"),
        (GuardHit(IDS, "repeat", "shell", "The same call came 5 times."), "⊘ The same call came 5 times."),
        (
            ResultPersisted(IDS, "shell", 90_000, error="disk full"),
            "⤓ A large result of shell could not be kept in a file.\n    disk full",
        ),
    ],
)
async def test_notices_are_one_line_with_details_folded(event, line):
    page, hooks = page_of()
    await hooks.emit(event)
    assert page.text == line


async def test_a_result_that_went_to_a_file_is_told_by_its_card_only():
    page, hooks = page_of()
    await hooks.emit(ResultPersisted(IDS, "shell", 90_000, "/x/y.txt"))
    assert page.sends == []


async def test_numbers_read_well_and_never_as_false_zeros():
    assert [tokens(n) for n in (0, 950, 1_000, 116_900, 999_999, 1_250_000)] == [
        "0", "950", "1.0k", "116.9k", "1.0M", "1.2M",
    ]  # fmt: skip
    assert [money(c) for c in (None, 0.0, 0.0004, 0.48, 12.5)] == ["", "", "$0.0004", "$0.48", "$12.50"]
    assert [seconds(s) for s in (0.4, 4.2, 60, 6_300)] == ["0.4 s", "4 s", "1 min", "105 min"]
    assert [amount("turns", 80), amount("tokens", 80_000), amount("time", 90)] == [
        "80 turns", "80.0k tokens", "1 min 30 s",
    ]  # fmt: skip

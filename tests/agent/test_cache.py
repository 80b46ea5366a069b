"""What is said about the provider's cache, and when nothing is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from zidane_lab.agent.cache import CacheChange, CacheImpact, CacheWatch, break_headline, break_notice
from zidane_lab.events import CacheBreak, Ids
from zidane_lab.providers.base import Request, ToolSpec
from zidane_lab.providers.catalog import cost_of
from zidane_lab.turns import TextBlock, Turn, Usage

IDS = Ids("run_1")
TURNS = tuple(Turn("assistant" if n % 2 else "user", (TextBlock(f"said {n}"),)) for n in range(43))
REQUEST = Request("claude-sonnet-4-5", "Be kind.", TURNS[:41], (ToolSpec("run_python", "runs", {}),))
LONGER = replace(REQUEST, turns=TURNS)
REWRITTEN = replace(LONGER, turns=(*TURNS[:15], replace(TURNS[15], blocks=(TextBlock("x"),)), *TURNS[16:]))
FILLED = Usage(10, 100, cache_read=100_000, cache_creation=20_000, cost=0.1)
MISSED = Usage(10, 100, cache_read=3_000, cache_creation=118_000, cost=0.5)
HIT = Usage(10, 100, cache_read=120_000, cache_creation=1_000, cost=0.1)
PRICE = partial(cost_of, "anthropic", "claude-sonnet-4-5")


def notice(second, usage, *, first=REQUEST, filled=FILLED, seconds=60, declare=(), **options):
    watch = CacheWatch()
    assert watch.observe(first, filled, ids=IDS, now=1000.0) is None
    for reason in declare:
        watch.declare(reason)
    return watch.observe(second, usage, ids=IDS, now=1000.0 + seconds, **options)


def test_a_hit_is_nothing_to_talk_about():
    assert notice(LONGER, HIT) is None


def test_a_rewritten_history_is_told_with_its_place_its_price_and_its_likely_cause():
    event = notice(REWRITTEN, MISSED, price=PRICE)
    assert event == CacheBreak(
        IDS,
        117_000,
        pytest.approx(117_000 * (3.75 - 0.3) / 1e6),
        "message 16 of 41→43 rewritten",
        "compaction, history trimming or a hook rewrote what was sent before",
    )
    assert break_headline(event) == "cache break ↑117.0k tokens ~$0.40"
    assert break_notice(event).splitlines() == [
        "cache break ↑117.0k tokens ~$0.40",
        "message 16 of 41→43 rewritten",
        "likely compaction, history trimming or a hook rewrote what was sent before",
    ]


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"system": "Be unkind."}, "system prompt changed"),
        ({"tools": (ToolSpec("run_python", "walks", {}),)}, "tool run_python changed"),
        ({"thinking": "high"}, "thinking off → high"),
        ({"model": "claude-opus-4-8"}, "model claude-sonnet-4-5 → claude-opus-4-8"),
    ],
)
def test_the_culprit_is_named(change, culprit):
    event = notice(replace(LONGER, **change), MISSED)
    assert event.culprit == culprit
    assert event.likely


def test_several_culprits_are_all_named():
    event = notice(replace(REWRITTEN, system="Be unkind."), MISSED)
    assert event.culprit == "system prompt changed; message 16 of 41→43 rewritten"


def test_a_cache_lost_without_a_change_of_ours_gives_the_headline_only():
    event = notice(LONGER, MISSED)
    assert (event.tokens, event.culprit, event.likely) == (117_000, "", "")
    assert break_notice(event) == "cache break ↑117.0k tokens"


@pytest.mark.parametrize(
    ("ttl", "seconds", "expired"), [("5m", 299, 0), ("5m", 300, 1), ("1h", 300, 0), ("1h", 3600, 1)]
)
def test_a_cache_that_has_expired_is_nobodys_fault(ttl, seconds, expired):
    event = notice(REWRITTEN, MISSED, first=replace(REQUEST, cache_ttl=ttl), seconds=seconds)
    assert bool(event.culprit) is not bool(expired)
    assert event.tokens == 117_000


def test_a_declared_change_is_no_fault_and_gives_no_notice_once():
    assert notice(REWRITTEN, MISSED, declare=["compaction"]) is None
    watch = CacheWatch()
    watch.observe(REQUEST, FILLED, ids=IDS, now=0)
    watch.declare("undo")
    watch.declare("pruning")
    assert watch.declared == ("undo", "pruning")
    assert watch.observe(REWRITTEN, MISSED, ids=IDS, now=1) is None
    assert watch.declared == ()
    assert watch.observe(REQUEST, MISSED, ids=IDS, now=2) is not None


def test_a_failed_request_uses_up_no_declaration_and_hides_no_change():
    watch = CacheWatch()
    watch.observe(REQUEST, FILLED, ids=IDS, now=0)
    watch.declare("compaction")
    assert watch.observe(REWRITTEN, Usage(), ids=IDS, now=1) is None
    assert watch.declared == ("compaction",)
    assert watch.observe(REWRITTEN, MISSED, ids=IDS, now=2) is None


@pytest.mark.parametrize(
    ("filled", "usage"),
    [
        (Usage(120_000, 5), Usage(121_000, 5)),
        (FILLED, Usage(100, cache_read=118_500, cache_creation=1_000)),
        (Usage(10, cache_creation=1_500), Usage(10, cache_creation=2_000)),
        (Usage(120_000, 5), Usage(10, cache_creation=121_000)),
    ],
    ids=["no cache numbers", "rounding", "small prompts", "nothing was stored before"],
)
def test_what_the_numbers_do_not_show_is_not_claimed(filled, usage):
    assert notice(REWRITTEN, usage, filled=filled) is None


def test_a_provider_that_counts_only_what_it_reads_is_watched_once_it_has_read():
    """OpenAI counts no writes: after a first hit, a prompt read in full is a miss."""
    watch = CacheWatch()
    assert watch.observe(REQUEST, Usage(50_000), ids=IDS, now=0) is None
    assert watch.observe(REQUEST, Usage(50_500), ids=IDS, now=1) is None, "perhaps it counts nothing"
    assert watch.observe(REQUEST, Usage(500, cache_read=50_400), ids=IDS, now=2) is None
    event = watch.observe(REWRITTEN, Usage(51_000), ids=IDS, now=3)
    assert event.tokens == 50_900


def test_a_shorter_prompt_can_only_lose_what_it_has():
    event = notice(REWRITTEN, Usage(10, cache_creation=30_000))
    assert event.tokens == 30_010


@pytest.mark.parametrize(
    ("usage", "price"),
    [(MISSED, None), (replace(MISSED, cost=None), PRICE), (MISSED, partial(cost_of, "nobody", "m"))],
    ids=["no price given", "the answer had no known cost", "no price known"],
)
def test_a_cost_that_is_not_known_is_not_stated(usage, price):
    event = notice(REWRITTEN, usage, price=price)
    assert event.cost is None
    assert "$" not in break_headline(event)


@pytest.mark.parametrize(
    ("tokens", "cost", "line"),
    [
        (116_900, 0.48, "cache break ↑116.9k tokens ~$0.48"),
        (999, 0.0, "cache break ↑999 tokens <$0.01"),
        (999_949, None, "cache break ↑999.9k tokens"),
        (999_950, 12.0, "cache break ↑1.0M tokens ~$12.00"),
    ],
)
def test_the_headline(tokens, cost, line):
    assert break_headline(CacheBreak(IDS, tokens, cost)) == line


# --- before a change ------------------------------------------------------------------------------


def watching(**change):
    watch = CacheWatch()
    watch.observe(replace(REQUEST, **change), FILLED, ids=IDS, provider="anthropic", now=1000.0)
    return watch


def test_before_anything_was_sent_there_is_nothing_to_lose():
    watch = CacheWatch()
    assert watch.cache_expires_at() is None
    assert watch.cache_impact(CacheChange(system=True)) == CacheImpact(0, (), expired=True)


@pytest.mark.parametrize(("ttl", "seconds"), [("5m", 300), ("1h", 3600)])
def test_when_the_cache_expires(ttl, seconds):
    watch = watching(cache_ttl=ttl)
    assert watch.cache_expires_at() == 1000.0 + seconds
    assert not watch.cache_impact(CacheChange(), now=999.0 + seconds).expired
    assert watch.cache_impact(CacheChange(), now=1000.0 + seconds).expired


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        (CacheChange(), ()),
        (CacheChange(model="claude-sonnet-4-5", thinking="off"), ()),
        (CacheChange(model="anthropic/claude-sonnet-4-5"), ()),
        (CacheChange(model="claude-opus-4-8"), ("model",)),
        (CacheChange("x", "high", system=True, tools=True), ("system", "tools", "thinking", "model")),
    ],
)
def test_what_a_change_would_cost(change, reasons):
    tokens = FILLED.context if reasons else 0
    assert watching().cache_impact(change, now=1001.0) == CacheImpact(tokens, reasons, expired=False)

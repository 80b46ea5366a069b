from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.web import search_answers as answers
from zidane_lab.tools.web.search_duckduckgo import DuckDuckGo, DuckDuckGoLite
from zidane_lab.tools.web.search_more import Jina, Marginalia, Parallel, Perplexity, Serper, Wikipedia
from zidane_lab.tools.web.search_providers import (
    Brave,
    Exa,
    GoogleCustomSearch,
    SearchError,
    Searxng,
    SerpApi,
    Tavily,
)
from zidane_lab.tools.web.search_query import Query
from zidane_lab.tools.web.search_results import SNIPPET, source
from zidane_lab.tools.web.searching import PROVIDERS

KEYS = {
    "BRAVE_API_KEY": "brave-key",
    "TAVILY_API_KEY": "tvly-key",
    "EXA_API_KEY": "exa-key",
    "SERPAPI_API_KEY": "serp-key",
    "GOOGLE_API_KEY": "g-key",
    "GOOGLE_CSE_ID": "cse",
    "SEARXNG_URL": "http://localhost:8080/search/",
    "PERPLEXITY_API_KEY": "pplx-key",
    "SERPER_API_KEY": "serper-key",
    "JINA_API_KEY": "jina-key",
    "PARALLEL_API_KEY": "parallel-key",
    "MARGINALIA_API_KEY": "public",
}
PLAIN = Query("rolling windows", 5)
NARROW = Query("rolling windows", 5, ("pandas.example",), "week")
SEVERAL = replace(NARROW, sites=("a.example", "b.example"))


@pytest.mark.parametrize(
    ("provider", "body", "date"),
    [
        (Brave(), answers.BRAVE, "2026-01-02"),
        (Tavily(), answers.TAVILY, "Fri, 02 Jan 2026 03:04:05 GMT"),
        (Exa(), answers.EXA, "2026-01-02"),
        (Perplexity(), answers.PERPLEXITY, "2026-01-02"),
        (Serper(), answers.SERPER, "Jan 2, 2026"),
        (Jina(), answers.JINA, "2026-01-02"),
        (Parallel(), answers.PARALLEL, "2026-01-02"),
        (Marginalia(), answers.MARGINALIA, ""),
        (SerpApi(), answers.SERPAPI, "Jan 2, 2026"),
        (GoogleCustomSearch(), answers.GOOGLE, "2026-01-02"),
        (Searxng(), answers.SEARXNG, "2026-01-02"),
        (DuckDuckGo(), answers.DUCKDUCKGO, "2026-01-02"),
        (DuckDuckGoLite(), answers.DUCKDUCKGO_LITE, "2026-01-02"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_documented_answer_of_each_service_is_read(provider, body, date):
    first, second = provider.read(body, 200, 10)
    assert first.url == "https://pandas.example/rolling"
    assert first.title in {"Rolling", "Rolling & expanding"}
    assert "rolling" in first.snippet.lower()
    assert "<" not in first.title + first.snippet
    assert first.date == date
    assert second.url.startswith("https://example.com/b")
    assert second.title
    assert len(second.snippet) <= SNIPPET
    assert provider.read(body, 200, 1) == [first]


def test_entities_and_tags_are_gone_and_a_long_snippet_is_cut():
    first, second = Brave().read(answers.BRAVE, 200, 10)
    assert first.snippet == "How to use rolling windows 'well'."
    assert len(second.snippet) == SNIPPET
    assert second.snippet.endswith("…")
    assert second.date == "3 days ago"


def test_how_each_service_is_asked():
    brave = Brave().request(NARROW, KEYS)
    assert brave.url == "https://api.search.brave.com/res/v1/web/search"
    assert brave.params == {"q": "rolling windows site:pandas.example", "count": 5, "freshness": "pw"}
    assert brave.headers["x-subscription-token"] == "brave-key"

    tavily = Tavily().request(NARROW, KEYS)
    assert tavily.url == "https://api.tavily.com/search"
    assert tavily.headers == {"authorization": "Bearer tvly-key"}
    assert tavily.json == {
        "query": "rolling windows",
        "max_results": 5,
        "include_domains": ["pandas.example"],
        "time_range": "week",
    }

    exa = Exa(now=lambda: datetime(2026, 1, 8, tzinfo=UTC)).request(NARROW, KEYS)
    assert exa.headers == {"x-api-key": "exa-key"}
    assert exa.json["startPublishedDate"] == "2026-01-01T00:00:00.000Z"
    assert exa.json["includeDomains"] == ["pandas.example"]

    serp = SerpApi().request(SEVERAL, KEYS)
    assert serp.params["q"] == "rolling windows (site:a.example OR site:b.example)"
    assert (serp.params["tbs"], serp.params["api_key"]) == ("qdr:w", "serp-key")

    google = GoogleCustomSearch().request(NARROW, KEYS)
    assert google.params == {
        "cx": "cse",
        "q": "rolling windows",
        "num": 5,
        "siteSearch": "pandas.example",
        "siteSearchFilter": "i",
        "dateRestrict": "w1",
    }
    assert google.headers == {"x-goog-api-key": "g-key"}

    searxng = Searxng().request(NARROW, KEYS)
    assert searxng.url == "http://localhost:8080/search"
    assert searxng.params == {"q": "rolling windows site:pandas.example", "format": "json", "time_range": "week"}

    duck = DuckDuckGo().request(NARROW, {})
    assert (duck.url, duck.form) == (
        "https://html.duckduckgo.com/html/",
        {"q": "rolling windows site:pandas.example", "df": "w"},
    )
    assert DuckDuckGoLite().request(PLAIN, {}).url == "https://lite.duckduckgo.com/lite/"


def test_how_the_other_services_are_asked():
    perplexity = Perplexity().request(NARROW, KEYS)
    assert perplexity.url == "https://api.perplexity.ai/search"
    assert perplexity.json == {
        "query": "rolling windows",
        "max_results": 5,
        "search_domain_filter": ["pandas.example"],
        "search_recency_filter": "week",
    }
    without = replace(PLAIN, without=("spam.example",))
    assert Perplexity().request(without, KEYS).json["search_domain_filter"] == ["-spam.example"]
    assert Tavily().request(without, KEYS).json["exclude_domains"] == ["spam.example"]
    assert Exa().request(without, KEYS).json["excludeDomains"] == ["spam.example"]
    assert Brave().request(without, KEYS).params["q"] == "rolling windows -site:spam.example"

    serper = Serper().request(SEVERAL, KEYS)
    assert serper.json == {"q": "rolling windows (site:a.example OR site:b.example)", "num": 5, "tbs": "qdr:w"}
    assert serper.headers == {"x-api-key": "serper-key"}

    jina = Jina().request(NARROW, KEYS)
    assert (jina.url, jina.params) == ("https://s.jina.ai/", {"q": "rolling windows site:pandas.example"})
    assert jina.headers["x-respond-with"] == "no-content"

    parallel = Parallel(today=lambda: date(2026, 1, 8)).request(NARROW, KEYS)
    assert parallel.json == {
        "search_queries": ["rolling windows"],
        "mode": "basic",
        "advanced_settings": {
            "max_results": 5,
            "source_policy": {"include_domains": ["pandas.example"], "after_date": "2026-01-01"},
        },
    }
    assert Marginalia().request(PLAIN, KEYS).headers == {"api-key": "public"}
    assert Wikipedia().request(PLAIN, {}).params["srsearch"] == "rolling windows"


def test_no_service_is_sent_a_limit_that_was_not_asked_for():
    for provider in PROVIDERS:
        request = provider.request(PLAIN, KEYS)
        sent = str([request.params, request.json, request.form])
        assert "rolling windows" in sent
        for word in ("site", "omain", "fresh", "range", "Date", "tbs", "'df'", "Restrict", "policy", "recency"):
            assert word not in sent


def test_a_search_that_finds_nothing_is_no_failure():
    assert SerpApi().read(answers.SERPAPI_NOTHING, 200, 5) == []
    assert GoogleCustomSearch().read(answers.GOOGLE_NOTHING, 200, 5) == []
    assert DuckDuckGo().read(answers.DUCKDUCKGO_NOTHING, 200, 5) == []
    assert Brave().read(b'{"type": "search"}', 200, 5) == []


def test_a_challenge_or_another_page_of_duckduckgo_is_a_failure_and_not_nothing():
    for body, status in ((answers.DUCKDUCKGO_CHALLENGE, 200), (b"<html>", 202)):
        with pytest.raises(SearchError, match="prove that a person"):
            DuckDuckGo().read(body, status, 5)
    with pytest.raises(SearchError, match="cannot be read"):
        DuckDuckGo().read(b"<html><body>New design!</body></html>", 200, 5)


def test_an_error_in_a_success_is_a_failure():
    with pytest.raises(SearchError, match="Invalid API key"):
        SerpApi().read(b'{"error": "Invalid API key."}', 200, 5)


@pytest.mark.parametrize(
    "provider", [each for each in PROVIDERS if not isinstance(each, DuckDuckGo)], ids=lambda each: each.name
)
@given(body=st.sampled_from([b"", b"[]", b"null", b'"x"', b"<html>", b"[" * 100_000]))
def test_what_is_no_answer_is_a_failure(provider, body):
    with pytest.raises(SearchError):
        provider.read(body, 200, 5)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["web", "results", "items", "url", "link", "title", "pagemap", "metatags", "highlights"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(_VALUES)
def test_any_json_is_read_or_refused(value):
    import json

    for provider in PROVIDERS[:10]:
        try:
            found = provider.read(json.dumps({"results": value, "items": value, "web": value}).encode(), 200, 5)
        except SearchError:
            continue
        assert all(each.url for each in found)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_page_of_results_or_refused(body):
    for provider in (DuckDuckGo(), DuckDuckGoLite()):
        try:
            provider.read(b'<div class=result><a class="result__a" href=' + body, 200, 5)
        except SearchError:
            continue


def test_a_source_is_a_page_of_the_web():
    for url in (None, "", "ftp://x", "javascript:1", "https://x/" + "a" * 3_000):
        assert source("t", url) is None
    assert source("", "https://example.com/ a\n").title == "https://example.com/a"

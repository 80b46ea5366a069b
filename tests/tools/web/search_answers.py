"""Answers of search services in the shapes that their documentation shows."""

from __future__ import annotations

import json

BRAVE = json.dumps(
    {
        "type": "search",
        "query": {"original": "rolling windows", "more_results_available": True},
        "web": {
            "type": "search",
            "results": [
                {
                    "title": "Rolling &amp; <strong>expanding</strong>",
                    "url": "https://pandas.example/rolling",
                    "is_source_local": False,
                    "description": "How to use <strong>rolling</strong> windows &#x27;well&#x27;.",
                    "page_age": "2026-01-02T03:04:05",
                    "age": "January 2, 2026",
                    "profile": {"name": "Pandas", "url": "https://pandas.example/rolling"},
                    "meta_url": {"hostname": "pandas.example"},
                },
                {"title": "No date", "url": "https://example.com/b", "description": "x" * 900, "age": "3 days ago"},
                {"title": "Twice", "url": "https://example.com/b", "description": ""},
                {"title": "No page", "url": "javascript:alert(1)"},
            ],
        },
        "mixed": {"type": "mixed", "main": []},
    }
).encode()

TAVILY = json.dumps(
    {
        "query": "rolling windows",
        "answer": None,
        "images": [],
        "results": [
            {
                "title": "Rolling",
                "url": "https://pandas.example/rolling",
                "content": "How to use\nrolling windows.",
                "score": 0.91,
                "raw_content": None,
                "published_date": "Fri, 02 Jan 2026 03:04:05 GMT",
            },
            {"title": "B", "url": "https://example.com/b", "content": "b", "score": 0.5},
        ],
        "response_time": 1.2,
        "request_id": "r",
    }
).encode()

EXA = json.dumps(
    {
        "requestId": "r",
        "resolvedSearchType": "neural",
        "results": [
            {
                "id": "https://pandas.example/rolling",
                "title": "Rolling",
                "url": "https://pandas.example/rolling",
                "publishedDate": "2026-01-02T03:04:05.000Z",
                "author": "A. Panda",
                "highlights": ["Use rolling", "for windows"],
                "highlightScores": [0.5, 0.4],
            },
            {"id": "b", "title": None, "url": "https://example.com/b", "publishedDate": None, "text": "text of b"},
        ],
        "costDollars": {"total": 0.005},
    }
).encode()

SERPAPI = json.dumps(
    {
        "search_metadata": {"id": "1", "status": "Success"},
        "search_parameters": {"engine": "google", "q": "rolling windows"},
        "organic_results": [
            {
                "position": 1,
                "title": "Rolling",
                "link": "https://pandas.example/rolling",
                "displayed_link": "https://pandas.example › rolling",
                "snippet": "How to use rolling windows.",
                "date": "Jan 2, 2026",
            },
            {"position": 2, "title": "B", "link": "https://example.com/b"},
        ],
    }
).encode()

SERPAPI_NOTHING = json.dumps(
    {
        "search_metadata": {"status": "Success"},
        "error": "Google hasn't returned any results for this query.",
    }
).encode()

GOOGLE = json.dumps(
    {
        "kind": "customsearch#search",
        "searchInformation": {"totalResults": "2"},
        "items": [
            {
                "kind": "customsearch#result",
                "title": "Rolling",
                "htmlTitle": "<b>Rolling</b>",
                "link": "https://pandas.example/rolling",
                "snippet": "How to use rolling windows.",
                "pagemap": {"metatags": [{"og:type": "article", "article:published_time": "2026-01-02T03:04:05Z"}]},
            },
            {"title": "B", "link": "https://example.com/b", "snippet": "b"},
        ],
    }
).encode()

GOOGLE_NOTHING = json.dumps({"kind": "customsearch#search", "searchInformation": {"totalResults": "0"}}).encode()

SEARXNG = json.dumps(
    {
        "query": "rolling windows",
        "number_of_results": 0,
        "results": [
            {
                "url": "https://pandas.example/rolling",
                "title": "Rolling",
                "content": "How to use rolling windows.",
                "publishedDate": "2026-01-02T03:04:05",
                "engine": "brave",
                "engines": ["brave"],
                "score": 4.0,
            },
            {"url": "https://example.com/b", "title": "B", "content": "", "publishedDate": None},
        ],
        "answers": [],
        "unresponsive_engines": [["google", "timeout"]],
    }
).encode()

DUCKDUCKGO = b"""<html><body><div id="links" class="results">
<div class="result results_links results_links_deep result--ad ">
 <h2 class="result__title"><a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=ads.example&u3=x">Buy</a></h2>
 <a class="result__snippet" href="https://duckduckgo.com/y.js?ad_domain=ads.example">Cheap windows</a></div>
<div class="result results_links results_links_deep web-result ">
 <div class="links_main links_deep result__body"><h2 class="result__title">
  <a rel="nofollow" class="result__a" href="https://pandas.example/rolling">Rolling &amp; <b>expanding</b></a></h2>
 <div class="result__extras"><div class="result__extras__url"><span class="result__icon">
  <a rel="nofollow" href="https://pandas.example/rolling"><img class="result__icon__img" alt=""></a></span>
  <a class="result__url" href="https://pandas.example/rolling">pandas.example/rolling</a>
  <span>&nbsp; &nbsp; 2026-01-02T00:00:00.0000000</span></div></div>
 <a class="result__snippet" href="https://pandas.example/rolling">How to use <b>rolling</b> windows &#x27;well&#x27;.</a>
 <div class="clear"></div></div></div>
<div class="result results_links results_links_deep web-result ">
 <h2 class="result__title"><a rel="nofollow" class="result__a"
  href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2Fb%3Fx%3D1&amp;rut=abc">B</a></h2>
 <a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">b</a></div>
</div></body></html>"""

DUCKDUCKGO_NOTHING = b"""<html><body><div class="results"><div class="no-results">No  results found for
<b>zzz</b></div></div></body></html>"""

DUCKDUCKGO_CHALLENGE = b"""<html><head><title>DuckDuckGo</title></head><body><form id="challenge-form"
action="//duckduckgo.com/anomaly.js?sv=html&cc=botnet"><div class="anomaly-modal__title">Unfortunately, bots use
DuckDuckGo too.</div></form></body></html>"""

DUCKDUCKGO_LITE = b"""<html><body><form action="/lite/" method="post"><input name="q"></form><table border="0">
<tr class="result-sponsored"><td valign="top">1.&nbsp;</td><td><a rel="nofollow" href="https://duckduckgo.com/y.js?ad_domain=x"
 class='result-link'>Buy</a></td></tr>
<tr class="result-sponsored"><td>&nbsp;</td><td class='result-snippet'>Cheap</td></tr>
<tr><td valign="top">1.&nbsp;</td><td><a rel="nofollow"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fpandas.example%2Frolling&amp;rut=abc" class='result-link'>Rolling</a></td></tr>
<tr><td>&nbsp;&nbsp;&nbsp;</td><td class='result-snippet'>How to use <b>rolling</b> windows.</td></tr>
<tr><td>&nbsp;</td><td><span class='link-text'>pandas.example/rolling</span>
 <span class='timestamp'>2026-01-02T00:00:00.0000000</span></td></tr>
<tr><td valign="top">2.&nbsp;</td><td><a rel="nofollow" href="https://example.com/b" class='result-link'>B</a></td></tr>
<tr><td>&nbsp;</td><td class='result-snippet'>b</td></tr>
</table></body></html>"""

PERPLEXITY = b"""{"id": "x", "results": [
  {"title": "Rolling", "url": "https://pandas.example/rolling", "snippet": "Rolling windows.", "date": "2026-01-02", "last_updated": "2026-02-02"},
  {"title": "B", "url": "https://example.com/b", "snippet": "more", "date": null}]}"""

SERPER = b"""{"searchParameters": {"q": "x"}, "organic": [
  {"title": "Rolling", "link": "https://pandas.example/rolling", "snippet": "Rolling windows.", "date": "Jan 2, 2026", "position": 1},
  {"title": "B", "link": "https://example.com/b", "snippet": "more", "position": 2}], "credits": 1}"""

JINA = b"""{"code": 200, "status": 20000, "data": [
  {"title": "Rolling", "url": "https://pandas.example/rolling", "description": "Rolling windows.", "date": "2026-01-02"},
  {"title": "B", "url": "https://example.com/b", "description": "more"}], "meta": {}}"""

PARALLEL = b"""{"search_id": "s", "results": [
  {"url": "https://pandas.example/rolling", "title": "Rolling", "publish_date": "2026-01-02", "excerpts": ["Rolling", "windows"]},
  {"url": "https://example.com/b", "title": "B", "publish_date": null, "excerpts": []}]}"""

MARGINALIA = b"""{"license": "CC-BY-NC-SA 4.0", "query": "x", "results": [
  {"url": "https://pandas.example/rolling", "title": "Rolling", "description": "Rolling windows.", "quality": 1.5},
  {"url": "https://example.com/b", "title": "B", "description": "more"}]}"""

WIKIPEDIA = b"""{"batchcomplete": "", "query": {"search": [
  {"ns": 0, "title": "Moving average", "pageid": 123, "snippet": "a <span class=\\"searchmatch\\">rolling</span> mean", "timestamp": "2026-01-02T03:04:05Z"},
  {"ns": 0, "title": "Window", "pageid": 124, "snippet": "", "timestamp": ""}, {"title": "no id"}]}}"""

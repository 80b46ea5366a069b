from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from tests.tools.web import search_answers as answers
from tests.tools.web.support import Server, answer, redirect
from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.useless import USELESS
from zidane_lab.tools.web.search_duckduckgo import DuckDuckGo, DuckDuckGoLite
from zidane_lab.tools.web.search_more import Jina, Marginalia, Parallel, Perplexity, Serper, Wikipedia
from zidane_lab.tools.web.search_providers import Brave, Exa, GoogleCustomSearch, Searxng, SerpApi, Tavily
from zidane_lab.tools.web.search_query import Query
from zidane_lab.tools.web.searching import PROVIDERS, chosen, search
from zidane_lab.tools.web_search import SOURCES, web_search_tool

pytestmark = pytest.mark.asyncio

BRAVE_PATH = "/res/v1/web/search?q=rolling+windows&count=10"
JSON = "application/json"


@pytest.fixture(autouse=True)
def no_proxy_on_the_way_to_the_loopback_interface(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


def services(server):
    base = server.url("")
    return (
        Brave(base),
        Tavily(base),
        Exa(base),
        Perplexity(base),
        Serper(base),
        SerpApi(base),
        GoogleCustomSearch(base),
        Jina(base),
        Parallel(base),
        Searxng(),
        Marginalia(base),
        DuckDuckGo(base),
        DuckDuckGoLite(base),
        Wikipedia(base),
    )


async def run(server, environment, **arguments):
    tool = web_search_tool(services(server), lambda: environment)
    return await tool.run(ToolContext(), {"query": "rolling windows", **arguments})


async def test_results_are_a_list_for_the_model_and_data_for_us():
    async with Server({BRAVE_PATH: answer(answers.BRAVE, JSON)}) as server:
        output = await run(server, {"BRAVE_API_KEY": "k"})
        assert output.parts[0].text.startswith(
            "Found by Brave for “rolling windows”:\n\n"
            "1. Rolling & expanding (2026-01-02)\n"
            "   https://pandas.example/rolling\n"
            "   How to use rolling windows 'well'.\n\n"
            "2. No date (3 days ago)\n"
        )
        assert output.metadata["search_provider"] == "brave"
        assert output.metadata[SOURCES][0] == {
            "title": "Rolling & expanding",
            "url": "https://pandas.example/rolling",
            "snippet": "How to use rolling windows 'well'.",
            "date": "2026-01-02",
        }
        assert json.loads(json.dumps(output.metadata)) == output.metadata


@pytest.mark.parametrize(
    ("name", "environment", "path", "body", "sent"),
    [
        ("brave", {"BRAVE_API_KEY": "k1"}, BRAVE_PATH, answers.BRAVE, "x-subscription-token: k1"),
        ("tavily", {"TAVILY_API_KEY": "k2"}, "/search", answers.TAVILY, "authorization: Bearer k2"),
        ("exa", {"EXA_API_KEY": "k3"}, "/search", answers.EXA, "x-api-key: k3"),
        ("perplexity", {"PERPLEXITY_API_KEY": "k6"}, "/search", answers.PERPLEXITY, "authorization: Bearer k6"),
        ("serper", {"SERPER_API_KEY": "k7"}, "/search", answers.SERPER, "x-api-key: k7"),
        ("jina", {"JINA_API_KEY": "k8"}, "/?q=rolling+windows", answers.JINA, "authorization: Bearer k8"),
        ("parallel", {"PARALLEL_API_KEY": "k9"}, "/v1/search", answers.PARALLEL, "x-api-key: k9"),
        (
            "marginalia",
            {"MARGINALIA_API_KEY": "public"},
            "/search?query=rolling+windows&count=10",
            answers.MARGINALIA,
            "api-key: public",
        ),
        (
            "serpapi",
            {"SERPAPI_API_KEY": "k4"},
            "/search.json?engine=google&q=rolling+windows&num=10&api_key=k4",
            answers.SERPAPI,
            "api_key=k4",
        ),
        (
            "google",
            {"GOOGLE_API_KEY": "k5", "GOOGLE_CSE_ID": "c"},
            "/customsearch/v1?cx=c&q=rolling+windows&num=10",
            answers.GOOGLE,
            "x-goog-api-key: k5",
        ),
        ("searxng", {"SEARXNG_URL": "HERE"}, "/search?q=rolling+windows&format=json", answers.SEARXNG, "GET /search?"),
        ("duckduckgo", {}, "/html/", answers.DUCKDUCKGO, "q=rolling+windows"),
        (
            "duckduckgo-lite",
            {"ZIDANE_SEARCH": "duckduckgo-lite"},
            "/lite/",
            answers.DUCKDUCKGO_LITE,
            "q=rolling+windows",
        ),
    ],
)
async def test_each_service_over_the_wire(name, environment, path, body, sent):
    async with Server({path: answer(body, JSON)}) as server:
        environment = {key: server.url("/") if value == "HERE" else value for key, value in environment.items()}
        output = await run(server, environment)
        assert output.metadata["search_provider"] == name
        assert output.metadata[SOURCES][0]["url"] == "https://pandas.example/rolling"
        assert sent in server.heads[0]
        assert "user-agent: zidane_lab/" in server.heads[0].lower()


async def test_services_are_tried_in_order_until_one_answers_and_the_failures_are_told():
    routes = {
        BRAVE_PATH: answer('{"error": {"detail": "The key BRAVEKEY is not valid"}}', JSON, "401 Unauthorized"),
        "/search": answer("<html>", "text/html"),
        "/html/": answer(answers.DUCKDUCKGO_CHALLENGE, status="202 Accepted"),
        "/lite/": answer(answers.DUCKDUCKGO_LITE),
    }
    async with Server(routes) as server:
        output = await run(server, {"BRAVE_API_KEY": "BRAVEKEY", "TAVILY_API_KEY": "t"})
        text = output.parts[0].text
        assert text.startswith("Found by DuckDuckGo Lite")
        assert "[Brave did not answer: it does not take the key (401: The key *** is not valid)]" in text
        assert "[Tavily did not answer: its answer is not JSON]" in text
        assert "[DuckDuckGo did not answer: it asks to prove that a person is searching]" in text
        assert "BRAVEKEY" not in text
        assert [path.partition("?")[0] for path in server.paths] == [
            "/res/v1/web/search",
            "/search",
            "/html/",
            "/lite/",
        ]


async def test_where_none_answers_the_error_says_why_and_what_to_set_up():
    routes = {"/html/": answer(b"", status="503 Busy"), "/lite/": redirect("http://127.0.0.1:1/")}
    async with Server(routes) as server:
        with pytest.raises(ToolError) as caught:
            await run(server, {"SERPAPI_API_KEY": "SERPKEY"})
    said = str(caught.value)
    assert "SerpApi: it does not answer the request (404)" in said
    assert "DuckDuckGo: it is out of order (503)" in said
    assert "DuckDuckGo Lite: it does not answer the request (302)" in said
    assert "Brave (BRAVE_API_KEY)" in said
    assert "Google Custom Search (GOOGLE_API_KEY and GOOGLE_CSE_ID)" in said
    assert "Wikipedia: it does not answer the request (404)" in said
    assert "SERPKEY" not in said


async def test_a_key_in_an_address_does_not_show_when_the_service_cannot_be_reached():
    async with Server() as server:
        base = server.url("")
    with pytest.raises(ToolError) as caught:
        await search(Query("x"), {"SERPAPI_API_KEY": "SERPKEY"}, [SerpApi(base)])
    assert "SerpApi: it cannot be reached (ConnectError)" in str(caught.value)
    assert "SERPKEY" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_a_service_that_is_silent_or_endless_does_not_hold_up_the_next():
    async def silent(writer):
        await asyncio.sleep(30)

    async def endless(writer):
        writer.write(answer(b"", JSON, content_length=None))
        while True:
            writer.write(b" " * 65_536)
            await writer.drain()

    routes = {"/res/v1/web/search?q=x&count=10": silent, "/search": endless, "/html/": answer(answers.DUCKDUCKGO)}
    async with Server(routes) as server:
        found = await search(Query("x"), {"BRAVE_API_KEY": "k", "TAVILY_API_KEY": "k"}, services(server), seconds=1)
        assert found.provider.name == "duckduckgo"
        assert [name for name, _ in found.failures] == ["Brave", "Tavily"]
        assert "no answer within 1 s" in found.failures[0][1]


async def test_nothing_found_is_said_and_marked_as_useless():
    async with Server({"/html/": answer(answers.DUCKDUCKGO_NOTHING)}) as server:
        output = await run(server, {}, recent="day")
        assert output.parts[0].text.startswith("DuckDuckGo found nothing for “rolling windows” of the last day.")
        assert output.metadata == {USELESS: True, SOURCES: []}


async def test_results_of_other_sites_are_left_out_unless_there_are_no_others():
    async with Server({"/html/": answer(answers.DUCKDUCKGO)}) as server:
        output = await run(server, {}, sites=["https://www.pandas.example/docs"])
        assert [each["url"] for each in output.metadata[SOURCES]] == ["https://pandas.example/rolling"]
        output = await run(server, {}, sites=["other.example"])
        assert len(output.metadata[SOURCES]) == 2
        assert "[none of these is of the sites asked for]" in output.parts[0].text


async def test_operators_in_the_words_are_limits_with_any_service():
    routes = {"/search": answer(answers.TAVILY, JSON), "/html/": answer(answers.DUCKDUCKGO)}
    async with Server(routes) as server:
        words = "rolling windows site:pandas.example after:2020-01-01"
        tool = web_search_tool(services(server), lambda: {"TAVILY_API_KEY": "k"})
        output = await tool.run(ToolContext(), {"query": words})
        assert [each["url"] for each in output.metadata[SOURCES]] == ["https://pandas.example/rolling"]
        assert "“rolling windows” on pandas.example of 2020-01-01 or later" in output.parts[0].text
        sent = json.loads(server.heads[0].partition("\r\n\r\n")[2])
        assert (sent["query"], sent["include_domains"]) == ("rolling windows", ["pandas.example"])
        tool = web_search_tool(services(server), dict)
        output = await tool.run(ToolContext(), {"query": "rolling windows filetype:pdf"})
        assert len(output.metadata[SOURCES]) == 2
        assert "[none of these is a pdf file by its address]" in output.parts[0].text
        assert "q=rolling+windows+filetype%3Apdf" in server.heads[-1]


async def test_wikipedia_is_the_last_to_be_asked():
    path = "/w/api.php?action=query&list=search&format=json&srsearch=rolling+windows&srlimit=10"
    async with Server({path: answer(answers.WIKIPEDIA, JSON)}) as server:
        output = await run(server, {})
        text = output.parts[0].text
        assert text.startswith("Found by Wikipedia for “rolling windows”:\n\n1. Moving average (2026-01-02)\n")
        assert "https://en.wikipedia.org/?curid=123" in text
        assert "[DuckDuckGo did not answer: it does not answer the request (404" in text


async def test_no_key_is_in_the_log_whatever_the_level(caplog):
    caplog.set_level(0)
    routes = {"/search.json?engine=google&q=x&num=10&api_key=SERPSECRET": answer(answers.SERPAPI, JSON)}
    async with Server(routes) as server:
        await search(Query("x"), {"SERPAPI_API_KEY": " SERPSECRET\n"}, [SerpApi(server.url(""))])
        assert "SERPSECRET" in server.heads[0]
    with pytest.raises(ToolError):
        await search(Query("x"), {"SERPAPI_API_KEY": "SERPSECRET"}, [SerpApi(server.url(""))])
    assert "SERPSECRET" not in caplog.text


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("SECRET/key+1", "SECRET%2Fkey%2B1"),
        ("SECRET key", "SECRET+key"),
        ('SECRET"key', 'SECRET\\"key'),
        ("SECRET-key", "SECRET-key"),
    ],
)
async def test_a_key_that_a_service_quotes_in_its_own_spelling_does_not_show(key, said):
    body = json.dumps({"error": f"bad key {said} in ?api_key={said}"})
    async with Server() as server:
        path = "/search.json?" + str(httpx.QueryParams({"engine": "google", "q": "x", "num": 10, "api_key": key}))
        server.routes[path] = answer(body, JSON, "401 Unauthorized")
        with pytest.raises(ToolError) as caught:
            await search(Query("x"), {"SERPAPI_API_KEY": key}, [SerpApi(server.url(""))])
    assert "bad key *** in ?api_key=***" in str(caught.value)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("key", ["new\nline", "nul\0", "kéy", "\ud800"])
async def test_a_key_that_no_header_can_have_is_a_failure_of_its_service_alone(key):
    async with Server({"/html/": answer(answers.DUCKDUCKGO)}) as server:
        found = await search(Query("x"), {"BRAVE_API_KEY": key}, [Brave(server.url("")), DuckDuckGo(server.url(""))])
        assert found.provider.name == "duckduckgo"
        assert key not in found.failures[0][1]


async def test_a_login_in_the_address_of_an_instance_goes_into_the_head_and_nowhere_else():
    async with Server({"/search?q=x&format=json": answer(answers.SEARXNG, JSON)}) as server:
        url = server.url("/search").replace("http://", "http://me:SECRETWORD@")
        await search(Query("x"), {"SEARXNG_URL": url}, [Searxng()])
        assert "authorization: Basic bWU6U0VDUkVUV09SRA==" in server.heads[0]
        server.routes.clear()
        server.routes["/search?q=x&format=json"] = answer('{"error": "no SECRETWORD"}', JSON, "401 No")
        with pytest.raises(ToolError) as caught:
            await search(Query("x"), {"SEARXNG_URL": url}, [Searxng()])
        assert "SECRETWORD" not in str(caught.value)


async def test_the_environment_may_say_how_long_to_wait_for_a_service():
    async def silent(writer):
        await asyncio.sleep(30)

    async with Server({"/html/": silent}) as server:
        for said in ("0", "-5", "1"):
            with pytest.raises(ToolError, match="no answer within 1 s"):
                await search(Query("x"), {"ZIDANE_SEARCH_SECONDS": said}, [DuckDuckGo(server.url(""))])


async def test_what_cannot_be_searched_is_an_error_and_nothing_is_sent():
    async with Server() as server:
        for arguments in ({"query": "  "}, {"query": "x" * 2_000}, {"sites": ["not a site"]}, {"sites": ["localhost"]}):
            with pytest.raises(ToolError):
                await run(server, {}, **arguments)
        assert server.heads == []


async def test_which_services_are_tried():
    names = lambda environment: [each.name for each in chosen(environment)]  # noqa: E731
    assert names({}) == ["duckduckgo", "duckduckgo-lite", "wikipedia"]
    assert names({"EXA_API_KEY": "k", "GOOGLE_API_KEY": "k", "BRAVE_API_KEY": " "})[:1] == ["exa"]
    everything = {name: "k" for each in PROVIDERS for name in each.needs}
    assert names(everything) == [
        "brave",
        "tavily",
        "exa",
        "perplexity",
        "serper",
        "serpapi",
        "google",
        "jina",
        "parallel",
        "searxng",
        "marginalia",
        "duckduckgo",
        "duckduckgo-lite",
        "wikipedia",
    ]
    assert names({**everything, "ZIDANE_SEARCH": "exa, Brave exa"}) == ["exa", "brave"]
    for choice, said in (("none", "switched off"), ("bing", "'bing'"), ("tavily", "TAVILY_API_KEY")):
        with pytest.raises(ToolError, match=said):
            chosen({"ZIDANE_SEARCH": choice})


async def test_keys_are_looked_up_at_each_call(monkeypatch):
    async with Server({BRAVE_PATH: answer(answers.BRAVE, JSON), "/html/": answer(answers.DUCKDUCKGO)}) as server:
        for name in {name for each in PROVIDERS for name in each.needs}:
            monkeypatch.delenv(name, raising=False)
        tool = web_search_tool(services(server))
        first = await tool.run(ToolContext(), {"query": "rolling windows"})
        monkeypatch.setenv("BRAVE_API_KEY", "k")
        second = await tool.run(ToolContext(), {"query": "rolling windows"})
        assert first.metadata["search_provider"] == "duckduckgo"
        assert second.metadata["search_provider"] == "brave"


async def test_what_the_gate_sees_of_the_tool():
    tool = web_search_tool()
    assert (tool.name, tool.tier, tool.concurrency_of({})) == ("web_search", "network", "shared")
    assert set(tool.parameters["properties"]) == {"query", "count", "sites", "recent"}


async def test_importing_the_tools_does_not_import_what_they_use_later():
    import subprocess
    import sys

    code = (
        "import sys, zidane_lab.tools.fetch_url, zidane_lab.tools.web_search;"
        "print([name for name in ('httpx', 'trafilatura', 'idna', 'lxml') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""Better forms of a page: what is looked for, in which order, and where it is not."""

from __future__ import annotations

import asyncio

import pytest

from tests.tools.web.support import Server, answer, redirect, settings_for
from zidane_lab.tools.web.forms import get_page

pytestmark = pytest.mark.asyncio

SHELL = f"<title>App</title><div id=app></div><script>{'x' * 9_000}</script>"
MD = "text/markdown"
WORDS = "These are the words of the page itself, and there are enough of them to be taken for one. " * 4


async def page_at(server, path="/", **options):
    return await get_page(server.url(path), settings_for(server, **options))


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/guide", "/guide.md"),
        ("/guide/", "/guide/index.md"),
        ("/guide/", "/guide.md"),
        ("/guide.html", "/guide.html.md"),
        ("/guide.html", "/guide.md"),
        ("/", "/index.md"),
        ("/guide?v=1", "/guide.md"),
    ],
)
async def test_a_page_without_text_is_looked_for_as_markdown(path, form):
    async with Server({path: answer(SHELL), form: answer("# Guide", MD)}) as server:
        page = await page_at(server, path)
        assert (page.text, page.method, page.title) == ("# Guide", "markdown suffix", "App")
        assert page.url == server.url(path)
        assert page.final_url == server.url(form)
        assert "accept: text/markdown, text/plain;q=0.9\r\n" in server.heads[-1].lower()


async def test_a_page_with_text_is_not_looked_for_elsewhere():
    async with Server({"/a": answer(f"<main><p>{WORDS}</p></main>"), "/a.md": answer("# md", MD)}) as server:
        assert (await page_at(server, "/a")).method == "html"
        assert server.paths == ["/a"]


async def test_a_server_that_answers_anything_with_its_start_page_has_no_markdown():
    async with Server(
        {"/a": answer(SHELL), "/a.md": answer(SHELL, MD), "/llms.txt": answer(SHELL, "text/plain")}
    ) as server:
        page = await page_at(server, "/a")
        assert page.is_poor
        assert "built by its scripts" in page.notes[0]


async def test_the_head_of_an_answer_may_name_the_markdown_form():
    link = '</a.md>; rel="alternate"; type="text/markdown"'
    async with Server({"/a": answer(f"<p>{WORDS}</p>", link=link), "/a.md": answer("# md", MD)}) as server:
        page = await page_at(server, "/a")
        assert (page.text, page.method) == ("# md", "markdown alternate")


async def test_then_its_feed_and_last_the_guide_of_the_site_are_read():
    feed = "<rss><channel><title>N</title><item><title>E</title></item></channel></rss>"
    shell = f"<link rel=alternate type=application/rss+xml href=/feed>{SHELL}"
    routes = {
        "/a": answer(shell),
        "/feed": answer(feed, "application/rss+xml"),
        "/b": answer(SHELL),
        "/llms.txt": answer("# Site\n\n- [A](/a.md)", "text/plain"),
    }
    async with Server(routes) as server:
        page = await page_at(server, "/a")
        assert (page.method, page.text) == ("feed alternate", "# N\n\n## E")
        page = await page_at(server, "/b")
        assert (page.method, page.text) == ("llms.txt", "# Site\n\n- [A](/a.md)")
        assert "the site's own guide" in page.notes[-1]
        server.routes["/llms.txt"] = answer("no guide", "text/plain")
        assert (await page_at(server, "/b")).method == "html"


async def test_a_page_that_sends_its_readers_on_is_followed():
    refresh = "<title>Redirecting…</title><meta http-equiv=refresh content='0; url={}'><a href=x>Click here</a>"
    routes = {
        "/": answer(refresh.format("/en/")),
        "/en/": answer(refresh.format("latest/")),
        "/en/latest/": answer(f"<main><p>{WORDS}</p></main>"),
        "/loop": answer(refresh.format("/loop2")),
        "/loop2": answer(refresh.format("/loop")),
        "/self": answer(refresh.format("")),
        "/away": answer(refresh.format("https://example.com/there")),
        "/private": answer(refresh.format("http://169.254.169.254/latest/")),
        "/text": answer(f"<meta http-equiv=refresh content='5; url=/en/'><main><p>{WORDS}</p></main>"),
    }
    async with Server(routes) as server:
        page = await page_at(server)
        assert page.final_url == server.url("/en/latest/")
        assert page.url == server.url()
        assert "words of the page" in page.text
        for path in ("/loop", "/self"):
            assert not (await page_at(server, path)).is_failed
        assert len(server.paths) < 20
        away = await page_at(server, "/away")
        assert away.is_failed
        assert "moved to another site: https://example.com/there" in away.text
        private = await page_at(server, "/private", follow_anywhere=True)
        assert "a cloud's metadata" in private.notes[-1]
        assert (await page_at(server, "/text")).final_url == server.url("/text")


async def test_the_frames_of_a_page_are_read_where_they_are_of_its_site():
    pdf = b"%PDF-1.4\nbroken"
    async with Server({"/": answer("elsewhere")}) as other:
        routes = {
            "/": answer(
                f"<title>API</title><frameset><frame src=list.html><frame src=/start><frame src={other.url()}></frameset>"
            ),
            "/list.html": answer("<p>All classes: A, B, C</p>"),
            "/start": answer(f"<p>{WORDS}</p>"),
            "/viewer": answer("<embed src=/paper.pdf>"),
            "/paper.pdf": answer(pdf, "application/pdf"),
        }
        async with Server(routes) as server:
            page = await get_page(server.url(), settings_for(server, f"127.0.0.1:{other.port}"))
            assert page.method == "frames"
            assert "All classes: A, B, C" in page.text
            assert "words of the page" in page.text
            assert f"other frames: {other.url()}" in page.notes[-1]
            assert other.heads == []
            assert (await page_at(server, "/viewer")).method == "html"
            assert "/paper.pdf" in server.paths


async def test_what_is_looked_for_does_not_leave_the_site_and_passes_the_same_checks():
    async with Server({"/a.md": answer("# evil", MD), "/x": answer("# evil", MD)}) as other:
        routes = {
            "/a": answer(f"<link rel=alternate type=text/markdown href={other.url('/a.md')}>{SHELL}"),
            "/a.md": redirect(other.url("/x")),
            "/llms.txt": redirect("http://169.254.169.254/"),
        }
        async with Server(routes) as server:
            page = await get_page(server.url("/a"), settings_for(server, f"127.0.0.1:{other.port}"))
            assert page.method == "html"
            assert other.heads == []


async def test_looking_for_other_forms_does_not_hold_up_the_page(monkeypatch):
    monkeypatch.setattr("zidane_lab.tools.web.forms._EXTRA_SECONDS", 0.5)

    async def silent(writer):
        await asyncio.sleep(30)

    async with Server({"/a": answer(SHELL), "/a.md": silent}) as server:
        page = await page_at(server, "/a")
        assert page.is_poor
        assert not page.is_failed


async def test_raw_is_the_source_and_nothing_else_is_asked_for():
    async with Server({"/a": answer(SHELL), "/a.md": answer("# md", MD)}) as server:
        page = await get_page(server.url("/a"), settings_for(server), raw=True)
        assert (page.method, page.text) == ("raw", SHELL)
        assert server.paths == ["/a"]

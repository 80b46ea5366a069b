from __future__ import annotations

import gzip
import json
import struct
import tarfile
import zipfile
import zlib
from io import BytesIO

import pytest

from tests.tools.web.support import Server, answer, redirect, resolver, settings_for
from zidane_lab.errors import ConfigurationError, ToolError, ToolNotAllowedError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.fetch_url import FETCHED, fetch_url_tool, url_reader
from zidane_lab.tools.pages import PAGE_LINES
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.tools.truncate import MAX_BYTES, MAX_LINES
from zidane_lab.tools.web.settings import WebSettings
from zidane_lab.turns import ImageBlock

pytestmark = pytest.mark.asyncio


class Outputs:
    def __init__(self, folder):
        self.folder, self.saved = folder, []

    def save_output(self, name, text):
        path = self.folder / f"{len(self.saved) + 1}.{name}.txt"
        path.write_text(text, encoding="utf-8")
        self.saved.append(path)
        return path


@pytest.fixture
def context(tmp_path):
    return ToolContext(cwd=tmp_path, outputs=Outputs(tmp_path))


async def fetch(context, server, path="/", settings=None, **arguments):
    tool = fetch_url_tool(settings or settings_for(server))
    return await tool.run(context, {"url": server.url(path), **arguments})


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\xff\0\0" * width) * height)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def test_a_page_is_markdown_under_a_header(context):
    page = "<title>T</title><main><h1>Head</h1><pre>x = 1</pre><a href=/b>link</a></main>"
    async with Server({"/": redirect("/a"), "/a": answer(page)}) as server:
        output = await fetch(context, server)
        assert output.parts[0].text == "\n".join(
            [
                f"URL: {server.url()}",
                f"Found at: {server.url('/a')}",
                "Title: T",
                f"Type: text/html, {len(page)} B",
                "Method: html",
                "",
                "---",
                "# Head",
                "",
                "```",
                "x = 1",
                "```",
                "",
                f"[link]({server.url('/b')})",
            ]
        )
        assert not output.is_error
        assert output.metadata[FETCHED]["final_url"] == server.url("/a")


async def test_a_long_page_is_shown_in_parts_and_fetched_once(context):
    text = "".join(f"line {n}\n" for n in range(1, 1001))
    async with Server({"/": answer(text, "text/plain")}) as server:
        first = await fetch(context, server)
        (path,) = context.outputs.saved
        assert path.read_text() == text
        assert first.metadata["output_path"] == str(path)
        assert first.parts[0].text.endswith(
            f"line 300\n[lines 1–300 of 1,000; go on with offset=301; all of it is in {path}]"
        )
        shown, offset = [], 1
        while True:
            output = await fetch(context, server, offset=offset, limit=400)
            body = output.parts[0].text.split("---\n")[1]
            shown += [line for line in body.split("\n") if line.startswith("line ")]
            if "this is the end" in body:
                break
            offset = int(body.rpartition("offset=")[2].partition(";")[0])
        assert "\n".join(shown) + "\n" == text
        assert server.paths == ["/"]
        past = (await fetch(context, server, offset=5_000)).parts[0].text
        assert past.endswith("[the text has 1,000 lines; there is no line 5,000]")
        assert len(server.paths) == 1


async def test_each_conversation_keeps_its_own_pages(context, tmp_path):
    async with Server({"/": answer("one\ntwo\n", "text/plain")}) as server:
        await fetch(context, server)
        server.routes["/"] = answer("three\nfour\n", "text/plain")
        assert "two" in (await fetch(context, server, offset=2)).parts[0].text
        other = ToolContext(cwd=tmp_path, outputs=Outputs(tmp_path))
        assert "four" in (await fetch(other, server, offset=2)).parts[0].text
        assert "four" in (await fetch(ToolContext(cwd=tmp_path), server, offset=2)).parts[0].text


async def test_a_page_asked_for_again_is_a_copy_that_says_so_until_it_is_refreshed(context):
    async with Server({"/": answer("one\ntwo\n", "text/plain")}) as server:
        await fetch(context, server)
        server.routes["/"] = answer("three\nfour\n", "text/plain")
        again = (await fetch(context, server)).parts[0].text
        assert "Notes: a copy of 0 s ago; refresh=true fetches it again" in again
        assert again.endswith("one\ntwo")
        fresh = (await fetch(context, server, refresh=True)).parts[0].text
        assert fresh.endswith("three\nfour")
        assert "a copy of" not in fresh
        assert "four" in (await fetch(context, server, offset=2)).parts[0].text
        assert len(server.paths) == 2
        assert (await fetch(context, server, raw=True)).parts[0].text.endswith("three\nfour")
        assert len(server.paths) == 3


async def test_a_page_that_broke_off_or_failed_is_fetched_again(context):
    async with Server({"/": answer("half", "text/plain", content_length="99")}) as server:
        await fetch(context, server)
        server.routes["/"] = answer("whole", "text/plain")
        assert (await fetch(context, server)).parts[0].text.endswith("whole")
        assert (await fetch(context, server, "/late")).is_error
        server.routes["/late"] = answer("now", "text/plain")
        assert not (await fetch(context, server, "/late")).is_error


async def test_lines_behind_an_address_come_from_the_copy(context):
    text = "".join(f"line {n}\n" for n in range(1, 1001))
    async with Server({"/a": answer(text, "text/plain")}) as server:
        first = (await fetch(context, server, "/a:500-502")).parts[0].text
        assert first.startswith(f"URL: {server.url('/a')}\n")
        assert "---\nline 500\nline 501\nline 502\n[lines 500–502 of 1,000; go on with offset=503" in first
        several = (await fetch(context, server, "/a:1-2,10+2,990-")).parts[0].text
        lines = [each for each in several.split("\n") if each.startswith("line ")]
        assert lines == [f"line {n}" for n in (1, 2, 10, 11, *range(990, 1001))]
        assert server.paths == ["/a"]
        with pytest.raises(ToolError, match="before it starts"):
            await fetch(context, server, "/a:9-3")


async def test_ranges_that_do_not_fit_are_named(context):
    text = "".join(f"{'x' * 200} {n}\n" for n in range(1, 1001))
    async with Server({"/a": answer(text, "text/plain")}) as server:
        shown = (await fetch(context, server, "/a:1-150,300-450,500-502")).parts[0].text
        assert len(shown.encode()) <= MAX_BYTES
        assert "[lines from 300 on do not fit here; ask for them alone]" in shown


async def test_whatever_the_page_the_text_stays_within_the_limits_of_a_tool(context):
    path = "/" + "p" * 2_000
    wide = answer("<title>" + "題" * 5_000 + "</title>" + "<p>word 言葉</p>" * 40_000, content_encoding="identity")
    feeds = "".join(f"<link rel=alternate type=application/rss+xml href='/{'é' * 200}'>" for _ in range(3))
    routes = {
        path: redirect(path + "x"),
        path + "x": wide,
        "/one": answer("x" * 300_000, "text/plain"),
        "/feeds": answer(feeds + "<p>語</p>" * 40_000, content_length="9999999"),
    }
    async with Server(routes) as server:
        for where in (path, "/one", "/feeds"):
            text = (await fetch(context, server, where, limit=PAGE_LINES * 2)).parts[0].text
            assert len(text.encode()) <= MAX_BYTES
            assert text.count("\n") < MAX_LINES
            assert "bytes left out" not in text
            assert str(context.outputs.saved[-1]) in text


async def test_json_is_laid_out_and_a_notebook_shown_by_its_cells(context):
    notebook = {
        "nbformat": 4,
        "metadata": {},
        "cells": [{"cell_type": "code", "source": "x = 1", "outputs": [], "id": "c1"}],
    }
    routes = {
        "/j": answer('{"a":[1,{"b":"é"}]}', "application/json"),
        "/bad": answer('{"a":', "application/json"),
        "/deep": answer("[" * 100_000, "application/json"),
        "/n.ipynb": answer(json.dumps(notebook), "text/plain"),
    }
    async with Server(routes) as server:
        assert '{\n  "a": [\n    1,\n    {\n      "b": "é"' in (await fetch(context, server, "/j")).parts[0].text
        assert (await fetch(context, server, "/bad")).parts[0].text.endswith('Method: text\n\n---\n{"a":')
        assert not (await fetch(context, server, "/deep")).is_error
        assert "# %% [code] id=c1\nx = 1" in (await fetch(context, server, "/n.ipynb")).parts[0].text


async def test_a_feed_is_a_list_of_entries_and_raw_shows_the_source(context):
    feed = (
        "<rss><channel><title>N</title><item><title>E</title><link>https://example.com/e</link></item></channel></rss>"
    )
    async with Server({"/": answer(feed, "application/rss+xml")}) as server:
        assert "## [E](https://example.com/e)" in (await fetch(context, server)).parts[0].text
        raw = (await fetch(context, server, raw=True)).parts[0].text
        assert "Method: raw" in raw
        assert raw.endswith(feed)


async def test_markdown_is_asked_for_and_taken_where_a_page_has_it(context):
    page = "<link rel=alternate type=text/markdown href=/a.md><p>html</p>"
    routes = {"/": answer("# md", "text/markdown"), "/a": answer(page), "/a.md": answer("# better", "text/markdown")}
    async with Server(routes) as server:
        assert "Method: markdown\n\n---\n# md" in (await fetch(context, server)).parts[0].text
        assert "text/markdown" in server.heads[0].partition("accept: ")[2].partition("\r\n")[0]
        assert "Method: markdown alternate\n\n---\n# better" in (await fetch(context, server, "/a")).parts[0].text
        assert server.paths == ["/", "/a", "/a.md"]


async def test_the_markdown_form_of_a_page_is_not_looked_for_on_another_site(context):
    async with Server({"/a.md": answer("# evil", "text/markdown")}) as other:
        page = f"<link rel=alternate type=text/markdown href={other.url('/a.md')}><p>html</p>"
        async with Server({"/": answer(page)}) as server:
            output = await fetch(context, server, settings=settings_for(server, f"127.0.0.1:{other.port}"))
            assert output.parts[0].text.endswith("html")
            assert other.heads == []


async def test_a_page_built_by_its_scripts_is_looked_for_as_markdown_and_else_said_to_be_one(context):
    page = f"<div id=app></div><script>{'x' * 9_000}</script>"
    routes = {"/a": answer(page), "/a.md": answer("# text", "text/plain"), "/b": answer(page)}
    async with Server(routes) as server:
        assert (await fetch(context, server, "/a")).parts[0].text.endswith("# text")
        assert "built by its scripts" in (await fetch(context, server, "/b")).parts[0].text


async def test_a_picture_is_attached_and_shrunk(context):
    async with Server({"/i": answer(png(3, 2), "image/png"), "/big": answer(png(3_000, 10), "image/png")}) as server:
        output = await fetch(context, server, "/i")
        assert output.parts[1].data == png(3, 2)
        assert "3 × 2 pixels" in output.parts[0].text
        big = (await fetch(context, server, "/big")).parts
        if isinstance(big[1], ImageBlock):
            assert struct.unpack(">I", big[1].data[16:20])[0] <= 1024


async def test_a_pdf_is_text(context):
    pytest.importorskip("pypdf")
    stream = b"BT /F1 12 Tf 72 700 Td (Hello paper) Tj ET"
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    xref = len(data)
    data += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % xref
    async with Server(
        {"/p.pdf": answer(data, "application/pdf"), "/cut.pdf": answer(data[:400], "application/pdf")}
    ) as server:
        output = await fetch(context, server, "/p.pdf")
        assert "Method: pdf\n\n---\n--- page 1 of 1 ---\nHello paper" in output.parts[0].text
        broken = await fetch(context, server, "/cut.pdf")
        assert broken.parts


def zipped(**files):
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return packed.getvalue()


WORD = zipped(
    word__document_xml='<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    "<w:p><w:r><w:t>Hello memo</w:t></w:r></w:p></w:body></w:document>"
)


@pytest.mark.parametrize("kind", ["application/octet-stream", "text/html", "image/png", "", "application/pdf"])
async def test_a_document_is_what_it_is_whatever_the_server_calls_it(context, kind):
    async with Server({"/d": answer(WORD, kind or None)}) as server:
        output = await fetch(context, server, "/d")
        assert "Method: docx" in output.parts[0].text
        assert "Hello memo" in output.parts[0].text
        assert ("it is a Word document, whatever the server says" in output.parts[0].text) == (kind == "text/html")


async def test_what_an_archive_a_database_or_a_compressed_text_holds_is_told(context, tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "d.db") as database:
        database.execute("create table penguins (species text)")
    database.close()
    tar = BytesIO()
    with tarfile.open(fileobj=tar, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("folder/inside.txt"), BytesIO())
    routes = {
        "/z.zip": answer(zipped(a_txt="hello"), "application/zip"),
        "/d.db": answer((tmp_path / "d.db").read_bytes(), "application/octet-stream"),
        "/t.csv.gz": answer(gzip.compress("a,b\n1,é\n".encode()), "application/gzip"),
        "/t.tar.gz": answer(tar.getvalue(), "application/gzip"),
        "/bomb.gz": answer(gzip.compress(b"\n" * 60_000_000), "application/gzip"),
        "/broken.gz": answer(b"\x1f\x8b" + b"\xff" * 500, "application/gzip"),
        "/broken.zip": answer(b"PK\x03\x04" + b"\xff" * 500, "application/zip"),
    }
    async with Server(routes) as server:
        texts = {path: (await fetch(context, server, path)).parts[0].text for path in routes}
    assert "---\na.txt  5 B\n[1 entries, 5 B unpacked]" in texts["/z.zip"]
    assert "penguins" in texts["/d.db"]
    assert texts["/t.csv.gz"].endswith("---\na,b\n1,é")
    assert "folder/inside.txt" in texts["/t.tar.gz"]
    assert "only its beginning was unpacked" in texts["/bomb.gz"]
    assert "Method: failed" in texts["/broken.gz"]
    assert "Method: failed" in texts["/broken.zip"]


async def test_a_workbook_and_a_broken_one(context):
    openpyxl = pytest.importorskip("openpyxl")
    data = BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["species", "count"])
    book.active.append(["Adelie", 152])
    book.save(data)
    routes = {"/b.xlsx": answer(data.getvalue(), "application/zip"), "/c.xlsx": answer(data.getvalue()[:900], "")}
    async with Server(routes) as server:
        assert "Adelie" in (await fetch(context, server, "/b.xlsx")).parts[0].text
        assert (await fetch(context, server, "/c.xlsx")).is_error


async def test_binary_is_named_with_type_and_size_and_not_shown(context):
    routes = {
        "/x": answer(b"\x7fELF" + b"\0" * 4_092, "application/octet-stream"),
        "/large": answer(b"\x89PNG\r\n\x1a\n" + b"\0" * 50_000, "image/png"),
    }
    async with Server(routes) as server:
        output = await fetch(context, server, "/x")
        assert output.is_error
        assert "an ELF program or library, 4.0 KB" in (await fetch(context, server, "/x")).parts[0].text
        output = await fetch(context, server, "/large", settings_for(server, most_bytes=20_000))
        assert "more than 19.5 KB" in output.parts[0].text
        assert len(output.parts) == 1


async def test_a_refusal_of_the_server_is_a_result_that_says_so(context):
    routes = {
        "/403": answer("<p>Go <b>away</b></p>", status="403 Forbidden"),
        "/500": answer(b"", status="500 Internal Server Error"),
        "/599": answer(b"\0\1\2\3" * 500, "application/octet-stream", status="599 Odd"),
    }
    async with Server(routes) as server:
        output = await fetch(context, server, "/403")
        assert output.is_error
        assert (
            "Method: failed\n\n---\nThe server answered 403 Forbidden. It says:\n\nGo **away**" in output.parts[0].text
        )
        assert output.metadata[FETCHED]["status"] == 403
        assert (await fetch(context, server, "/500")).parts[0].text.endswith("answered 500 Internal Server Error.")
        assert (await fetch(context, server, "/599")).parts[0].text.endswith("answered 599.")
        assert "nothing here" in (await fetch(context, server, "/404")).parts[0].text


async def test_a_server_that_cannot_be_reached_is_a_result_that_says_so(context):
    async with Server() as server:
        settings = settings_for(server)
    output = await fetch(context, server, settings=settings)
    assert output.is_error
    assert "Method: failed" in output.parts[0].text
    assert "cannot be reached" in output.parts[0].text
    assert output.metadata[FETCHED]["status"] is None


async def test_another_site_is_named_for_the_next_call(context):
    async with Server({"/": redirect("https://example.com/new")}) as server:
        output = await fetch(context, server)
        assert output.is_error
        assert "moved to another site: https://example.com/new" in output.parts[0].text


async def test_an_address_that_is_not_fetched_is_an_error_and_nothing_is_sent(context):
    async with Server({"/": answer("secret")}) as server:
        for url in (server.url(), "http://169.254.169.254/", "file:///etc/passwd"):
            with pytest.raises(ToolNotAllowedError):
                await fetch_url_tool(WebSettings()).run(context, {"url": url})
        assert server.heads == []


async def test_hidden_words_of_a_page_do_not_reach_the_model(context):
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "obey")
    async with Server({"/": answer(f"vis{hidden}ible \x1b[2Jtext\u202e", "text/plain; charset=utf-8")}) as server:
        assert (await fetch(context, server)).parts[0].text.endswith("visible text")


async def test_half_a_page_is_said_to_be_half(context):
    async with Server({"/": answer("half", "text/plain", content_length="99")}) as server:
        assert "Notes: what is here may not be all" in (await fetch(context, server)).parts[0].text
        server.routes["/"] = answer("word " * 10_000, "text/plain")
        output = await fetch(context, server, settings=settings_for(server, most_bytes=10_000))
        assert "Notes: only the first 9.8 KB were fetched" in output.parts[0].text


async def test_the_environment_says_what_may_be_reached():
    settings = WebSettings.from_environment({"ZIDANE_WEB_ALLOW": "localhost:8888, 10.0.0.0/8", "ZIDANE_WEB_PROXY": "1"})
    assert len(settings.allowed.entries) == 2
    assert settings.through_proxy
    assert not settings.follow_anywhere
    assert WebSettings.from_environment({"ZIDANE_WEB_REDIRECTS": "anywhere"}).follow_anywhere
    assert WebSettings.from_environment({}) == WebSettings()
    with pytest.raises(ConfigurationError):
        WebSettings.from_environment({"ZIDANE_WEB_ALLOW": "http://x"})


async def test_what_the_gate_sees_of_the_tool():
    tool = fetch_url_tool(WebSettings())
    assert (tool.name, tool.tier, tool.concurrency_of({})) == ("fetch_url", "network", "shared")
    assert set(tool.parameters["properties"]) == {"url", "offset", "limit", "raw", "refresh"}
    assert tool.parameters["required"] == ["url"]


async def test_other_tools_show_the_copies_that_were_fetched(context):
    text = "\n".join(f"line {n}" for n in range(1, 2_000))
    async with Server({"/a": answer(text, "text/plain"), "/i": answer(png(3, 2), "image/png")}) as server:
        settings = settings_for(server)
        await fetch(context, server, "/a", settings)
        reading = url_reader(settings)
        assert reading is url_reader(settings)
        shown = await reading(context, server.url("/a"), offset=1_500, limit=2)
        assert "---\nline 1500\nline 1501\n[lines" in shown.parts[0].text
        assert (
            "---\nline 7\nline 8\n[" in (await reading(context, server.url("/a:7-8"), offset=1, limit=9)).parts[0].text
        )
        assert server.paths == ["/a"]
        assert len((await reading(context, server.url("/i"), offset=1, limit=300)).parts) == 2


async def test_read_file_shows_pages_and_the_lines_behind_an_address(context):
    text = "\n".join(f"line {n}" for n in range(1, 2_000))
    async with Server({"/a": answer(text, "text/plain"), "/b": answer("<p>source</p>")}) as server:
        settings = settings_for(server)
        tool = read_file_tool(read_url=url_reader(settings))
        for arguments, first, last in (
            ({}, 1, 300),
            ({"offset": 1_500, "limit": 3}, 1_500, 1_502),
            ({"path": server.url("/a:7-8")}, 7, 8),
            ({"path": server.url("/a:1990-")}, 1_990, 1_999),
        ):
            shown = await tool.run(context, {"path": server.url("/a"), **arguments})
            lines = [each for each in shown.parts[0].text.split("\n") if each.startswith("line ")]
            assert lines == [f"line {n}" for n in range(first, last + 1)]
        await fetch(context, server, "/a:500-501", settings)
        assert server.paths == ["/a"]
        raw = await tool.run(context, {"path": server.url("/b:raw")})
        assert raw.parts[0].text.endswith("<p>source</p>")


async def test_a_file_of_a_code_host_is_fetched_itself():
    from zidane_lab.tools.web.sites import site_of
    from zidane_lab.tools.web.urls import read_address

    gist = f"https://gist.github.com/someone/{'a1' * 16}"
    for page, file in {
        "https://github.com/o/r/blob/main/a/b.py?raw=true": "https://raw.githubusercontent.com/o/r/main/a/b.py",
        gist: f"https://gist.githubusercontent.com/someone/{'a1' * 16}/raw",
        "https://gitlab.com/group/sub/r/-/blob/main/a.py": "https://gitlab.com/group/sub/r/-/raw/main/a.py",
        "https://huggingface.co/o/m/blob/main/config.json": "https://huggingface.co/o/m/raw/main/config.json",
        "https://huggingface.co/datasets/o/d/blob/main/README.md": "https://huggingface.co/datasets/o/d/raw/main/README.md",
        "https://bitbucket.org/o/r/src/main/a/b.py": "https://bitbucket.org/o/r/raw/main/a/b.py",
    }.items():
        assert str(site_of(read_address(page)).address) == file
    for other in (
        "https://github.com/o/r",
        "https://gitlab.com/group/r",
        "https://bitbucket.org/o/r/src/main/",
        "http://github.com/o/r/blob/main/a.py",
        "https://github.com:8443/o/r/blob/main/a.py",
        "https://github.com.evil.com/o/r/blob/main/a.py",
    ):
        assert site_of(read_address(other)) is None


async def test_where_the_better_address_of_a_site_fails_the_page_itself_is_fetched(context):
    settings = WebSettings(resolver=resolver(), connect=1)
    output = await fetch_url_tool(settings).run(context, {"url": "https://github.com/o/r/blob/main/a.py"})
    assert "There is no host github.com" in output.parts[0].text

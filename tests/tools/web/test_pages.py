"""What an answer is taken for, by its bytes more than by what the server calls it."""

from __future__ import annotations

import json

import pytest

from zidane_lab.tools.web.bodies import Body
from zidane_lab.tools.web.fetching import Fetched
from zidane_lab.tools.web.pages import render
from zidane_lab.tools.web.urls import read_address

HTML = b"<!doctype html><html><body><main><p>some <b>words</b></p></main></body></html>"
FEED = b"<?xml version='1.0'?><rss><channel><title>N</title><item><title>E</title></item></channel></rss>"


def page_of(data, kind="", charset="", url="https://example.com/x", **options):
    return render(url, Fetched(read_address(url), 200, kind, charset, Body(data)), **options)


@pytest.mark.parametrize(
    ("data", "kind", "method"),
    [
        (HTML, "text/html", "html"),
        (HTML, "", "html"),
        (HTML, "image/png", "html"),
        (HTML, "application/pdf", "html"),
        (HTML, "application/json", "html"),
        (HTML, "text/plain", "text"),
        (b"  \n" + HTML, "application/octet-stream", "html"),
        (FEED, "text/html", "feed"),
        (FEED, "application/xml", "feed"),
        (FEED, "text/plain", "feed"),
        (b"\xef\xbb\xbf" + FEED, "text/xml", "feed"),
        (b'{"a": 1}', "text/html", "json"),
        (b'{"a": 1}', "", "json"),
        (b'{"a": 1}', "application/vnd.api+json", "json"),
        (b'{"a": 1}', "text/plain", "text"),
        (b"{not json", "text/html", "html"),
        (b"{not json", "application/json", "text"),
        (b"[a](b) <p>and more</p>", "text/html", "html"),
        (b"# Title", "text/markdown", "markdown"),
        (b"<svg xmlns='x'><text>t</text></svg>", "image/svg+xml", "text"),
        (b"a: 1", "application/yaml", "text"),
        (b"", "text/html", "empty"),
        (b"\xff\xfe\xfd\xfc" * 99 + b"\x80", "image/jpeg", "failed"),
        (b"\x81\x8d\x8f" * 99, "application/octet-stream", "failed"),
        (b"\0\1\2" * 99, "text/plain", "failed"),
        ("naïve".encode("cp1252"), "text/plain", "text"),
        ("wide".encode("utf-16-le"), "text/plain; charset=utf-16le", "failed"),
    ],
)
def test_what_an_answer_is(data, kind, method):
    assert page_of(data, kind).method == method


def test_utf_16_without_a_mark_is_text_where_the_server_says_so():
    assert page_of("wide".encode("utf-16-le"), "text/plain", "utf-16le").text == "wide"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 900 + ",".join("0" * 200_000) + "]" * 900,
        "[" * 900_000,
        '{"a":' * 990 + "1" + "}" * 990,
        "[" + "1" * 6_000 + "]",
        json.dumps({"k" * 1_000: list(range(100_000))}),
    ],
    ids=["wide within deep", "too deep", "deep", "a long number", "long"],
)
def test_json_of_any_shape_stays_small(text):
    page = page_of(text.encode(), "application/json")
    assert not page.is_failed
    assert len(page.text) <= 4_000_000


def test_nothing_of_a_broken_answer_is_not_an_empty_page():
    fetched = Fetched(
        read_address("https://example.com/"), 200, "text/html", "", Body(b"", trouble="it is packed as 'br'")
    )
    page = render("https://example.com/", fetched)
    assert page.is_failed
    assert page.notes == ("what is here may not be all: it is packed as 'br'",)


def test_raw_is_the_source_of_what_is_text():
    assert page_of(HTML, "text/html", raw=True).text == HTML.decode()
    assert page_of(FEED, "text/html", raw=True).method == "raw"
    assert page_of(b"%PDF-1.4\n\0", "application/pdf", raw=True).method != "raw"

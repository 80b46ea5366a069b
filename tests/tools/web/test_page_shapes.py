"""What is read of pages of many shapes, by way of a server and by both ways of converting them."""

from __future__ import annotations

import sys

import pytest

from tests.tools.web.shapes import SHAPES, WORDS
from tests.tools.web.support import Server, answer, settings_for
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.web.extraction import extract, lightened
from zidane_lab.tools.web.reader import read_url


def test_there_are_shapes_enough():
    assert len({shape.name for shape in SHAPES}) == len(SHAPES) >= 12


@pytest.mark.asyncio
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_a_page_keeps_what_it_says(shape):
    async with Server({"/": answer(shape.html, shape.kind)}) as server:
        output = await read_url(ToolContext(), server.url(), settings_for(server))
    text = output.parts[0].text
    for words in shape.has:
        assert words in text
    for words in shape.lacks:
        assert words not in text


@pytest.mark.parametrize(
    "shape",
    [each for each in SHAPES if isinstance(each.html, str) and len(each.html) < 1_000_000 and "only" not in each.name],
    ids=lambda shape: shape.name,
)
def test_it_does_so_without_trafilatura(shape, monkeypatch):
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    found = extract(shape.html, "https://example.com/", is_xml="xhtml" in shape.kind)
    for words in shape.has:
        if not words.startswith(("Title:", "there is", "but it is")):
            assert words in found.text
    assert found.method == "html"


def test_frames_and_where_a_page_leads_are_told_from_what_it_says():
    html = """<html><head><base href="https://example.com/docs/"><meta http-equiv=Refresh content="0; URL='latest/'"></head>
<frameset><frame src=left.html><frame src="/right.html"></frameset>
<object data=paper.pdf type=application/pdf></object><embed src=javascript:x()>
<noscript><iframe src=https://tracker.example/></iframe></noscript></html>"""
    found = extract(html, "https://example.com/")
    assert found.onward == "https://example.com/docs/latest/"
    assert found.frames == tuple(
        f"https://example.com/{name}" for name in ("docs/left.html", "right.html", "docs/paper.pdf")
    )


@pytest.mark.parametrize("content", ["", "5", "url=/x", "600; url=/x", "0; url=javascript:x", "x; y=z"])
def test_a_page_that_only_reloads_or_leads_nowhere_stays(content):
    assert extract(f"<meta http-equiv=refresh content='{content}'><p>x</p>", "https://example.com/").onward == ""


@pytest.mark.parametrize("piece", ["<script>", "</script>", "<svg", "data:a/b;base64,", "<script></svg>", "data:", "<"])
def test_what_is_heavy_is_left_out_in_time_that_goes_with_the_length(piece):
    html = piece * (4_500_000 // len(piece)) + WORDS
    assert len(lightened(html)) <= len(html)


def test_a_page_that_is_not_heavy_is_not_touched():
    html = f"<script>x</script>{WORDS}"
    assert lightened(html) is html

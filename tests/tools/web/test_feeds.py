from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.web.charsets import decoded
from zidane_lab.tools.web.feeds import Entry, json_feed, read_feed

RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News &amp; more</title><link>https://example.com</link>
<item><title>First</title><link> https://example.com/1 </link><pubDate>Mon, 30 Nov 2026 10:00:00 GMT</pubDate>
<description>&lt;p&gt;Some &lt;b&gt;words&lt;/b&gt; &amp;amp; more&lt;/p&gt;</description></item>
<item><title>Second</title><guid>https://example.com/2</guid><link>javascript:x</link></item></channel></rss>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Blog</title><entry><title type="html">A &lt;i&gt;title&lt;/i&gt;</title>
<link rel="self" href="https://example.com/self"/><link href="https://example.com/a"/><updated>2026-11-30T10:00:00Z</updated>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Body <em>text</em></div></content></entry></feed>"""

RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Old</title></channel>
<item><title>One</title><link>https://example.com/one</link><dc:date>2026-01-01</dc:date></item></rdf:RDF>"""


def test_rss():
    feed = read_feed(RSS)
    assert feed.title == "News & more"
    assert feed.entries == (
        Entry("First", "https://example.com/1", "Mon, 30 Nov 2026 10:00:00 GMT", "Some words & more"),
        Entry("Second", "", "", ""),
    )
    assert "## [First](https://example.com/1)" in str(feed)


def test_atom():
    (entry,) = read_feed(ATOM).entries
    assert entry == Entry("A title", "https://example.com/a", "2026-11-30T10:00:00Z", "Body text")


def test_rss_1():
    assert read_feed(RDF).entries == (Entry("One", "https://example.com/one", "2026-01-01"),)


def test_json_feed():
    value = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "J",
        "items": [{"title": "x", "url": "https://example.com/x", "content_html": "<p>hi</p>"}, 3],
    }
    assert json_feed(value).entries == (Entry("x", "https://example.com/x", "", "hi"),)
    assert json_feed({"version": "1"}) is None
    assert json_feed([]) is None


ENTITIES = '<!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><channel><title>&b;</title></channel></rss>'


def test_entities_of_its_own_and_other_xml_are_no_feed():
    outside = ENTITIES.replace('"aaaa"', 'SYSTEM "file:///etc/passwd"')
    for text in (ENTITIES, outside, "<svg/>", "<rss", "", "<html><rss></rss></html>", "<rss>" + "x" * 5_000_000):
        assert read_feed(text) is None


def test_an_encoding_does_not_hide_entities():
    for encoding in ("utf-16", "utf-8-sig", "cp037"):
        data = f'<?xml version="1.0" encoding="{encoding}"?>{ENTITIES}'.encode(encoding)
        assert read_feed(decoded(data, "")[0]) is None


def test_what_a_feed_says_of_its_encoding_does_not_count_once_it_is_text():
    text = '<?xml version="1.0" encoding="iso-8859-1"?><rss><channel><title>é</title></channel></rss>'
    assert read_feed(text).title == "é"
    assert read_feed(f"\ufeff\n {text}").title == "é"


def test_only_so_many_entries_are_shown_and_the_rest_is_counted():
    items = "".join(f"<item><title>t{n}</title></item>" for n in range(150))
    assert str(read_feed(f"<rss><channel>{items}</channel></rss>")).endswith("[50 more entries left out]")


@given(st.text(max_size=200))
def test_any_text_is_a_feed_or_none(text):
    read_feed("<rss>" + text)

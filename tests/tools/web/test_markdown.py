from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.web.extraction import choose, extract, extract_apart
from zidane_lab.tools.web.markdown import Converted, convert

PAGE = """<!DOCTYPE html><html><head><title> Rolling
 windows </title><link rel="alternate" type="text/markdown" href="/rolling.md"><style>p{}</style></head>
<body><nav><a href="/">Home</a></nav><header>Banner</header>
<main><h1>Rolling windows<a class="headerlink" href="#x">¶</a></h1>
<p>Call <code>df.rolling(3)</code> for the <a href="../mean.html">mean</a>.</p>
<pre><code class="language-python">import pandas as pd

df = pd.DataFrame()
</code></pre></main><footer>Copyright</footer><script>alert("<p>no</p>")</script></body></html>"""


def md(html, base="https://example.com/docs/a.html"):
    return convert(html, base).text


def test_a_page_is_its_content_with_title_and_other_forms():
    page = convert(PAGE, "https://example.com/docs/a.html")
    assert page.title == "Rolling windows"
    assert page.alternates == (("text/markdown", "https://example.com/rolling.md"),)
    assert page.has_content
    assert page.has_code
    assert page.text == textwrap.dedent("""\
        # Rolling windows

        Call `df.rolling(3)` for the [mean](https://example.com/mean.html).

        ```python
        import pandas as pd

        df = pd.DataFrame()
        ```""")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h2>A <em>b</em></h2>", "## A _b_"),
        ("one<br>two", "one\ntwo"),
        ("<p>a  \n b</p><p>c", "a b\n\nc"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<b> bold </b>text", "**bold** text"),
        ("<b></b><i> </i>x", "x"),
        ("<ul><li>a<li>b<ul><li>c<li>d</ul><li>e</ul>", "- a\n- b\n  - c\n  - d\n- e"),
        ("<ol start=5><li>x</li><li>y</li></ol>", "5. x\n6. y"),
        ("<ul><li><p>p1</p><p>p2</p></li></ul>", "- p1\n\n  p2"),
        ("<ul><li>a</ul><ul><li>b</ul>", "- a\n\n- b"),
        ("<ul><li></li><li>a</li></ul>", "- a"),
        ("<li>alone</li>", "- alone"),
        ("<blockquote><p>q1<p>q2</blockquote>", "> q1\n>\n> q2"),
        ("<pre>a\n\n  b</pre>", "```\na\n\n  b\n```"),
        ("<pre>has ``` in it</pre>", "````\nhas ``` in it\n````"),
        ('<pre class="highlight-r">x</pre>', "```r\nx\n```"),
        ("<pre>a<br>b</pre>", "```\na\nb\n```"),
        ("<code>a`b</code> <code></code>", "`` a`b ``"),
        ("__init__ and a*b stay", "__init__ and a*b stay"),
        ("<a href='/x y(1)'>t</a>", "[t](https://example.com/x%20y%281%29)"),
        ("<a href='#top'>t</a> <a>u</a> <a href='javascript:x()'>v</a>", "t u v"),
        (
            "<a href='/q'><h3>T</h3><p>d</p></a>after",
            "### [T](https://example.com/q)\n\n[d](https://example.com/q)\n\nafter",
        ),
        ("<a href=/1>one<a href=/2>two</a>", "[one](https://example.com/1)[two](https://example.com/2)"),
        ("<img alt='A plot' src=x>", "![A plot]"),
        ("<img src=x>", ""),
        ("<dl><dt>t<dd>d</dl>", "**t**\n\nd"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<table><tr><th>a<th>b<tr><td>1<td>2|3</table>", "| a | b |\n|---|---|\n| 1 | 2\\|3 |"),
        ("<table><tr><td>1<td>2<tr><td>3</table>", "| | |\n|---|---|\n| 1 | 2 |\n| 3 |  |"),
        ("<table><tr><td>only <p>layout</table>", "only layout"),
        ("<table><tr><td><table><tr><td>x<td>y</table></table>", "| | |\n|---|---|\n| x | y |"),
        ("&lt;b&gt; &amp; &eacute;", "<b> & é"),
        ("a<script>x<b>y</script>b<style>c</style>", "ab"),
        ("a<p hidden>no</p><p style='x:y; DISPLAY : none'>no</p><p aria-hidden=true>no</p>b", "a\n\nb"),
        ("a<!-- no -->b<![CDATA[no]]>", "ab"),
        ("<aside>no</aside><article>yes<aside>note</aside></article>", "yes\n\nnote"),
        ("<article>one</article><p>between<article>two</article>", "one\n\ntwo"),
        ("</p></div>stray</b>", "stray"),
        ("<nav>never ended<p>lost</body>", ""),
    ],
)
def test_pieces(html, expected):
    assert md(html) == expected


def test_links_follow_the_base_of_the_page():
    assert md('<base href="/other/"><a href="x">t</a>') == "[t](https://example.com/other/x)"


def test_what_lies_too_deep_keeps_its_text():
    assert "deep" in md("<div>" * 5_000 + "deep" + "</div>" * 5_000)
    assert md("<div>" * 1_000 + "a<script>no</script>b") == "ab"


@given(st.text(alphabet=st.sampled_from(list("<>/=\"' abpliutdr!-&;#x1`\n|*")), max_size=120))
def test_any_text_is_a_page(html):
    convert(html, "https://example.com/")


_TAGS = [
    "p",
    "ul",
    "li",
    "table",
    "tr",
    "td",
    "pre",
    "b",
    "article",
    "code",
    "h1",
    "dl",
    "dt",
    "blockquote",
    "a href=/x",
]


@given(st.lists(st.sampled_from(["word", *(f"<{tag}>" for tag in _TAGS), *(f"</{tag.split()[0]}>" for tag in _TAGS)])))
def test_elements_in_any_order_lose_no_words(pieces):
    words = [f"w{index}w" if piece == "word" else piece for index, piece in enumerate(pieces)]
    text = md(" ".join(words).replace("article", "section"))
    for word in words:
        assert word in text or word.startswith("<")


def test_code_and_content_are_left_to_our_own_converter_the_rest_to_trafilatura():
    long = "a long enough text, " * 20
    own = Converted(long, has_content=True, has_code=True)
    assert choose(own, "found" * 100) == (long, "html")
    assert choose(Converted(long), f"found {long}") == (f"found {long}", "trafilatura")
    assert choose(Converted(long), "too little") == (long, "html")
    assert choose(Converted(long), "") == (long, "html")


def test_a_page_is_converted_in_a_process_of_its_own():
    found, note = extract_apart(PAGE, "https://example.com/docs/a.html")
    assert note == ""
    assert found == extract(PAGE, "https://example.com/docs/a.html")
    assert (found.method, found.title) == ("html", "Rolling windows")


def test_trafilatura_finds_the_article_where_the_page_does_not_say():
    pytest.importorskip("trafilatura")
    words = " ".join(f"Sentence {n} of the story is here, with several words in it." for n in range(20))
    html = f"<html><body><div class='menu'>{'<a href=/x>Menu entry</a>' * 30}</div><div><h1>Story</h1><p>{words}</p></div></body></html>"
    found = extract(html, "https://example.com/")
    assert found.method == "trafilatura"
    assert "Sentence 19" in found.text
    assert "Menu entry" not in found.text


@pytest.mark.parametrize("name", ["pd.read_csv", "ghp_A1b2C3d4E5f6G7h8I9j0", "__init__", "_private", "a_b_c"])
def test_names_stay_as_they_are_whatever_finds_the_text(name):
    words = " ".join(f"Sentence {n} of {name} is here, with several words in it." for n in range(20))
    html = f"<html><body><div><h1>Story</h1><p>{words}</p><p>{name}</p></div></body></html>"
    assert extract(html, "https://example.com/").text.count(name) == 21


def test_a_process_that_fails_leaves_the_bare_text(monkeypatch):
    monkeypatch.setattr("zidane_lab.tools.web.extraction._CODE", "import sys\nsys.exit('no memory left')")
    found, note = extract_apart("<p>some <b>words</b></p>", "https://example.com/")
    assert found.text.split() == ["some", "words"]
    assert found.method == "text"
    assert note == "the page could not be converted (no memory left)"


def test_what_our_own_converter_found_is_kept_where_the_better_one_takes_too_long(monkeypatch):
    code = """
import json, sys, time
print(json.dumps({"text": "own", "method": "html", "title": "", "is_poor": False, "alternates": [["a", "b"]], "frames": ["f"], "onward": ""}), flush=True)
time.sleep(30)
"""
    monkeypatch.setattr("zidane_lab.tools.web.extraction._CODE", code)
    monkeypatch.setattr("zidane_lab.tools.web.extraction.SECONDS", 1.5)
    found, note = extract_apart("<p>own</p>", "https://example.com/")
    assert (found.text, found.method, found.alternates, note) == ("own", "html", (("a", "b"),), "")


def test_a_page_built_by_scripts_is_noticed():
    html = f"<html><body><div id=root></div><script>{'x' * 5_000}</script><noscript>Enable it</noscript></body></html>"
    assert extract(html, "https://example.com/").is_poor
    assert not extract("<p>short but honest</p>", "https://example.com/").is_poor


@pytest.mark.parametrize(
    "piece", ["<b> ", "<b> </b>", "<i> <b>", "<code> </code>", "<a href=x>y", "<td>x", "</b> ", "&nbsp; "]
)
def test_a_page_of_one_thing_again_and_again_takes_time_in_proportion(piece):
    convert(piece * 60_000, "https://example.com/")
    assert "the end" in md(piece * 2_000 + "<p>the end</p>")

"""Pages of many shapes, written by hand, with what a reader must find in each and what must not be there."""

from __future__ import annotations

from dataclasses import dataclass

WORDS = " ".join(f"Sentence {n} explains the matter in a few plain words." for n in range(1, 13))


@dataclass(frozen=True)
class Shape:
    name: str
    html: str | bytes
    has: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    kind: str = "text/html; charset=utf-8"


def menu(count=40):
    return "".join(f"<li><a href='/m{n}'>Menu entry {n}</a></li>" for n in range(count))


SHAPES = [
    Shape(
        "docs with navigation",
        f"""<!doctype html><html><head><title>merge — pandas</title></head><body>
<div class="skip"><a href="#main">Skip to main content</a></div><nav><ul>{menu()}</ul></nav>
<div class="sidebar"><ul>{menu()}</ul></div>
<main id="main"><article><h1>pandas.merge<a class="headerlink" href="#x">#</a></h1>
<dl class="py function"><dt>pandas.merge(left, right, how='inner')<a class="headerlink" href="#y">[source]</a></dt>
<dd><p>Merge objects with a <em>database-style</em> join.</p>
<dl class="field-list"><dt>Parameters:</dt><dd><dl><dt>left : DataFrame</dt><dd><p>The left one.</p></dd></dl></dd></dl>
</dd></dl><div class="highlight-default"><pre><span>&gt;&gt;&gt; </span>df1.merge(df2)

   a  b
0  1  2</pre></div></article></main><footer>Created using Sphinx</footer></body></html>""",
        (
            "# pandas.merge",
            "how='inner'",
            "_database-style_ join",
            "left : DataFrame",
            ">>> df1.merge(df2)\n\n   a  b\n0  1  2",
        ),
        ("Menu entry", "Sphinx"),
    ),
    Shape(
        "shell of a single-page app",
        f"<!doctype html><html><head><title>App</title></head><body><noscript>You need to enable JavaScript.</noscript>"
        f"<div id='root'></div><script>window.__DATA__={'x' * 5_000!r}</script></body></html>",
        ("there is hardly any text",),
        ("__DATA__", "enable JavaScript"),
    ),
    Shape(
        "mostly a table",
        "<html><head><title>Capitals</title></head><body><div class='wrap'><h1>Capitals</h1><p>A list of them all.</p>"
        "<table><thead><tr><th>Country</th><th>Capital</th><th>People</th></tr></thead><tbody>"
        + "".join(f"<tr><td>Country {n}</td><td>City {n}</td><td>{n * 1_000:,}</td></tr>" for n in range(60))
        + "</tbody></table></div></body></html>",
        ("| Country | Capital | People |", "| Country 0 | City 0 | 0 |", "| Country 59 | City 59 | 59,000 |"),
    ),
    Shape(
        "code without a main",
        f"<html><body><div class='post'><h1>Loops</h1><p>{WORDS}</p><pre><code class='language-python'>for i in range(3):\n"
        f"    if i:\n\n        print(i)\n</code></pre><p>And in R:</p><pre>x &lt;- c(1, 2)\n\n\nprint(x)</pre></div></body></html>",
        ("```python\nfor i in range(3):\n    if i:\n\n        print(i)\n```", "x <- c(1, 2)\n\n\nprint(x)"),
    ),
    Shape(
        "lists of definitions",
        "<html><body><h1>Glossary</h1><dl>"
        + "".join(f"<dt>Term {n}</dt><dd>It means the thing number {n}, in a sense.</dd>" for n in range(50))
        + "</dl></body></html>",
        ("Term 0", "thing number 0", "Term 49", "thing number 49"),
    ),
    Shape(
        "a main in a main",
        f"<html><body><nav>{menu()}</nav><main><div><main><article><h2>First</h2><p>{WORDS}</p></article>"
        f"<article><h2>Second</h2><p>Another story. {WORDS}</p><section><article><p>An aside inside.</p></article>"
        f"</section></article></main></div><p>After the inner one.</p></main><aside>Related</aside></body></html>",
        ("## First", "## Second", "Another story", "An aside inside.", "After the inner one."),
        ("Menu entry", "Related"),
    ),
    Shape(
        "a main that is not the content",
        f"<html><body><main><p>Loading…</p></main><div id='content'><h1>Report</h1><p>{WORDS}</p><p>{WORDS}</p></div>"
        "</body></html>",
        ("Report", "Sentence 12"),
    ),
    Shape(
        "articles that are teasers",
        f"<html><body><div><h1>The long read</h1>{f'<p>{WORDS}</p>' * 5}</div><div>"
        "<article><h3>Other 1</h3></article><article><h3>Other 2</h3></article></div></body></html>",
        ("The long read", "Sentence 12"),
    ),
    Shape(
        "text with white space that counts",
        "<html><body><main><h1>Art</h1><pre>\n  /\\_/\\\n ( o.o )\n\n  &gt; ^ &lt;\n\ttabbed\n</pre></main></body></html>",
        ("```\n  /\\_/\\\n ( o.o )\n\n  > ^ <\n\ttabbed\n```",),
    ),
    Shape(
        "a page in a form",
        f"<html><body><form id='aspnetForm' action='/x'><input type=hidden name=__VIEWSTATE value='{'dDw' * 900}'>"
        f"<div><h1>Timetable</h1><p>{WORDS}</p><label>Station <input name=s value=secretvalue></label>"
        "<select><option>Berlin<option>Bonn</select><textarea>draft</textarea><button>Go</button></div></form></body></html>",
        ("Timetable", "Sentence 12"),
        ("dDwdDw", "secretvalue", "draft"),
    ),
    Shape(
        "a huge drawing within",
        "<html><body><svg>"
        + "<path d='M0 0L1 1'/><text>label</text>" * 110_000
        + f"</svg><main><h1>After</h1><p>{WORDS}</p></main></body></html>",
        ("# After", "Sentence 12"),
        ("M0 0", "label"),
    ),
    Shape(
        "data in addresses and scripts of megabytes",
        f"<html><head><script>var a={'[1,2],' * 500_000!r}</script><style>{'a{b:c}' * 300_000}</style></head><body>"
        f"<img alt=Plot src='data:image/png;base64,{'QUJD' * 400_000}'><h1>After</h1><p>{WORDS}</p></body></html>",
        ("After", "Sentence 12"),
        ("QUJDQUJD", "[1,2]"),
    ),
    Shape(
        "a charset in the head of the page",
        "<html><head><meta charset=windows-1251><title>Пример</title></head><body><p>Привет, мир</p></body></html>".encode(
            "cp1251"
        ),
        ("Title: Пример", "Привет, мир"),
        kind="text/html",
    ),
    Shape(
        "charsets that disagree: the server's counts",
        "<html><head><meta charset=utf-8></head><body><p>日本語の文</p></body></html>".encode("shift_jis"),
        ("日本語の文",),
        kind="text/html; charset=Shift_JIS",
    ),
    Shape(
        "charsets that disagree, where the server is plainly wrong",
        "<html><head><meta charset=utf-8></head><body><p>naïve — “café”</p></body></html>".encode(),
        ("naïve — “café”", "but it is UTF-8"),
        kind="text/html; charset=ISO-8859-1",
    ),
    Shape(
        "Latin-1 that is Windows-1252",
        "<html><body><p>“Quoted” – and 5 €</p></body></html>".encode("cp1252"),
        ("“Quoted” – and 5 €",),
        kind="text/html; charset=iso-8859-1",
    ),
    Shape(
        "XHTML",
        f"""<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Old school</title><script src="a.js"/><style/></head><body>
<div id="top"/><a id="here"/><h1>Heading</h1><p>{WORDS}</p><pre><![CDATA[if (a < b && c) {{}}]]></pre><iframe src="x"/>
<p>The end.</p></body></html>""",
        ("Title: Old school", "Heading", "Sentence 12", "if (a < b && c) {}", "The end."),
        kind="application/xhtml+xml",
    ),
    Shape(
        "a page that stands in its own navigation",
        f"<html><body><nav><h1>Contents</h1>{f'<p>{WORDS}</p>' * 2}</nav></body></html>",
        ("Contents", "Sentence 12"),
    ),
    Shape(
        "a page hidden until its script has run",
        f"<html><body style='visibility:hidden'><h1>Shown later</h1>{f'<p>{WORDS}</p>' * 2}</body></html>",
        ("Shown later", "Sentence 12"),
    ),
    Shape(
        "an index of links",
        "<html><body><h1>Index of /data</h1><ul>"
        + "".join(f"<li><a href='/data/{n}.csv'>{n}.csv</a></li>" for n in range(80))
        + "</ul></body></html>",
        ("Index of /data", "/data/0.csv", "/data/79.csv"),
    ),
    Shape(
        "a shadow that is declared",
        f"<html><body><my-page><template shadowrootmode=open><h1>Inside</h1><p>{WORDS}</p></template></my-page>"
        "<template><p>for a script</p></template></body></html>",
        ("Inside", "Sentence 12"),
        ("for a script",),
    ),
]

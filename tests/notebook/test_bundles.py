"""Every bundle is complete, escaped, and reads well as text alone."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.notebook.support import stripped
from zidane_lab.notebook import bundles, context_bundles
from zidane_lab.notebook.bundles import MIME, ToolCard, UsageLine

EVIL = '<script>alert(1)</script><img src=x onerror=alert(1)> & "quotes" \''
LINE = UsageLine("anthropic/claude", 1200, 1500, 1000, 32, 0.0123, 180_000, 2, 3, 4.25)


def all_bundles(text: str) -> dict[str, bundles.Bundle]:
    return {
        "text": bundles.markdown(text, block="t.0", part=0),
        "thinking": bundles.thinking(text, done=True),
        "tool": bundles.tool_card(ToolCard("c1", text, "ok", text, text, text, 1.0, text)),
        "error": bundles.traceback(text, text, text),
        "banner": bundles.banner("warning", text, text),
        "usage": bundles.usage_line(UsageLine(text, 1, 1, 1, 1, 0.1, 10, 1, 1, 1.0)),
        "prompt": bundles.prompt(text),
    }


@pytest.mark.parametrize("kind", all_bundles("x"))
def test_every_bundle_is_complete_and_typed(kind):
    bundle = all_bundles("hello")[kind]
    assert bundle["text/plain"].strip()
    assert {"text/html", "text/markdown"} & set(bundle)
    assert bundle[MIME]["version"] == 1
    assert bundle[MIME]["kind"] == kind
    json.dumps(bundle)


@pytest.mark.parametrize("kind", [kind for kind, bundle in all_bundles("x").items() if "text/html" in bundle])
def test_html_is_escaped_scriptless_and_reads_without_its_tags(kind):
    bundle = all_bundles(EVIL)[kind]
    page = stripped(bundle["text/html"])
    assert page.tags <= {"div", "details", "summary", "pre", "span", "b", "br"}
    assert page.attributes <= {"style", "open", "role"}
    if kind != "usage":
        assert "<script>alert(1)</script>" in "".join(page.text)  # shown as text


@given(st.text(max_size=300))
def test_no_text_breaks_out_of_its_html(text):
    for bundle in all_bundles(text).values():
        if "text/html" in bundle:
            assert stripped(bundle["text/html"]).tags <= {"div", "details", "summary", "pre", "span", "b", "br"}


def test_a_card_reads_well_as_plain_text():
    card = ToolCard("c1", "run_python", "ok", "Load the data", "import pandas as pd\ndf = 1", "", 0.123, "created df")
    assert bundles.tool_card(card)["text/plain"] == (
        "✓ Load the data  (run_python · created df · 0.1 s)\n    import pandas as pd\n    df = 1"
    )


@pytest.mark.parametrize(
    ("status", "start"),
    [
        ("running", "▸ t"),
        ("ok", "✓ t"),
        ("error", "✗ t  (failed)"),
        ("blocked", "⊘ t  (blocked)"),
        ("interrupted", "■ t  (interrupted)"),
    ],
)
def test_each_state_is_told_in_words_too(status, start):
    assert bundles.tool_card(ToolCard("c", "t", status))["text/plain"].startswith(start)


def test_a_long_result_says_what_is_left_out():
    card = bundles.tool_card(ToolCard("c", "read_file", "ok", result="x" * 10_000))
    assert "6,000 more characters" in card["text/plain"]
    assert "6,000 more characters" in card["text/html"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {},
            "anthropic/claude · in 1,500 (cache 1,000) / 32 out · $0.0123 · context 1% of 180k · 2 turns · 3 tool calls · 4.2 s",
        ),
        (
            {"cost": None, "cache_read": 0},
            "anthropic/claude · in 1,500 / 32 out · context 1% of 180k · 2 turns · 3 tool calls · 4.2 s",
        ),
        (
            {"cost": 0.0, "window": None},
            "anthropic/claude · in 1,500 (cache 1,000) / 32 out · 2 turns · 3 tool calls · 4.2 s",
        ),
        (
            {"input": 0, "output": 0, "context": 0, "cost": None, "turns": 1, "calls": 1, "seconds": 75},
            "anthropic/claude · 1 turn · 1 tool call · 1 min 15 s",
        ),
    ],
)
def test_the_usage_line(changes, expected):
    from dataclasses import replace

    assert bundles.usage_line(replace(LINE, **changes))["text/plain"] == expected


def test_a_command_reply_loses_its_marks_as_plain_text():
    bundle = bundles.command_reply("| a | b |\n| --- | --- |\n| `x` | **y** |")
    assert bundle["text/plain"] == "a  —  b\nx  —  y"


GROUND = '<span style="background'
HEAD = '<span style="font-weight:bold">'


def diff(body):
    return bundles.tool_card(ToolCard("c", "edit", "ok", body=body, is_diff=True))["text/html"]


def test_a_diff_is_drawn_line_by_line_and_escaped():
    drawn = diff("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-<b>old</b>\n+new & more\n same")
    assert f"{HEAD}--- a/x.py</span>\n{HEAD}+++ b/x.py</span>" in drawn
    assert drawn.count(GROUND) == 2
    assert "-&lt;b&gt;old&lt;/b&gt;</span>" in drawn
    assert "\n same" in drawn
    assert "color:var(" not in drawn  # the text of a change has the page's own ink


def test_lines_that_look_like_names_of_files_are_changes_where_they_stand():
    drawn = diff("--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1 @@\n--- a comment\n+++ more\n--- b/y\n+++ b/y\n@@ -1 +1 @@")
    assert drawn.count(HEAD) == 4
    assert drawn.count(GROUND) == 2


def test_what_is_no_diff_has_no_grounds():
    plain = bundles.tool_card(ToolCard("c", "run_python", "ok", body="--- x\n-x + y"))["text/html"]
    assert ">--- x\n-x + y</pre>" in plain


FORMULA = r"$a$ \(b\) \[c\] \begin{align}d\end{align} $$e$$"


@pytest.mark.parametrize(
    "bundle",
    [
        bundles.tool_card(ToolCard("c", FORMULA, "ok", title=FORMULA, note=FORMULA)),
        bundles.outcome(ToolCard("c", "t", "ok", note=FORMULA)),
        bundles.banner("info", FORMULA, FORMULA),
        bundles.thinking(FORMULA, done=True),
        context_bundles.notice("cache", FORMULA, FORMULA),
        context_bundles.divider(context_bundles.Divider("t", FORMULA, 1)),
    ],
)
def test_pages_find_no_formulas_in_foreign_text(bundle):
    """Pages look for them in HTML, too, within one element and not in ``pre``: each mark has an element to itself."""
    page = re.sub(r"<pre.*?</pre>", "", bundle["text/html"], flags=re.DOTALL)
    assert "<span>$</span>" in page
    alone = re.sub(r"<span>[$\\]</span>", "", page)
    assert "$" not in alone
    assert "\\" not in alone


def test_the_error_of_a_traceback_stands_out():
    drawn = bundles.traceback("ValueError", "no <x>", "cell, line 1\n  f()\nValueError: no <x>")["text/html"]
    assert "f()\n<b>ValueError: no &lt;x&gt;</b></pre>" in drawn
    assert "<b>all of it</b>" in bundles.traceback("", "", "all of it")["text/html"]

"""The process that parses: what it answers, and what becomes of texts that crash it or hold it up."""

from __future__ import annotations

import asyncio
import sysconfig
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.structure import engine
from zidane_lab.tools.structure.engine import Found, Job, match_sources
from zidane_lab.tools.structure.languages import LANGUAGES, language_named
from zidane_lab.tools.structure.patterns import read_pattern
from zidane_lab.tools.structure.scope import Candidate
from zidane_lab.tools.structure.sources import Source

CRASHES_BASH = "if [ -f\U0010ffff#{\U0010ffff\U0010ffff x ]; the("
"""Found by fuzzing: it makes version 0.51 of the library read beyond a table."""

LOADED = (
    "import json,os,sys,time;sys.path[:]=json.loads(sys.argv[1]);"
    "from zidane_lab.tools.structure import worker;plain=worker._problem;"
)
CRASHES = LOADED + (
    "worker._problem=lambda root,language:os.abort() if 'CRASH' in root.text() else plain(root,language);worker.main()"
)
HANGS = LOADED + (
    "worker._PER_TEXT=1;"
    "worker._problem=lambda root,language:sum(iter(int,1)) if 'HANG' in root.text() else plain(root,language);"
    "worker.main()"
)


def source(text, language="python", name="a.py"):
    named = language_named(language)
    return Source(Candidate(f"/x/{name}", name, named), named, text, text)


def match(sources, *patterns, seconds=30.0, **more):
    found = Found()
    job = Job(tuple((read_pattern(each), None) for each in patterns), **more)
    asyncio.run(match_sources(sources, job, time.monotonic() + seconds, found))
    return found


def texts(found):
    return [unit.source.text[each.start : each.end] for unit in found.units for each in unit.matches]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda each: each.name)
def test_every_language_is_parsed(language):
    found = match([source("", language.name)], "foo")
    assert (found.searched, found.unusable) == (1, {})


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.text(st.characters(exclude_characters="\0\r'\\\n", exclude_categories=["Cs"])), min_size=5, max_size=30)
)
def test_places_are_counted_in_characters(pieces):
    sources = [source(f"'{piece}'; needle('{piece}')\n\tx = '{piece}'\nneedle()\n") for piece in pieces]
    found = match(sources, "needle($$$A)")
    assert texts(found) == [each for piece in pieces for each in (f"needle('{piece}')", "needle()")]
    for unit, piece in zip(found.units, pieces, strict=True):
        start, end = unit.matches[0].captures["$$$A"]
        assert unit.source.text[start:end] == f"'{piece}'"


def test_only_the_wanted_places_are_told_and_all_are_counted():
    sources = [source("f(0); f(1); f(2)"), source("g()"), source("f(3); f(4)"), source("f(5)")]
    found = match(sources, "f($A)", first=2, last=5)
    assert texts(found) == ["f(2)", "f(3)", "f(4)"]
    assert (found.total, found.searched) == (6, 4)


def test_texts_without_the_words_of_a_pattern_are_not_parsed():
    sources = [source("needle(1)"), source("def (:"), source("'needle'\ndef (:", name="b.py")]
    found = match(sources, "needle($A)")
    assert (found.total, found.searched, found.broken) == (1, 3, [("b.py", 2)])
    assert match([source("x")], "needle needle").unusable


@pytest.mark.parametrize(
    "pattern",
    [
        "isinstance($$$A)",
        "def __init__($$$A): $$$B",
        "for $A in range($B): $$$C",
        "raise NotImplementedError",
        "self._$A",
        "import sys",
        '"""$A"""',
        "lambda: None",
        "async def $A($$$B): $$$C",
        "'utf-8'",
        "not $A in $B",
        "x = 0xFF",
        "@property\ndef $A($$$B): $$$C",
    ],
)
def test_no_match_is_lost_by_that(pattern, monkeypatch):
    folder = Path(sysconfig.get_path("stdlib"))
    sources = [source(path.read_text("utf-8"), name=path.name) for path in sorted(folder.glob("[a-d]*.py"))]
    quick = match(sources, pattern)
    monkeypatch.setattr(Job, "may_fit", lambda _job, _text: True)
    assert quick.total == match(sources, pattern).total


def test_syntax_errors_are_told_with_their_lines():
    found = match(
        [source("f(1)\nx = = 2\n"), source("class A { m() { return 1 }", "javascript", "b.js"), source("f()")],
        "f($$$A)",
    )
    assert found.broken == [("a.py", 2), ("b.js", 1)]
    assert found.total == 2


@pytest.mark.parametrize("text", ["def f():\n", "if x:\n\ny = 1\n", "x = (1\n", "f(1", "print(f'{x'\n"])
def test_what_is_missing_is_a_syntax_error(text):
    assert match([source(text)], "f").broken


@pytest.mark.parametrize(
    "text", ["", "\n", "#\n", "def f(): ...\n", "x = f'{a!r:>{b}}'\n", "print 'old'\n", "\x0c\nx = 1\n"]
)
def test_what_is_none(text):
    assert not match([source(text)], "f").broken


def test_a_text_that_crashes_the_parser_is_named_and_the_others_are_searched(monkeypatch):
    monkeypatch.setattr(engine, "_START", CRASHES)
    sources = [source(text, name=f"{text}.py") for text in ("f(1)", "CRASH", "f(2)", "f(CRASH)", "f(3)")]
    found = match(sources, "f($A)")
    assert texts(found) == ["f(1)", "f(2)", "f(3)"]
    assert found.problems == [f"{name}.py: it crashes the parser; left out" for name in ("CRASH", "f(CRASH)")]


def test_a_text_that_was_seen_to_crash_the_library_harms_no_other():
    sources = [source("foo 1", "bash"), source(CRASHES_BASH, "bash", "bad.sh"), source("foo 2", "bash")]
    found = match(sources, "$A $B")
    assert {"foo 1", "foo 2"} <= set(texts(found))
    assert [name for name, _ in found.broken] == ["bad.sh"] or found.problems == [
        "bad.sh: it crashes the parser; left out"
    ]


def test_a_pattern_that_crashes_the_parser_is_refused(monkeypatch):
    monkeypatch.setattr("zidane_lab.tools.structure.patterns.MOST_CHARS", 1_000_000)
    deep = "f(" * 50_000 + "1" + ")" * 50_000
    with pytest.raises(ToolError, match="The pattern crashes the parser"):
        match([source("f(1)"), source(deep)], deep)


@pytest.mark.slow
def test_the_deepest_pattern_that_is_taken_does_not_crash_it():
    deep = "f(" * 3_300 + "1" + ")" * 3_300
    assert match([source("f(1)"), source(deep)], deep).total == 1


def test_the_same_crash_again_and_again_ends_the_search(monkeypatch):
    monkeypatch.setattr(engine, "_MOST_CRASHES", 2)
    monkeypatch.setattr(engine, "_START", CRASHES)
    found = match([source("CRASH")] * 4, "f($A)")
    assert found.stopped == "the parser was ended 2 times"
    assert len(found.problems) == 2


def test_deep_nesting_is_parsed():
    deep = "(" * 50_000 + "needle(1)" + ")" * 50_000
    assert match([source(deep)], "needle($A)").total == 1


def test_a_pattern_for_everything_is_counted():
    assert match([source("[" + ", ".join(["{'a': 1}"] * 20_000) + "]")], "$A", last=3).total > 100_000


def test_a_text_that_takes_too_long_is_named_and_the_others_are_searched(monkeypatch):
    monkeypatch.setattr(engine, "_START", HANGS)
    found = match([source("f(1)"), source("HANG", name="slow.py"), source("f(2)")], "f($A)")
    assert texts(found) == ["f(1)", "f(2)"]
    assert found.problems == ["slow.py: matching took too long; left out"]


def test_when_the_time_is_over_what_was_found_is_told(monkeypatch):
    monkeypatch.setattr(engine, "_START", HANGS.replace("_PER_TEXT=1", "_PER_TEXT=60"))
    found = match([source("f(1)"), source("HANG"), source("f(2)")], "f($A)", seconds=1.0)
    assert texts(found) == ["f(1)"]
    assert "stopped after" in found.stopped


def test_too_much_to_tell_is_told(monkeypatch):
    monkeypatch.setattr("zidane_lab.tools.search.processes.MOST_OUTPUT", 100_000)
    found = match([source("f(1); " * 5_000)] * 3, "f($A)")
    assert found.stopped


def test_a_stop_ends_the_process(monkeypatch, tmp_path):
    note = tmp_path / "pid"
    start = f"import os,pathlib,time;pathlib.Path({str(note)!r}).write_text(str(os.getpid()));time.sleep(60)"
    monkeypatch.setattr(engine, "_START", start)

    async def stopped():
        job = Job(((read_pattern("f"), None),))
        task = asyncio.ensure_future(match_sources([source("f")], job, time.monotonic() + 30, Found()))
        while not (note.exists() and note.read_text()):
            await asyncio.sleep(0.01)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(note.read_text())).wait(10)


def test_the_library_that_cannot_be_loaded_is_told(monkeypatch):
    monkeypatch.setattr(engine, "_START", engine._START.replace("main()", "sys.modules['ast_grep_py']=None;main()"))
    with pytest.raises(ToolError, match=r"The parser cannot be run: .*ast_grep_py"):
        match([source("f")], "f")


def test_modules_of_the_working_folder_are_not_loaded(monkeypatch, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')")
    (tmp_path / "ast_grep_py.py").write_text("raise SystemExit('hostile')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert match([source("f(1)")], "f($A)").total == 1
    assert "" not in engine._path()
    assert str(Path.cwd()) not in engine._path()


def test_the_kernel_does_not_load_the_library():
    import subprocess
    import sys

    code = "import sys, zidane_lab.tools.ast_grep, zidane_lab.tools.ast_edit as e; e.ast_edit_tool(); print('ast_grep_py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"

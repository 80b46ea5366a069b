"""Reading in a process of its own: it is ended when it takes too long, too much memory, or says too much."""

from __future__ import annotations

import sys
import zipfile

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import read_file
from zidane_lab.tools.reading import apart, child
from zidane_lab.tools.reading.apart import lines_apart
from zidane_lab.tools.reading.child import ChildError, answers_of
from zidane_lab.tools.reading.source import Source

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux keeps a process from more memory")


def test_answers_come_one_after_another():
    assert list(answers_of("print(1); print('[2, \"x\"]')", [])) == [1, [2, "x"]]
    assert list(answers_of("import json, sys; print(json.dumps(sys.argv[1:]))", ["a b", "é"])) == [["a b", "é"]]


@linux
def test_a_process_that_takes_too_much_memory_is_ended_and_says_so():
    with pytest.raises(ChildError, match="it takes more than 200 MB of memory"):
        list(answers_of("x = bytearray(10**9)", [], memory=200 * 1_048_576))


def test_one_that_takes_too_long_is_ended_and_says_so():
    with pytest.raises(ChildError, match=r"longer than 0\.5 seconds"):
        list(answers_of("import time; time.sleep(60)", [], seconds=0.5))


def test_one_that_says_too_much_at_once_is_ended_and_says_so(monkeypatch):
    monkeypatch.setattr(child, "_LONGEST", 1_000)
    with pytest.raises(ChildError, match="longer than 1,000 bytes"):
        list(answers_of("print('x' * 10**7)", []))


def test_what_it_complains_about_is_told():
    with pytest.raises(ChildError, match="ValueError: no"):
        list(answers_of("raise ValueError('no')", []))


@linux
def test_a_document_that_unpacks_to_a_huge_tree_cannot_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(apart, "_MEMORY", 150 * 1_048_576)
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("word/document.xml", "<d><body>" + "<p/>" * 3_000_000 + "</body></d>")
    with pytest.raises(ToolError, match="takes more than 150 MB of memory"):
        read_file(ToolContext(cwd=tmp_path), "a.docx")


def test_an_error_of_the_reading_function_comes_through_with_its_hint(tmp_path):
    source = Source.of_bytes("a.docx", b"nothing")
    with pytest.raises(ToolError, match=r"a\.docx is broken, or no document") as caught:
        list(lines_apart("office.word_lines", source))
    assert caught.value.hint == "Choose another file."


@pytest.mark.parametrize("where", [100, 6_000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_with_entities_of_its_own_is_refused(tmp_path, where, encoding):
    text = f"<?xml version='1.0' encoding='{encoding}'?><!--{'x' * where}--><!DOCTYPE d [<!ENTITY a 'b'>]><d>&a;</d>"
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("word/document.xml", text.encode(encoding))
    with pytest.raises(ToolError, match="defines entities"):
        read_file(ToolContext(cwd=tmp_path), "a.docx")

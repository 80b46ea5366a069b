"""Names that are not UTF-8 or not printable are shown on one line, and taken back as they were shown."""

from __future__ import annotations

import asyncio
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.glob import glob
from zidane_lab.tools.grep import grep
from zidane_lab.tools.list_files import list_files
from zidane_lab.tools.paths import show_name, unescaped
from zidane_lab.tools.read_file import read_file
from zidane_lab.tools.search import choose
from zidane_lab.tools.search.ripgrep import find_ripgrep

NAMES = [
    b"\xff.txt",
    b"d\xfe/x.txt",
    b"a\nb.txt",
    b"tab\t\x1b[31m.txt",
    b"back\\slash.txt",
    b"both\\\n.txt",
    "\xa0.txt".encode(),
]


@pytest.fixture(params=["python", *(["ripgrep"] if find_ripgrep() else [])])
def engine(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(choose, "find_ripgrep", lambda: None)


@pytest.fixture
def folder(tmp_path):
    for name in NAMES:
        path = os.path.join(os.fsencode(tmp_path), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as handle:
            handle.write(b"needle\n")
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_taken_as_it_is_and_as_it_is_shown(folder, name, engine):
    context = ToolContext(cwd=folder)
    written = os.fsdecode(name)
    shown = show_name(written)
    assert shown.isprintable()
    for path in (written, shown, f"./{shown}"):
        assert read_file(context, path).parts[0].text == "needle\n"
        assert read_file(context, f"{path}:1-1").parts[0].text == "needle\n"
        assert f"{shown}\n1: needle" in asyncio.run(grep(context, "needle", path=path)).parts[0].text


def test_all_of_them_are_listed_found_and_searched(folder, engine):
    context = ToolContext(cwd=folder)
    names = [show_name(os.fsdecode(name)) for name in NAMES]
    listed, found = list_files(context, depth=2), glob(context, "**/*")
    (searched,) = asyncio.run(grep(context, "needle", mode="files")).parts
    for name in names:
        assert name in listed
        assert name in found
        assert name in searched.text
    for text in (listed, found, searched.text):
        text.encode()
    assert "[1 matching line in 1 file]" in asyncio.run(grep(context, "needle", glob=r"\udcff*")).parts[0].text
    assert list_files(context, r"d\udcfe").endswith(list_files(context, "d\udcfe").split("\n")[1])


@pytest.mark.parametrize("path", ["\ud800", "a\ud800b.txt", "a\0b", " ", ""])
def test_what_no_file_can_be_called_is_refused_in_words(folder, path):
    context = ToolContext(cwd=folder)
    for call in (
        lambda: read_file(context, path),
        lambda: list_files(context, path),
        lambda: glob(context, "*", path),
        lambda: asyncio.run(grep(context, "x", path=path)),
    ):
        with pytest.raises(ToolError, match="is not a path"):
            call()
    if path.strip():
        for call in (lambda: glob(context, path), lambda: asyncio.run(grep(context, "x", glob=path))):
            with pytest.raises(ToolError, match="is not a path"):
                call()


def test_half_a_character_is_in_no_text(folder, engine):
    with pytest.raises(ToolError, match="in no text"):
        asyncio.run(grep(ToolContext(cwd=folder), "\udcff"))


def test_errors_are_printable_and_of_a_readable_length(folder):
    for path in ("no\x1b[31mthing\n.txt", "x" * 100_000, "a/" * 50_000):
        with pytest.raises(ToolError) as caught:
            read_file(ToolContext(cwd=folder), path)
        assert len(str(caught.value)) < 5_000
        assert str(caught.value).isprintable()


@given(st.binary(min_size=1, max_size=20).map(lambda data: os.fsdecode(data.replace(b"\0", b""))).filter(bool))
def test_every_name_comes_back_from_what_is_shown(name):
    shown = show_name(name)
    assert shown.isprintable()
    if shown != name:
        assert (unescaped(shown) or shown) == name


@given(st.text(alphabet="\\\\xu0dcf1U[*?n", max_size=16))
def test_any_text_is_unescaped_or_left(text):
    for is_pattern in (False, True):
        found = unescaped(text, is_pattern=is_pattern)
        assert found is None or found != text

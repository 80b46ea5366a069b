from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.edits.text import TextFile, decode

LINES = st.lists(st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), max_size=6))


@pytest.mark.parametrize(
    ("data", "encoding", "newline", "mixed"),
    [
        (b"a\nb\n", "utf-8", "\n", False),
        (b"a\r\nb\r\n", "utf-8", "\r\n", False),
        (b"a\r\nb\r\nc\n", "utf-8", "\r\n", True),
        (b"a\rb\r", "utf-8", "\r", False),
        (b"", "utf-8", "\n", False),
        (codecs.BOM_UTF8 + b"a\n", "utf-8", "\n", False),
        (codecs.BOM_UTF16_LE + "ä\r\nb".encode("utf-16-le"), "utf-16-le", "\r\n", False),
        (codecs.BOM_UTF16_BE + "ä\n".encode("utf-16-be"), "utf-16-be", "\n", False),
        (codecs.BOM_UTF32_LE + "ä\n".encode("utf-32-le"), "utf-32-le", "\n", False),
        (b"caf\xe9\n", "latin-1", "\n", False),
    ],
)
def test_what_a_file_is_written_in_is_found_and_given_back(data, encoding, newline, mixed):
    file = decode(data, "f")
    assert (file.encoding, file.newline, file.mixed) == (encoding, newline, mixed)
    assert "\r" not in file.text
    assert file.encode() == data
    assert file.with_text(file.text).encode() == data


@given(st.binary(max_size=40))
def test_any_bytes_that_can_be_read_come_back(data):
    try:
        file = decode(data, "f")
    except ToolError:
        assert data.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))
        return
    assert file.encode() == data
    assert file.splice(()).encode() == data
    assert file.with_text(file.text).encode() == data


def test_bytes_that_are_not_what_their_mark_says_are_refused():
    with pytest.raises(ToolError, match="starts as utf-16-le text, but is not"):
        decode(codecs.BOM_UTF16_LE + b"\x00\xd8", "f.txt")


@given(LINES, st.lists(st.sampled_from(["\n", "\r\n"])), st.data())
def test_a_change_leaves_every_other_line_as_it_was(lines, endings, data):
    endings = [*endings, *["\n"] * len(lines)][: len(lines)]
    raw = "".join(line + ending for line, ending in zip(lines, endings, strict=True))
    file = decode(raw.encode(), "f")
    if not lines or file.encoding != "utf-8" or file.mark:
        return
    at = data.draw(st.integers(0, len(lines) - 1))
    start = sum(len(line) + 1 for line in lines[:at])
    changed = file.splice([(start, start + len(lines[at]), "NEW")])
    new = [*lines[:at], "NEW", *lines[at + 1 :]]
    assert changed.raw == "".join(line + ending for line, ending in zip(new, endings, strict=True))


def test_new_lines_end_as_those_they_replace_then_as_most():
    file = decode(b"a\r\nb\nc\r\nd\r\n", "f")
    start = file.text.index("b\n")
    assert file.splice([(start, start + 2, "x\ny\n")]).raw == "a\r\nx\ny\r\nc\r\nd\r\n"


def test_a_whole_new_text_keeps_the_endings_of_the_lines_that_stay():
    file = decode(b"a\r\nb\nc\r\nd\r\n", "f")
    assert file.with_text("a\nb\nnew\nd\n").raw == "a\r\nb\nnew\r\nd\r\n"


def test_classic_endings_are_kept():
    assert decode(b"a\rb\r", "f").with_text("a\nB\n").encode() == b"a\rB\r"


def test_a_lone_carriage_return_inside_a_line_stays():
    file = decode(b"a\rb\nc\n", "f")
    assert file.text == "a\rb\nc\n"
    assert file.splice([(4, 5, "C")]).encode() == b"a\rb\nC\n"


def test_spans_that_overlap_are_a_mistake():
    with pytest.raises(ValueError, match="overlap"):
        TextFile("abc").splice([(0, 2, ""), (1, 3, "")])


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        (TextFile("x\n", "latin-1"), "x\n→\n", r"\\u2192 near line 2 cannot be written as latin-1.*Latin-1 characters"),
        (TextFile("x\n"), "\ud800\n", r"\\ud800 near line 1 cannot be written as utf-8.*surrogate"),
    ],
)
def test_a_character_without_a_place_in_the_file_is_named(file, text, told):
    with pytest.raises(ToolError, match=told):
        file.with_text(text).encode()

"""A command's output for the model, and for the person: any bytes, in any pieces."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.live_output import Harmless, LiveOutput
from zidane_lab.tools.shell_output import SettledLines, ShellOutput, visible
from zidane_lab.tools.terminal import settled

PIECES = [*"ab é数\U0001f600\r\n\b\x1b[m1;", "\x1b[31m", "\x1b[0m", "\r\n", "10%\r"]
STREAM = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def cut(data, sizes):
    at = 0
    for size in sizes:
        yield data[at : at + size]
        at += size
    yield data[at:]


@given(STREAM, st.lists(st.integers(1, 9), max_size=40))
def test_pieces_settle_as_the_whole_does(text, sizes):
    lines = SettledLines()
    got = "".join(lines.feed(piece) for piece in cut(text.encode(), sizes)) + lines.feed(b"", final=True)
    assert got == "\n".join(settled(line) for line in text.split("\n"))


@given(st.binary(max_size=200), st.lists(st.integers(1, 20), max_size=20))
def test_any_bytes_come_out_as_harmless_text(data, sizes):
    output = ShellOutput()
    for piece in cut(data, sizes):
        output.take("stdout", piece)
    text = output.finish()
    assert output.raw_bytes == len(data)
    assert not any(ord(character) < 32 and character not in "\t\n" for character in text)
    assert not any(0x7F <= ord(character) < 0xA0 for character in text)
    text.encode("utf-8")


def test_a_character_cut_in_two():
    output = ShellOutput()
    for byte in "né数\U0001f600\n".encode():
        output.take("stdout", bytes([byte]))
    assert output.finish() == "né数\U0001f600"


def test_streams_do_not_tear_each_others_lines():
    output = ShellOutput()
    output.take("stdout", b"one ")
    output.take("stderr", b"warning\n")
    output.take("stdout", b"line\nno end")
    output.take("stderr", b"nor here")
    assert output.finish() == "warning\none line\nno end\nnor here"


def test_a_progress_bar_costs_one_line():
    output = ShellOutput()
    for percent in range(200_000):
        output.take("stderr", b"\r\x1b[32m%d of 200000\x1b[0m" % percent)
    assert output.finish() == "199999 of 200000"


def test_a_long_line_without_end_is_kept():
    output = ShellOutput()
    for _ in range(30):
        output.take("stdout", b"x" * 10_000)
    assert output.finish() == "x" * 300_000


def test_nul_bytes_show():
    output = ShellOutput()
    output.take("stdout", b"a\0b\n")
    assert output.finish() == "a␀b"
    assert visible("\x1b\x7f\x9b\t\n") == "␛␡\ufffd\t\n"


def test_binary_output_is_not_shown():
    output = ShellOutput()
    output.take("stdout", bytes(range(256)) * 100)
    assert output.finish().startswith("[binary output, 25,600 bytes, not shown")


def test_text_of_other_scripts_is_no_binary_output():
    output = ShellOutput()
    output.take("stdout", "数据 größe ёлка\n".encode() * 1_000)
    assert output.finish().startswith("数据")


def test_much_output_in_little_memory():
    output = ShellOutput(limit=1_000_000)
    line = b"0123456789" * 9 + b"\n"
    tracemalloc.start()
    try:
        for _ in range(800):
            output.take("stdout", line * 700)
        peak = tracemalloc.get_traced_memory()[1]
        text = output.finish()
    finally:
        tracemalloc.stop()
    assert output.raw_bytes > 50_000_000
    assert peak < 4_000_000
    assert len(text) < 1_100_000
    assert "bytes left out" in text


# --- live -----------------------------------------------------------------------------------------

DANGEROUS = [
    "\x1b]0;title\x07",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;http://x\x1b\\",
    "\x1b[2J",
    "\x1b[?1049h",
    "\x1b[6n",
    "\x1bc",
    "\x1bP1$r\x1b\\",
    "\x1b_app\x1b\\",
    "\x1b(0",
    "\x07",
    "\x9b2J",
    "\x00",
    "\x0e",
]


@pytest.mark.parametrize("sequence", DANGEROUS)
def test_what_does_something_to_a_terminal_is_taken_out(sequence):
    shown = Harmless().feed(f"a{sequence}b", final=True)
    assert shown in {"ab", "a2Jb"}
    for at in range(1, len(sequence)):
        harmless = Harmless()
        assert harmless.feed(f"a{sequence[:at]}") + harmless.feed(f"{sequence[at:]}b", final=True) == shown


def test_colours_and_redrawing_stay():
    text = "\x1b[1;31mred\x1b[0m\r50%\b\b\b60%\tx\n"
    assert Harmless().feed(text) == text


@given(st.lists(st.sampled_from([*DANGEROUS, "text", "\x1b[31m", "\x1b", "[", "]", "2", "m", "\\"]), max_size=25))
def test_no_sequence_gets_through_in_pieces(parts):
    harmless = Harmless()
    shown = "".join(harmless.feed(part) for part in parts) + harmless.feed("", final=True)
    rest = shown
    while "\x1b" in rest:
        _, _, rest = rest.partition("\x1b")
        assert rest.startswith("[")
        body = rest[1:].lstrip("0123456789;:")
        assert body.startswith("m")


def live():
    shown = []
    return LiveOutput(lambda stream, text: shown.append((stream, text)), limit=100), shown


@pytest.mark.asyncio
async def test_pieces_are_bundled():
    output, shown = live()
    for word in (b"a", b"b", b"c"):
        output.take("stdout", word)
    output.take("stderr", b"!")
    output.take("stdout", b"d")
    assert shown == []
    await asyncio.sleep(0.1)
    assert shown == [("stdout", "abc"), ("stderr", "!"), ("stdout", "d")]
    output.close()


@pytest.mark.asyncio
async def test_the_last_piece_comes_at_the_end():
    output, shown = live()
    output.take("stdout", "é".encode()[:1])
    output.close()
    assert shown == [("stdout", "\ufffd")]


@pytest.mark.asyncio
async def test_only_so_much_is_shown():
    output, shown = live()
    for _ in range(50):
        output.take("stdout", b"0123456789")
    output.close()
    text = "".join(text for _, text in shown)
    assert text.startswith("0123456789" * 10 + "\n[more output")
    assert len(text) < 200


@pytest.mark.asyncio
async def test_bytes_that_are_no_text_are_not_shown():
    output, shown = live()
    output.take("stdout", b"\x7fELF\0\0\0")
    output.take("stdout", b"more")
    output.close()
    assert "".join(text for _, text in shown).strip() == "[binary output; it is not shown]"

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.errors import ConfigurationError, SessionError
from zidane_lab.tools.truncate import MAX_BYTES, MAX_LINES, fit, truncate

MARK = "\x00GAP\x00"
any_text = st.lists(
    st.one_of(
        st.text(alphabet="ab é\U0001f600\u0301\r", max_size=60),
        st.integers(0, 400).map(lambda n: "x" * n),
        st.integers(0, 200).map(lambda n: "\U0001f600" * n),
        st.just("\ud800"),
    ),
    max_size=40,
).flatmap(lambda rows: st.sampled_from(["\n", "\r\n", ""]).map(lambda end: end.join(rows)))


class Store:
    def __init__(self, folder: Path | None, error: Exception | None = None) -> None:
        self.folder, self.error, self.saved = folder, error, []

    def save_output(self, name: str, text: str) -> Path | None:
        if self.error:
            raise self.error
        self.saved.append((name, text))
        if self.folder is None:
            return None
        path = self.folder / f"{name}.txt"
        path.write_text(text, encoding="utf-8")
        return path


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def lines(text: str) -> int:
    return text.count("\n") + (0 if text.endswith("\n") or not text else 1)


@given(any_text, st.integers(64, 600), st.integers(4, 20))
@settings(max_examples=400)
def test_a_cut_text_is_head_notice_tail_within_the_limits_and_its_numbers_add_up(text, max_bytes, max_lines):
    out = truncate(text, max_bytes=max_bytes, max_lines=max_lines, notice=lambda b, n: f"{MARK}{b} {n}")
    assert (out.total_bytes, out.total_lines) == (size(text), lines(text))
    assert out.cut == (size(text) > max_bytes or lines(text) > max_lines)
    if not out.cut:
        assert out.text == text
        assert (out.omitted_bytes, out.omitted_lines) == (0, 0)
        return
    assert size(out.text) <= max_bytes
    assert lines(out.text) <= max_lines
    head, _, rest = out.text.partition(MARK)
    tail = rest.partition("\n")[2]
    if size(head) + size(tail) + out.omitted_bytes == size(text) + 1:
        head = head.removesuffix("\n")  # the newline before the notice is ours when the head ends inside a line
    assert text.startswith(head)
    assert text.endswith(tail)
    assert tail
    assert size(head) + size(tail) + out.omitted_bytes == size(text)
    assert out.omitted_bytes > 0
    # A line is omitted when nothing of it is shown.
    begin, end, whole, at = size(head), size(text) - size(tail), 0, 0
    for row in text.encode("utf-8", "surrogatepass").split(b"\n"):
        if begin <= at and at + len(row) + 1 <= end:
            whole += 1
        at += len(row) + 1
    assert out.omitted_lines == whole


def test_exactly_at_the_limits_nothing_is_cut():
    for text in ("x" * MAX_BYTES, "\n" * MAX_LINES, "x\n" * (MAX_LINES - 1) + "x"):
        assert truncate(text).text == text
    assert truncate("x" * (MAX_BYTES + 1)).cut
    assert truncate("\n" * MAX_LINES + "x").cut


def test_head_and_tail_have_two_and_three_fifths_at_line_borders():
    text = "".join(f"line {n:06d} of a long log\n" for n in range(20_000))
    out = truncate(text)
    head, notice, tail = out.text.partition("[… ")[0], "[… ", out.text.partition("…]\n")[2]
    assert notice in out.text
    assert head.startswith("line 000000")
    assert head.endswith("\n")
    assert tail.startswith("line ")
    assert tail.endswith("line 019999 of a long log\n")
    assert 0.37 < len(head) / (len(head) + len(tail)) < 0.43
    assert size(out.text) > MAX_BYTES * 0.98


def test_one_enormous_line_is_cut_inside_but_never_inside_a_character():
    out = truncate("é" * 100_000)
    assert out.cut
    assert out.omitted_lines == 0
    assert "\ufffd" not in out.text
    assert set(out.text.partition("\n")[0]) == {"é"}


def test_an_enormous_line_among_short_ones_does_not_waste_the_room():
    out = truncate("start\n" + "x" * 200_000 + "\nend\n")
    assert out.text.startswith("start\nxxxx")
    assert out.text.endswith("xxxx\nend\n")
    assert size(out.text) > MAX_BYTES * 0.95


def test_limits_without_room_for_anything_are_refused():
    with pytest.raises(ConfigurationError, match="too little"):
        truncate("x" * 100, max_bytes=30)


def test_fit_leaves_a_short_text_alone_and_saves_nothing(tmp_path):
    store = Store(tmp_path)
    assert fit("short", "run_python", store) == ("short", None)
    assert store.saved == []


def test_fit_saves_the_whole_and_names_size_lines_and_file(tmp_path):
    text = "".join(f"{n}\n" for n in range(10_000))
    shown, path = fit(text, "run_python", Store(tmp_path))
    assert path is not None
    assert path.read_text(encoding="utf-8") == text
    assert f"left out of 10,000 lines, {len(text):,} bytes; the whole is in {path} …]" in shown
    assert size(shown) <= MAX_BYTES
    assert lines(shown) <= MAX_LINES


def test_fit_stays_within_the_limit_however_long_the_path_is(tmp_path):
    folder = tmp_path.joinpath(*["d" * 200] * 8)
    folder.mkdir(parents=True)
    shown, path = fit("x" * 200_000, "t", Store(folder))
    assert str(path) in shown
    assert size(shown) <= MAX_BYTES


@pytest.mark.parametrize("store", [None, Store(None)])
def test_fit_says_when_the_whole_was_not_kept(store):
    shown, path = fit("x\n" * 5_000, "t", store)
    assert path is None
    assert "; the whole was not kept …]" in shown


@pytest.mark.parametrize("error", [OSError("No space left\non device"), SessionError("The disk is full.")])
def test_fit_survives_a_store_that_fails_and_says_so(error):
    shown, path = fit("x\n" * 5_000, "t", Store(None, error))
    assert path is None
    assert "could not be kept" in shown
    assert size(shown) <= MAX_BYTES

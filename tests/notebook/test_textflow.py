"""Streaming text: pieces add up, borders are safe, and bytes stay linear."""

from __future__ import annotations

import itertools
import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.notebook import bundles
from zidane_lab.notebook.textflow import ALLOWANCE, LARGEST, TextFlow


def play(text: str, chunk: int, seconds: float) -> list:
    """Feed ``text`` in chunks, one every ``seconds``, and take whatever is due."""
    flow, now, shown = TextFlow(), 0.0, []
    for start in range(0, len(text), chunk):
        flow.feed(text[start : start + chunk])
        now += seconds
        if flow.due(now) == 0.0:
            shown += flow.take(now)
    return shown + flow.finish()


def frozen_text(pieces) -> str:
    return "\n".join(piece.text.rstrip("\n") for piece in pieces if piece.frozen)


def squeeze(text: str) -> str:
    return "".join(text.split())


PARAGRAPH = "The quick brown fox jumps over the lazy dog, and then it rests for a while in the shade. " * 4


def markdown_of(size: int, seed: int = 1) -> str:
    chance, out = random.Random(seed), []
    while sum(map(len, out)) < size:
        out.append(
            chance.choice(
                [
                    PARAGRAPH,
                    "- one\n- two\n\n  still two\n- three",
                    "```python\nfor i in range(10):\n\n    print(i)\n```",
                    "| a | b |\n|---|---|\n| 1 | 2 |",
                    "## A heading",
                    "1. first\n\n2. second",
                ]
            )
            + "\n\n"
        )
    return "".join(out)[:size]


@given(st.text(alphabet="ab \n`-#|1.", max_size=6000), st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_frozen_pieces_hold_the_whole_text_in_order(text, chunk):
    pieces = play(text, chunk, 0.05)
    marks = squeeze(frozen_text(pieces))
    assert squeeze(text).replace("`", "") == marks.replace("`", "")


def test_a_piece_is_never_shown_again_once_frozen():
    frozen = set()
    for piece in play(markdown_of(60_000), 37, 0.02):
        assert piece.number not in frozen
        if piece.frozen:
            frozen.add(piece.number)
    assert frozen == set(range(len(frozen)))


def test_borders_never_fall_inside_a_fence_a_list_or_a_table():
    for piece in (piece for piece in play(markdown_of(80_000), 50, 0.05) if piece.frozen):
        lines = piece.text.split("\n")
        assert sum(line.startswith("```") for line in lines) % 2 == 0 or piece.number > 0
        assert not lines[0].startswith(("  still", "| 1", "|---"))


def test_one_endless_fence_is_closed_and_opened_again():
    text = "```python\n" + "x = 1\n" * 12_000 + "```\n"
    pieces = [piece for piece in play(text, 1000, 0.05) if piece.frozen]
    assert len(pieces) > 2
    for piece in pieces:
        assert piece.text.startswith("```python\n")
        assert piece.text.rstrip().endswith("```")
        assert len(piece.text) <= 2 * LARGEST + 1100


def test_one_endless_line_is_cut_at_a_space():
    pieces = [piece for piece in play("word " * 20_000, 500, 0.05) if piece.frozen]
    assert len(pieces) > 3
    assert all(piece.text.endswith(" ") for piece in pieces[:-1])


def test_the_first_words_are_shown_at_once_and_updates_keep_their_distance():
    flow = TextFlow()
    flow.feed("Hello")
    assert flow.due(0.0) == 0.0
    assert [piece.text for piece in flow.take(0.0)] == ["Hello"]
    flow.feed(" there")
    assert flow.due(0.01) > 0.05
    assert flow.take(0.01) == []
    assert [piece.text for piece in flow.take(0.2)] == ["Hello there"]
    assert flow.due(0.2) is None


def test_at_most_ten_updates_a_second():
    flow, now, times = TextFlow(), 0.0, []
    for _ in range(400):
        now += 0.01
        flow.feed("word ")
        if flow.due(now) == 0.0 and any(not piece.frozen for piece in flow.take(now)):
            times.append(now)
    assert all(later - earlier >= 0.1 - 1e-9 for earlier, later in itertools.pairwise(times))
    assert len(times) > 10


def test_200_kb_cost_at_most_three_times_their_bytes_at_any_speed():
    text = markdown_of(200_000)
    for chunk, seconds in ((20, 0.0005), (20, 0.005), (20, 0.05), (2000, 0.01)):
        pieces = play(text, chunk, seconds)
        sent = 0
        for piece in pieces:
            bundle = (
                bundles.markdown(piece.text, block="turn_0123456789abcdef.0", part=piece.number)
                if piece.frozen
                else bundles.streaming(piece.text)
            )
            content = {"data": bundle, "metadata": {}, "transient": {"display_id": "0" * 16}}
            sent += len(json.dumps(content, ensure_ascii=False).encode()) + 600  # headers of one message
        assert sent <= 3 * len(text.encode()), (chunk, seconds, sent / len(text))


def test_the_allowance_bounds_provisional_sends():
    pieces = play(markdown_of(400_000), 10, 0.02)
    provisional = sum(len(piece.text) for piece in pieces if not piece.frozen)
    assert provisional <= ALLOWANCE * 1.1


def test_nothing_fed_shows_nothing():
    flow = TextFlow()
    assert flow.empty
    assert flow.due(1.0) is None
    assert flow.take(1.0) == flow.finish() == []

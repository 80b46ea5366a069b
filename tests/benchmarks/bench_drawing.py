"""What a streamed answer costs on its way to the page: bytes, updates, and how fast the renderer can be fed.

The page is the bottleneck of every notebook (a browser needs a second for 200 KB of Markdown), so a long
answer must reach it in few bytes and few updates. Beside ours stands the simple way: the whole text so far,
ten times a second, as one Markdown display.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time

import pytest

from tests.benchmarks.answers import markdown, one_fence, one_paragraph, pieces
from tests.benchmarks.measure import interleaved, middle, table, timed
from tests.benchmarks.wire import FlyingLoop, IOPubMeter, Sent, WirePublisher, busiest_second, quiet_kernel, visible
from zidane_lab.agent.hooks import HookBus
from zidane_lab.events import Ids, StreamEnd, StreamText
from zidane_lab.notebook.render import CellRenderer

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

SIZE = 200_000
BYTES_PER_BYTE = 3.0
UPDATES_PER_SECOND = 10
MESSAGE = 700
"""Bytes of a message round its text, about."""
IDS = Ids("run", "turn_0123456789abcdef")
SHAPES = {"markdown": markdown, "one code block": one_fence, "one paragraph": one_paragraph}


async def stream(text: str, publisher: WirePublisher, *, speed: float, clock) -> list[tuple[float, int]]:
    """Send ``text`` through the bus to a cell's renderer, ``speed`` bytes a second (0: no pause at all).

    Returns when each delta arrived, and how many visible characters had arrived by then.
    """
    hooks, arrived, total = HookBus(), [], 0
    hooks.use(CellRenderer(publisher, clock=clock))
    for piece in pieces(text):
        total += visible(piece)
        arrived.append((clock(), total))
        await hooks.emit(StreamText(IDS, 0, piece))
        if speed:
            await asyncio.sleep(len(piece.encode()) / speed)
    await hooks.emit(StreamEnd(IDS, "stop"))
    return arrived


def drawn(text: str, *, speed: float) -> tuple[WirePublisher, float, list[float]]:
    """Stream at a speed in time that flies: what was sent, how long it took, how long each delta waited."""
    loop = FlyingLoop()
    try:
        publisher = WirePublisher(loop.time)
        arrived = loop.run_until_complete(stream(text, publisher, speed=speed, clock=loop.time))
        return publisher, loop.time(), waits(arrived, publisher.sent)
    finally:
        loop.close()


def waits(arrived: list[tuple[float, int]], sent: list[Sent]) -> list[float]:
    """How long each delta waited until the page showed as many characters as had arrived with it."""
    out, at = [], 0
    for moment, total in arrived:
        while at < len(sent) - 1 and (sent[at].visible < total or sent[at].moment < moment):
            at += 1
        out.append(max(0.0, sent[at].moment - moment))
    return out


def simple_way(text: str, *, seconds: float) -> float:
    """Bytes of the simple way: the text so far as Markdown and plain text, ten times a second."""
    updates = max(1, round(seconds * 10))
    return updates * (MESSAGE + len(json.dumps(text, ensure_ascii=False).encode()))  # twice half of it, on average


@pytest.mark.parametrize("shape", SHAPES)
def test_bytes_on_the_wire_at_several_speeds(shape):
    text = SHAPES[shape](SIZE)
    size, rows, figures = len(text.encode()), [], []
    for speed in (250, 1_000, 10_000, 100_000):
        publisher, seconds, _ = drawn(text, speed=speed)
        assert publisher.sent[-1].visible >= visible(text), "something of the answer is missing"
        ratio, most = publisher.bytes / size, busiest_second(publisher.provisional)
        figures.append((ratio, most))
        rows.append(
            [
                f"{speed:,} B/s (about {speed // 4:,} tokens/s)",
                ratio,
                simple_way(text, seconds=seconds) / size,
                len(publisher.sent),
                len(publisher.sent) / seconds,
                most,
            ]
        )
    table(
        f"{size / 1000:.0f} KB of {shape}, as signed Jupyter messages (targets: {BYTES_PER_BYTE:g} bytes per byte "
        f"of text, {UPDATES_PER_SECOND} provisional updates in any second)",
        ["", "bytes/text", "the simple way", "messages", "a second", "provisional in the busiest second"],
        rows,
    )
    for ratio, most in figures:
        assert ratio <= BYTES_PER_BYTE
        assert most <= UPDATES_PER_SECOND


@pytest.mark.parametrize("shape", ["markdown", "one code block"])
def test_how_long_text_waits_until_it_is_drawn(shape):
    rows = []
    for size in (2_000, 20_000, SIZE):
        for speed in (250, 1_000):
            _, seconds, waited = drawn(SHAPES[shape](size), speed=speed)
            cuts = statistics.quantiles(waited, n=20)
            rows.append([f"{size / 1000:.0f} KB at {speed:,} B/s", cuts[9], cuts[18], max(waited), seconds])
    table(
        f"How long a delta of {shape} waits until it is drawn, seconds",
        ["", "median", "95 %", "longest", "the whole answer"],
        rows,
    )
    assert rows[0][1] <= 0.5, "a short answer should be seen as it comes"


@pytest.mark.parametrize("shape", SHAPES)
def test_how_fast_the_renderer_can_be_fed(shape):
    text = SHAPES[shape](SIZE)
    deltas = list(pieces(text))

    def ours() -> None:
        asyncio.run(stream(text, WirePublisher(), speed=0, clock=time.monotonic))

    def floor() -> None:
        for delta in deltas:
            json.dumps({"type": "text", "text": delta})

    took = interleaved(
        {"renderer": lambda: timed(ours, time.process_time), "json.dumps": lambda: timed(floor, time.process_time)},
        rounds=7,
    )
    rates = {name: len(deltas) / middle(values) for name, values in took.items()}
    table(
        f"{len(deltas):,} deltas of {shape}, processor time",
        ["", "deltas/s", "microseconds each", "to the floor"],
        [[name, f"{rate:,.0f}", 1e6 / rate, rates["json.dumps"] / rate] for name, rate in rates.items()],
    )
    # A fast model sends some hundred deltas a second; drawing them may take a few percent of a core.
    assert rates["renderer"] >= 2_000


@pytest.mark.parametrize(("label", "delay"), [("as fast as it goes", 0.0), ("1 ms a piece", 0.001)])
def test_bytes_on_the_wire_of_a_real_kernel(tmp_path, label, delay):
    text = markdown(SIZE)
    script = {"answers": [{"text": text}], "chunk_size": 20, "delay": delay}
    (tmp_path / "answer.json").write_text(json.dumps(script), encoding="utf-8")
    with quiet_kernel(tmp_path) as kernel:
        kernel.ok("%load_ext zidane_lab")
        with IOPubMeter(kernel) as meter:
            start = time.monotonic()
            cell = kernel.ok("%%zidane --model scripted/answer.json\nTell me everything.", timeout=300)
            seconds = time.monotonic() - start
    size = len(text.encode())
    shown = "".join(data.get("text/markdown", "") for data in cell.displays)
    table(
        f"{size / 1000:.0f} KB of Markdown in a real kernel, {label}, raw IOPub frames of displays",
        ["bytes/text", "messages", "seconds", "a second", "KB/s"],
        [[meter.bytes / size, len(meter.moments), seconds, len(meter.moments) / seconds, size / seconds / 1000]],
    )
    assert visible(shown) >= visible(text), "something of the answer is missing"
    assert meter.bytes <= BYTES_PER_BYTE * size

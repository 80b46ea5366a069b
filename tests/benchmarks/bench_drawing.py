"""What a streamed answer costs on its way to the page: bytes, updates, and how fast the renderer can be fed.

The page is the bottleneck of every notebook (a browser needs a second for 200 KB of Markdown), so a long
answer must reach it in few bytes and few updates. Beside ours stands the simple way: the whole text so far,
ten times a second, as one Markdown display.
"""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from tests.benchmarks.answers import markdown, one_fence, one_paragraph, pieces
from tests.benchmarks.measure import interleaved, middle, table, timed
from tests.benchmarks.wire import FlyingLoop, IOPubMeter, WirePublisher, quiet_kernel
from zidane_lab.agent.hooks import HookBus
from zidane_lab.events import Ids, StreamEnd, StreamText
from zidane_lab.notebook.render import CellRenderer

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

SIZE = 200_000
BYTES_PER_BYTE = 3.0
UPDATES_PER_SECOND = 10.0
IDS = Ids("run", "turn_0123456789abcdef")
SHAPES = {"markdown": markdown, "one code block": one_fence, "one paragraph": one_paragraph}


def squeezed(text: str) -> str:
    return "".join(text.replace("```python", "").replace("```", "").split())


async def stream(text: str, publisher: WirePublisher, *, speed: float, clock) -> None:
    """Send ``text`` through the bus to a cell's renderer, ``speed`` bytes a second (0: no pause at all)."""
    hooks = HookBus()
    hooks.use(CellRenderer(publisher, clock=clock))
    for piece in pieces(text):
        await hooks.emit(StreamText(IDS, 0, piece))
        if speed:
            await asyncio.sleep(len(piece.encode()) / speed)
    await hooks.emit(StreamEnd(IDS, "stop"))


def drawn(text: str, *, speed: float) -> tuple[WirePublisher, float]:
    """Stream at a speed in time that flies, and return what was sent and how long it took by that clock."""
    loop = FlyingLoop()
    try:
        publisher = WirePublisher(loop.time)
        loop.run_until_complete(stream(text, publisher, speed=speed, clock=loop.time))
        return publisher, loop.time()
    finally:
        loop.close()


def simple_way(text: str, *, seconds: float) -> WirePublisher:
    """The whole text so far as Markdown, ten times a second."""
    publisher, display_id = WirePublisher(lambda: 0.0), ""
    updates = max(1, round(seconds * 10))
    for number in range(1, updates + 1):
        shown = text[: len(text) * number // updates]
        bundle = {"text/markdown": shown, "text/plain": shown}
        if display_id:
            publisher.update(display_id, bundle)
        else:
            display_id = publisher.show(bundle)
    return publisher


def fastest_updates(publisher: WirePublisher) -> float:
    """The most updates any display got in one second (its last, final one not counted)."""
    most = 0
    for moments in publisher.moments.values():
        provisional = moments[:-1]
        most = max([most, *(sum(start <= each < start + 0.999 for each in provisional) for start in provisional)])
    return float(most)


@pytest.mark.parametrize("shape", SHAPES)
def test_bytes_on_the_wire_at_several_speeds(shape):
    text = SHAPES[shape](SIZE)
    size, rows, figures = len(text.encode()), [], []
    for speed in (250, 1_000, 10_000, 100_000):
        publisher, seconds = drawn(text, speed=speed)
        shown = "".join(bundle.get("text/markdown", "") for bundle in publisher.final.values())
        assert shape != "one paragraph" or squeezed(shown) == squeezed(text)
        simple = simple_way(text, seconds=seconds)
        ratio, updates = publisher.bytes / size, publisher.messages / seconds
        figures.append((ratio, fastest_updates(publisher)))
        rows.append([
            f"{speed:,} B/s ({speed // 4:,} tokens/s)",
            ratio,
            simple.bytes / size,
            simple.bytes / publisher.bytes,
            publisher.messages,
            updates,
            fastest_updates(publisher),
        ])  # fmt: skip
    table(
        f"{size / 1000:.0f} KB of {shape}, as signed Jupyter messages (targets: {BYTES_PER_BYTE:.0f} bytes per byte "
        f"of text, {UPDATES_PER_SECOND:.0f} updates a second)",
        ["", "bytes/text", "whole text at 10 Hz", "times less", "messages", "a second", "most in a second"],
        rows,
    )
    for ratio, most in figures:
        assert ratio <= BYTES_PER_BYTE
        assert most <= UPDATES_PER_SECOND


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
        [
            [name, f"{rate:,.0f}", 1e6 / rate, rates["json.dumps"] / rate]
            for name, rate in rates.items()
        ],
    )
    # A fast model sends some hundred deltas a second; drawing them may take a few percent of a core.
    assert rates["renderer"] >= 5_000


@pytest.mark.parametrize(("label", "delay"), [("as fast as it goes", 0.0), ("1 ms a piece", 0.001)])
def test_bytes_on_the_wire_of_a_real_kernel(tmp_path, label, delay):
    text = markdown(SIZE)
    script = {"answers": [{"text": text}], "chunk_size": 20, "delay": delay}
    (tmp_path / "answer.json").write_text(json.dumps(script), encoding="utf-8")
    with quiet_kernel(tmp_path) as kernel:
        kernel.ok("%load_ext zidane_lab")
        meter = IOPubMeter(kernel)
        meter.start()
        until = time.monotonic() + 10
        while not meter.hears():
            assert time.monotonic() < until, "IOPub stays silent"
            kernel.ok("pass")
        start = time.monotonic()
        cell = kernel.ok("%%zidane --model scripted/answer.json\nTell me everything.", timeout=300)
        seconds = time.monotonic() - start
        time.sleep(0.3)
        meter.stop()
    size = len(text.encode())
    shown = "".join(data.get("text/markdown", "") for data in cell.displays)
    table(
        f"{size / 1000:.0f} KB of Markdown in a real kernel, {label}, raw IOPub frames of displays",
        ["bytes/text", "messages", "seconds", "a second", "KB/s"],
        [[meter.bytes / size, meter.messages, seconds, meter.messages / seconds, size / seconds / 1000]],
    )
    assert len(squeezed(shown)) >= len(squeezed(text)), "something of the answer is missing"
    assert meter.bytes <= BYTES_PER_BYTE * size

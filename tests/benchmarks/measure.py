"""Measuring beside neighbours: contestants take turns, medians are compared, figures are printed as a table."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def interleaved(works: dict[str, Callable[[], Any]], *, rounds: int) -> dict[str, list[Any]]:
    """What each work returned, round by round; the first to go changes, so that a slow moment hits everybody."""
    names, out = list(works), {name: [] for name in works}
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            gc.collect()
            out[name].append(works[name]())
    return out


def timed(work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    work()
    return clock() - start


def middle(values: Iterable[float]) -> float:
    return statistics.median(values)


def above(values: Sequence[float], floor: Sequence[float]) -> float:
    """Median of how far each value lies above the floor of its own round."""
    return statistics.median(value - least for value, least in zip(values, floor, strict=True))


def spread(values: Sequence[float]) -> str:
    """The middle half of the values, to tell a difference from noise."""
    low, _, high = statistics.quantiles(values, n=4)
    return f"{low:.1f}-{high:.1f}"


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print an aligned table; floats get three significant digits."""
    cells = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    print(f"\n\n{title}")
    for number, row in enumerate(cells):
        first, *rest = (
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "  ".join([first, *rest]))
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

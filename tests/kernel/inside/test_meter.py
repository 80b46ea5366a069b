from __future__ import annotations

import sys
import time

import pytest

from zidane_lab.kernel.inside import meter
from zidane_lab.kernel.inside.meter import Meter, _growth


def test_time_is_measured():
    watch = Meter()
    watch.start()
    time.sleep(0.05)
    sum(i * i for i in range(200_000))
    reading = watch.stop()
    assert reading.wall_seconds >= 0.05
    assert 0 < reading.cpu_seconds < reading.wall_seconds + 1


def test_the_peak_counts_even_when_the_memory_is_given_back():
    watch = Meter()
    watch.start()
    block = bytearray(64_000_000)
    del block
    reading = watch.stop()
    assert reading.peak_memory is None or reading.peak_memory >= (60_000_000 if sys.platform == "linux" else 0)


def test_each_stretch_has_its_own_peak():
    bytearray(64_000_000)
    watch = Meter()
    watch.start()
    reading = watch.stop()
    assert reading.peak_memory is None or reading.peak_memory < 20_000_000


def test_a_meter_must_be_started():
    with pytest.raises(RuntimeError, match="call start"):
        Meter().stop()


@pytest.mark.parametrize(
    ("resident", "peak", "resident_now", "peak_now", "growth"),
    [
        (100, 100, 120, 150, 50),  # a new peak
        (100, 200, 130, 200, 30),  # below the old one: what is left
        (100, 200, 90, 200, 0),
        (None, 200, None, 250, 50),  # only the peak of the process's life is known
        (None, 200, None, 200, 0),
        (None, None, None, None, None),
    ],
)
def test_growth_from_readings(resident, peak, resident_now, peak_now, growth):
    assert _growth(resident, peak, resident_now, peak_now) == growth


def test_a_system_that_tells_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(meter, "_STATUS", str(tmp_path / "missing"))
    monkeypatch.setattr(meter, "_CLEAR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "resource", None)
    watch = Meter()
    watch.start()
    assert watch.stop().peak_memory is None


def test_a_system_without_proc_has_the_peak_of_its_life(monkeypatch, tmp_path):
    pytest.importorskip("resource", reason="Windows has no resource usage")
    monkeypatch.setattr(meter, "_STATUS", str(tmp_path / "missing"))
    watch = Meter()
    watch.start()
    assert watch.stop().peak_memory >= 0

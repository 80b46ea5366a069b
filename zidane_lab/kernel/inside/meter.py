"""How long a piece of code took and how much memory it needed at its peak."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass

__all__ = ["Meter", "Reading"]

_STATUS = "/proc/self/status"
_RUSAGE_UNIT = {"darwin": 1}.get(sys.platform, 1024)
_CLEAR = "/proc/self/clear_refs"


@dataclass(frozen=True)
class Reading:
    """What was measured.

    Parameters
    ----------
    wall_seconds
        Time on the clock.
    cpu_seconds
        Processor time of this process, all its threads, and its ended children.
    peak_memory
        Bytes by which the resident memory of the process rose at its highest above where it began; ``None``
        where the system does not tell.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_memory: int | None


class Meter:
    """Measures from :meth:`start` to :meth:`stop`.

    On Linux the kernel's own peak is set back at the start (a 5 written to ``/proc/self/clear_refs``, see
    ``proc(5)``), so the reading is the peak of this stretch. Where that is not allowed, and on macOS, the
    peak is known only if it is the highest of the process's life; else what remains at the end is told.
    """

    def __init__(self) -> None:
        self._started: tuple[float, float, int | None, int | None] | None = None

    def start(self) -> None:
        """Begin to measure; a second call begins anew."""
        _reset_peak()
        resident, peak = _memory()
        self._started = (time.perf_counter(), _cpu(), resident, peak)

    def stop(self) -> Reading:
        """Return what was used since :meth:`start`.

        Raises
        ------
        RuntimeError
            The meter was not started.
        """
        if self._started is None:
            raise RuntimeError("The meter was not started: call start() first.")
        wall, cpu, resident, peak = self._started
        resident_now, peak_now = _memory()
        growth = _growth(resident, peak, resident_now, peak_now)
        return Reading(time.perf_counter() - wall, max(_cpu() - cpu, 0.0), growth)


def _growth(resident: int | None, peak: int | None, resident_now: int | None, peak_now: int | None) -> int | None:
    """Return the rise of memory from two pairs of readings (bytes resident, and their peak so far)."""
    if peak is None or peak_now is None:
        return None
    if resident is None or resident_now is None:
        return max(peak_now - peak, 0)
    # Not above the old peak: this stretch's own is hidden below it, at least what is left now was used.
    highest = peak_now if peak_now > peak else resident_now
    return max(highest - resident, 0)


def _cpu() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _reset_peak() -> bool:
    """Set the kernel's record of the peak back to the present; whether that worked."""
    try:
        with open(_CLEAR, "w", encoding="ascii") as file:  # noqa: PTH123 — one system call's worth, no path object
            file.write("5")
    except OSError:
        return False
    return True


def _memory() -> tuple[int | None, int | None]:
    """Return resident memory and its peak in bytes, as far as the system tells."""
    try:
        with open(_STATUS, encoding="ascii", errors="replace") as file:  # noqa: PTH123 — as above
            lines = dict(line.split(":", 1) for line in file if line.startswith(("VmRSS", "VmHWM")))
        return int(lines["VmRSS"].split()[0]) * 1024, int(lines["VmHWM"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None, _rusage_peak()


def _rusage_peak() -> int | None:
    """Return the peak of the process's life; the unit is bytes on macOS and kilobytes elsewhere."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * _RUSAGE_UNIT

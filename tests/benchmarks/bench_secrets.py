"""What masking costs: a megabyte of each kind of output, with few and with many known credentials, and line by line.

Run with ``pytest -m bench -s tests/benchmarks/bench_secrets.py``. The budget is 50 ms of a processor for a megabyte;
neighbours on the machine slow everything down, so the best round counts.
"""

from __future__ import annotations

import base64
import json
import random
import sysconfig
import time
from pathlib import Path

import pytest

from tests.benchmarks.measure import interleaved, middle, spread, table, timed
from tests.secrets.seeds import secrets
from zidane_lab.secrets.masking import mask
from zidane_lab.secrets.streaming import StreamMask
from zidane_lab.secrets.vault import Vault

pytestmark = pytest.mark.bench

SIZE = 1_000_000
BUDGET = 0.050
ROUNDS = 15


def texts() -> dict[str, str]:
    rng = random.Random(1)
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    source = "".join(path.read_text(encoding="utf-8", errors="replace") for path in sorted(stdlib.glob("*.py"))[:90])
    numbers = "\n".join(" ".join(f"{rng.gauss(0, 1):10.6f}" for _ in range(8)) for _ in range(12_000))
    records = json.dumps([{"id": n, "name": f"n{n}", "value": rng.random(), "tags": ["a", "b"]} for n in range(16_000)])
    hashes = "\n".join(f"{rng.randbytes(32).hex()}  data/part-{n:05d}.parquet" for n in range(12_000))
    words = "the model reads a table of prices and returns what it has found "
    said = words.split()
    prose = " ".join(rng.choice(said) for _ in range(250_000))
    out = {"source code": source, "numbers": numbers, "JSON": records, "hashes": hashes, "prose": prose}
    out["base64"] = base64.b64encode(rng.randbytes(SIZE)).decode()
    return {name: text[:SIZE] for name, text in out.items()}


def vault(count: int) -> Vault:
    made = Vault(b"k" * 32)
    for _, _, value in secrets(count, seed=3):
        made.add(value)
    return made


def test_a_megabyte():
    few, many = vault(20), vault(2_000)
    works = {
        (name, label): (lambda text=text, known=known: timed(lambda: mask(text, known), time.process_time))
        for name, text in texts().items()
        for label, known in (("20", few), ("2,000", many))
    }
    took = interleaved(works, rounds=ROUNDS)
    rows = [
        (f"{name}, {label} known", middle(times) * 1e3, min(times) * 1e3, spread([each * 1e3 for each in times]))
        for (name, label), times in took.items()
    ]
    table("masking 1 MB", ("", "ms", "best", "middle half"), rows)
    assert max(min(times) for times in took.values()) < BUDGET


def test_lines_as_they_are_printed():
    known = vault(200)
    lines = [f"step {n}: loss={n / 7:.4f} at {n:08x}\n" for n in range(5_000)]

    def stream() -> None:
        masked = StreamMask(known)
        for line in lines:
            masked.feed(line)
        masked.finish()

    took = interleaved({"5,000 lines": lambda: timed(stream, time.process_time)}, rounds=ROUNDS)["5,000 lines"]
    table(
        "printing",
        ("", "µs a line", "middle half"),
        [("5,000 lines", middle(took) / 5e3 * 1e6, spread([each / 5e3 * 1e6 for each in took]))],
    )
    assert middle(took) / len(lines) < 100e-6

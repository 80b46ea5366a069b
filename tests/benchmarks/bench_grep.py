"""Searching a real tree: our two engines beside bare ripgrep, GNU grep and a loop in Python, and to the same result."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmarks.measure import interleaved, middle, table, timed
from zidane_lab.tools.ignore import IgnoreRules
from zidane_lab.tools.search.engines import Engine, Search
from zidane_lab.tools.search.own import OwnEngine
from zidane_lab.tools.search.pattern import read_pattern
from zidane_lab.tools.search.processes import Here
from zidane_lab.tools.search.ripgrep import Ripgrep, find_ripgrep

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

PACKAGES = Path(sysconfig.get_paths()["purelib"])
TREES = [PACKAGES / name for name in ("sklearn", "pandas") if (PACKAGES / name).is_dir()]
PATTERNS = ["read_parquet", r"def \w+\(self", r"(?i)note|warning", r"^class [A-Z]\w+.*:$", r"\bnan\b"]
NAMES = ["ours (ripgrep)", "bare ripgrep", "ours (python)", "loop in Python", "GNU grep"]
OWN_TIMES_PYTHON = 2.0
"""Our engine may take so many times what a plain loop by bytes, without Unicode or ignore rules, takes."""
PYTHON_EXTRA_MS = 500.0
RIPGREP_EXTRA_MS = 100.0
"""Starting the process through us, and the tables of Unicode, may cost so much."""
SLACK = 3.0
"""A busy machine may take this many times the target."""


def plain(root: Path, pattern: str) -> int:
    """What one would write by hand: every file, every line."""
    regex, count = re.compile(pattern.encode()), 0
    for folder, _, names in os.walk(root):
        for name in names:
            data = Path(folder, name).read_bytes()
            if b"\0" not in data:
                count += sum(regex.search(line) is not None for line in data.splitlines())
    return count


def counted(argv: list[str]) -> int:
    done = subprocess.run(argv, capture_output=True, check=False)
    return sum(int(line.rpartition(b":")[2]) for line in done.stdout.splitlines() if line.rpartition(b":")[2].isdigit())


def contestants(root: Path, pattern: str) -> dict[str, Callable[[], int]]:
    """Ways to count the matching lines of a tree."""
    asked = Search(str(root), read_pattern(pattern))
    ripgrep = find_ripgrep()

    def count(engine: Engine) -> int:
        return sum(asyncio.run(engine.count(asked, 120)).counts.values())

    works: dict[str, Callable[[], int]] = {"ours (python)": lambda: count(OwnEngine(Here(), sys.executable))}
    works["loop in Python"] = lambda: plain(root, pattern)
    if ripgrep:
        in_project = IgnoreRules.at(root).in_project
        works["ours (ripgrep)"] = lambda: count(Ripgrep(Here(), ripgrep, in_project=in_project))
        works["bare ripgrep"] = lambda: counted([ripgrep, "--no-config", "-c", "--hidden", "-e", pattern, str(root)])
    if shutil.which("grep"):
        works["GNU grep"] = lambda: counted(["grep", "-rIcP", "-e", pattern, str(root)])
    return works


@pytest.mark.parametrize("root", TREES, ids=lambda root: root.name)
def test_searching_a_tree(root):
    rows = []
    for pattern in PATTERNS:
        works = contestants(root, pattern)
        found = {name: works[name]() for name in works if name.startswith("ours")}
        assert len(set(found.values())) == 1
        times = interleaved({name: lambda work=work: timed(work) for name, work in works.items()}, rounds=3)
        took = {name: middle(values) * 1e3 for name, values in times.items()}
        rows.append([pattern, found["ours (python)"], *(took.get(name, "-") for name in NAMES)])
        assert took["ours (python)"] < took["loop in Python"] * OWN_TIMES_PYTHON + PYTHON_EXTRA_MS
        if "bare ripgrep" in took:
            assert took["ours (ripgrep)"] < took["bare ripgrep"] * SLACK + RIPGREP_EXTRA_MS
    table(f"Searching {root.name} (ms)", ["pattern", "lines", *NAMES], rows)

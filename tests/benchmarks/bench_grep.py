"""Searching a real tree: our two engines beside bare ripgrep, GNU grep and a loop in Python, and to the same result."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.benchmarks.measure import interleaved, middle, table, timed
from zidane_lab.tools.ignore import IgnoreRules
from zidane_lab.tools.search.engines import Search
from zidane_lab.tools.search.own import OwnEngine
from zidane_lab.tools.search.pattern import read_pattern
from zidane_lab.tools.search.processes import Here
from zidane_lab.tools.search.ripgrep import Ripgrep, find_ripgrep

pytestmark = pytest.mark.bench

PACKAGES = Path(sysconfig.get_paths()["purelib"])
TREES = [PACKAGES / name for name in ("sklearn", "pandas") if (PACKAGES / name).is_dir()]
PATTERNS = ["read_parquet", r"def \w+\(self", r"(?i)todo|fixme", r"^class [A-Z]\w+.*:$", r"\bnan\b"]
OWN_TIMES_PYTHON = 1.5
"""Our engine may take so many times what a plain loop over the same files takes (it starts a process, too)."""
RIPGREP_EXTRA_MS = 60.0
"""Starting ripgrep through us may cost so much more than starting it bare."""


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


@pytest.mark.parametrize("root", TREES, ids=lambda root: root.name)
def test_searching_a_tree(root):
    ripgrep, rows = find_ripgrep(), []
    in_project = IgnoreRules.at(root).in_project
    engines = {"ours (python)": OwnEngine(Here(), sys.executable)}
    if ripgrep:
        engines["ours (ripgrep)"] = Ripgrep(Here(), ripgrep, in_project=in_project)
    for pattern in PATTERNS:
        asked = Search(str(root), read_pattern(pattern))
        found = {name: asyncio.run(each.count(asked, 120)) for name, each in engines.items()}
        assert len({tuple(sorted(each.counts.items())) for each in found.values()}) == 1
        works = {name: lambda each=each: asyncio.run(each.count(asked, 120)) for name, each in engines.items()}
        works["loop in Python"] = lambda: plain(root, pattern)
        if ripgrep:
            bare = [ripgrep, "--no-config", "-c", "--hidden", "-e", pattern, str(root)]
            works["bare ripgrep"] = lambda: counted(bare)
        if shutil.which("grep"):
            works["GNU grep"] = lambda: counted(["grep", "-rIcP", "-e", pattern, str(root)])
        took = {
            name: middle(values) * 1e3
            for name, values in interleaved(
                {name: lambda work=work: timed(work) for name, work in works.items()}, rounds=3
            ).items()
        }
        total = sum(next(iter(found.values())).counts.values())
        rows.append([pattern, total, *(took.get(name, float("nan")) for name in NAMES)])
        assert took["ours (python)"] < took["loop in Python"] * OWN_TIMES_PYTHON + 200
        if ripgrep:
            assert took["ours (ripgrep)"] < took["bare ripgrep"] * 2 + RIPGREP_EXTRA_MS
    table(f"Searching {root.name} (ms)", ["pattern", "lines", *NAMES], rows)


NAMES = ["ours (ripgrep)", "bare ripgrep", "ours (python)", "loop in Python", "GNU grep"]

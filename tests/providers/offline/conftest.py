"""The example tables, fresh for each test."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.providers.offline.support import Kernel

DATA = Path(__file__).parents[3] / "examples" / "data"


@pytest.fixture
def penguins() -> pd.DataFrame:
    return pd.read_csv(DATA / "penguins.csv")


@pytest.fixture
def penguins_raw() -> pd.DataFrame:
    return pd.read_csv(DATA / "penguins_raw.csv")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, penguins: pd.DataFrame) -> Kernel:
    """A kernel that holds ``penguins``, in an empty folder. Figures cost time: set ``plots`` where they matter."""
    monkeypatch.chdir(tmp_path)
    return Kernel(tmp_path, {"penguins": penguins}, plots=False)


@pytest.fixture
def empty_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.chdir(tmp_path)
    return Kernel(tmp_path, plots=False)

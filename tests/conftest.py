"""Shared by all tests: a clean environment, and the loop jupyter_client's blocking calls leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Where a change is judged, the same examples every time; new ones are looked for everywhere else.
settings.register_profile("judge", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("judge")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No key, setting or notebook of the machine leaks into a test."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_", "ZIDANE_", "JPY_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ZIDANE_HOME", str(tmp_path_factory.getbasetemp() / "home"))


@pytest.fixture(scope="session", autouse=True)
def close_the_blocking_loop() -> Iterator[None]:
    """Close the loop that jupyter_core keeps for blocking clients; nobody else does, and warnings are errors."""
    yield
    from jupyter_core import utils

    holder = getattr(utils, "_loop", None)
    loop = holder.get(None) if holder is not None else None
    if loop is not None and not loop.is_running():
        loop.close()

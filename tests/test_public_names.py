"""The public face: the names, that they exist, and that importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import zidane_lab

NAMES = {
    "Agent",
    "Behavior",
    "HookBus",
    "LiveExecutor",
    "RunResult",
    "ScriptedProvider",
    "Session",
    "Tool",
    "ToolContext",
    "ToolOutput",
    "Turn",
    "Usage",
    "ZidaneError",
    "__version__",
    "ask",
    "default_tools",
    "load_ipython_extension",
    "tool",
    "unload_ipython_extension",
}


def test_the_list_of_public_names_changes_only_on_purpose():
    assert set(zidane_lab.__all__) == NAMES
    assert set(dir(zidane_lab)) == NAMES


def test_every_public_name_is_there_and_documented():
    for name in NAMES - {"__version__"}:
        assert getattr(zidane_lab, name).__doc__, name


def test_an_unknown_name_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = zidane_lab.nonsense


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert zidane_lab.__version__ == version("zidane_lab")


def test_importing_loads_nothing_heavy():
    code = (
        "import sys; before = set(sys.modules); import zidane_lab; "
        "print(sorted(m for m in set(sys.modules) - before if not m.startswith('zidane_lab')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {"httpx", "pydantic", "IPython", "nbformat", "jupyter_client", "asyncio", "dataclasses"}
    assert not heavy & set(eval(out)), out

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from zidane_lab.approvals.python_code import classify

_CORPUS = runpy.run_path(str(Path(__file__).with_name("corpus.py")))
PROTECTED = _CORPUS["PROTECTED"]
RISKY = [(group, source) for group, sources in _CORPUS["RISKY"].items() for source in sources]
HARMLESS = _CORPUS["HARMLESS"]


@pytest.mark.parametrize(("group", "source"), RISKY)
def test_no_risky_code_is_called_pure(group, source):
    assert classify(source, protected=PROTECTED).risk == "ask"

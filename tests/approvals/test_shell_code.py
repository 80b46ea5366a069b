from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.approvals import shell_code
from zidane_lab.approvals.shell_code import classify_shell
from zidane_lab.approvals.shell_parse import MAX_COMMAND, parse_shell

CORPUS = runpy.run_path(str(Path(__file__).with_name("corpus_shell.py")))
RISKY_GROUPS: dict[str, list[str]] = CORPUS["RISKY"]
RISKY = [command for commands in RISKY_GROUPS.values() for command in commands]
HARMLESS: list[str] = CORPUS["HARMLESS"]


def allowed(command):
    return classify_shell(command).risk == "pure"


@pytest.mark.parametrize("group", RISKY_GROUPS)
def test_no_risky_command_runs_unasked(group):
    assert [command for command in RISKY_GROUPS[group] if allowed(command)] == []


def test_of_harmless_commands_at_most_one_in_twenty_is_asked_about():
    asked = [command for command in HARMLESS if not allowed(command)]
    assert len(asked) <= len(HARMLESS) // 20, asked


def test_the_corpus_is_as_large_as_it_claims_and_has_nothing_twice():
    assert len(set(RISKY)) == len(RISKY) >= 150
    assert len(set(HARMLESS)) == len(HARMLESS) >= 100
    assert not set(RISKY) & set(HARMLESS)

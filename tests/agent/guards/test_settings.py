"""The one door to the guards, and the settings for fragile servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.agent.guards.support import Counting, Stage
from tests.agent.support import simple_tool
from zidane_lab.agent.behavior import Behavior
from zidane_lab.agent.guards.local_reliability import local_reliability, with_defaults
from zidane_lab.agent.guards.python_syntax import python_syntax
from zidane_lab.agent.guards.repeat_guard import RepeatGuard
from zidane_lab.agent.guards.settings import GuardSettings, guards_for
from zidane_lab.errors import ConfigurationError
from zidane_lab.session.session import Session
from zidane_lab.tools.read_file import read_file_tool


def names(settings, tmp_path):
    return [type(guard).__name__ for guard in guards_for(settings, Session.memory(), cwd=tmp_path)]


def test_what_costs_nothing_is_on_and_the_rest_is_chosen(tmp_path):
    assert names(GuardSettings(), tmp_path) == ["RepeatGuard", "ReadDedup", "WrittenFiles"]
    everything = GuardSettings(
        dedup_tools={"search": lambda arguments: arguments["q"]}, tool_output_budget=1000, validate=python_syntax
    )
    assert names(everything, tmp_path) == [
        "RepeatGuard",
        "ReadDedup",
        "ToolDedup",
        "WrittenFiles",
        "OutputBudget",
        "MutationValidation",
    ]
    assert names(GuardSettings(dedup_reads=False, repeat_guard=None, written_files=False), tmp_path) == []


def test_settings_without_meaning_are_refused(tmp_path):
    with pytest.raises(ConfigurationError):
        guards_for(GuardSettings(tool_output_budget=0), Session.memory(), cwd=tmp_path)


@pytest.mark.asyncio
async def test_the_guards_work_together(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    session = Session.memory()
    settings = GuardSettings(repeat_guard=RepeatGuard(note_at=2, block_at=3, abort_at=9), validate=python_syntax)
    guards = guards_for(settings, session, cwd=tmp_path)
    tools = [read_file_tool(), simple_tool("edit", Counting())]
    it = Stage(*tools, guards=guards, cwd=tmp_path, session=session)
    await it.start()
    read = ("read_file", {"path": "a.py"})
    texts = [(await it.turn(read))[0].text for _ in range(3)]
    assert texts[0].startswith("x = 1")
    assert "has not changed" in texts[1]
    assert texts[2].startswith("Blocked: ")  # what one guard answered, the other has counted
    (tmp_path / "a.py").write_text("x = (\n")
    event = await it.boundary(("edit", {"path": "a.py"}))
    assert [injection.reason for injection in event.inject] == ["validation"]
    assert (await it.turn(read))[0].text.startswith("x = (")


def test_the_overlay_is_plain_settings_that_overrides_replace():
    plain = local_reliability()
    assert (plain["tool_execution"], plain["read_file_defaults"]) == ("sequential", {"limit": 120})
    assert plain["guards"].dedup_reads
    assert plain["guards"].tool_output_budget == 32_768
    changed = local_reliability(
        {"thinking": "low", "max_turns": 5, "guards": None, "read_file_defaults": {"offset": 2}}
    )
    assert (changed["thinking"], changed["max_turns"], changed["guards"]) == ("low", 5, None)
    assert changed["read_file_defaults"] == {"limit": 120, "offset": 2}
    assert local_reliability({"read_file_defaults": {"limit": 7}})["read_file_defaults"] == {"limit": 7}
    assert local_reliability() == plain


def test_the_overlay_fits_a_behavior():
    known = {name: value for name, value in local_reliability().items() if hasattr(Behavior(), name)}
    assert replace(Behavior(), **known).tool_execution == "sequential"


def test_defaults_fill_what_a_call_leaves_out_and_nothing_else():
    tool = read_file_tool()
    short = with_defaults(tool, {"limit": 120})
    assert short.validate({"path": "a"}) == {"path": "a", "offset": 1, "limit": 120}
    assert short.validate({"path": "a", "limit": 300})["limit"] == 300
    assert short.parameters["properties"]["limit"]["default"] == 120
    assert tool.parameters["properties"]["limit"]["default"] == 300
    assert with_defaults(tool, {}) is tool
    with pytest.raises(ConfigurationError, match="no argument 'lines'"):
        with_defaults(tool, {"lines": 3})

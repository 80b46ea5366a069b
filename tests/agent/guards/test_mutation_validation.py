"""Changes are validated once per batch, and failures reach whom the host wants them to reach."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.guards.support import Counting, Stage
from tests.agent.support import simple_tool
from zidane_lab.agent.guards.mutation_validation import Failure, MutationValidation
from zidane_lab.errors import ConfigurationError, ToolError
from zidane_lab.events import ToolAfter
from zidane_lab.tools.base import ToolOutput
from zidane_lab.turns import TextBlock, ToolResultBlock

pytestmark = pytest.mark.asyncio


class Validator:
    """Remembers what it was asked, and finds fault with everything if told to."""

    def __init__(self, text=None):
        self.asked = []
        self.text = text

    async def __call__(self, changes):
        await asyncio.sleep(0)
        self.asked.append(changes)
        return [Failure(change, self.text) for change in changes] if self.text else []


def stage(tmp_path, validator, **options):
    tools = [simple_tool(name, Counting()) for name in ("edit", "write_file", "read_file", "edit_cell")]

    async def failing(_context, **_):
        raise ToolError("no", hint="")

    async def script(_context, **_):
        return ToolOutput((TextBlock("done"),), metadata={"written": [str(tmp_path / "made.py")]})

    tools += [simple_tool("multi_edit", failing), simple_tool("run_python", script)]
    return Stage(*tools, guards=[MutationValidation(validator, tmp_path, **options)], cwd=tmp_path)


async def test_all_changes_of_a_batch_are_validated_together_and_once(tmp_path):
    validator = Validator()
    it = stage(tmp_path, validator)
    event = await it.boundary(
        ("edit", {"path": "a.py"}), ("read_file", {"path": "b.py"}), ("write_file", {"path": "c.py"})
    )
    (changes,) = validator.asked
    assert [(change.tool, change.path, change.call_id) for change in changes] == [
        ("edit", tmp_path / "a.py", "call_1"),
        ("write_file", tmp_path / "c.py", "call_3"),
    ]
    assert event.inject == []
    assert it.hits("mutation-validation") == []
    await it.boundary(("read_file", {"path": "b.py"}))
    assert len(validator.asked) == 1


async def test_failed_and_refused_calls_changed_nothing(tmp_path):
    validator = Validator()
    it = stage(tmp_path, validator)
    await it.boundary(("multi_edit", {"path": "a.py"}))
    it.hooks.on("tool:gate", lambda event: setattr(event, "block", "no"))
    await it.boundary(("edit", {"path": "a.py"}))
    assert validator.asked == []


async def test_files_that_code_wrote_count(tmp_path):
    validator = Validator()
    await stage(tmp_path, validator).boundary(("run_python", {"code": "…"}))
    assert [change.path for change in validator.asked[0]] == [tmp_path / "made.py"]


async def test_changed_cells_come_with_their_source(tmp_path):
    validator = Validator("bad")
    it = stage(tmp_path, validator, tools={"edit_cell"})
    event = await it.boundary(("edit_cell", {"cell_id": "ab12", "source": "x ="}))
    (change,) = validator.asked[0]
    assert (change.cell, change.source, change.path) == ("ab12", "x =", None)
    assert "- cell ab12: bad" in event.inject[0].text


async def test_the_model_is_told_of_failures(tmp_path):
    it = stage(tmp_path, Validator("line 3: invalid syntax"))
    event = await it.boundary(("edit", {"path": "a.py"}), ("edit", {"path": "b.py"}))
    (injection,) = event.inject
    assert injection.reason == "validation"
    assert f"- {tmp_path / 'a.py'}: line 3: invalid syntax" in injection.text
    assert str(tmp_path / "b.py") in injection.text
    assert it.hits("mutation-validation") == [f"{tmp_path / 'a.py'}: line 3: invalid syntax and 1 more"]


async def test_many_failures_are_counted_not_recited(tmp_path):
    it = stage(tmp_path, Validator("bad"))
    event = await it.boundary(*[("edit", {"path": f"{n}.py"}) for n in range(30)])
    assert event.inject[0].text.count("bad") == 20
    assert "- and 10 more" in event.inject[0].text


async def test_people_alone_can_be_told(tmp_path):
    it = stage(tmp_path, Validator("bad"), on_failure="notice")
    assert (await it.boundary(("edit", {"path": "a.py"}))).inject == []
    assert len(it.hits("mutation-validation")) == 1


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_host_can_do_as_it_likes(tmp_path, is_async):
    got = []

    def plain(failures, event):
        got.append((failures[0].text, event.finish))

    async def slow(failures, event):
        plain(failures, event)

    it = stage(tmp_path, Validator("bad"), on_failure=slow if is_async else plain)
    assert (await it.boundary(("edit", {"path": "a.py"}))).inject == []
    assert got == [("bad", "tool-calls")]


async def test_a_broken_validator_is_reported_and_forgets_what_it_was_asked(tmp_path):
    async def broken(changes):
        asked.append(changes)
        raise ValueError("oops")

    asked = []
    it = stage(tmp_path, broken)
    with pytest.raises(AssertionError, match="oops"):  # the stage wants no failed hooks
        await it.boundary(("edit", {"path": "a.py"}))
    await it.boundary(("read_file", {"path": "a.py"}))
    assert len(asked) == 1


async def test_changes_of_a_stopped_run_are_not_blamed_on_the_next(tmp_path):
    validator = Validator()
    it = stage(tmp_path, validator)
    result = ToolResultBlock("call_1", (TextBlock("done"),))
    await it.hooks.emit(ToolAfter(it.ids, "edit", {"path": "a.py"}, result, "ok", 0.0))  # and no boundary after it
    await it.end()
    await it.boundary(("read_file", {"path": "a.py"}))
    assert validator.asked == []


async def test_a_policy_that_does_not_exist_is_refused():
    with pytest.raises(ConfigurationError, match="'shout'"):
        MutationValidation(Validator(), on_failure="shout")

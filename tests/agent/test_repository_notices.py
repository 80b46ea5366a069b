"""A branch that was switched behind the model's back is told with the next result, once."""

from __future__ import annotations

import pytest

from tests.agent.support import simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.repository_notices import RepositoryMemory, RepositoryNotices
from zidane_lab.providers.scripted import ScriptedProvider, call

pytestmark = pytest.mark.asyncio


@pytest.fixture
def repository(tmp_path):
    (tmp_path / ".git").mkdir()

    def switch(branch):
        (tmp_path / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")

    switch("main")
    return switch


class Site:
    def __init__(self, folder, switch):
        self.folder, self.switch, self.memory, self.session = folder, switch, RepositoryMemory(), None

    async def run(self, *answers):
        async def look(_context):
            return "seen"

        async def change(_context):
            self.switch("by-the-agent")
            return "changed"

        tools = [simple_tool("look", look), simple_tool("change", change)]
        agent = Agent(ScriptedProvider(answers), tools=tools, cwd=self.folder, session=self.session)
        agent.hooks.use(RepositoryNotices(self.folder, self.memory))
        self.session = agent.session
        before = len(agent.session.turns)
        assert (await agent.run("go")).status == "completed"
        return [result.text for turn in agent.session.turns[before:] for result in turn.tool_results]


@pytest.fixture
def site(tmp_path, repository):
    return Site(tmp_path, repository)


async def test_nothing_is_told_without_a_change(site):
    assert await site.run([call("look")], [call("look"), call("look")], "ok") == ["seen"] * 3


async def test_a_change_between_two_runs_is_told_once(site):
    await site.run([call("look")], "ok")
    site.switch("feature")
    assert await site.run("nothing to do") == []
    first, second = await site.run([call("look"), call("look")], "ok")
    assert first.startswith("seen")
    assert "is on another branch since you last looked: branch feature (no commit yet), before branch main" in first
    assert second == "seen"


async def test_a_change_after_an_answer_without_calls_is_told_too(site):
    await site.run("hello")
    site.switch("feature")
    assert "branch feature" in (await site.run([call("look")], "ok"))[0]


async def test_what_the_model_changes_itself_is_not_told(site):
    assert await site.run([call("look")], [call("change")], [call("look")], "ok") == ["seen", "changed", "seen"]
    assert await site.run([call("look")], "ok") == ["seen"]


async def test_before_the_first_answer_there_is_nothing_to_be_out_of_date(site):
    site.switch("feature")
    assert await site.run([call("look")], "ok") == ["seen"]

"""The planner with everything real round it: agent, tools, gate and the executor of a live shell."""

from __future__ import annotations

import shutil

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib_inline.backend_inline import configure_inline_support

from tests.providers.offline.checking import unexplained, values_in
from tests.providers.offline.conftest import DATA
from tests.providers.offline.support import current, shell
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.hooks import HookBus
from zidane_lab.approvals.gate import Gate
from zidane_lab.approvals.names import known_names
from zidane_lab.chat.profiles import default_tools
from zidane_lab.events import ToolGate
from zidane_lab.kernel.live import LiveExecutor
from zidane_lab.providers.offline import OfflineProvider


@pytest.fixture
def ip(tmp_path, monkeypatch):
    """A shell with an empty namespace that draws inline, in a folder with the example table."""
    shutil.copy(DATA / "penguins.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    made = shell()
    made.user_ns.clear()
    made.init_user_ns()
    inline = "module://matplotlib_inline.backend_inline"
    with current(made), plt.ion():  # as `%matplotlib inline` sets it up in a kernel
        plt.switch_backend(inline)
        configure_inline_support(made, inline)
        yield made
        plt.close("all")
        configure_inline_support(made, "agg")
        plt.switch_backend("agg")


@pytest.mark.asyncio
async def test_two_prompts_run_unasked_from_file_to_report(ip, tmp_path):
    asked = []

    async def never(request):
        asked.append(request)

    hooks = HookBus()
    gate = Gate(
        never,
        tiers={tool.name: tool.tier for tool in default_tools()},
        protected=lambda: frozenset({"penguins"} & set(ip.user_ns)),
        known=lambda: known_names(ip.user_ns),
    )
    hooks.on(ToolGate, gate)
    agent = Agent(
        OfflineProvider(pace=0),
        tools=default_tools(),
        executor=LiveExecutor(ip),
        hooks=hooks,
        cwd=tmp_path,
    )
    explored = await agent.run("explore penguins.csv, target species")
    followed = await agent.run("missing values, and plot body mass by island")

    assert asked == []
    results = [result for turn in agent.session.turns for result in turn.tool_results]
    assert [result.text for result in results if result.is_error] == []
    assert isinstance(ip.user_ns["penguins"], pd.DataFrame)
    assert "`flipper_length_mm` 0.778" in explored.text
    assert "Above: `flipper_length_mm` by `species` (342 rows)" in explored.text
    assert "**Left out**" not in explored.text
    assert "`body_mass_g` by `island` (342 rows)" in followed.text
    values = values_in("\n".join(result.text for result in results))
    assert not unexplained(explored.text + followed.text, values)

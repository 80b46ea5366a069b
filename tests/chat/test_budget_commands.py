"""``/budget`` shows what is left and decides for the session."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import zidane_lab.chat.budget_commands  # noqa: F401 - registers the command
from zidane_lab.agent.budgets import Budgets, Spent
from zidane_lab.agent.ledger import BudgetLedger
from zidane_lab.chat.budget_commands import budget_table
from zidane_lab.chat.budgets import decided_limits
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.commands import CommandContext, run_command
from zidane_lab.chat.place import Place
from zidane_lab.errors import ConfigurationError
from zidane_lab.turns import TextBlock, Turn, Usage

pytestmark = pytest.mark.asyncio


@pytest.fixture
def chat(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chat = Chat(Place(tmp_path / "work.ipynb", tmp_path, "told"), env={"ZIDANE_HOME": str(tmp_path / "home")})
    yield chat
    if chat._session is not None:
        chat._session.close()


async def budget(chat, arguments: str = "") -> str:
    return (await run_command(f"/budget {arguments}", CommandContext(chat))).text


def say(chat, cost: float) -> None:
    chat.session.append(Turn("user", (TextBlock("q"),)))
    chat.session.append(Turn("assistant", (TextBlock("a"),), usage=Usage(input=900, output=100, cost=cost)))


async def test_limits_and_spending_are_shown_for_run_session_and_notebook(chat):
    text = await budget(chat)
    assert "| run, turns | 100 turns | 0 turns | 100 turns |" in text
    assert "| session | none | 0 tokens |  |" in text
    say(chat, 0.75)
    chat.new()  # the notebook remembers
    say(chat, 0.25)
    text = await budget(chat)
    assert "| session | none | 1,000 tokens, $0.25 |  |" in text
    assert "| notebook | none | 2,000 tokens, $1.00 |  |" in text


async def test_a_limit_of_the_session_is_set_and_lifted(chat):
    say(chat, 0.5)
    text = await budget(chat, "session cost $2.50")
    assert "may use $2.50 in all" in text
    assert "| session, cost | $2.50 | $0.50 | $2.00 |" in text
    assert decided_limits(chat.session) == {("cost", "session"): 2.5}
    await budget(chat, "session tokens 200k")
    await budget(chat, "session time 1h30m")
    assert "no limit on cost" in await budget(chat, "session cost none")
    assert decided_limits(chat.session) == {
        ("cost", "session"): None,
        ("tokens", "session"): 200_000,
        ("time", "session"): 5400,
    }


async def test_a_limit_below_what_is_spent_says_so(chat):
    say(chat, 0.5)
    assert "spent already" in await budget(chat, "session cost 0.5")
    assert "spent already" not in await budget(chat, "session cost 0.51")


async def test_a_running_agent_s_ledger_is_what_is_shown(chat):
    ledger = BudgetLedger(Budgets.of(cost=1.0), session=Spent(usage=Usage(cost=3.0)))
    ledger.add(Usage(input=10, cost=0.25), turns=1)
    chat.agent = SimpleNamespace(ledger=ledger)
    text = await budget(chat)
    assert "| run, cost | $1.00 | $0.25 | $0.75 |" in text
    assert "| session | none | 10 tokens, $3.25 |  |" in text
    assert "keeps the limits it began with" in await budget(chat, "session cost 9")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("session", "cannot be read"),
        ("session cost", "cannot be read"),
        ("session love 3", "`tokens`, `turns` or `time`"),
        ("session cost 3 4", "cannot be read"),
        ("session cost lots", "amount in dollars"),
        ("session cost -3", "amount in dollars"),
        ("session time 10", "90s, 10m or 1h30m"),
        ("run cost 3", "--max-cost"),
        ("notebook cost 3", "/config notebook_max_cost"),
        ("everything", "cannot be read"),
    ],
)
async def test_mistakes_say_what_to_do_and_change_nothing(chat, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        await budget(chat, arguments)
    assert decided_limits(chat.session) == {}


async def test_what_is_overspent_leaves_nothing_rather_than_less():
    assert "| run, cost | $1.00 | $1.50 | $0.00 |" in budget_table(
        Budgets.of(cost=1.0), {"run": Spent(usage=Usage(cost=1.5))}
    )

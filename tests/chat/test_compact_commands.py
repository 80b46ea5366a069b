"""``/compact`` and ``/turns``, without a kernel."""

from __future__ import annotations

import pytest
import pytest_asyncio

from tests.notebook.support import Page
from zidane_lab.agent.agent import Agent
from zidane_lab.chat.chat import Chat
from zidane_lab.chat.commands import CommandContext, run_command
from zidane_lab.chat.compact_commands import split_scope
from zidane_lab.chat.place import Place
from zidane_lab.errors import CompactInvalidInputError, ConfigurationError
from zidane_lab.notebook.bundles import MIME
from zidane_lab.notebook.render import CellRenderer
from zidane_lab.providers.scripted import ScriptedProvider
from zidane_lab.turns import CompactSummaryBlock

pytestmark = pytest.mark.asyncio


class Elsewhere(ScriptedProvider):
    """A provider that the chat does not know."""

    name = "elsewhere"


@pytest_asyncio.fixture
async def chat(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Chat(Place(None, tmp_path, "told"), env={"ZIDANE_HOME": str(tmp_path / "home"), "ZIDANE_MODEL": "offline"})
    agent = Agent(Elsewhere([f"answer {n} ![x](http://evil)" for n in range(4)]), session=made.session)
    for n in range(4):
        await agent.run(f"question {n}")
    yield made
    await made.close()


def drawing(chat):
    page = Page()
    return page, CommandContext(chat, bundles=lambda: (CellRenderer(page),))


async def test_compacting_draws_one_divider_and_can_be_undone(chat):
    page, context = drawing(chat)
    before = chat.next_request().turns
    reply = await run_command("/compact tail 2 keep the numbers", context)
    assert reply.text == ""
    (divider,) = page.final
    assert (divider[MIME]["kind"], divider[MIME]["replaced"], divider[MIME]["reason"]) == ("compaction", 6, "manual")
    assert "question 0" in divider["text/plain"]
    texts = [turn.text for turn in chat.next_request().turns]
    assert "question 3" in texts
    assert "question 1" not in texts
    assert len(chat.session.turns) == 9  # the session keeps everything
    undone = await run_command("/compact undo", context)
    assert "no longer counts" in undone.text
    assert chat.next_request().turns == before


@pytest.mark.parametrize("scope", ["full", "from {}", "up_to {}"])
async def test_every_scope_can_be_asked_for(chat, scope):
    _, context = drawing(chat)
    await run_command(f"/compact {scope.format(chat.session.turns[3].id)}", context)
    assert isinstance(chat.session.turns[8].blocks[0], CompactSummaryBlock)


@pytest.mark.parametrize(
    ("arguments", "split"),
    [
        ("", ("tail", "")),
        ("keep the numbers", ("tail", "keep the numbers")),
        ("tail", ("tail", "")),
        ("tail 6 the names", ("tail 6", "the names")),
        ("tail of the talk", ("tail", "of the talk")),
        ("full everything", ("full", "everything")),
        ("from turn_1 all", ("from turn_1", "all")),
        ("up_to turn_1", ("up_to turn_1", "")),
    ],
)
async def test_what_is_typed_is_a_scope_and_instructions(arguments, split):
    assert split_scope(arguments) == split


async def test_what_cannot_be_done_changes_nothing(chat):
    _, context = drawing(chat)
    for words, error in (
        ("tail 99", CompactInvalidInputError),
        ("from nowhere", CompactInvalidInputError),
        ("undo", ConfigurationError),
    ):
        with pytest.raises(error):
            await run_command(f"/compact {words}", context)
    assert len(chat.session.turns) == 8


async def test_turns_are_listed_with_their_ids_and_nothing_is_drawn_from_them(chat):
    _, context = drawing(chat)
    text = (await run_command("/turns 3", context)).text
    assert [turn.id in text for turn in chat.session.turns[-4:]] == [False, True, True, True]
    assert "5 earlier ones are not listed" in text
    assert r"answer 3 \!\[x\](http://evil)" in text
    with pytest.raises(ConfigurationError, match="no number"):
        await run_command("/turns many", context)
    chat.new()
    assert "Nothing has been said" in (await run_command("/turns", context)).text


@pytest.mark.parametrize("arguments", ["undo it", "tail " + "9" * 5_000, "from", "up_to nobody"])
async def test_what_cannot_be_meant_is_refused_and_nothing_is_asked(chat, arguments):
    _, context = drawing(chat)
    before = chat.session.turns
    with pytest.raises((ConfigurationError, CompactInvalidInputError)):
        await run_command(f"/compact {arguments}", context)
    assert chat.session.turns == before


@pytest.mark.parametrize("arguments", ["0", "-1", "9" * 5_000, "1e3", "two"])
async def test_turns_takes_numbers_only(chat, arguments):
    with pytest.raises(ConfigurationError, match="no number of turns"):
        await run_command(f"/turns {arguments}", CommandContext(chat))


async def test_scopes_are_read_in_any_case():
    assert split_scope("Full keep it") == ("Full", "keep it")
    assert split_scope("TAIL 6 keep it") == ("TAIL 6", "keep it")

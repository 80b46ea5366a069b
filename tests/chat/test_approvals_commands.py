from __future__ import annotations

import importlib

import pytest

from zidane_lab.chat.chat import Chat
from zidane_lab.chat.commands import COMMANDS, CommandContext, run_command
from zidane_lab.chat.place import Place
from zidane_lab.chat.safelist_store import safelist_for
from zidane_lab.errors import ConfigurationError


@pytest.fixture(autouse=True)
def command():
    """Register the command for these tests alone, whether or not the others have it."""
    had = dict(COMMANDS)
    module = importlib.import_module("zidane_lab.chat.approvals_commands")
    COMMANDS["approvals"] = module._approvals
    yield
    if "approvals" not in had:
        del COMMANDS["approvals"]


@pytest.fixture
def chat(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return Chat(Place(None, folder, "test"), env={"ZIDANE_HOME": str(tmp_path / "home")})


async def say(chat, text):
    return (await run_command(f"/approvals {text}".strip(), CommandContext(chat))).text


@pytest.mark.asyncio
async def test_the_list_tells_what_is_covered_and_where(chat):
    assert "Nothing is remembered" in await say(chat, "")
    safelist_for(chat.place.folder, chat.env).remember(["shell:git:*"])
    chat.grants.allow(["shell:make:*"])
    await say(chat, "deny shell:rm:*")
    text = await say(chat, "")
    assert "| 1 | `shell:git:*` | every `git …` command, `git push` too | always here |" in text
    assert "| 2 | `shell:make:*` | every `make …` command, whatever it runs | this session |" in text
    assert "| 3 | `shell:rm:*` | every `rm …` command | refused here |" in text
    assert "Mode `auto`" in text


@pytest.mark.asyncio
async def test_entries_are_taken_back_by_number_and_by_name(chat):
    await say(chat, "allow shell:git:*")
    chat.grants.allow(["shell:make:*", "shell:git:*"])
    assert "Taken back: `shell:git:*`" in await say(chat, "revoke 1")
    assert chat.grants.entries == ["shell:make:*"]
    assert safelist_for(chat.place.folder, chat.env).allowed() == ()
    await say(chat, "revoke `shell:make:*`")
    assert chat.grants.entries == []


@pytest.mark.asyncio
async def test_all_is_taken_back_at_once_but_not_what_is_refused(chat):
    await say(chat, "allow edit")
    await say(chat, "deny shell:rm:*")
    chat.grants.allow(["shell:make:*"])
    chat.grants.bypass = True
    assert "Everything runs unasked" in await say(chat, "")
    await say(chat, "revoke all")
    safelist = safelist_for(chat.place.folder, chat.env)
    assert (safelist.allowed(), chat.grants.entries, chat.grants.bypass) == ((), [], False)
    assert safelist.denied() == ("shell:rm:*",)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "text", ["revoke", "revoke 9", "revoke 0", "revoke shell:x:*", "allow shell:x", "nonsense x", "x"]
)
async def test_what_makes_no_sense_says_how_to_write_it(chat, text):
    with pytest.raises(ConfigurationError):
        await say(chat, text)


@pytest.mark.asyncio
async def test_a_damaged_file_is_told(chat):
    safelist = safelist_for(chat.place.folder, chat.env)
    safelist.file.parent.mkdir()
    safelist.file.write_text("{")
    safelist.file.chmod(0o600)
    assert "cannot be read" in await say(chat, "")

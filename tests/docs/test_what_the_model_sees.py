"""Pages that quote the code say what the code says. ``python docs/regenerate.py`` brings them up to date."""

from __future__ import annotations

import json
import re

import pytest

from tests.docs.pages import DOCS, pages, regenerate

PAGE = (DOCS / "what-the-model-sees.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    return regenerate()


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(DOCS)))
def test_a_page_agrees_with_the_code(script, path):
    page = path.read_text(encoding="utf-8")
    assert page == script.render(page), "run: python docs/regenerate.py"


def test_every_part_the_script_can_write_is_shown_somewhere(script):
    shown = {name for path in pages() for name in script.names_in(path.read_text(encoding="utf-8"))}
    assert shown == set(script.PARTS)


def test_no_part_is_left_open(script):
    for path in pages():
        page = path.read_text(encoding="utf-8")
        assert page.count("<!-- exact: ") == page.count("<!-- /exact -->") == len(script.names_in(page)), path


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("zidane_lab.chat.prompt", "SYSTEM"),
        ("zidane_lab.chat.prompt", "PLAN"),
        ("zidane_lab.wire.markers", "INTERRUPTED"),
        ("zidane_lab.wire.pairing", "MISSING_RESULT"),
        ("zidane_lab.wire.cutoff", "SUMMARY_HEAD"),
        ("zidane_lab.compaction.prompts", "_SCAFFOLD"),
        ("zidane_lab.compaction.prompts", "_UPDATE"),
        ("zidane_lab.compaction.summarize", "SUMMARY_SYSTEM"),
        ("zidane_lab.compaction.useless", "SUPERSEDED_NOTICE"),
        ("zidane_lab.agent.resume", "CONTINUE_LENGTH"),
    ],
)
def test_a_changed_text_is_noticed(script, monkeypatch, module, name):
    monkeypatch.setattr(f"{module}.{name}", "Something else.")
    shown = {each for each in script.names_in(PAGE) if script.PARTS[each]() not in PAGE}
    assert shown


def test_a_changed_tool_is_noticed(script, monkeypatch):
    from zidane_lab.chat import toolbox

    monkeypatch.setattr(toolbox, "read_tools", lambda *_: ())
    assert script.render(PAGE) != PAGE


def test_what_is_shown_is_what_a_request_holds(script):
    """The page against the bytes, without the script in between."""
    from zidane_lab.chat.profiles import PROFILES
    from zidane_lab.chat.toolbox import Toolbox
    from zidane_lab.contexts.tasks import TaskRegistry
    from zidane_lab.providers.anthropic_request import build_request
    from zidane_lab.providers.base import Request
    from zidane_lab.turns import TextBlock, Turn

    for profile in PROFILES.values():
        tools = tuple(tool.spec for tool in profile.tools(Toolbox(TaskRegistry())))
        body = build_request(
            Request("claude-x", profile.system(), (Turn("user", (TextBlock("hi"),)),), tools), producer="anthropic"
        )
        for paragraph in body["system"][0]["text"].split("\n\n"):
            assert paragraph.strip() in PAGE
        for tool in body["tools"]:
            shown = PAGE.split(f"### {tool['name']}\n")[1].split("\n### ")[0]
            assert tool["description"] in shown
            assert json.loads(shown.split("```json\n")[1].split("\n```")[0]) == tool["input_schema"]
        sent = re.sub(r"\s", "", str(body["messages"]))
        assert sent.count("'text':'hi'") == 1, "a prompt is sent with nothing added"


@pytest.mark.asyncio
async def test_a_notebooks_request_holds_nothing_that_is_not_shown(tmp_path, monkeypatch):
    """A prompt as a notebook asks it: the system prompt is the page's and the environment, facts by the same names."""
    from zidane_lab.chat.chat import AskOptions, Chat
    from zidane_lab.chat.place import Place
    from zidane_lab.chat.profiles import PROFILES

    monkeypatch.chdir(tmp_path)
    (tmp_path / "hi.json").write_text('["Hello.", "Again."]', encoding="utf-8")
    chat = Chat(Place(tmp_path / "book.ipynb", tmp_path, ""), env={"ZIDANE_HOME": str(tmp_path / "home")})

    async def nobody(_question):
        return None

    try:
        for prompt in ("hi", "and now?"):
            await chat.ask(prompt, AskOptions(model="scripted/hi.json"), executor=None, ask=nobody)
        first, second = chat._providers.target("scripted/hi.json").provider.requests
    finally:
        await chat.close()
    own, rest = first.system[: first.system_boundary], first.system[first.system_boundary :]
    assert own == PROFILES["build"].system().strip("\n")
    shown = re.search(r"<!-- exact: environment -->\n```text\n(.*?)\n```", PAGE, re.DOTALL)[1]
    assert re.sub(r": .*", "", rest.strip()) == re.sub(r": .*", "", shown)
    assert [turn.text for turn in first.turns] == ["hi"]
    assert (second.system, second.turns[: len(first.turns)]) == (first.system, first.turns)
    assert [turn.text for turn in second.turns] == ["hi", "Hello.", "and now?"]


def test_the_limits_named_in_prose_are_the_limits():
    from zidane_lab.chat.references import BUDGET, MOST_REFERENCES
    from zidane_lab.tools.images import LONG_SIDE
    from zidane_lab.tools.truncate import HEAD_SHARE, MAX_BYTES, MAX_LINES

    for words in (
        f"{MAX_BYTES:,} bytes and {MAX_LINES:,} lines",
        f"(about {HEAD_SHARE:.0%}) and the end (about {1 - HEAD_SHARE:.0%})".replace("%", " %"),
        f"at most {LONG_SIDE:,} pixels",
        f"share {BUDGET:,} characters, at most {MOST_REFERENCES} things",
    ):
        assert words in re.sub(r"\s+", " ", PAGE), words


@pytest.mark.parametrize("profile", ["build", "plan"])
def test_the_system_prompt_never_changes_between_requests(profile):
    from zidane_lab.chat.prompt import system_prompt

    assert system_prompt(profile) == system_prompt(profile)
    assert not re.search(r"\d{4}-\d{2}|\d{2}:\d{2}", system_prompt(profile))

"""The guard's doors, one by one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.agent.support import Recorder, simple_tool
from zidane_lab.agent.agent import Agent
from zidane_lab.agent.hooks import HookBus
from zidane_lab.agent.secret_guard import SecretGuard, secret_guard
from zidane_lab.approvals.gate import STATE
from zidane_lab.errors import AbortedError, ToolError
from zidane_lab.events import ContextTransform, Ids, Injection, SystemTransform, ToolGate, ToolProgress, TurnBoundary
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.secrets.vault import PLACEHOLDER
from zidane_lab.session.reader import read_session
from zidane_lab.session.session import Session
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn

KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
PASSWORD = 'it\'s a "p4ss" phrase'


@pytest.fixture
def guard():
    return secret_guard(Session.memory(), None, environ={}, values=[PASSWORD])


def agent_with(guard, answers, tools, *, session=None, gate=None, **options):
    hooks = HookBus()
    if gate is not None:
        hooks.on(ToolGate, gate)
    hooks.use(guard)
    session = session if session is not None else Session.memory()
    guard.attach(session)
    provider = ScriptedProvider(answers)
    return Agent(provider, tools=guard.tools(tools), session=session, hooks=hooks, **options)


def placeholder(guard, value=KEY):
    return guard.screen.vault.add(value)


def test_what_a_person_says_is_masked(guard):
    picture = ImageBlock("image/png", KEY.encode())
    assert KEY not in guard.prompt(f"use {KEY}")
    text, same = guard.prompt((TextBlock(f"use {KEY}"), picture))
    assert KEY not in text.text
    assert same is picture
    assert guard.prompt("nothing here") == "nothing here"


@pytest.mark.asyncio
async def test_a_tool_gets_the_value_and_nobody_else_does(guard):
    got = []

    async def send(_context, text="", where=()):
        got.append((text, where))
        return f"sent {text}"

    agent = agent_with(
        guard,
        [
            lambda request: call(
                "send", text=PLACEHOLDER.search(request.turns[0].text)[0], where=[{"a": placeholder(guard)}]
            ),
            "Done.",
        ],
        [simple_tool("send", send)],
    )
    seen = Recorder(agent.hooks)
    await agent.run(guard.prompt(f"send {KEY}"))
    assert got == [(KEY, [{"a": KEY}])]
    assert KEY not in repr(seen.events)
    assert KEY not in repr(agent.session.turns)
    assert KEY not in repr(agent.provider.requests)
    assert agent.session.turns[2].tool_results[0].text == f"sent {placeholder(guard)}"


@pytest.mark.asyncio
async def test_a_call_that_is_refused_gets_nothing(guard):
    async def send(_context, text=""):
        raise AssertionError(text)

    def refuse(event):
        assert KEY not in repr(event.input)
        event.block = f"no: {event.input['text']}"

    agent = agent_with(
        guard, [call("send", text=placeholder(guard)), "Done."], [simple_tool("send", send)], gate=refuse
    )
    await agent.run("go")
    assert agent.session.turns[2].tool_results[0].text == f"Blocked: no: {placeholder(guard)}"


@pytest.mark.asyncio
async def test_a_value_that_is_not_known_any_more_is_said_to_be_so(guard):
    async def send(_context, text=""):
        raise AssertionError(text)

    agent = agent_with(
        guard, [call("send", text="x [secret:openai-key:0123456789]"), "Done."], [simple_tool("send", send)]
    )
    await agent.run("go")
    result = agent.session.turns[2].tool_results[0]
    assert result.is_error
    assert "[secret:openai-key:0123456789] stands for is not known in this kernel" in result.text


@pytest.mark.parametrize(
    ("name", "written", "expected"),
    [
        ("code", "x = '{}'", "x = 'it\\'s a \\\"p4ss\\\" phrase'"),
        ("command", "echo '{}'", "echo 'it'\"'\"'s a \"p4ss\" phrase'"),
        ("content", "{}\n", f"{PASSWORD}\n"),
        ("intent", "say {}", None),
    ],
)
def test_a_value_is_written_as_its_place_wants_it(guard, name, written, expected):
    text = written.replace("{}", placeholder(guard, PASSWORD))
    assert guard.restored("any", {name: text, "n": 1}) == {name: text if expected is None else expected, "n": 1}


@pytest.mark.parametrize("arguments", [{"code": "!curl {}"}, {"command": "cat <<X\n{}\nX"}])
def test_a_value_that_could_become_code_is_not_put_in(guard, arguments):
    given = {name: text.replace("{}", placeholder(guard, PASSWORD)) for name, text in arguments.items()}
    with pytest.raises(ToolError, match="cannot be put into"):
        guard.restored("any", given)


@pytest.mark.parametrize("tool", ["ask_user", "present_plan", "web_search"])
def test_what_people_or_strangers_read_stays_masked(guard, tool):
    arguments = {"question": f"Is {placeholder(guard)} yours?"}
    assert guard.restored(tool, arguments) is arguments


def test_arguments_without_placeholders_stay_the_very_same(guard):
    arguments = {"a": [1, {"b": "c"}]}
    assert guard.restored("any", arguments) is arguments


@pytest.mark.asyncio
@pytest.mark.parametrize("error", [ValueError(f"bad {KEY}"), ToolError(f"bad {KEY}.", hint="Stop."), KeyError(KEY)])
async def test_what_a_tool_raises_is_masked(guard, error):
    async def fail(_context):
        raise error

    agent = agent_with(guard, [call("fail"), "Done."], [simple_tool("fail", fail)])
    seen = Recorder(agent.hooks)
    await agent.run("go")
    result = agent.session.turns[2].tool_results[0]
    assert result.is_error
    assert "[secret:github-token:" in result.text
    assert type(error).__name__ in result.text or isinstance(error, ToolError)
    assert KEY not in repr(seen.events)


@pytest.mark.asyncio
async def test_an_error_without_a_credential_is_the_same_error_and_a_stop_stops(guard):
    mistake = ValueError("bad value")
    for error in (mistake, AbortedError("Stopped.")):

        async def fail(_context, error=error):
            raise error

        with pytest.raises(type(error)) as caught:
            await guard.tool(simple_tool("fail", fail)).run(None or _context(), {})
        assert caught.value is error


def _context():
    from zidane_lab.tools.base import ToolContext

    return ToolContext()


@pytest.mark.asyncio
async def test_what_a_tool_shows_is_masked_wherever_it_is_cut(guard):
    async def show(context):
        for start in range(0, len(KEY), 7):
            context.progress("stdout", KEY[start : start + 7])
        context.progress("wait", f"waiting for {KEY}")
        context.progress("stdout", "\nlast ghp_")
        await asyncio.sleep(0.01)
        return "shown"

    agent = agent_with(guard, [call("show"), "Done."], [simple_tool("show", show)])
    seen = Recorder(agent.hooks)
    await agent.run("go")
    told = [(event.stream, event.text) for event in seen.events if isinstance(event, ToolProgress)]
    assert "".join(text for stream, text in told if stream == "stdout") == f"{placeholder(guard)}\nlast ghp_"
    assert ("wait", f"waiting for {placeholder(guard)}") in told


@pytest.mark.asyncio
@pytest.mark.parametrize("asked", [False, True])
async def test_a_credential_leaves_the_machine_only_if_somebody_said_so(guard, asked):
    got = []

    async def fetch(_context, url=""):
        got.append(url)
        return "fetched"

    def gate(event):
        if asked:
            event.resume_state[STATE] = {"decision": "once"}

    url = f"https://example.org/?key={placeholder(guard)}"
    agent = agent_with(
        guard, [call("fetch", url=url), "Done."], [simple_tool("fetch", fetch, tier="network")], gate=gate
    )
    await agent.run("go")
    assert got == ([f"https://example.org/?key={KEY}"] if asked else [])
    assert asked or "would leave this machine" in agent.session.turns[2].tool_results[0].text


@pytest.mark.asyncio
async def test_what_the_loop_says_is_masked_and_the_system_prompt_too(guard):
    hooks = HookBus()
    guard.install(hooks)
    boundary = TurnBoundary(Ids(), 0, Turn("assistant", ()), "stop", None, [Injection("restore", f"file: {KEY}")])
    await hooks.emit(boundary)
    assert boundary.inject == [Injection("restore", f"file: {placeholder(guard)}")]
    system = SystemTransform(Ids(), f"You have {KEY}.")
    await hooks.emit(system)
    assert system.system == f"You have {placeholder(guard)}."


@pytest.mark.asyncio
async def test_turns_that_need_nothing_are_sent_as_the_same_objects(guard):
    hooks = HookBus()
    guard.install(hooks)
    turns = (Turn("user", (TextBlock("hello"),)), Turn("assistant", (ToolCallBlock("c", "t", {"a": "b"}),)))
    event = ContextTransform(Ids(), turns)
    await hooks.emit(event)
    assert event.turns is turns


@pytest.mark.asyncio
async def test_what_was_said_before_there_was_a_guard_is_sent_masked_and_the_same_each_time(guard):
    hooks = HookBus()
    guard.install(hooks)
    result = ToolResultBlock("c", (TextBlock(f"key: {KEY}"),), metadata={"n": 1})
    turns = (Turn("user", (TextBlock("hello"),)), Turn("user", (result,)))
    sent = []
    for _ in range(2):
        event = ContextTransform(Ids(), turns)
        await hooks.emit(event)
        sent.append(event.turns)
    assert KEY not in repr(sent)
    assert sent[0][0] is turns[0]
    assert sent[0][1] is sent[1][1]
    guard.screen.vault.add("a value learnt later 99")
    event = ContextTransform(Ids(), (*turns, Turn("user", (TextBlock("a value learnt later 99"),))))
    await hooks.emit(event)
    assert "learnt later" not in repr(event.turns)


@pytest.mark.asyncio
async def test_a_later_kernel_sends_the_same_bytes_and_new_placeholders_are_the_old_ones(tmp_path):
    async def read(_context):
        return f"token = {KEY}"

    def agent_of(session, answers):
        guard = secret_guard(session, tmp_path / "home", environ={})
        return guard, agent_with(guard, answers, [simple_tool("read", read)], session=session, system=f"Use {KEY}.")

    first = Session.create(tmp_path / "sessions")
    guard, agent = agent_of(first, [call("read"), "Done."])
    await agent.run(guard.prompt(f"my key is {KEY}"))
    path, sent = first.path, agent.provider.requests[-1]
    first.close()

    second = Session.open(path)
    guard, agent = agent_of(second, [call("read"), "Done."])
    await agent.run("again")
    again = agent.provider.requests[0]
    assert again.system == sent.system
    assert [turn.blocks for turn in again.turns[: len(sent.turns)]] == [turn.blocks for turn in sent.turns]
    results = [result.text for turn in second.turns for result in turn.tool_results]
    assert results[0] == results[1] != f"token = {KEY}"
    second.close()


def test_a_session_keeps_no_credential_whatever_it_is_given(tmp_path, guard):
    session = Session.create(tmp_path / "sessions")
    guard.attach(session)
    session.start_run(f"ask {KEY}", run_id="run_1")
    turn = session.append(Turn("user", (TextBlock(f"a {KEY}"),)))
    session.append(Turn("assistant", (ToolCallBlock("c1", "t", {"x": KEY}),)))
    result = ToolResultBlock("c1", (TextBlock(KEY),), metadata={"evidence": {"out": [KEY, 1]}})
    session.append(Turn("user", (result,)))
    session.record("something", {"text": KEY})
    session.set_title(f"about {KEY}")
    path = session.save_output("tool", f"long {KEY}\n" * 3)
    session.end_run("run_1", "error", error=f"refused {KEY}")
    session.close()
    assert KEY not in repr(turn)
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert path in files
    assert all(KEY.encode() not in each.read_bytes() for each in files)
    assert session.turns[0] == replace(turn)
    assert read_session is not None
    with Session.open(session.path) as again:
        assert [each.blocks for each in again.turns] == [each.blocks for each in session.turns]


@pytest.mark.asyncio
async def test_without_a_guard_everything_passes(tmp_path):
    async def echo(_context, text=""):
        return text

    agent = Agent(ScriptedProvider([call("echo", text=KEY), "Done."]), tools=[simple_tool("echo", echo)])
    await agent.run(f"use {KEY}")
    assert agent.session.turns[2].tool_results[0].text == KEY


def test_a_guard_is_small_talk_about_nothing(guard):
    assert KEY not in repr(guard)
    assert isinstance(guard, SecretGuard)


def test_an_exception_says_nothing_whatever_it_is_made_of(guard):
    def opened():
        with open(f"/nowhere/{KEY}"):
            raise AssertionError

    def behind():
        try:
            {}[KEY]
        except KeyError as error:
            error.add_note(f"with {KEY}")
            raise ToolError(f"bad {KEY}", hint=KEY) from error

    def decoded():
        import json

        json.loads(f'{{"{KEY}')

    for fail in (opened, behind, decoded):
        with pytest.raises(Exception) as caught:
            fail()
        guard.screen.error(caught.value)
        error, said = caught.value, []
        while error is not None:
            said.append(repr((str(error), error, vars(error), getattr(error, "filename", ""))))
            error = error.__cause__
        assert KEY not in repr(said)
        assert "[secret:github-token:" in repr(said)

"""The message loop against a kernel that is only a script of messages: what a real one rarely does."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from zidane_lab.errors import KernelLostError
from zidane_lab.kernel import connection as module
from zidane_lab.kernel.connection import Connection


class Channel:
    def __init__(self):
        self.messages = asyncio.Queue()
        self.sent = []

    async def get_msg(self, timeout=None):
        message = await self.messages.get()
        if isinstance(message, Exception):
            raise message
        return message

    def send(self, message):
        self.sent.append(message)


class Client:
    """Answers each execute request with the next of ``answers``: lists of (channel, type, content)."""

    def __init__(self, *answers):
        self.shell_channel, self.iopub_channel, self.control_channel = Channel(), Channel(), Channel()
        self.session = self
        self.answers = iter(answers)
        self.requests = []
        self.kernel_session = "first"
        self._ids = map(str, itertools.count())
        self.stopped = False

    def msg(self, kind, content):
        return {"header": {"msg_id": next(self._ids), "msg_type": kind}, "content": content}

    def execute(self, code, **options):
        self.requests.append((code, options))
        message_id = next(self._ids)
        for channel, kind, content in next(self.answers):
            self.say(channel, kind, content, message_id)
        return message_id

    def say(self, channel, kind, content, parent=""):
        header = {"msg_type": kind, "session": self.kernel_session}
        message = {"header": header, "parent_header": {"msg_id": parent}, "content": content}
        getattr(self, f"{channel}_channel").messages.put_nowait(message)

    def stop_channels(self):
        self.stopped = True


BUSY = ("iopub", "status", {"execution_state": "busy"})
IDLE = ("iopub", "status", {"execution_state": "idle"})
OK = ("shell", "execute_reply", {"status": "ok"})


def printed(text):
    return "iopub", "stream", {"name": "stdout", "text": text}


class Life:
    cause = None

    async def __call__(self):
        return self.cause


async def nothing():
    return None


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(module, "WATCH_SECONDS", 0.02)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(module, "SILENCE_SECONDS", 0.2)


async def opened(client, life=None):
    connection = Connection(client, cause_of_death=life or Life(), interrupt=nothing)
    opening = asyncio.ensure_future(connection.open(5))
    while not client.control_channel.sent:
        await asyncio.sleep(0)
    asked = client.control_channel.sent[0]["header"]["msg_id"]
    client.say("control", "kernel_info_reply", {"language_info": {"name": "python"}}, asked)
    client.say("iopub", "status", {"execution_state": "idle"}, asked)
    assert (await opening)["language_info"]["name"] == "python"
    return connection


async def heard_by(connection, code="x"):
    heard = []
    reply, complete = await asyncio.wait_for(connection.execute(code, listener=lambda *m: heard.append(m)), 5)
    return [content["text"] for kind, content in heard if kind == "stream"], reply, complete


@pytest.mark.asyncio
async def test_outputs_after_the_reply_are_waited_for_and_those_of_others_are_not_ours():
    client = Client([BUSY, OK])
    connection = await opened(client)
    asking = asyncio.ensure_future(heard_by(connection))
    await asyncio.sleep(0.05)
    (mine,) = connection._requests
    client.say("iopub", "stream", {"name": "stdout", "text": "theirs"}, "somebody else's")
    client.say(*printed("late"), mine)
    client.say(*IDLE, "somebody else's")
    await asyncio.sleep(0.05)
    assert not asking.done()
    client.say(*IDLE, mine)
    assert await asking == (["late"], {"status": "ok"}, True)
    await connection.close()
    assert client.stopped


@pytest.mark.asyncio
async def test_an_idle_that_never_comes_ends_the_wait_after_a_silence_and_is_told(impatient):
    connection = await opened(Client([BUSY, printed("a"), OK]))
    assert await heard_by(connection) == (["a"], {"status": "ok"}, False)
    await connection.close()


@pytest.mark.asyncio
async def test_no_silence_is_too_long_while_the_code_runs(impatient):
    client = Client([BUSY])
    connection = await opened(client)
    asking = asyncio.ensure_future(heard_by(connection))
    await asyncio.sleep(0.6)
    assert not asking.done()
    (mine,) = connection._requests
    client.say(*OK, mine)
    client.say(*IDLE, mine)
    assert (await asking)[2] is True
    await connection.close()


@pytest.mark.asyncio
async def test_a_request_skipped_by_anothers_error_is_sent_again_and_never_skips_others():
    client = Client([BUSY, ("shell", "execute_reply", {"status": "aborted"}), IDLE], [BUSY, printed("ran"), OK, IDLE])
    connection = await opened(client)
    assert await heard_by(connection, "code") == (["ran"], {"status": "ok"}, True)
    assert [code for code, _ in client.requests] == ["code", "code"]
    assert all(options["stop_on_error"] is False and options["allow_stdin"] is False for _, options in client.requests)
    await connection.close()


@pytest.mark.asyncio
async def test_messages_with_a_foreign_signature_are_ignored():
    client = Client([BUSY, OK, IDLE])
    connection = await opened(client)
    client.iopub_channel.messages.put_nowait(ValueError("Invalid Signature"))
    assert (await heard_by(connection))[2] is True
    await connection.close()


@pytest.mark.parametrize("answer", [[], [BUSY], [BUSY, OK]], ids=["unanswered", "running", "printing"])
@pytest.mark.asyncio
async def test_every_waiting_request_fails_when_the_kernel_dies(answer):
    life = Life()
    connection = await opened(Client(answer, answer), life)
    waiting = [asyncio.ensure_future(heard_by(connection)) for _ in range(2)]
    await asyncio.sleep(0.05)
    life.cause = "it was killed"
    for each in waiting:
        with pytest.raises(KernelLostError, match="it was killed"):
            await each
    with pytest.raises(KernelLostError):
        await connection.execute("more")
    await connection.close()


@pytest.mark.asyncio
async def test_messages_that_cannot_be_handled_end_the_wait_instead_of_hanging():
    client = Client([BUSY])
    connection = await opened(client)
    asking = asyncio.ensure_future(heard_by(connection))
    await asyncio.sleep(0.05)
    client.iopub_channel.messages.put_nowait({"no": "header"})
    with pytest.raises(KernelLostError, match="KeyError"):
        await asking
    await connection.close()


@pytest.mark.asyncio
async def test_another_kernel_in_the_same_place_means_that_ours_is_gone():
    client = Client([BUSY])
    connection = await opened(client)
    asking = asyncio.ensure_future(heard_by(connection))
    await asyncio.sleep(0.05)
    client.kernel_session = "second"
    client.say("iopub", "stream", {"name": "stdout", "text": "of a subprocess with a session of its own"})
    await asyncio.sleep(0.05)
    assert connection.lost is None
    client.say("control", "kernel_info_reply", {}, "asked by the watch")
    with pytest.raises(KernelLostError, match="restarted"):
        await asking
    await connection.close()


@pytest.mark.asyncio
async def test_a_kernel_that_does_not_answer_is_an_error_after_the_time_given():
    connection = Connection(Client(), cause_of_death=Life(), interrupt=nothing)
    with pytest.raises(KernelLostError, match="did not answer"):
        await connection.open(0.1)
    await connection.close()

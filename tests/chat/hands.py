"""A day of work with all tools at once, and what must hold after every part of it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

import psutil

from tests.wire.rules import check_anthropic, check_openai
from zidane_lab.chat.chat import AskOptions
from zidane_lab.events import ToolAfter, ToolBefore, ToolErrored, ToolGate
from zidane_lab.providers.anthropic_request import build_request as anthropic_body
from zidane_lab.providers.openai_request import build_request as openai_body
from zidane_lab.providers.scripted import ScriptedProvider, call
from zidane_lab.session.session import Session
from zidane_lab.session.store import read_file

__all__ = ["KEY", "Day", "Heard", "Person", "call"]

KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
"""A credential that is recognised wherever it stands."""


HELPERS = ("contexts/watchman.py", "structure/worker.py", "search/worker.py", "structure.worker", "search.worker")
"""Processes of our own that live as long as this one."""


def _command(process):
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


class Person:
    """Allows, or answers in order; keeps what was asked."""

    def __init__(self, *answers, otherwise=True):
        self.answers, self.otherwise, self.asked = list(answers), otherwise, []

    async def __call__(self, question):
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else self.otherwise


class Heard:
    """A bundle that keeps all events of some kinds."""

    def __init__(self, *kinds):
        self.kinds, self.events = kinds, []

    def install(self, hooks):
        offs = [hooks.on(kind, self.events.append) for kind in self.kinds]
        return lambda: [off() for off in offs]

    def of(self, kind):
        return [event for event in self.events if type(event) is kind]


def plain(turns):
    """Return turns as JSON data has them: metadata that is a tuple comes back as a list."""
    return [json.loads(json.dumps(asdict(turn), default=str)) for turn in turns]


class Stored:
    """A session's file, only read."""

    unsaved = 0

    def __init__(self, path):
        self.path, self.folder = path, path.with_suffix("")

    def load(self):
        return read_file(self.path)


class Day:
    """A conversation played by a script, watched as a whole."""

    def __init__(self, chat, *, person=None):
        self.chat, self.person = chat, person if person is not None else Person()
        self.heard = Heard(ToolGate, ToolBefore, ToolAfter, ToolErrored)
        self.requests = []
        self.children = {child.pid for child in psutil.Process().children(recursive=True)}

    async def play(self, *answers, prompt="go", executor=None, bundles=(), **options):
        """Play the answers as one run; return the results of its calls, in order."""
        provider = self.chat._providers._made["scripted"] = ScriptedProvider([*answers, *["Done."] * 8])
        try:
            run = await self.chat.ask(
                prompt,
                AskOptions(model="scripted/x", **options),
                executor=executor,
                ask=self.person,
                bundles=[self.heard, *bundles],
            )
        finally:
            self.requests += provider.requests
            self.check()
        return [result for turn in run.turns for result in turn.tool_results]

    async def one(self, name, /, **arguments):
        """Have one call made; return its result."""
        (result,) = await self.play(call(name, **arguments))
        return result

    # --- what must hold ---------------------------------------------------------------------------------

    def check(self):
        """Look at everything that must hold after a run."""
        session = self.chat.session
        calls = Counter(each.id for turn in session.turns for each in turn.tool_calls)
        results = Counter(each.call_id for turn in session.turns for each in turn.tool_results)
        assert calls == results
        assert set(calls.values()) <= {1}
        gated, begun, ended = (
            Counter(event.ids.call_id for event in self.heard.of(kind)) for kind in (ToolGate, ToolBefore, ToolAfter)
        )
        for counted in (gated, begun, ended):
            assert set(counted.values()) <= {1}, "a call passes once"
        assert set(begun) <= set(gated)
        assert set(begun) <= set(ended)
        for request in self.requests:
            check_anthropic(anthropic_body(request, producer="anthropic"))
            check_openai(openai_body(request, base_url="http://localhost:8000/v1"))
        self.check_file()

    def check_file(self):
        """Compare what was written with what is known: what is read is the same conversation."""
        session = self.chat.session
        if session.path is None or not session.path.exists():
            return
        read = Session(Stored(session.path))
        assert plain(read.turns) == plain(session.turns)
        assert read.wire_state == session.wire_state

    def leaks(self, *values):
        """Return where a credential is that must be nowhere but in the files it came from."""
        values = values or (KEY,)
        session = self.chat.session
        places = {
            "requests": repr([(each.system, each.turns) for each in self.requests]),
            "questions": repr(self.person.asked),
            "session": "".join(
                path.read_bytes().decode("utf-8", "replace")
                for path in session.path.parent.rglob("*")
                if path.is_file()
            ),
        }
        return [f"{value} in {place}" for place, text in places.items() for value in values if value in text]

    def placeholder(self):
        """Return the placeholder of :data:`KEY`."""
        return self.chat.screen.text(KEY)

    def left_running(self):
        """Return the command lines of the processes that were begun and are still there."""
        begun = [child for child in psutil.Process().children(recursive=True) if child.pid not in self.children]
        lines = [_command(child) for child in begun]
        return [line for line in lines if line and not any(name in line for name in HELPERS)]

from __future__ import annotations

import asyncio

import pytest

from tests.tools.edits.support import FarPlace
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext


class Bench:
    """A conversation in a place, with plain ways to put, get and edit files there."""

    def __init__(self, kind, folder):
        self.session = Session.memory()
        self.place = {"none": None, "process": LocalProcess(folder), "far": FarPlace()}[kind]
        self.context = ToolContext(cwd=folder, outputs=self.session, place=self.place)
        self._files = self.place or LocalProcess(folder)

    def put(self, name, content, mode=None):
        data = content if isinstance(content, bytes) else content.encode()
        asyncio.run(self._files.write(name, data, mode=mode))

    def get(self, name):
        return asyncio.run(self._files.read(self._files.resolve(name)))

    def has(self, name):
        try:
            asyncio.run(self._files.stat(self._files.resolve(name)))
        except OSError:
            return False
        return True

    def mode(self, name):
        return asyncio.run(self._files.stat(self._files.resolve(name))).mode & 0o777

    def path(self, name):
        return self._files.resolve(name)

    def run(self, tool, /, **arguments):
        return asyncio.run(tool().run(self.context, arguments))

    def say(self, tool, /, **arguments):
        return self.run(tool, **arguments).parts[0].text


@pytest.fixture(params=["none", "process", "far"])
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)

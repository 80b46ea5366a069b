"""Places to edit in: this machine without a context, with one, and one that keeps its files to itself."""

from __future__ import annotations

import asyncio
import posixpath
import stat
from dataclasses import dataclass, field, replace

from zidane_lab.contexts.base import ContextInfo, FileInfo
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.session.read_state import read_evidence
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.places import marked
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn


@dataclass
class FarPlace:
    """A place whose paths are none of this machine: files in a dictionary, errors as the contract says."""

    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    cwd: str = "/far/home"
    clock: int = 1_000_000_000
    times: dict[str, int] = field(default_factory=dict)
    broken: str = ""
    info = ContextInfo("far", "far away")

    def resolve(self, path):
        return posixpath.join(self.cwd, path.replace("~", "/far/home", 1) if path.startswith("~") else path)

    async def stat(self, path, *, follow=True):
        path = self.resolve(path)
        if path in self.files:
            data, mode = self.files[path]
            return FileInfo(path, "file", len(data), self.times.get(path, 0), mode)
        if any(each.startswith(path.rstrip("/") + "/") for each in self.files) or path == self.cwd:
            return FileInfo(path, "folder", mode=stat.S_IFDIR)
        raise FileNotFoundError(2, "No such file", path)

    async def read(self, path, offset=0, size=None):
        await self.stat(path)
        data = self.files[self.resolve(path)][0][offset:]
        return data if size is None else data[:size]

    async def write(self, path, data, *, mode=None):
        path = self.resolve(path)
        if self.broken and path.endswith(self.broken):
            raise PermissionError(13, "Permission denied", path)
        old = self.files.get(path, (b"", 0o644))[1]
        self.files[path] = (data, old if mode is None else mode)
        self.clock += 1
        self.times[path] = self.clock

    async def remove(self, path):
        await self.stat(path)
        del self.files[self.resolve(path)]

    async def list(self, path):
        path = self.resolve(path).rstrip("/") + "/"
        names = {each[len(path) :].split("/")[0] for each in self.files if each.startswith(path)}
        if not names:
            raise FileNotFoundError(2, "No such folder", path)
        return tuple(FileInfo(path + name, "file") for name in sorted(names))

    async def start(self, command, on_output):
        raise AssertionError("editing starts no command")

    async def aclose(self):
        self.files.clear()


KINDS = ("none", "process", "far")


class Bench:
    """A conversation in a place, with plain ways to put, get and edit files there."""

    def __init__(self, kind, folder, session=None):
        self.session = session or Session.memory()
        self.place = {"none": None, "process": LocalProcess(folder), "far": FarPlace()}[kind]
        self.context = ToolContext(cwd=folder, outputs=self.session, place=self.place)
        self._files = self.place or LocalProcess(folder)

    def put(self, name, content, mode=None):
        data = content if isinstance(content, bytes) else content.encode()
        asyncio.run(self._files.write(name, data, mode=mode))

    def get(self, name):
        return asyncio.run(self._files.read(name))

    def has(self, name):
        try:
            asyncio.run(self._files.stat(name))
        except OSError:
            return False
        return True

    def mode(self, name):
        return asyncio.run(self._files.stat(name)).mode & 0o777

    def path(self, name):
        return self._files.resolve(name)

    def run(self, tool, /, **arguments):
        return asyncio.run(tool().run(self.context, arguments))

    def say(self, tool, /, **arguments):
        return self.run(tool, **arguments).parts[0].text

    def told(self, tool, /, **arguments):
        """Run a call as an agent does: its result joins the conversation."""
        output = self.run(tool, **arguments)
        self.join(ToolResultBlock("c", output.parts, output.is_error, output.metadata))
        return output

    def join(self, result):
        call = f"call_{len(self.session.turns)}"
        self.session.append(Turn("assistant", (ToolCallBlock(call, "t"),)))
        self.session.append(Turn("user", (replace(result, call_id=call),)))

    def reads(self, name, offset=1, limit=300):
        """Let the model have read a file."""
        info = asyncio.run(self._files.stat(name))
        evidence = read_evidence(self.path(name), offset, limit, mtime=info.mtime_ns / 1e9, size=info.size)
        evidence |= marked(self.context)
        self.join(ToolResultBlock("c", (TextBlock("…"),), metadata=evidence))

"""Places to edit in: this machine without a context, with one, and one that keeps its files to itself."""

from __future__ import annotations

import posixpath
import stat
from dataclasses import dataclass, field

from zidane_lab.contexts.base import ContextInfo, FileInfo


@dataclass
class FarPlace:
    """A place whose paths are none of this machine: files in a dictionary, errors as the contract says."""

    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    cwd: str = "/far/home"
    clock: int = 1_000_000_000
    times: dict[str, int] = field(default_factory=dict)
    broken: str = ""
    info: ContextInfo = ContextInfo("far", "far away")

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

"""A place that says it is elsewhere, and is a folder of this machine; it can be lost and counts its closings."""

from __future__ import annotations

from zidane_lab.contexts.base import ContextInfo, ContextLostError
from zidane_lab.contexts.process import LocalProcess

__all__ = ["Far"]


class Far(LocalProcess):
    """The double. ``trouble`` is what is said when it is asked whether it is still there, and by every read."""

    def __init__(self, folder, where="ssh:ada@far/~/"):
        super().__init__(folder, environment=lambda: {"PATH": "/usr/bin:/bin", "HOME": str(folder)})
        self.kind, _, self.identity = where.partition(":")
        self.trouble, self.closed = None, 0

    @property
    def info(self):
        return ContextInfo(self.kind, "far", identity=self.identity)

    def lose(self, text="The connection to far is gone."):
        self.trouble = ContextLostError(text)

    async def lost(self):
        return self.trouble

    async def read(self, path, offset=0, size=None):
        if self.trouble is not None:
            raise self.trouble
        return await super().read(path, offset, size)

    async def aclose(self):
        self.closed += 1
        await super().aclose()

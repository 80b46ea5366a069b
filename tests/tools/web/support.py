"""A server on the loopback interface that says exactly what a test wants, and settings that reach it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import dataclass, field

from zidane_lab.tools.web.addresses import Allowed
from zidane_lab.tools.web.settings import WebSettings


def answer(body=b"", kind="text/html; charset=utf-8", status="200 OK", **headers):
    """Return an HTTP answer; underscores in header names become hyphens."""
    body = body.encode() if isinstance(body, str) else body
    named = {"content_type": kind, "content_length": str(len(body)), **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in named.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


def redirect(to, status="302 Found"):
    return answer(b"", status=status, location=to)


@dataclass
class Server:
    """Answers by path: bytes, or what an async function writes; keeps the heads of requests."""

    routes: dict = field(default_factory=dict)
    heads: list = field(default_factory=list)
    tls: ssl.SSLContext | None = None
    port: int = 0

    async def __aenter__(self):
        self._open = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    def url(self, path="/", host="127.0.0.1", scheme="http"):
        return f"{scheme}://{host}:{self.port}{path}"

    @property
    def paths(self):
        return [head.split(" ")[1] for head in self.heads]

    async def _serve(self, reader, writer):
        self._open.add(asyncio.current_task())
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            length = [line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length:")]
            if length:
                self.heads[-1] += (await reader.readexactly(int(length[0]))).decode()
            route = self.routes.get(head.split(" ")[1], answer("nothing here", "text/plain", "404 Not Found"))
            if callable(route):
                await route(writer)
            else:
                writer.write(route)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            return
        finally:
            self._open.discard(asyncio.current_task())
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()


def settings_for(server, *more, **options):
    """Return settings that let pages be fetched from a test's server."""
    names = (f"127.0.0.1:{server.port}", *(entry.replace("PORT", str(server.port)) for entry in more))
    return WebSettings(**{"allowed": Allowed.parse(names), "connect": 5, "idle": 5, "total": 20, **options})


def resolver(**names):
    """Return a resolver that knows some names (underscores stand for dots) and counts what it is asked."""

    async def resolve(host, port):
        resolve.asked.append(host)
        found = names.get(host.replace(".", "_"))
        if found is None:
            raise OSError("no such host")
        if callable(found):
            found = found()
        return [found] if isinstance(found, str) else found

    resolve.asked = []
    return resolve

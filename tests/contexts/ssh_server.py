"""An SSH server for tests, on the loopback: real commands and SFTP in the folders of this machine.

It tells a command's end as OpenSSH does: at once, even if something the command left running holds the output open.
"""

from __future__ import annotations

import asyncio
import os
import signal

import asyncssh
from asyncssh.packet import Boolean, String, UInt32

__all__ = ["Server", "serve"]


class _Command(asyncio.SubprocessProtocol):
    """One command: its pipes to the channel's streams, and what the client is told of its end."""

    def __init__(self, channel_process):
        self.remote = channel_process
        self.channel = channel_process.channel
        self.open, self.draining = {1, 2}, {}
        self.has_exited = False
        self.is_over = asyncio.Event()

    def connection_made(self, transport):
        self.process = transport

    def pipe_data_received(self, fd, data):
        if not self.channel.is_closing():
            (self.remote.stdout if fd == 1 else self.remote.stderr).write(data)
            self.process.get_pipe_transport(fd).pause_reading()
            self.draining[fd] = asyncio.ensure_future(self._go_on(fd))

    async def _go_on(self, fd):
        try:
            await (self.remote.stdout if fd == 1 else self.remote.stderr).drain()
        except (asyncssh.Error, OSError):
            return
        if fd in self.open:
            self.process.get_pipe_transport(fd).resume_reading()

    def pipe_connection_lost(self, fd, exc):
        self.open.discard(fd)
        self._look()

    def process_exited(self):
        self.has_exited = True
        code = self.process.get_returncode()
        if not self.channel.is_closing():
            if code >= 0:
                self.channel._send_request(b"exit-status", UInt32(code))
            else:
                name = signal.Signals(-code).name.removeprefix("SIG")
                self.channel._send_request(b"exit-signal", String(name), Boolean(False), String(""), String(""))
        self._look()

    def _look(self):
        if self.has_exited and not self.open:
            self.is_over.set()


async def _feed(remote, pipe):
    try:
        while data := await remote.stdin.read(65_536):
            pipe.write(data)
        pipe.close()
    except (asyncssh.Error, OSError):
        pipe.close()


class Server(asyncssh.SSHServer):
    """The server: what it was asked, its connections and processes."""

    def __init__(self, home, *, shell="sh", new_session=True):
        self.home, self.shell, self.new_session = home, shell, new_session
        self.commands, self.connections, self.running, self.given = [], [], {}, []
        self.port = 0

    def __call__(self):
        return self

    def connection_made(self, conn):
        self.connections.append(conn)

    def begin_auth(self, username):
        return True

    async def run(self, remote):
        """Run one command; called by the library."""
        self.commands.append(remote.command)
        self.given.append(dict(remote.env))
        transport, command = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Command(remote),
            self.shell,
            "-c",
            remote.command,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "SSH_CLIENT": "127.0.0.1 1 2"},
            cwd=self.home,
            start_new_session=self.new_session,
        )
        self.running[transport] = asyncio.current_task()
        feeding = asyncio.ensure_future(_feed(remote, transport.get_pipe_transport(0)))
        closing = asyncio.ensure_future(remote.channel.wait_closed())
        over = asyncio.ensure_future(command.is_over.wait())
        await asyncio.wait({closing, over}, return_when=asyncio.FIRST_COMPLETED)
        for each in (feeding, closing, over):
            each.cancel()
        if not remote.channel.is_closing():
            remote.channel.close()
        for number in (0, 1, 2):
            transport.get_pipe_transport(number).close()
        await transport._wait()
        transport.close()
        del self.running[transport]

    async def close(self):
        """Break the connections and end what still runs."""
        for connection in self.connections:
            connection.abort()
        for connection in self.connections:
            await connection.wait_closed()
        running = dict(self.running)
        for transport in running:
            transport.kill()
        await asyncio.gather(*running.values(), return_exceptions=True)


async def serve(home, key, accepted, **options):
    """Start a server; returns it with the listener to close."""
    server = Server(home, **options)
    listener = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_factory=server,
        process_factory=server.run,
        server_host_keys=[key],
        authorized_client_keys=accepted,
        sftp_factory=lambda channel: _Files(channel, home),
        encoding=None,
        line_editor=False,
    )
    server.port = listener.get_port()
    return server, listener


class _Files(asyncssh.SFTPServer):
    """All files of this machine, from the home folder."""

    def __init__(self, channel, home):
        super().__init__(channel)
        self.home = os.fsencode(home)

    def map_path(self, path):
        return os.path.join(self.home, path)

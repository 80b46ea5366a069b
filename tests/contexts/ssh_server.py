"""An SSH server for tests, on the loopback: real commands and SFTP in the folders of this machine.

It tells a command's end as OpenSSH does: at once, even if something the command left running holds the output open.
"""

from __future__ import annotations

import asyncio
import os
import signal

import asyncssh
from asyncssh.packet import UInt32

__all__ = ["Server", "serve"]


class _Process(asyncio.SubprocessProtocol):
    def __init__(self, session):
        self.session = session

    def pipe_data_received(self, fd, data):
        self.session.output(fd, data)

    def pipe_connection_lost(self, fd, exc):
        self.session.closed(fd)

    def process_exited(self):
        self.session.ended()


class _Session(asyncssh.SSHServerSession):
    def __init__(self, server):
        self.server = server
        self.process = None
        self.pending = []
        self.open = {1, 2}

    def connection_made(self, chan):
        self.channel = chan

    def exec_requested(self, command):
        self.command = command
        self.server.commands.append(command)
        return True

    def session_started(self):
        self.channel.pause_reading()
        self.starting = asyncio.ensure_future(self._start())

    async def _start(self):
        self.process, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Process(self),
            self.server.shell,
            "-c",
            self.command,
            env={"PATH": os.environ["PATH"], "HOME": str(self.server.home), "SSH_CLIENT": "127.0.0.1 1 2"},
            cwd=self.server.home,
            start_new_session=self.server.new_session,
        )
        self.server.processes.append(self.process)
        self.channel.resume_reading()

    def data_received(self, data, datatype):
        if not self.process.get_pipe_transport(0).is_closing():
            self.process.get_pipe_transport(0).write(data)

    def eof_received(self):
        self.process.get_pipe_transport(0).write_eof()
        return True

    def pause_writing(self):
        self._pipes("pause_reading")

    def resume_writing(self):
        self._pipes("resume_reading")

    def _pipes(self, action):
        for number in tuple(self.open):
            getattr(self.process.get_pipe_transport(number), action)()

    def output(self, number, data):
        if not self.channel.is_closing():
            self.channel.write(data, asyncssh.EXTENDED_DATA_STDERR if number == 2 else None)

    def ended(self):
        code = self.process.get_returncode()
        if self.channel.is_closing():
            return
        if code >= 0:
            self.channel._send_request(b"exit-status", UInt32(code))
        else:
            name = signal.Signals(-code).name.removeprefix("SIG")
            self.channel._send_request(
                b"exit-signal",
                asyncssh.packet.String(name),
                asyncssh.packet.Boolean(False),
                asyncssh.packet.String(""),
                asyncssh.packet.String(""),
            )
        self.exited = True
        self._close_when_done()

    exited = False

    def closed(self, number):
        self.open.discard(number)
        self._close_when_done()

    def _close_when_done(self):
        if self.exited and not self.open and not self.channel.is_closing():
            self.channel.close()

    def connection_lost(self, exc):
        if self.process is not None:
            self.process.close()


class Server(asyncssh.SSHServer):
    """The server: what it was asked, its connections and processes."""

    def __init__(self, home, *, shell="sh", new_session=True):
        self.home, self.shell, self.new_session = home, shell, new_session
        self.commands, self.processes, self.connections = [], [], []
        self.port = 0

    def __call__(self):
        return self

    def connection_made(self, conn):
        self.connections.append(conn)

    def begin_auth(self, username):
        return True

    def session_requested(self):
        return _Session(self)


async def serve(home, key, accepted, **options):
    """Start a server; returns it with the listener to close."""
    server = Server(home, **options)
    listener = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_factory=server,
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

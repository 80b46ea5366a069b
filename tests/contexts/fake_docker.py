"""A stand-in for the Docker SDK's client: its containers are folders of this machine, its processes real ones.

What goes over the connection is as the daemon has it: frames with a header, input without an end, a process's end
told by ``exec_inspect`` only. Files are not separate from this machine's; limits are only noted.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from types import SimpleNamespace

import docker.errors

__all__ = ["FakeDocker"]


class _Response:
    def __init__(self, status):
        self.status_code, self.reason, self.url = status, "fake", "fake"

    def raise_for_status(self):
        raise RuntimeError(self.status_code)


def _error(status, text, kind=docker.errors.APIError):
    return kind(text, response=_Response(status), explanation=text)


class _Exec:
    def __init__(self, argv, env, workdir):
        self.argv, self.env, self.workdir = argv, env, workdir
        self.code = None
        self.running = False
        self.process = None
        self.lock = threading.Lock()
        self.closed = [threading.Event(), threading.Event()]

    def start(self):
        ours, theirs = socket.socketpair()
        self.running = True
        self.process = subprocess.Popen(
            self.argv,
            cwd=self.workdir,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        work = [
            (self._frames, (ours, 1, self.process.stdout)),
            (self._frames, (ours, 2, self.process.stderr)),
            (self._input, (ours, self.process.stdin)),
            (self._end, (ours,)),
        ]
        for function, arguments in work:
            threading.Thread(target=function, args=arguments, daemon=True).start()
        return theirs

    def _frames(self, connection, number, pipe):
        try:
            while data := os.read(pipe.fileno(), 32_768):
                with self.lock:
                    connection.sendall(bytes([number, 0, 0, 0]) + len(data).to_bytes(4, "big") + data)
        except OSError:
            pass
        pipe.close()
        self.closed[number - 1].set()

    def _input(self, connection, pipe):
        try:
            while data := connection.recv(65_536):
                view = memoryview(data)
                while view:
                    view = view[os.write(pipe.fileno(), view) :]
        except OSError:
            pass
        pipe.close()

    def _end(self, connection):
        code = self.process.wait()
        deadline = time.monotonic() + 1.0  # the daemon waits two seconds for what still holds the output open
        for each in self.closed:
            each.wait(max(0, deadline - time.monotonic()))
        with self.lock:  # what has been read is sent whole
            self.code = code if code >= 0 else 128 - code
            self.running = False
            with contextlib.suppress(OSError):  # the other end was first
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


class _Container:
    def __init__(self, daemon, arguments):
        self.daemon, self.arguments = daemon, arguments
        self.id = secrets.token_hex(32)
        self.labels = dict(arguments.get("labels", {}))
        self.status = "running"
        self.execs = {}

    def reload(self):
        if self.id not in self.daemon.found:
            raise _error(404, "No such container", docker.errors.NotFound)

    def end(self):
        """End it with everything in it, as the kernel does with a process namespace."""
        self.status = "exited"
        for each in self.execs.values():
            if each.running:
                with contextlib.suppress(OSError):
                    os.killpg(each.process.pid, signal.SIGKILL)

    def remove(self, force=False, v=False):
        self.reload()
        if self.status == "running" and not force:
            raise _error(409, "You cannot remove a running container")
        self.end()
        del self.daemon.found[self.id]


class FakeDocker:
    """The client; ``found`` has the containers, ``ran`` what they were asked to be."""

    def __init__(self, home, images=("some:1",)):
        self.found, self.ran, self.pulled, self.known = {}, [], [], set(images)
        self.home = str(home)
        self.api = SimpleNamespace(exec_create=self._create, exec_start=self._start, exec_inspect=self._inspect)
        self.images = SimpleNamespace(get=self._get_image, pull=self._pull)
        self.containers = SimpleNamespace(run=self._run, list=self._list)

    def _get_image(self, name):
        if name not in self.known:
            raise _error(404, f"No such image: {name}", docker.errors.ImageNotFound)

    def _pull(self, name, tag):
        self.pulled.append((name, tag))
        if name == "nowhere":
            raise _error(404, "not found", docker.errors.ImageNotFound)
        self.known.add(f"{name}:{tag}")

    def _run(self, **arguments):
        self._get_image(arguments["image"])
        self.ran.append(arguments)
        container = _Container(self, arguments)
        self.found[container.id] = container
        return container

    def _list(self, *, filters, **options):
        assert options == {"all": True}
        return [each for each in self.found.values() if filters["label"] in each.labels]

    def _create(self, container, argv, *, stdin, stdout, stderr, user, environment):
        if container not in self.found:
            raise _error(404, "No such container", docker.errors.NotFound)
        if self.found[container].status != "running":
            raise _error(409, f"Container {container} is not running")
        assert stdout
        assert stderr
        assert user == self.found[container].arguments["user"]
        env = {
            "PATH": os.environ["PATH"],
            **self.found[container].arguments["environment"],
            **environment,
            "HOME": self.home,
        }
        number = secrets.token_hex(32)
        self.found[container].execs[number] = _Exec(argv, env, self.home)
        return {"Id": number}

    def _exec(self, number):
        for container in self.found.values():
            if number in container.execs:
                return container.execs[number]
        raise _error(404, "No such exec instance", docker.errors.NotFound)

    def _start(self, number, *, socket):
        assert socket
        return self._exec(number).start()

    def _inspect(self, number):
        found = self._exec(number)
        return {"Running": found.running, "ExitCode": found.code}

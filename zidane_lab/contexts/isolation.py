"""Keeping commands inside a policy by the system itself: bubblewrap, on Linux.

A command sees the machine's files read-only, a private ``/tmp`` and ``/run`` (where the sockets of other programs
are), no other processes, and no network unless the policy has it. Writable folders are bound in; what is protected in
them is bound again, read-only; what is hidden is covered. Nothing but the standard library is needed, and ``bwrap``.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from zidane_lab.contexts.base import Command
from zidane_lab.contexts.policy import IsolationPolicy, is_within
from zidane_lab.contexts.process import shell_argv
from zidane_lab.errors import ToolError

__all__ = ["Availability", "bubblewrap_argv", "isolated", "isolation_availability"]

PRIVATE: Final = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - a folder of the command's own
"""Each command's own, and empty: temporary files of others, and sockets through which others would act for it."""

RESOLVERS: Final = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf")
"""Where names of the network are looked up, on systems that keep that in ``/run``."""

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/sys")
"""Read in any case: without them hardly a program starts."""

_TRIAL_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether commands can be kept inside, by which program, and if not, why not."""

    program: str | None
    reason: str = ""

    def __bool__(self) -> bool:
        return self.program is not None


@functools.cache
def isolation_availability() -> Availability:
    """Find out once whether this machine can keep commands inside. Blocks for some milliseconds."""
    if not sys.platform.startswith("linux"):
        return Availability(None, f"commands can be kept inside on Linux only, and this is {sys.platform}")
    program = shutil.which("bwrap")
    if program is None:
        return Availability(None, "bubblewrap (bwrap) is not installed")
    trial = bubblewrap_argv(IsolationPolicy((), hidden=()), "/", ["true"], program=program)
    try:
        done = subprocess.run(trial, capture_output=True, timeout=_TRIAL_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return Availability(None, f"bubblewrap cannot be run: {error}")
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or f"exit code {done.returncode}"
        return Availability(None, f"this system does not let bubblewrap work (user namespaces may be off): {said}")
    return Availability(program)


def isolated(command: Command, policy: IsolationPolicy, cwd: str) -> Command:
    """Return a command that runs the given one inside a policy, on this machine.

    Parameters
    ----------
    command, policy
        What to run, and what it may touch.
    cwd
        Absolute folder to run in if the command names none.

    Raises
    ------
    ToolError
        It cannot be kept inside here.
    """
    found = isolation_availability()
    if found.program is None:
        raise ToolError(
            f"The command cannot be kept inside: {found.reason}.",
            hint="Install bubblewrap, choose a container as the context, or set `isolation` to auto or off.",
        )
    folder = os.path.join(cwd, command.cwd) if command.cwd is not None else cwd  # noqa: PTH118 - texts
    argv = bubblewrap_argv(policy, folder, shell_argv(command.text), program=found.program)
    return replace(command, text=f"exec {shlex.join(argv)}")


def bubblewrap_argv(
    policy: IsolationPolicy,
    folder: str,
    argv: Sequence[str],
    *,
    program: str = "bwrap",
    private: Sequence[str] = PRIVATE,
) -> list[str]:
    """Return the arguments that run a program inside a policy; later mounts lie over earlier ones.

    The command keeps its process group, so it is ended like any other; and as its processes have a namespace of their
    own, none of them, however it detaches itself, escapes that end.
    """
    # Root keeps its rights otherwise, and could undo the mounts.
    line = [program, "--unshare-all", *(("--share-net",) if policy.network else ()), "--cap-drop", "ALL"]
    line += [*_seen(policy, private), *_opened(policy)]
    return [*line, "--setenv", "TMPDIR", "/tmp", "--chdir", folder, "--", *argv]  # noqa: S108 - as above


def _seen(policy: IsolationPolicy, private: Sequence[str]) -> list[str]:
    """Return what makes the machine visible, read-only, less what is private."""
    line = ["--ro-bind", "/", "/"] if policy.readable is None else _system(policy.readable)
    # Root, even without any of its rights, owns the files the system is adjusted by, and bubblewrap leaves them open.
    line += ["--dev", "/dev", "--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys"]
    covered = [os.path.realpath(each) for each in private if os.path.isdir(each)]  # noqa: PTH112 - texts throughout
    for each in covered:
        line += ["--tmpfs", each]
    for each in RESOLVERS if policy.network else ():
        line += ["--ro-bind-try", each, each]
    for each in dict.fromkeys((sys.prefix, sys.base_prefix)):  # this Python, wherever it is
        if policy.readable is not None or any(is_within(os.path.realpath(each), under) for under in covered):
            line += ["--ro-bind-try", each, each]
    return line


def _opened(policy: IsolationPolicy) -> list[str]:
    """Return what opens the roots, closes what is protected in them, and covers what is hidden."""
    line = []
    roots = sorted((root for root in policy.writable_roots if os.path.isdir(root)), key=len)  # noqa: PTH112
    around = [each for each in policy.hidden if any(is_within(root, each) for root in roots)]
    for each in around:
        line += _cover(each)
    for root in roots:
        line += ["--bind", root, root]
    closed = [each for root in roots for each in policy.protected_paths(root)]
    closed = [each for each in closed if not os.path.islink(each)]  # noqa: PTH114 - judged by its target
    above = dict.fromkeys(os.path.dirname(each) for each in closed)  # noqa: PTH120
    for each in above:
        if each not in roots:
            line += ["--bind", each, each]  # what is mounted cannot be moved out of the way
    for each in closed:
        line += ["--ro-bind", each, each]
    for each in policy.hidden:
        if each not in around:
            line += _cover(each)
    return line


def _system(readable: Sequence[str]) -> list[str]:
    line = []
    for each in SYSTEM:
        if os.path.islink(each):  # noqa: PTH114
            line += ["--symlink", os.readlink(each), each]  # noqa: PTH115
        else:
            line += ["--ro-bind-try", each, each]
    for each in readable:
        line += ["--ro-bind-try", each, each]
    return line


def _cover(path: str) -> list[str]:
    """Return what makes a path empty, if it is there."""
    if os.path.isdir(path):  # noqa: PTH112
        return ["--tmpfs", path]
    return ["--ro-bind", "/dev/null", path] if os.path.exists(path) else []  # noqa: PTH110

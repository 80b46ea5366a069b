"""How a command is started, counted and ended in a place that is only reached through a byte channel.

A small POSIX script goes before each command: it changes the folder, sees to it that the command leads a session (and
so a process group) of its own, and says the process id on the first line of output and of errors, after a token by
which that line is told from what start-up files print. Two more scripts count and end what is in that session. They
need ``sh``, ``env``, ``sleep`` and ``kill``; ``setsid`` and ``mktemp`` where the channel does not do their work.
"""

from __future__ import annotations

import errno
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from zidane_lab.contexts.base import Command

__all__ = ["LONGEST_ARGUMENT", "check", "end_argv", "launch_argv", "living_argv", "new_token", "read_header", "script"]

LONGEST_ARGUMENT: Final = 131_071
"""Bytes of one argument that Linux takes (``MAX_ARG_STRLEN`` less the closing NUL)."""

_TICKS_A_SECOND: Final = 10

_LAUNCH: Final = r"""
token=$1 folder=$2 input=$3 text=$4
shift 4
refuse() { printf '%s - %s\n' "$token" "$1"; exit 0; }
[ -e "$folder" ] || [ -L "$folder" ] || refuse 'No such file or directory'
[ -d "$folder" ] || refuse 'Not a directory'
cd -- "$folder" 2>/dev/null || refuse 'Permission denied'
group=$({ read -r _ _ _ _ group _ < "/proc/$$/stat" && echo "$group"; } 2>/dev/null || ps -o pgid= -p "$$" 2>/dev/null)
case $input in
  -) ;;
  '') exec </dev/null ;;
  *) spool=$(umask 077; mktemp 2>/dev/null) || refuse 'No space left on device'
     head -c "$input" > "$spool" && exec < "$spool" && rm -f -- "$spool" || refuse 'No space left on device' ;;
esac
if command -v bash >/dev/null 2>&1; then set -- env "$@" bash --noprofile --norc -c "$text"
else set -- env "$@" sh -c "$text"; fi
go='printf "%s %s\n" "$0" "$$"; printf "%s %s\n" "$0" "$$" >&2; exec "$@"'
[ "$((group))" != "$$" ] || exec sh -c "$go" "$token" "$@"
command -v setsid >/dev/null 2>&1 || refuse 'Operation not supported'
exec setsid sh -c "$go" "$token" "$@"
"""

_LIVING: Final = r"""
living() {
  pids=
  if [ -r /proc/self/stat ]; then
    lines=$(cat /proc/[0-9]*/stat 2>/dev/null)
    set -f
    IFS='
'
    for line in $lines; do
      IFS=' '
      set -- ${line##*) }
      case $1 in [ZX]*) continue ;; esac
      if [ "$4" = "$session" ]; then pids="$pids ${line%% *}"; fi
    done
    IFS=' '
    set +f
  else
    pids=$(ps -A -o pgid= -o pid= -o stat= | while read -r group pid state; do
      case $state in Z*) continue ;; esac
      if [ "$group" = "$session" ]; then printf ' %s' "$pid"; fi
    done)
  fi
  [ -n "$pids" ]
}
"""
"""Sets ``pids`` to what lives in ``$session``. Where there is no ``/proc``, the process group stands for it."""

_COUNT: Final = f'session=$1\n{_LIVING}living; echo "$pids"\n'

_END: Final = f"""session=$1 ticks=$2
shift 2
known=$*
{_LIVING}
living || exit 0
if [ -n "$known" ]; then
  still=
  for pid in $known; do case " $pids " in *" $pid "*) still=1 ;; esac; done
  [ -n "$still" ] || exit 0
fi
kill -TERM $pids 2>/dev/null
kill -CONT $pids 2>/dev/null
i=0
while living && [ "$i" -lt "$ticks" ]; do sleep 0.1 2>/dev/null || sleep 1; i=$((i + 1)); done
i=0
while living && [ "$i" -lt 20 ]; do kill -KILL $pids 2>/dev/null; sleep 0.1 2>/dev/null || sleep 1; i=$((i + 1)); done
echo "$pids"
"""
"""A session's number is not given away while something is in it, but may be once all have ended: of a command that
has ended the session is trusted only as far as one of the ``known`` processes is still in it."""


def new_token() -> str:
    """Return what marks the first line of one command."""
    return f"zidane-{secrets.token_hex(12)}"


def script(text: str, *arguments: str) -> list[str]:
    """Return the arguments that run a POSIX script."""
    return ["sh", "-c", text, "zidane", *arguments]


def launch_argv(command: Command, token: str, folder: str, *, stdin: str) -> list[str]:
    """Return the arguments that start a command.

    Variables are given as arguments of ``env``: until the command has begun, other people of the machine see them.

    Parameters
    ----------
    command, token, folder
        What to run, the mark of its first line, its absolute folder.
    stdin
        ``-``: the channel's input is the command's; empty: it has none; a number: that many bytes of the channel's
        input, for channels whose end of input cannot be told.
    """
    check(command)
    return script(_LAUNCH, token, folder, stdin, command.text, *_assignments(command.env))


def living_argv(session: int) -> list[str]:
    """Return the arguments that print the processes alive in a session."""
    return script(_COUNT, str(session))


def end_argv(session: int, *, grace: float, known: Sequence[int] = ()) -> list[str]:
    """Return the arguments that end what is in a session and print what would not end."""
    ticks = max(0, round(grace * _TICKS_A_SECOND))
    return script(_END, str(session), str(ticks), *map(str, known))


def check(command: Command) -> None:
    """Refuse what no system can run.

    Raises
    ------
    OSError
        A NUL byte, a variable without a name, or a text longer than a command line can be.
    """
    for text in (command.text, command.cwd or "", *command.env, *command.env.values()):
        if "\0" in text:
            raise OSError(errno.EINVAL, "a command cannot hold a NUL byte")
    for name in command.env:
        if not name or "=" in name or name.startswith("-"):
            raise OSError(errno.EINVAL, f"{name!r} is not the name of a variable")
    for text in (command.text, *_assignments(command.env)):
        if len(text.encode("utf-8", "surrogateescape")) > LONGEST_ARGUMENT:
            raise OSError(errno.E2BIG, "the command line is too long: put it into a file and run that")


def _assignments(env: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in env.items()]


def read_header(token: str, data: bytes) -> tuple[int | str, bytes] | None:
    """Find the first line in what has come so far.

    Returns
    -------
    tuple
        The process id, or why the command was not started, and what came after the line; ``None`` while it has not
        come. What came before it (start-up files print things) is dropped.
    """
    match = re.search(re.escape(token.encode()) + rb" (?:(\d+)|- ([^\n]*))\n", data)
    if match is None:
        return None
    found: int | str = int(match[1]) if match[1] is not None else match[2].decode("utf-8", "replace")
    return found, data[match.end() :]

"""Files of a place that offers nothing but commands, by short POSIX scripts (coreutils or busybox).

Everything is done as the person commands run as, so what they may not write, this may not either; and a file is
replaced as a whole, by writing a new one beside it.
"""

from __future__ import annotations

import re
import secrets
import stat
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from zidane_lab.contexts.base import FileInfo, FileKind
from zidane_lab.contexts.channels import Answer
from zidane_lab.contexts.launching import script
from zidane_lab.contexts.posix_paths import checked

__all__ = ["ShellFiles"]

_KINDS: Final[dict[int, FileKind]] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}

_FRACTION: Final = re.compile(r"\.(\d{1,9})")

_FAIL: Final = 'fail() { echo "$1" >&2; exit 1; }\nLC_ALL=C; export LC_ALL\n'
"""Complaints are in English, so that they can be understood."""

# Busybox knows no fractions in %Y, but writes them in %y.
_STAT: Final = _FAIL + 'exec stat $1 -c "%f %s %Y %y" -- "$2"\n'

_LIST: Final = (
    _FAIL
    + r"""
[ -e "$1" ] || { ls -d -- "$1/" >/dev/null; exit 1; }
[ -d "$1" ] || fail 'Not a directory'
cd -- "$1" 2>/dev/null && [ -r . ] || fail 'Permission denied'
end=$2
show() { stat -c "%f %s %Y %y/%n$end" -- "$@" 2>/dev/null; }
set --
for name in .[!.]* ..?* *; do
  [ -e "$name" ] || [ -L "$name" ] || continue
  set -- "$@" "./$name"
  if [ $# -ge 200 ]; then show "$@"; set --; fi
done
[ $# -eq 0 ] || show "$@"
exit 0
"""
)

_READ: Final = (
    _FAIL
    + r"""
[ ! -d "$1" ] || fail 'Is a directory'
[ -e "$1" ] || { ls -d -- "$1" >/dev/null || exit 1; fail 'No such file or directory'; }
[ -f "$1" ] || fail 'not an ordinary file'
[ -r "$1" ] || fail 'Permission denied'
exec < "$1" || exit 1
if [ -n "$3" ]; then tail -c "+$(($2 + 1))" | head -c "$3"
elif [ "$2" = 0 ]; then exec cat
else exec tail -c "+$(($2 + 1))"; fi
"""
)

_WRITE: Final = (
    _FAIL
    + r"""
path=$1 mode=$2 size=$3 name=$4
if [ -L "$path" ]; then
  path=$(readlink -f -- "$1" && echo .) || fail 'No such file or directory'
  path=${path%??}
fi
[ ! -d "$path" ] || fail 'Is a directory'
[ ! -e "$path" ] || [ -f "$path" ] || fail 'not an ordinary file'
[ ! -e "$path" ] || [ -w "$path" ] || fail 'Permission denied'
folder=${path%/*}
[ -d "$folder/" ] || mkdir -p -- "$folder/" || exit 1
new=$folder/$name
trap 'rm -f -- "$new"' EXIT
set -C
: > "$new" || exit 1
set +C
head -c "$size" >> "$new" || exit 1
[ "$(wc -c < "$new")" -eq "$size" ] || fail 'Input/output error: not all of the file arrived'
if [ -e "$path" ]; then
  chown -- "$(stat -c %u:%g -- "$path")" "$new" 2>/dev/null
  [ -n "$mode" ] || mode=$(stat -c %a -- "$path")
fi
[ -z "$mode" ] || chmod -- "$mode" "$new" || exit 1
mv -f -- "$new" "$path" || exit 1
trap - EXIT
"""
)

_REMOVE: Final = (
    _FAIL
    + r"""
if [ -d "$1" ] && [ ! -L "$1" ]; then exec rmdir -- "$1"; fi
exec rm -- "$1" </dev/null
"""
)


class ShellFiles:
    """The files.

    Parameters
    ----------
    ask
        Runs a program with some input and returns what it printed; the input stays open behind the bytes given.
    """

    def __init__(self, ask: Callable[[Sequence[str], bytes], Awaitable[Answer]]) -> None:
        self._ask = ask

    async def stat(self, path: str, *, follow: bool = True) -> FileInfo:
        """Describe a file, folder or link by its absolute path."""
        said = (await self._run(_STAT, path, "-L" if follow else "", checked(path))).decode("ascii", "replace")
        return _info(said, path)

    async def list(self, path: str) -> tuple[FileInfo, ...]:
        """Return what is in a folder, by name; what vanishes meanwhile is left out."""
        end = f"/{secrets.token_hex(12)}/"  # no file's name holds this
        said = (await self._run(_LIST, path, checked(path), end)).decode("utf-8", "surrogateescape")
        found = []
        for record in said.split(f"{end}\n")[:-1]:
            facts, _, name = record.partition("/./")
            found.append(_info(facts, f"{path.rstrip('/')}/{name}"))
        return tuple(sorted(found, key=lambda info: info.name))

    async def read(self, path: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return bytes of a file."""
        return await self._run(_READ, path, checked(path), str(offset), "" if size is None else str(size))

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace a file, whole or not at all; folders on the way are made."""
        bits, name = "" if mode is None else f"{mode:o}", f".zidane-{secrets.token_hex(8)}.tmp"
        await self._run(_WRITE, path, checked(path), bits, str(len(data)), name, stdin=data)

    async def remove(self, path: str) -> None:
        """Remove a file, link or empty folder."""
        await self._run(_REMOVE, path, checked(path))

    async def _run(self, text: str, path: str, *arguments: str, stdin: bytes = b"") -> bytes:
        return (await self._ask(script(text, *arguments), stdin)).check(path)


def _info(facts: str, path: str) -> FileInfo:
    """Read one line of ``stat``: mode in hexadecimal, size, seconds, the time again with its fraction."""
    mode_text, size, seconds, *human = facts.split()
    mode = int(mode_text, 16)
    fraction = _FRACTION.search(" ".join(human))
    nanoseconds = int(fraction[1].ljust(9, "0")) if fraction else 0
    kind = _KINDS.get(stat.S_IFMT(mode), "other")
    return FileInfo(path, kind, int(size), int(seconds) * 1_000_000_000 + nanoseconds, stat.S_IMODE(mode))

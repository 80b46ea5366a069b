"""From what a system says (``Permission denied``) back to the :class:`OSError` it means."""

from __future__ import annotations

import errno
import os
from typing import Final

__all__ = ["os_error"]

_CODES: Final = (
    errno.ENOENT,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENOTEMPTY,
    errno.EEXIST,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.EBUSY,
    errno.ETXTBSY,
    errno.EFBIG,
    errno.EINVAL,
    errno.E2BIG,
    errno.EMFILE,
    errno.ENOMEM,
    errno.EOPNOTSUPP,
    errno.EXDEV,
    errno.EIO,
)

_SAID: Final = {
    **{os.strerror(code).lower(): code for code in _CODES},
    # The words of Linux, whatever this machine's system says.
    "no such file or directory": errno.ENOENT,
    "nonexistent directory": errno.ENOENT,
    "permission denied": errno.EACCES,
    "operation not permitted": errno.EPERM,
    "not a directory": errno.ENOTDIR,
    "is a directory": errno.EISDIR,
    "directory not empty": errno.ENOTEMPTY,
    "file exists": errno.EEXIST,
    "no space left on device": errno.ENOSPC,
    "disk quota exceeded": errno.EDQUOT,
    "read-only file system": errno.EROFS,
    "file name too long": errno.ENAMETOOLONG,
    "too many levels of symbolic links": errno.ELOOP,
    "argument list too long": errno.E2BIG,
    "operation not supported": errno.EOPNOTSUPP,
}


def os_error(said: str, path: str | None = None) -> OSError:
    """Return the error meant by a tool's complaint, of the fitting subclass (:class:`FileNotFoundError`, ...).

    Parameters
    ----------
    said
        What was said; the last known complaint counts. Unknown words are kept, as an input/output error.
    path
        What it is about.
    """
    lowered = said.lower()
    found = max(((lowered.rfind(words), code) for words, code in _SAID.items()), default=(-1, 0))
    if found[0] >= 0:
        code, text = found[1], os.strerror(found[1])
    else:
        code, text = errno.EIO, said.strip() or os.strerror(errno.EIO)
    return OSError(code, text, path) if path is not None else OSError(code, text)

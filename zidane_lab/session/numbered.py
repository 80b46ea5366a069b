"""Files with running numbers in a session's folder: full outputs, torn ends."""

from __future__ import annotations

import os
import re
from pathlib import Path

from zidane_lab.session.layout import make_own_folder

__all__ = ["write_numbered"]


def write_numbered(folder: Path, inner: str, prefix: str, suffix: str, data: bytes) -> Path:
    """Write ``data`` to ``<folder>/<inner>/<prefix><n><suffix>``, on disk on return.

    ``n`` is one more than the highest number there, whatever follows it: numbers go up across names and
    across processes, and no file is written twice.

    Raises
    ------
    OSError
        It could not be written; no part of it stays.
    """
    target = make_own_folder(folder, inner)
    numbers = re.compile(re.escape(prefix) + r"(\d{1,9})\.", re.ASCII)
    used = (int(match[1]) for name in os.listdir(target) if (match := numbers.match(name)))  # noqa: PTH208 - names only
    path = target / f"{prefix}{max(used, default=0) + 1}{suffix}"
    with path.open("xb") as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return path

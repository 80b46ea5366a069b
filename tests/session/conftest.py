"""A sessions folder, and disks that fail."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from io import FileIO

import pytest

from zidane_lab.session import sessions_folder


@pytest.fixture
def folder(tmp_path):
    """The sessions folder of a notebook that has none yet."""
    return sessions_folder(notebook=tmp_path / "analysis.ipynb")


class Disk:
    """Hands out files of a disk with ``room`` bytes left (``None``: plenty)."""

    def __init__(self):
        self.room = None
        self.refuse_truncate = False
        self.writes = 0

    def open(self, path, mode):
        return _File(self, path, mode)


class _File(FileIO):
    def __init__(self, disk, path, mode):
        self.disk = disk
        super().__init__(path, mode)

    def write(self, data):
        self.disk.writes += 1
        if self.disk.room is None:
            return super().write(data)
        part = bytes(data)[: self.disk.room]
        if not part:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.disk.room -= len(part)
        return super().write(part)

    def truncate(self, size=None):
        if self.disk.refuse_truncate:
            raise OSError(errno.EIO, "Input/output error")
        return super().truncate(size)


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def small_disk(tmp_path):
    """A real file system of 256 KiB."""
    mount = tmp_path / "small"
    mount.mkdir()
    tool = shutil.which("mount")
    done = tool and subprocess.run(
        [tool, "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount], check=False, capture_output=True
    )
    if not done or done.returncode:
        pytest.skip("needs the right to mount a file system")
    yield mount
    subprocess.run([shutil.which("umount"), "-l", mount], check=True)


@pytest.fixture
def read_only():
    """Makes a folder read-only, for root too where that is possible."""
    mounted = []

    def make(path):
        os.chmod(path, 0o555)
        if os.access(path, os.W_OK):
            tool = shutil.which("mount")
            bound = (
                tool and subprocess.run([tool, "--bind", path, path], check=False, capture_output=True).returncode == 0
            )
            if not bound:
                pytest.skip("root can write everywhere here")
            mounted.append(path)
            subprocess.run([tool, "-o", "remount,ro,bind", path], check=True)
        made.append(path)

    def undo(path):
        made.remove(path)
        if path in mounted:
            mounted.remove(path)
            subprocess.run([shutil.which("umount"), "-l", path], check=True)
        os.chmod(path, 0o755)

    made = []
    make.undo = undo
    yield make
    for path in list(made):
        undo(path)

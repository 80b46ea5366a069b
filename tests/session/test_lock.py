"""One writer at a time, named for the others, whatever became of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from zidane_lab.errors import SessionLockedError
from zidane_lab.session import lock as lock_module
from zidane_lab.session.lock import Owner, SessionLock, locked_by

HOLD = """
import sys, time
from pathlib import Path
from zidane_lab.session.lock import Owner, SessionLock
lock = SessionLock.acquire(Path(sys.argv[1]), Owner(kernel="kernel-of-child"))
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "20260131-142059-3f9c0a.lock"


@pytest.fixture
def child(path):
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def write_owner(path, **values):
    owner = {"pid": 1, "host": socket.gethostname(), "kernel": "k", "started": "then"} | values
    path.write_text(json.dumps(owner))


def test_the_file_says_who_writes_and_goes_on_release(path):
    lock = SessionLock.acquire(path, Owner(kernel="abc"))
    raw = json.loads(path.read_text())
    assert raw["pid"] == os.getpid()
    assert raw["host"] == socket.gethostname()
    assert raw["kernel"] == "abc"
    assert raw["started"].startswith("20")
    assert locked_by(path) == lock.owner
    lock.release()
    lock.release()
    assert not path.exists()
    assert locked_by(path) is None


def test_a_second_one_in_this_process_is_refused_until_the_first_lets_go(path):
    first = SessionLock.acquire(path, Owner(kernel="first"))
    with pytest.raises(SessionLockedError, match="kernel first"):
        SessionLock.acquire(path, Owner(kernel="second"))
    first.check()
    first.release()
    SessionLock.acquire(path, Owner(kernel="second")).release()


def test_a_lock_nobody_refers_to_is_given_back(path):
    lock = SessionLock.acquire(path, Owner())
    del lock
    assert not path.exists()


def test_another_process_is_named(path, child):
    with pytest.raises(SessionLockedError, match=f"process {child.pid} on .*kernel-of-child"):
        SessionLock.acquire(path, Owner())
    assert locked_by(path).pid == child.pid


def test_a_killed_process_holds_nothing(path, child):
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert path.exists()
    assert locked_by(path) is None
    lock = SessionLock.acquire(path, Owner(kernel="next"))
    assert json.loads(path.read_text())["kernel"] == "next"
    lock.release()


@pytest.mark.parametrize("contents", ["", "{", "[]", '{"pid": "x"}', "\0" * 50, "\udcff"])
def test_nonsense_left_behind_is_taken_over(path, contents):
    path.write_bytes(contents.encode("utf-8", "surrogateescape"))
    lock = SessionLock.acquire(path, Owner(kernel="next"))
    assert locked_by(path).kernel == "next"
    lock.release()


def test_a_living_process_with_the_number_of_a_dead_writer_fools_nobody(path):
    write_owner(path, pid=os.getppid())
    assert locked_by(path) is None
    SessionLock.acquire(path, Owner()).release()


def test_a_look_at_the_lock_does_not_make_others_fail(path):
    for _ in range(20):
        lock = SessionLock.acquire(path, Owner())
        assert locked_by(path) is not None
        lock.release()


def test_a_shared_look_that_lasts_a_moment_is_waited_out(path):
    path.touch()
    look = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl,sys,time\nf=open(sys.argv[1])\nfcntl.flock(f, fcntl.LOCK_SH)\nprint(1, flush=True)\ntime.sleep(.04)",
            path,
        ],
        stdout=subprocess.PIPE,
    )
    look.stdout.readline()
    lock = SessionLock.acquire(path, Owner())
    assert locked_by(path) == lock.owner
    lock.release()
    look.wait()
    look.stdout.close()


class TestLost:
    def test_a_deleted_lock_is_noticed(self, path):
        lock = SessionLock.acquire(path, Owner())
        path.unlink()
        with pytest.raises(SessionLockedError, match="deleted or taken over"):
            lock.check()
        lock.release()

    def test_one_taken_over_is_noticed_and_left_to_the_other(self, path):
        lock = SessionLock.acquire(path, Owner())
        write_owner(path, kernel="other")
        with pytest.raises(SessionLockedError, match="taken over"):
            lock.check()

    def test_giving_back_a_lost_lock_leaves_the_other_ones_file(self, path):
        first = SessionLock.acquire(path, Owner(kernel="first"))
        path.unlink()
        second = SessionLock.acquire(path, Owner(kernel="second"))
        first.release()
        assert locked_by(path).kernel == "second"
        second.check()
        second.release()

    def test_after_release_it_is_not_held(self, path):
        lock = SessionLock.acquire(path, Owner())
        lock.release()
        with pytest.raises(SessionLockedError, match="does not hold"):
            lock.check()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_fork_neither_holds_the_lock_nor_keeps_it_alive(self, path):
        lock = SessionLock.acquire(path, Owner())
        pid = os.fork()
        if pid == 0:
            code = 3
            try:
                lock.check()
            except SessionLockedError:
                code = 0
            time.sleep(0.5 if code == 0 else 0)
            os._exit(code)
        lock.check()
        lock._let_go.detach()
        os.close(lock._handle)  # as the death of this process would
        SessionLock.acquire(path, Owner()).release()  # the child is still there
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    def test_a_lock_file_deleted_while_it_is_being_taken_is_not_enough(self, path, monkeypatch):
        try_lock, others = lock_module._try_lock, []

        def slow(handle):
            got = try_lock(handle)
            if not others:  # its last owner deletes the file just now, and somebody else makes a new one
                path.unlink()
                others.append(None)
                others[0] = SessionLock.acquire(path, Owner(kernel="quicker"))
            return got

        monkeypatch.setattr(lock_module, "_try_lock", slow)
        with pytest.raises(SessionLockedError, match="kernel quicker"):
            SessionLock.acquire(path, Owner(kernel="slower"))
        others[0].check()
        others[0].release()


class TestFileSystemsThatCannotLock:
    @pytest.fixture(autouse=True)
    def no_locks(self, monkeypatch):
        monkeypatch.setattr(lock_module, "_try_lock", lambda handle, shared=False: None)

    def test_a_living_process_of_this_machine_is_left_its_session(self, path, child):
        write_owner(path, pid=child.pid)
        with pytest.raises(SessionLockedError, match=f"process {child.pid}"):
            SessionLock.acquire(path, Owner())
        assert locked_by(path).pid == child.pid

    def test_a_dead_one_is_not(self, path, child):
        child.kill()
        child.wait()
        write_owner(path, pid=child.pid)
        assert locked_by(path) is None
        SessionLock.acquire(path, Owner()).release()

    def test_a_process_of_another_machine_is_left_its_session(self, path):
        write_owner(path, pid=2**22 + 1, host="elsewhere")
        with pytest.raises(SessionLockedError, match="on elsewhere"):
            SessionLock.acquire(path, Owner())

    def test_a_number_no_process_can_have_is_dead_or_refused_but_no_crash(self, path):
        write_owner(path, pid=10**30)
        with pytest.raises(SessionLockedError):
            SessionLock.acquire(path, Owner())


def test_a_link_in_place_of_the_lock_is_not_followed(path, tmp_path):
    target = tmp_path / "mine"
    target.write_text("precious")
    path.symlink_to(target)
    with pytest.raises(OSError):
        SessionLock.acquire(path, Owner())
    assert target.read_text() == "precious"
    assert locked_by(path) is None

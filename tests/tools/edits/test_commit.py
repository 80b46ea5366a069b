"""What can go wrong between the look and the write, and while writing."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import subprocess
import sys
import textwrap

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.contexts import local_files
from zidane_lab.contexts.base import ContextLostError
from zidane_lab.errors import ToolError
from zidane_lab.tools.apply_patch import apply_patch_tool, plan_apply_patch
from zidane_lab.tools.edit import edit_tool, plan_edit
from zidane_lab.tools.edits import writing as writing_module
from zidane_lab.tools.edits.changes import change_log_of
from zidane_lab.tools.edits.commit import commit
from zidane_lab.tools.edits.entries import with_entry
from zidane_lab.tools.edits.writing import writing
from zidane_lab.tools.multi_edit import multi_edit_tool
from zidane_lab.tools.undo_edit import undo_edit_tool
from zidane_lab.tools.write_file import plan_write, write_file_tool


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


@pytest.fixture
def local(tmp_path):
    return Bench("process", tmp_path)


def edited(bench, name="a.txt"):
    """A plan that was made and not carried out yet."""
    return asyncio.run(plan_edit(bench.context, name, "one", "two"))


@pytest.mark.parametrize("now", ["one!\n", "One\n", "two\n", ""])
def test_a_file_that_changed_since_the_plan_is_left(bench, now):
    bench.put("a.txt", "one\n")
    plan = edited(bench)
    bench.put("a.txt", now)
    with pytest.raises(ToolError, match="changed by somebody else"):
        asyncio.run(commit(bench.context, plan))
    assert bench.get("a.txt") == now.encode()


def test_a_change_within_one_tick_of_the_clock_is_seen(local):
    """Same size, same time: only the content tells."""
    local.put("a.txt", "one\n")
    plan = edited(local)
    before = os.stat(local.path("a.txt"))
    local.put("a.txt", "ONE\n")
    os.utime(local.path("a.txt"), ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ToolError, match="changed by somebody else"):
        asyncio.run(commit(local.context, plan))
    assert local.get("a.txt") == b"ONE\n"


def test_a_file_that_was_only_touched_is_the_same(local):
    local.put("a.txt", "one\n")
    plan = edited(local)
    os.utime(local.path("a.txt"), ns=(1, 1))
    asyncio.run(commit(local.context, plan))
    assert local.get("a.txt") == b"two\n"


def test_a_file_made_or_removed_meanwhile_is_noticed(bench):
    plan = asyncio.run(plan_write(bench.context, "new.txt", "mine\n"))
    bench.put("new.txt", "theirs\n")
    with pytest.raises(ToolError, match="changed by somebody else"):
        asyncio.run(commit(bench.context, plan))
    assert bench.get("new.txt") == b"theirs\n"
    bench.put("a.txt", "one\n")
    plan = edited(bench)
    asyncio.run(bench._files.remove("a.txt"))
    with pytest.raises(ToolError, match="changed by somebody else"):
        asyncio.run(commit(bench.context, plan))
    assert not bench.has("a.txt")


def test_of_two_at_the_same_time_one_is_refused_and_nothing_is_lost(bench):
    bench.put("a.txt", "one\n")

    async def both():
        plans = [await plan_edit(bench.context, "a.txt", "one", word) for word in ("first", "second")]
        return await asyncio.gather(*(commit(bench.context, plan) for plan in plans), return_exceptions=True)

    results = asyncio.run(both())
    refused = [each for each in results if isinstance(each, ToolError)]
    assert len(refused) == 1
    assert bench.get("a.txt") in {b"first\n", b"second\n"}


def test_many_calls_at_the_same_time_keep_all_that_they_say_they_did(local):
    local.put("a.txt", "".join(f"line {number:02}\n" for number in range(40)))

    async def one(number):
        for _ in range(100):
            with contextlib.suppress(ToolError):
                call = {"path": "a.txt", "old_string": f"line {number:02}\n", "new_string": f"done {number:02}\n"}
                return await edit_tool().run(local.context, call)
        raise AssertionError

    async def all_of_them():
        await asyncio.gather(*(one(number) for number in range(40)))

    asyncio.run(all_of_them())
    assert local.get("a.txt").decode() == "".join(f"done {number:02}\n" for number in range(40))


def test_names_of_one_file_share_a_lock_and_nothing_is_left_of_it(local):
    local.put("real.txt", "x")
    os.symlink("real.txt", local.path("link.txt"))
    order = []

    async def hold(name, seconds):
        async with writing(local.place, [local.path(name), local.path("other")]):
            order.append(f"{name} in")
            await asyncio.sleep(seconds)
            order.append(f"{name} out")

    async def both():
        await asyncio.gather(hold("real.txt", 0.02), hold("link.txt", 0))

    asyncio.run(both())
    assert order in (
        ["real.txt in", "real.txt out", "link.txt in", "link.txt out"],
        ["link.txt in", "link.txt out", "real.txt in", "real.txt out"],
    )
    gc.collect()
    assert not [known for known in writing_module._LOCKS.values() if known]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_a_full_disk_leaves_the_old_content(local, monkeypatch, number):
    local.put("a.txt", "one\n")
    written = local_files._write_new

    def half(path, data, mode, before):
        written(path, data[: len(data) // 2], mode, before)
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(local_files, "_write_new", half)
    with pytest.raises(ToolError, match=r"cannot be written: .*Nothing was changed"):
        local.run(edit_tool, path="a.txt", old_string="one", new_string="two")
    monkeypatch.undo()
    assert local.get("a.txt") == b"one\n"
    assert os.listdir(local.path(".")) == ["a.txt"]
    with pytest.raises(ToolError, match="no change to take back"):
        local.run(undo_edit_tool)


def test_a_real_limit_in_the_middle_of_a_write_leaves_the_old_content(tmp_path):
    """In a process that may write 100 KB to a file."""
    code = """
        import asyncio, resource, signal, sys
        from pathlib import Path
        from zidane_lab.errors import ToolError
        from zidane_lab.tools.base import ToolContext
        from zidane_lab.tools.edit import edit_tool
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        call = {"path": "a.txt", "old_string": "one", "new_string": "x" * 300_000}
        try:
            asyncio.run(edit_tool().run(ToolContext(cwd=Path.cwd()), call))
        except ToolError as error:
            print(error)
    """
    pytest.importorskip("resource")
    (tmp_path / "a.txt").write_text("one\n")
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert "cannot be written" in done.stdout
    assert (tmp_path / "a.txt").read_text() == "one\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_place_that_is_lost_in_the_middle_is_told_with_what_is_left(tmp_path, monkeypatch):
    bench = Bench("far", tmp_path)
    for name in ("a.txt", "b.txt"):
        bench.put(name, "one\n")
    plan = asyncio.run(
        plan_apply_patch(bench.context, "".join(f"*** Update File: {name}.txt\n@@\n-one\n+two\n" for name in "ab"))
    )
    write = bench.place.write

    async def lost(path, data, *, mode=None):
        if path.endswith("b.txt") or data == b"one\n":
            raise ContextLostError("The place is gone.")
        await write(path, data, mode=mode)

    monkeypatch.setattr(bench.place, "write", lost)
    with pytest.raises(ToolError, match=r"b\.txt cannot be written: The place is gone.* not put back: .*a\.txt"):
        asyncio.run(commit(bench.context, plan))


def test_a_read_only_file_is_left_also_to_those_who_may_all(bench):
    bench.put("a.txt", "one\n", mode=0o444)
    bench.put("a.zip", with_entry(None, "a.zip", "x", b"y"), mode=0o444)
    bench.reads("a.txt")
    for make, arguments in (
        (edit_tool, {"path": "a.txt", "old_string": "one", "new_string": "two"}),
        (write_file_tool, {"path": "a.txt", "content": "two\n"}),
        (write_file_tool, {"path": "a.zip:n", "content": "two\n"}),
        (apply_patch_tool, {"patch": "*** Update File: a.txt\n@@\n-one\n+two\n"}),
    ):
        with pytest.raises(ToolError, match="is read-only"):
            bench.run(make, **arguments)
    assert bench.get("a.txt") == b"one\n"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything is allowed to root")
def test_a_folder_that_may_not_be_written_leaves_the_file(local):
    local.put("sub/a.txt", "one\n")
    os.chmod(local.path("sub"), 0o555)
    try:
        with pytest.raises(ToolError, match=r"Permission denied.*Nothing was changed"):
            local.run(edit_tool, path="sub/a.txt", old_string="one", new_string="two")
    finally:
        os.chmod(local.path("sub"), 0o755)
    assert local.get("sub/a.txt") == b"one\n"


def test_a_stop_in_the_middle_lets_the_write_end(local, monkeypatch):
    local.put("a.txt", "one\n")
    write = local.place.write

    async def slow(path, data, *, mode=None):
        await asyncio.sleep(0.05)
        await write(path, data, mode=mode)

    monkeypatch.setattr(local.place, "write", slow)

    async def stopped():
        call = {"path": "a.txt", "old_string": "one", "new_string": "two"}
        task = asyncio.ensure_future(edit_tool().run(local.context, call))
        while not change_log_of(local.context).standing():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    assert local.get("a.txt") == b"two\n"
    local.run(undo_edit_tool)
    assert local.get("a.txt") == b"one\n"


@pytest.mark.parametrize(
    "path", ["a\0b", "", "  ", "a\ud800.txt", "x" * 5000, "/proc/self/mem\0", "a.zip:x\0", "~nobody\0/x"]
)
@pytest.mark.parametrize("tool", ["edit", "multi_edit", "write_file", "apply_patch"])
def test_paths_that_cannot_be_one_are_refused_in_words(local, tool, path):
    calls = {
        "edit": (edit_tool, {"path": path, "old_string": "a", "new_string": "b"}),
        "multi_edit": (multi_edit_tool, {"path": path, "edits": [{"old_string": "a", "new_string": "b"}]}),
        "write_file": (write_file_tool, {"path": path, "content": "x"}),
        "apply_patch": (apply_patch_tool, {"patch": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"}),
    }
    make, arguments = calls[tool]
    with pytest.raises(ToolError):
        local.run(make, **arguments)
    assert os.listdir(local.path(".")) == []


@pytest.mark.parametrize("text", ["b\0c", "b\ud800"])
def test_what_no_text_file_can_hold_is_refused(bench, text):
    bench.put("a.txt", "one\n")
    for make, arguments in (
        (edit_tool, {"path": "a.txt", "old_string": "one", "new_string": text}),
        (write_file_tool, {"path": "b.txt", "content": text}),
        (apply_patch_tool, {"patch": f"*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+{text}\n*** End Patch"}),
    ):
        with pytest.raises(ToolError):
            bench.run(make, **arguments)
    output = bench.run(multi_edit_tool, path="a.txt", edits=[{"old_string": "one", "new_string": text}])
    assert output.is_error
    assert bench.get("a.txt") == b"one\n"
    assert not bench.has("b.txt")


def test_names_of_odd_bytes_are_edited_as_they_are(local):
    name = os.fsdecode(b"a\xff\xfe.txt")
    local.put(name, "one\n")
    output = local.run(edit_tool, path=name, old_string="one", new_string="two")
    assert local.get(name) == b"two\n"
    output.parts[0].text.encode()
    output.metadata["edit"]["diff"].encode()
    local.run(undo_edit_tool)
    assert local.get(name) == b"one\n"

from __future__ import annotations

import io
import stat
import tarfile
import zipfile

import pytest

from tests.tools.edits.support import KINDS, Bench
from zidane_lab.errors import ToolError
from zidane_lab.tools.edits import entries
from zidane_lab.tools.edits.entries import entry_name, read_entry, with_entry
from zidane_lab.tools.edits.inside import ARCHIVES
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.tools.resolve import resolve_tool
from zidane_lab.tools.undo_edit import undo_edit_tool
from zidane_lab.tools.write_file import write_file_tool

WHEN = (2020, 1, 2, 3, 4, 6)


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


def zipped():
    """A ZIP archive with what archives have: folders, rights, comments, times, binary and stored entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"all of it"
        archive.writestr(zipfile.ZipInfo("docs/", WHEN), b"")
        info = zipfile.ZipInfo("docs/a.md", WHEN)
        info.external_attr = (stat.S_IFREG | 0o600) << 16
        info.comment = b"one"
        archive.writestr(info, b"old\r\nlines\r\n")
        archive.writestr(zipfile.ZipInfo("bin", WHEN), bytes(range(256)), zipfile.ZIP_STORED)
        archive.writestr("naïve.txt", "é" * 1000)
    return out.getvalue()


def tarred(packing=""):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{packing}") as archive:
        for name, data in (("./docs/a.md", b"old\r\nlines\r\n"), ("x" * 150, b"long name"), ("bin", bytes(range(256)))):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode, info.uname = len(data), 1_577_930_646.5, 0o640, "ada"
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "docs/a.md"
        archive.addfile(link)
        hard = tarfile.TarInfo("hard")
        hard.type, hard.linkname = tarfile.LNKTYPE, "bin"
        archive.addfile(hard)
        folder = tarfile.TarInfo("empty")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    return out.getvalue()


def shape(data, skip):
    """All there is to know of an archive's entries but one."""
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None
            return archive.comment, [
                (
                    each.filename,
                    each.date_time,
                    each.external_attr,
                    each.compress_type,
                    each.comment,
                    archive.read(each),
                )
                for each in archive.infolist()
                if each.filename != skip
            ]
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [
            (
                each.name,
                each.type,
                each.mode,
                each.mtime,
                each.uname,
                each.linkname,
                each.isreg() and archive.extractfile(each).read(),
            )
            for each in archive
            if each.name.removeprefix("./") != skip
        ]


MADE = {".zip": zipped, ".tar": tarred, **{f".tar.{key}": lambda key=key: tarred(key) for key in ("gz", "bz2", "xz")}}


@pytest.mark.parametrize("ending", MADE)
@pytest.mark.parametrize("name", ["docs/a.md", "docs/new.md", "deep/er/b"])
def test_all_else_in_an_archive_stays_as_it_was(ending, name):
    data = MADE[ending]()
    made = with_entry(data, f"a{ending}", name, b"new")
    assert read_entry(made, f"a{ending}", name) == b"new"
    assert shape(made, name) == shape(data, name)


def test_an_entry_that_is_replaced_keeps_its_rights():
    with zipfile.ZipFile(io.BytesIO(with_entry(zipped(), "a.zip", "docs/a.md", b"#!x"))) as archive:
        info = archive.getinfo("docs/a.md")
        assert (info.external_attr >> 16 & 0o777, info.comment) == (0o600, b"one")
        assert info.date_time > WHEN
    with tarfile.open(fileobj=io.BytesIO(with_entry(tarred(), "a.tar", "docs/a.md", b"#!x"))) as archive:
        info = archive.getmember("./docs/a.md")
        assert (info.mode, info.uname, info.size) == (0o640, "ada", 3)
        assert info.mtime > 1_600_000_000


@pytest.mark.parametrize("ending", ARCHIVES)
def test_a_new_archive_is_made_and_read_again(tmp_path, ending):
    bench = Bench("process", tmp_path)
    output = bench.told(write_file_tool, path=f"sub/a{ending}:docs/x.md", content="one\ntwo\n")
    assert output.parts[0].text == f"Added sub/a{ending}:docs/x.md: 2 lines; sub/a{ending} was made."
    assert bench.say(read_file_tool, path=f"sub/a{ending}:docs/x.md").startswith("one\ntwo")
    assert output.metadata["edit"]["diff"].startswith(f"--- /dev/null\n+++ b/sub/a{ending}:docs/x.md\n")
    bench.run(undo_edit_tool)
    assert not bench.has(f"sub/a{ending}")


@pytest.mark.parametrize("ending", [".zip", ".tar.gz"])
def test_an_entry_is_replaced_in_its_encoding_and_taken_back(bench, ending):
    data = MADE[ending]()
    bench.put(f"a{ending}", data)
    with pytest.raises(ToolError, match="was not looked into yet"):
        bench.told(write_file_tool, path=f"a{ending}:docs/a.md", content="old\nnew\n")
    bench.reads(f"a{ending}")
    output = bench.told(write_file_tool, path=f"a{ending}:docs/a.md", content="old\nnew\n")
    assert output.parts[0].text == f"Replaced a{ending}:docs/a.md: 2 lines now, 1 added and 1 removed."
    assert read_entry(bench.get(f"a{ending}"), f"a{ending}", "docs/a.md") == b"old\r\nnew\r\n"
    assert output.metadata["written"] == [bench.path(f"a{ending}")]
    assert "-lines\n+new\n" in output.metadata["edit"]["diff"]
    again = bench.told(write_file_tool, path=f"a{ending}:docs/a.md", content="old\nnew\n")
    assert again.parts[0].text.endswith("exactly this content already; nothing was written.")
    bench.told(write_file_tool, path=f"a{ending}:docs/a.md", content="third\n")  # it knows what it wrote itself
    bench.run(undo_edit_tool)
    bench.run(undo_edit_tool)
    assert bench.get(f"a{ending}") == data


def test_a_preview_of_an_entry_can_be_applied_later(bench, monkeypatch):
    bench.put("a.zip", zipped())
    bench.told(write_file_tool, path="a.zip:n.txt", content="x\n", preview=True)
    monkeypatch.setattr(entries.time, "localtime", lambda: (2031, 1, 1, 0, 0, 0, 0, 0, 0))
    bench.run(resolve_tool, action="apply", reason="")
    assert read_entry(bench.get("a.zip"), "a.zip", "n.txt") == b"x\n"


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        ("../x", "leads out"),
        ("docs/../../x", "leads out"),
        ("..\\x", "leads out"),
        ("", "names no file"),
        ("./", "names no file"),
        ("docs/", "is a folder"),
        ("docs", "is a folder"),
        ("docs/a.md/x", "is a file of the archive"),
        ("a\udcff\ud800", "no name"),
    ],
)
@pytest.mark.parametrize("ending", [".zip", ".tar.gz"])
def test_names_that_lead_elsewhere_are_refused(bench, ending, inner, said):
    data = MADE[ending]()
    bench.put(f"a{ending}", data)
    with pytest.raises(ToolError, match=said):
        bench.run(write_file_tool, path=f"a{ending}:{inner}", content="x")
    assert bench.get(f"a{ending}") == data


def test_absolute_names_are_those_inside():
    assert entry_name("/etc/passwd") == "etc/passwd"
    assert entry_name("./a//b\\c") == "a/b/c"


@pytest.mark.parametrize("name", ["link", "hard"])
def test_a_link_is_not_written_through(bench, name):
    bench.put("a.tar", tarred())
    bench.reads("a.tar")
    with pytest.raises(ToolError, match="no ordinary file"):
        bench.run(write_file_tool, path=f"a.tar:{name}", content="x")


def twice():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", "2")
    return out.getvalue()


def encrypted():
    data = bytearray(zipped())
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        data[at + 8] |= 1
        at = data.find(b"PK\x01\x02", at + 1)
    return bytes(data)


@pytest.mark.parametrize(
    ("ending", "make", "said"),
    [
        (".zip", lambda: b"not an archive", "broken or no such archive"),
        (".zip", lambda: b"#!/bin/sh\n" + zipped(), "does not begin as a ZIP"),
        (".zip", lambda: zipped()[:-30], "broken"),
        (".zip", lambda: zipped()[:76] + b"\xff" * 6 + zipped()[82:], "broken"),
        (".zip", twice, "a name twice"),
        (".zip", encrypted, "encrypted"),
        (".tar", lambda: b"x" * 5000, "broken"),
        (".tar.gz", tarred, "broken"),
        (".tar.gz", lambda: tarred("gz")[:-20], "broken"),
        (".tgz", lambda: b"", "broken"),
    ],
)
def test_what_cannot_be_carried_over_is_refused_and_not_touched(bench, ending, make, said):
    data = make()
    bench.put(f"a{ending}", data)
    with pytest.raises(ToolError, match=said):
        bench.run(write_file_tool, path=f"a{ending}:n.txt", content="x")
    assert bench.get(f"a{ending}") == data


@pytest.mark.parametrize("ending", [".zip", ".tar.gz", ".tar.bz2", ".tar.xz"])
def test_a_bomb_is_not_unpacked(monkeypatch, ending):
    monkeypatch.setattr(entries, "MAX_UNPACKED", 1_000_000)
    bomb = with_entry(None, f"a{ending}", "zeros", b"\0" * 3_000_000)
    assert len(bomb) < 50_000
    with pytest.raises(ToolError, match="unpacks to more than"):
        with_entry(bomb, f"a{ending}", "x", b"")


def test_a_size_that_is_a_lie_is_no_way_round_the_limit():
    data = bytearray(with_entry(None, "a.zip", "zeros", b"\0" * 3_000_000))
    at = data.find(b"PK\x01\x02")
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    with pytest.raises(ToolError, match="broken"):
        with_entry(bytes(data), "a.zip", "x", b"")


def test_a_binary_entry_is_replaced_without_a_diff_of_it(bench):
    bench.put("a.zip", zipped())
    bench.reads("a.zip")
    assert (
        bench.told(write_file_tool, path="a.zip:bin", content="text\n").parts[0].text == "Replaced a.zip:bin: 1 line."
    )


def test_files_whose_names_have_a_colon_are_files(bench):
    bench.put("a.zip:x", "")
    bench.run(write_file_tool, path="a.zip:x", content="plain\n")
    assert bench.get("a.zip:x") == b"plain\n"
    assert not bench.has("a.zip")
    bench.put("folder.zip/x", "")
    bench.run(write_file_tool, path="folder.zip:y", content="plain\n")
    assert bench.get("folder.zip:y") == b"plain\n"

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import struct
import tarfile
import tracemalloc
import zipfile

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import read_file
from zidane_lab.tools.reading import archives
from zidane_lab.turns import ImageBlock


def read(folder, name, **options) -> str:
    (part,) = read_file(ToolContext(cwd=folder), name, **options).parts
    return part.text


FILES = {"docs/x.md": "# X\nline 2\nline 3\n", "docs/deep/y.txt": "y\n", "top.py": "a = 1\n", "odd:1-2.txt": "odd\n"}


def make_zip(path, files=FILES):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def make_tar(path, files=FILES):
    mode = {".gz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz", ".tgz": "w:gz"}.get(path.suffix, "w")
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


@pytest.fixture(params=["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tar.xz"])
def archive(request, tmp_path):
    path = tmp_path / request.param
    (make_zip if path.suffix == ".zip" else make_tar)(path)
    return path


def test_an_archive_is_listed_and_its_files_are_read_like_others(archive):
    folder, name = archive.parent, archive.name
    listed = read(folder, name).splitlines()
    assert {line.split("  ")[0] for line in listed[:-1]} == set(FILES)
    assert listed[-1].startswith("[4 entries, ")
    assert read(folder, f"{name}:docs/").splitlines()[:2] == ["x.md  18 B", "deep/y.txt  2 B"]
    assert read(folder, f"{name}:docs/x.md") == FILES["docs/x.md"]
    assert read(folder, f"{name}:docs/x.md:2-2:raw").startswith("line 2\n[")
    assert read(folder, f"{name}:docs/x.md", offset=3).startswith("line 3\n[")
    assert read(folder, f"{name}:odd:1-2.txt") == "odd\n"


def test_what_is_not_there_or_leads_out_is_refused(archive):
    folder, name = archive.parent, archive.name
    with pytest.raises(ToolError, match=r"There is no docs/z\.md .*Near names in it: docs/x\.md"):
        read(folder, f"{name}:docs/z.md")
    for climbing in ("../x", "docs/../../x", "..", "docs\\..\\..\\x"):
        with pytest.raises(ToolError, match="leads out of the archive"):
            read(folder, f"{name}:{climbing}")


def test_evidence_of_an_entry_never_stands_for_the_archive(archive):
    output = read_file(ToolContext(cwd=archive.parent), f"{archive.name}:top.py")
    assert output.metadata["read"]["path"] == str(archive)
    assert output.metadata["read"]["partial"] is True


def test_at_most_500_entries_are_listed(tmp_path):
    make_zip(tmp_path / "a.zip", {f"{n:04}.txt": "x" for n in range(700)})
    page = read(tmp_path, "a.zip", limit=1000)
    assert page.count(".txt  ") == 500
    assert "[700 entries, 700 B unpacked; 200 more are left out" in page


def test_pictures_and_archives_in_archives_are_shown(tmp_path):
    from tests.tools.test_read_file import png

    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("deep.txt", "deep\n")
    make_zip(tmp_path / "a.zip", {"p.png": png(3, 2), "b.zip": inner.getvalue()})
    note, image = read_file(ToolContext(cwd=tmp_path), "a.zip:p.png").parts
    assert isinstance(image, ImageBlock)
    assert note.text.startswith("[p.png: a PNG image, 3 × 2 pixels")
    assert read(tmp_path, "a.zip:b.zip:deep.txt") == "deep\n"
    data = b"x"
    for _ in range(8):
        outer = io.BytesIO()
        with zipfile.ZipFile(outer, "w") as archive:
            archive.writestr("n.zip", data)
        data = outer.getvalue()
    (tmp_path / "nested.zip").write_bytes(data)
    with pytest.raises(ToolError, match="too many archives"):
        read(tmp_path, "nested.zip:" + ":".join(["n.zip"] * 7))


@pytest.mark.parametrize(("pack", "ending"), [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")])
def test_a_compressed_file_is_read_as_its_content(tmp_path, pack, ending):
    (tmp_path / f"a.log.{ending}").write_bytes(pack("".join(f"line {n}\n" for n in range(1, 501)).encode()))
    assert read(tmp_path, f"a.log.{ending}").endswith("[lines 1–300; go on with offset=301]")
    assert read(tmp_path, f"a.log.{ending}:400+1:raw").startswith("line 400\n")
    (tmp_path / f"broken.{ending}").write_bytes(pack(b"x" * 100_000)[:-20])
    with pytest.raises(ToolError, match="cannot be read"):
        read(tmp_path, f"broken.{ending}")


def test_bombs_are_left(tmp_path, monkeypatch):
    make_zip(tmp_path / "a.zip", {"zeros": b"\0" * 20_000_000, "small.txt": "x" * 100_000})
    with pytest.raises(ToolError, match="times its size"):
        read(tmp_path, "a.zip:zeros")
    assert read(tmp_path, "a.zip:small.txt").startswith("x" * 9)
    monkeypatch.setattr(archives, "MOST_MEMBER", 1_000_000)
    with pytest.raises(ToolError, match="at most"):
        read(tmp_path, "a.zip:zeros")
    monkeypatch.setattr(archives, "MOST_UNPACKED", 100_000)
    make_tar(tmp_path / "b.tar.gz", {"a": b"\0" * 200_000, "b.txt": "b\n"})
    with pytest.raises(ToolError, match="unpacks to more than"):
        read(tmp_path, "b.tar.gz:b.txt")
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"line\n" * 100_000))
    with pytest.raises(ToolError, match="unpacks to more than"):
        read(tmp_path, "c.gz", offset=90_000)


def test_a_size_that_is_not_true_does_no_harm(tmp_path, monkeypatch):
    make_zip(tmp_path / "a.zip", {"a.txt": "x" * 5000})
    data = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(data.replace(struct.pack("<I", 5000), struct.pack("<I", 10)))
    with pytest.raises(ToolError, match="broken"):
        read(tmp_path, "a.zip:a.txt")


def test_links_devices_and_locked_entries_are_named_not_followed(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        device = tarfile.TarInfo("device")
        device.type = tarfile.CHRTYPE
        archive.addfile(device)
    assert "link  a link to /etc/passwd" in read(tmp_path, "a.tar")
    with pytest.raises(ToolError, match="a link to /etc/passwd"):
        read(tmp_path, "a.tar:link")
    with pytest.raises(ToolError, match="no ordinary file"):
        read(tmp_path, "a.tar:device")
    make_zip(tmp_path / "a.zip", {"a.txt": "x"})
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(bytes(data))
    with pytest.raises(ToolError, match="encrypted"):
        read(tmp_path, "a.zip:a.txt")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.docx", "a.xlsx", "a.pptx"])
def test_broken_archives_are_errors_in_words(tmp_path, name):
    path = tmp_path / name
    (make_tar if "tar" in name else make_zip)(path)
    whole = path.read_bytes()
    for size in (30, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:size])
        with contextlib.suppress(ToolError):  # nothing else may come out; a part may be readable
            read(tmp_path, name)


def test_an_entry_whose_name_looks_like_a_part_is_that_entry(tmp_path):
    make_zip(tmp_path / "a.zip", {"raw": "RAW\n", "50": "FIFTY\n", "img/x.txt": "I\n", "conflicts": "C\n"})
    assert read(tmp_path, "a.zip:raw") == "RAW\n"
    assert read(tmp_path, "a.zip:50") == "FIFTY\n"
    assert read(tmp_path, "a.zip:raw:1-1") == "RAW\n"
    assert read(tmp_path, "a.zip:img").startswith("x.txt  2 B\n")
    assert read(tmp_path, "a.zip:1-2").startswith("raw  4 B\n50  6 B\n")


def test_an_entry_is_taken_by_the_name_that_is_shown(tmp_path):
    make_zip(tmp_path / "a.zip", {"a\x1b[31m\n.txt": "odd\n", "/abs.txt": "abs\n"})
    listed = read(tmp_path, "a.zip").splitlines()
    assert listed[0] == r"a\x1b[31m\n.txt  4 B"
    assert read(tmp_path, r"a.zip:a\x1b[31m\n.txt") == "odd\n"
    assert read(tmp_path, "a.zip:/abs.txt") == read(tmp_path, "a.zip:abs.txt") == "abs\n"


def test_a_list_of_entries_that_is_too_long_is_not_read(tmp_path, monkeypatch):
    make_zip(tmp_path / "a.zip", {f"{n:04}.txt": "" for n in range(100)})
    monkeypatch.setattr(archives, "MOST_DIRECTORY", 1_000)
    opened = []
    monkeypatch.setattr(archives.zipfile, "ZipFile", lambda *_a: opened.append(1))
    with pytest.raises(ToolError, match="too many entries"):
        read(tmp_path, "a.zip")
    assert not opened


def test_a_header_that_claims_gigabytes_is_not_believed(tmp_path, monkeypatch):
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = b"x", 7 * 1_073_741_824
    monkeypatch.setattr(archives, "MOST_MEMBER", 1_048_576)
    with (tmp_path / "a.tar").open("wb") as handle:
        handle.write(header.tobuf(tarfile.USTAR_FORMAT))
        handle.truncate(8 * 1_073_741_824)  # a hole: nothing is written
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match="broken or not what it seems"):
            read(tmp_path, "a.tar")
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("pack", "ending"), [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")])
def test_bytes_of_a_compressed_file_are_those_of_its_content(tmp_path, pack, ending):
    (tmp_path / f"a.log.{ending}").write_bytes(pack(b"0123456789" * 10_000))
    assert read(tmp_path, f"a.log.{ending}:b5+4").startswith("5678\n[bytes 5–8; go on with `")
    assert read(tmp_path, f"a.log.{ending}:b99990+4").startswith("0123\n")

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
import socket
import sqlite3
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import MAX_IMAGE_BYTES, read_file, read_file_tool
from zidane_lab.tools.reading.files import LocalFiles
from zidane_lab.tools.truncate import MAX_BYTES, MAX_LINES
from zidane_lab.turns import ImageBlock


def read(folder, name, **options) -> str:
    (part,) = read_file(ToolContext(cwd=folder), name, **options).parts
    return part.text


def png(width=2, height=2, extra=b"") -> bytes:
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\xff\0\0" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", extra)


def test_a_short_file_is_its_text_and_nothing_else(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\ny = '{}?!'\n")
    assert read(tmp_path, "a.py") == "x = 1\ny = '{}?!'\n"


def test_a_page_says_where_to_go_on_and_pages_cover_the_file_exactly(tmp_path):
    text = "".join(f"line {n}\n" for n in range(1, 1001)) + "the end"
    (tmp_path / "a.txt").write_text(text)
    first = read(tmp_path, "a.txt")
    assert first.endswith("line 300\n[lines 1–300 of 1,001; go on with offset=301]")
    got, offset = "", 1
    for _ in range(20):
        page = read(tmp_path, "a.txt", offset=offset)
        body, _, note = page.rpartition("\n[")
        got += body if "this is the end" in note else body + "\n"
        found = re.search(r"offset=(\d+)", note)
        if not found:
            assert "this is the end" in note
            break
        offset = int(found[1])
    assert got == text


@given(
    st.lists(
        st.text(alphabet="abé\U0001f600", max_size=30) | st.integers(0, 40_000).map(lambda n: "z" * n), max_size=40
    ),
    st.integers(1, 30),
    st.booleans(),
)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pages_of_any_text_are_its_lines_in_order(tmp_path, rows, limit, ended):
    text = "\n".join(rows) + ("\n" if ended else "")
    (tmp_path / "a.txt").write_text(text)
    got, offset = [], 1
    while offset:
        page = read(tmp_path, "a.txt", offset=offset, limit=limit)
        assert len(page.encode()) <= MAX_BYTES
        found = re.search(r"\[lines (\d+)–(\d+) of ([\d,]+); (?:go on with offset=(\d+)|this is the end)\]", page)
        body = page[: found.start()] if found else page
        if page == "[empty]":
            break
        assert not found or int(found[1].replace(",", "")) == offset
        got += (
            body.split("\n")[: int(found[2].replace(",", "")) - offset + 1]
            if found
            else body.removesuffix("\n").split("\n")
        )
        offset = int(found[4]) if found and found[4] else 0
    assert got == (text.removesuffix("\n").split("\n") if text else [])


def test_a_page_never_passes_lines_or_bytes(tmp_path):
    (tmp_path / "lines.txt").write_text("x\n" * 10_000)
    page = read(tmp_path, "lines.txt", limit=10**9)
    assert page.count("\n") + 1 <= MAX_LINES
    (tmp_path / "bytes.txt").write_text(("y" * 1000 + "\n") * 200)
    page = read(tmp_path, "bytes.txt", limit=3000)
    assert len(page) <= MAX_BYTES
    assert "[lines 1–49 of 200; go on with offset=50]" in page


def test_one_enormous_line_shows_its_beginning_and_the_next_line_is_reachable(tmp_path):
    (tmp_path / "a.json").write_text("é" * 200_000 + "\nnext\n")
    page = read(tmp_path, "a.json")
    assert "[line 1 is longer than a page: only its beginning is shown; " in page
    assert "[lines 1–1 of 2; go on with offset=2]" in page
    assert len(page.encode()) <= MAX_BYTES
    assert read(tmp_path, "a.json", offset=2).startswith("next\n")
    on = re.search(r"`(.*?)` goes on by bytes", page)[1]
    assert read(tmp_path, on).startswith("é" * 1000)


def test_bytes_by_range_cover_the_file_exactly(tmp_path):
    text = "é" * 60_000 + "\nnext\n"
    (tmp_path / "a.json").write_text(text)
    got, path = "", "a.json:b0"
    for _ in range(20):
        page = read(tmp_path, path)
        body, _, note = page.rpartition("[")
        got += body if body.endswith("next\n") else body.removesuffix("\n")
        found = re.search(r"go on with `(.*?)`", note)
        if not found:
            assert "this is the end" in note
            break
        path = found[1]
    assert got == text
    assert (
        read(tmp_path, "a.json:b2+4") == "éé\n[bytes 2–5 of 120,006; go on with `" + str(tmp_path / "a.json") + ":b6`]"
    )
    assert read(tmp_path, "a.json:b999999").startswith("[there are no bytes")
    (tmp_path / "x.bin").write_bytes(bytes(range(40)))
    assert read(tmp_path, "x.bin:b0+20").splitlines()[1].startswith("00000010  10 11 12 13 ")


def test_beyond_the_end_and_empty_are_explained_not_errors(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "empty.txt").write_text("")
    assert read(tmp_path, "a.txt", offset=9) == "[the text has 2 lines; line 9 is past its end]"
    assert read(tmp_path, "empty.txt") == "[empty]"
    assert read(tmp_path, "a.txt", offset=-5, limit=-5) == "one\n[lines 1–1 of 2; go on with offset=2]"


def test_the_total_of_a_large_file_is_not_counted(tmp_path):
    with (tmp_path / "big.log").open("w") as handle:
        handle.writelines("x" * 1023 + "\n" for _ in range(11_000))
    assert "[lines 1–5; go on with offset=6]" in read(tmp_path, "big.log", limit=5)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("é\n".encode("utf-8-sig"), "é\n"),
        ("é\n".encode("utf-16"), "é\n[encoding UTF-16]"),
        ("\ufeffé\n".encode("utf-16-be"), "é\n[encoding UTF-16]"),
        ("é\n".encode("latin-1"), "é\n[not valid UTF-8: read as Latin-1, some characters may be wrong]"),
        (b"a\r\nb\r\n", "a\nb\n[lines end with CR LF]"),
        (b"a\x0bb\x1c\xc2\x85c\n", "a\x0bb\x1c\x85c\n"),
    ],
)
def test_encodings_and_line_ends_are_recognised_and_said(tmp_path, data, shown):
    (tmp_path / "a.txt").write_bytes(data)
    assert read(tmp_path, "a.txt") == shown


def test_broken_utf_16_is_refused_in_words(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe" + b"\x00\xd8" * 2)
    with pytest.raises(ToolError, match="starts as UTF-16"):
        read(tmp_path, "a.txt")


def write_binary(folder):
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({"a": [1]})
    frame.to_parquet(folder / "t.parquet")
    frame.to_feather(folder / "t.feather")
    np.save(folder / "t.npy", np.arange(3))
    np.savez(folder / "t.npz", a=np.arange(3))
    with zipfile.ZipFile(folder / "t.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    with zipfile.ZipFile(folder / "t.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    connection = sqlite3.connect(folder / "t.db")
    connection.execute("create table t (a)")
    connection.commit()
    connection.close()
    (folder / "t.gz").write_bytes(gzip.compress(b"x" * 100))
    (folder / "t.pkl").write_bytes(pickle.dumps({"a": list(range(50))}))
    (folder / "t.pdf").write_bytes(b"%PDF-1.7\n\x00\x01")
    (folder / "t.bin").write_bytes(bytes(range(256)) * 4)
    (folder / "t.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))


@pytest.mark.parametrize(
    ("name", "kind", "advice"),
    [
        ("t.npy", "a NumPy array", "np.load("),
        ("t.npz", "a NumPy archive", "np.load("),
        ("t.pkl", "a Python pickle", "runs the code in it"),
        ("t.bin", "binary data", "cannot be shown as text"),
        ("t.h5", "an HDF5 file", "xr.open_dataset("),
    ],
)
def test_binary_files_are_refused_with_what_they_are_and_how_to_load_them(tmp_path, name, kind, advice):
    write_binary(tmp_path)
    with pytest.raises(ToolError) as caught:
        read(tmp_path, name)
    assert f"{name} is {kind} (" in caught.value.message
    assert advice in caught.value.hint


def test_the_advice_runs(tmp_path):
    import numpy as np

    write_binary(tmp_path)
    for name in ("t.npy", "t.npz"):
        with pytest.raises(ToolError) as caught:
            read(tmp_path, name)
        code = caught.value.hint.partition("`")[2].rpartition("`")[0]
        assert eval(code, {"np": np}) is not None


def test_a_library_in_use_is_preferred_and_a_missing_one_named(tmp_path, monkeypatch):
    write_binary(tmp_path)
    import polars as pl

    assert sys.modules["polars"] is pl
    monkeypatch.delitem(sys.modules, "pandas")
    assert "pl.read_parquet(" in read(tmp_path, "t.parquet")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "PIL", raising=False)
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    (tmp_path / "a.tif").write_bytes(b"II*\0" + bytes(50))
    with pytest.raises(ToolError, match="takes PIL or matplotlib, not installed here"):
        read(tmp_path, "a.tif")
    with pytest.raises(ToolError, match="No library for it is installed"):
        read(tmp_path, "t.parquet")
    with pytest.raises(ToolError, match="takes pypdf, not installed"):
        read(tmp_path, "t.pdf")


def test_small_images_are_returned_large_ones_described(tmp_path):
    (tmp_path / "a.png").write_bytes(png(3, 2))
    note, image = read_file(ToolContext(cwd=tmp_path), "a.png").parts
    assert image == ImageBlock("image/png", png(3, 2), "a.png")
    assert note.text.startswith("[a.png: a PNG image, 3 × 2 pixels, ")
    (tmp_path / "b.png").write_bytes(png(300, 200, extra=bytes(MAX_IMAGE_BYTES)))
    with pytest.raises(ToolError, match=r"a PNG image \(300 × 200 pixels, 20\.0 MB\)"):
        read(tmp_path, "b.png")


@pytest.mark.parametrize(
    ("data", "media_type", "pixels"),
    [
        (b"GIF89a" + struct.pack("<HH", 7, 5) + bytes(20), "image/gif", "7 × 5 pixels"),
        (b"RIFF\x10\0\0\0WEBPVP8 " + bytes(20), "image/webp", "WebP image, 36 B"),
        (
            b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(10) + b"\xff\xc0\0\x11\x08" + struct.pack(">HH", 4, 9) + bytes(20),
            "image/jpeg",
            "9 × 4 pixels",
        ),
    ],
)
def test_other_images_are_recognised_by_their_bytes_not_their_names(tmp_path, data, media_type, pixels):
    (tmp_path / "picture.dat").write_bytes(data)
    note, image = read_file(ToolContext(cwd=tmp_path), "picture.dat").parts
    assert image.media_type == media_type
    assert pixels in note.text


def test_text_that_starts_like_a_magic_number_is_text(tmp_path):
    for text in ("BM is not a bitmap\n", "MZ\n", "ORC and elf\n", "II*", "ID3,a\n", "BZh\n"):
        (tmp_path / "a.txt").write_text(text)
        assert read(tmp_path, "a.txt") == text


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("a.csv", "id,name\n1,x\n2,y\n", "table: comma-separated, 2 columns (id, name), 2 rows. "),
        ("a.tsv", "id\tname\tz\n1\tx,1\t2\n", "table: tab-separated, 3 columns (id, name, z), 1 rows. "),
        ("a.csv", "id;name\n1,5;x\n2,5;y\n", "table: semicolon-separated, 2 columns (id, name), 2 rows. "),
        ("a.csv", 'id,text\n1,"a\nb"\n2,"c, d"\n', "table: comma-separated, 2 columns (id, text), 2 rows. "),
        ("a.csv", "only\n1\n2\n", "table: comma-separated, 1 columns (only), 2 rows. "),
        ("a.csv", "id,a\rb\n1,2\n", "table: comma-separated, "),
    ],
)
def test_the_head_of_a_table_says_its_shape(tmp_path, name, text, note):
    (tmp_path / name).write_bytes(text.encode())
    page = read(tmp_path, name)
    assert page.startswith(text)
    assert note in page


def test_a_table_of_many_pages_says_about_how_many_rows_and_how_to_load_it(tmp_path):
    import pandas as pd

    (tmp_path / "a.csv").write_text("id;v\n" + "1;2\n" * 5000)
    page = read(tmp_path, "a.csv")
    assert "about 5,000 rows" in page
    code = re.search(r"`(pd\.read_csv.*)`", page)[1]
    assert eval(code, {"pd": pd}).shape == (5000, 2)
    assert "table:" not in read(tmp_path, "a.csv", offset=100)


def test_a_notebook_is_its_cells_without_outputs(tmp_path):
    cells = [
        {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "id": "c1",
            "metadata": {},
            "execution_count": 1,
            "source": "x = 1\nx",
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "SECRET OUTPUT" * 1000}],
        },
        {"cell_type": "raw", "metadata": {}, "source": ""},
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    assert read(tmp_path, "a.ipynb") == (
        "# %% [markdown] id=intro\n# Title\ntext\n\n# %% [code] id=c1\nx = 1\nx\n\n# %% [raw] id=#2\n\n"
        "[notebook: 3 cells (1 markdown, 1 code, 1 raw); outputs of 1 not shown, `:outputs` behind the path shows them]"
    )
    assert read(tmp_path, "a.ipynb", offset=5, limit=2).startswith("# %% [code] id=c1\nx = 1\n[lines 5–6 of ")


def test_an_old_notebook_and_a_broken_one_are_shown_as_well_as_possible(tmp_path):
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1"]}]}], "nbformat": 3}
    (tmp_path / "old.ipynb").write_text(json.dumps(old))
    assert read(tmp_path, "old.ipynb").startswith("# %% [code] id=#0\na = 1\n")
    for content in ("{not json", "[]", '{"cells": 3}', '{"cells": ["x"]}'):
        (tmp_path / "bad.ipynb").write_text(content)
        assert read(tmp_path, "bad.ipynb").startswith(content + "\n[not readable as a notebook")


def test_folders_missing_files_and_forbidden_ones_are_errors_with_a_way_on(tmp_path):
    (tmp_path / "sales.csv").write_text("a\n")
    (tmp_path / "report.ipynb").write_text("{}")
    with pytest.raises(ToolError, match=r"Near names there: sales\.csv"):
        read(tmp_path, "Sale.csv")
    with pytest.raises(ToolError, match=r"Near names there: report\.ipynb"):
        read(tmp_path, "report")
    with pytest.raises(ToolError, match="of its folders only"):
        read(tmp_path, "sales.csv/deeper/x")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(ToolError, match="a link to something that does not exist"):
        read(tmp_path, "dangling")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ToolError, match="cannot be reached"):
        read(tmp_path, "a")


def test_a_forbidden_file_is_said_to_be_forbidden(tmp_path, monkeypatch):
    def refuse(self, *arguments, **options):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.txt").write_text("x")
    monkeypatch.setattr(LocalFiles, "open", refuse)
    with pytest.raises(ToolError, match="cannot be read: Permission denied"):
        read(tmp_path, "a.txt")


def test_special_files_are_refused_without_being_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "s"))
    try:
        for name, kind in (("pipe", "a named pipe"), ("link", "a character device"), ("s", "a socket")):
            with pytest.raises(ToolError, match=f"is {kind}"):
                read(tmp_path, name)
    finally:
        server.close()


def test_paths_may_be_absolute_or_start_at_home(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("x")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read(Path("/"), str(tmp_path / "a.txt")) == read(Path("/"), "~/a.txt") == "x"


@pytest.mark.asyncio
async def test_the_tool_reads_and_may_overlap_others(tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    made = read_file_tool()
    assert (made.name, made.tier, made.concurrency) == ("read_file", "read", "shared")
    assert made.parameters["required"] == ["path"]
    output = await made.run(ToolContext(cwd=tmp_path), {"path": "a.txt", "offset": "2", "limit": 1})
    assert output.parts[0].text == "2\n[lines 2–2 of 3; go on with offset=3]"


def test_a_large_picture_is_shrunk_for_the_model(tmp_path):
    from PIL import Image

    Image.new("RGB", (3000, 1500), "white").save(tmp_path / "big.png")
    note, image = read_file(ToolContext(cwd=tmp_path), "big.png").parts
    assert "3000 × 1500 pixels" in note.text
    assert max(Image.open(io.BytesIO(image.data)).size) == 1024

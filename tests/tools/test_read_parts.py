from __future__ import annotations

import io
import json
import os
import re
import zipfile
from pathlib import Path

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext, ToolOutput
from zidane_lab.tools.read_file import read_file, read_file_tool
from zidane_lab.tools.reading.files import LocalFiles
from zidane_lab.turns import TextBlock


def read(folder, name, **options) -> str:
    (part,) = read_file(ToolContext(cwd=folder), name, **options).parts
    return part.text


def evidence(folder, path, **options):
    return read_file(ToolContext(cwd=folder), path, **options).metadata["read"]


def test_the_evidence_says_which_lines_were_shown(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 1001)))
    status = (tmp_path / "a.txt").stat()
    whole = {"path": str(tmp_path / "a.txt"), "mtime": status.st_mtime, "size": status.st_size}
    assert evidence(tmp_path, "a.txt") == whole | {"offset": 1, "limit": 300}
    assert evidence(tmp_path, "a.txt:50-100") == whole | {"offset": 49, "limit": 55}
    assert evidence(tmp_path, "a.txt:50+2:raw") == whole | {"offset": 50, "limit": 2}
    assert evidence(tmp_path, "a.txt:900") == whole | {"offset": 900, "limit": 300}
    for other in ("a.txt:tagged", "a.txt:b0+10", "a.txt:1-2,8-9"):
        assert evidence(tmp_path, other)["partial"] is True
    (tmp_path / "wide.txt").write_text(("y" * 1000 + "\n") * 200)
    assert evidence(tmp_path, "wide.txt")["limit"] == 49  # no more fitted


def test_selections_show_ranges_with_a_little_around_them(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    page = read(tmp_path, "a.txt:50-52")
    assert page.splitlines()[0] == "line 49"
    assert page.splitlines()[-2:] == ["line 55", "[lines 49–55 of 100; go on with offset=56]"]
    assert read(tmp_path, "a.txt:50-51:raw").startswith("line 50\nline 51\n[")
    assert read(tmp_path, "a.txt:L50+2:raw") == read(tmp_path, "a.txt:raw:50-51")
    assert read(tmp_path, "a.txt:99").startswith("line 99\nline 100\n[")
    several = read(tmp_path, "a.txt:2-3,90,700-800")
    assert "[lines 2–3]\nline 2\nline 3\n[lines 90–100]\n" in several
    assert "[not shown, past the end or too long for one page: 700-800]" in several
    with pytest.raises(ToolError, match="count from 1"):
        read(tmp_path, "a.txt:0")
    with pytest.raises(ToolError, match="ends before it starts"):
        read(tmp_path, "a.txt:9-3")
    with pytest.raises(ToolError, match=r"a\.txt:nonsense does not exist\. a\.txt does"):
        read(tmp_path, "a.txt:nonsense")


def test_a_file_whose_name_has_a_colon_is_that_file(tmp_path):
    (tmp_path / "a.txt").write_text("plain\n")
    (tmp_path / "a.txt:1-2").write_text("odd\n")
    assert read(tmp_path, "a.txt:1-2") == "odd\n"
    assert read(tmp_path, "a.txt:1-2:raw") == "odd\n"


def test_tags_go_before_lines_and_the_text_is_remembered(tmp_path):
    from zidane_lab.tools.edits.anchors import tagged
    from zidane_lab.tools.edits.snapshots import snapshots_of

    class Outputs:
        def save_output(self, name, text):
            return None

    (tmp_path / "a.txt").write_text("one\ntwo\n")
    context = ToolContext(cwd=tmp_path, outputs=Outputs())
    (part,) = read_file(context, "a.txt:tagged").parts
    assert part.text == tagged("one\ntwo\n")
    (part,) = read_file(context, "a.txt:2:tagged").parts
    assert part.text.startswith(tagged("two\n", 2))
    assert snapshots_of(context).of(str(tmp_path / "a.txt")) == ("one\ntwo\n",)


def test_a_long_module_is_an_outline_first_and_its_parts_are_reachable(tmp_path):
    body = "".join(f"    x{n} = {n}\n" for n in range(200))
    code = f'import os\n\n\ndef one():\n{body}\n\nclass Two:\n    def three(self):\n        """Say.\n\n        More.\n        """\n{body.replace("    x", "        x")}'
    (tmp_path / "a.py").write_text(code)
    page = read(tmp_path, "a.py")
    assert "def one():\n    … [lines 5–204]\n" in page
    assert '        """Say.\n        … [lines 210–412]\n' in page
    assert "an outline: 403 of 412 lines are left out" in page
    assert evidence(tmp_path, "a.py")["partial"] is True
    assert read(tmp_path, "a.py:1").startswith(code[:1000])
    assert read(tmp_path, "a.py", limit=301).startswith(code[:1000])
    (tmp_path / "broken.py").write_text(code + "def (")
    assert read(tmp_path, "broken.py").startswith(code[:1000])


def test_a_folder_is_a_tree_of_two_levels_newest_first(tmp_path):
    for age, name in enumerate(["new.txt", "sub/a.txt", "sub/deep/b.txt", "old.txt"]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * 10)
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    for number in range(20):
        (tmp_path / "sub" / f"{number}.dat").write_text("")
    os.utime(tmp_path / "sub", (1_600_000_000, 1_600_000_000))
    lines = read(tmp_path, ".").splitlines()
    assert lines[0] == f"{tmp_path}/"
    assert [line.split("  ")[1] for line in lines[1:4]] == ["new.txt", "old.txt", "sub/"]
    assert re.fullmatch(r"  new\.txt  10 B  \d+y ago", lines[1])
    assert lines[4].startswith("    ")
    assert "    … 10 more" in lines
    assert "b.txt" not in "\n".join(lines)


def test_a_path_that_is_nearly_right_finds_the_file_and_says_so(tmp_path):
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "model.py").write_text("x = 1\n")
    (tmp_path / "Re\u0301sume\u0301.txt").write_text("cv\n")
    (tmp_path / "It\u2019s 9.41\u202fAM.txt").write_text("shot\n")
    note = f"[there is no deep/model.py; this is {tmp_path}/src/deep/model.py]\n"
    assert read(tmp_path, "deep/model.py") == f"{note}x = 1\n"
    assert read(tmp_path, "model.py:1").endswith("x = 1\n")
    assert read(tmp_path, "R\u00e9sum\u00e9.txt").endswith("cv\n")
    assert read(tmp_path, "It's 9.41 AM.txt").endswith("shot\n")
    assert read(tmp_path, "SRC/deep/model.py".replace("SRC", "src")) == "x = 1\n"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.py").write_text("")
    with pytest.raises(ToolError, match=r"several end like it\. One of: other/model\.py, src/deep/model\.py"):
        read(tmp_path, "model.py")


def test_file_addresses_are_paths_and_web_addresses_are_not_read(tmp_path):
    (tmp_path / "a b.txt").write_text("x")
    assert read(Path("/"), (tmp_path / "a b.txt").as_uri()) == "x"
    with pytest.raises(ToolError, match="Read it with fetch_url"):
        read(tmp_path, "https://example.org/x")


@pytest.mark.asyncio
async def test_web_addresses_are_fetched_where_the_host_allows_it(tmp_path):
    async def fetch(url):
        return f"# {url}\n" + "line\n" * 500

    output = await read_file_tool(fetch=fetch).run(ToolContext(cwd=tmp_path), {"path": "https://example.org/x"})
    assert output.parts[0].text.startswith("# https://example.org/x\nline\n")
    assert "go on with offset=301" in output.parts[0].text


@pytest.mark.asyncio
async def test_what_is_private_is_read_by_its_plain_path_only(tmp_path):
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "plain.txt").write_text("x\n")
    (tmp_path / "link.txt").symlink_to(".env")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "id_rsa").write_text("k\n")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/.env", "KEY=2\n")
        archive.writestr("x/ok.txt", "fine\n")

    def private(path):
        return "\0" not in path and os.path.realpath(tmp_path / path).endswith((".env", "/id_rsa"))

    made = read_file_tool(private=private)

    async def text(path):
        return (await made.run(ToolContext(cwd=tmp_path), {"path": path})).parts[0].text

    assert await text(".env") == "KEY=1\n"  # the gate has seen this path
    assert await text("link.txt") == "KEY=1\n"
    assert await text("a.zip:x/ok.txt") == "fine\n"
    for path in (".env:raw", ".env:1-2", ".env:b0", "deep/../.env:raw"):
        with pytest.raises(ToolError, match=r"ask for it as '.*\.env'"):
            await text(path)
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("id_rsa", "KEY=3\n")
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("b.zip", inner.getvalue())
    for path in (r"\x2eenv", r"\x2eenv:1-2", "deep/../\\x2eenv"):
        with pytest.raises(ToolError, match=r"ask for it as '.*\.env'"):
            await text(path)
    for path in (
        "a.zip:x/.env:raw",
        "a.zip:./x/.env:1",
        r"a.zip:x/\x2eenv",
        r"a.zip:x/\u002eenv:1",
        "a.zip:b.zip:id_rsa",
    ):
        with pytest.raises(ToolError, match="commonly holds secrets"):
            await text(path)


def test_a_file_that_changes_while_it_is_read_is_said_to(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one\n")
    opened = LocalFiles.open

    def changing(self, path):
        with open(path, "a") as handle:
            handle.write("more\n")
        return opened(self, path)

    monkeypatch.setattr(LocalFiles, "open", changing)
    assert "[the file changed while it was read" in read(tmp_path, "a.txt")


def test_what_the_system_makes_up_is_read_without_end_or_waiting():
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    assert "Name:" in read(Path("/proc/self"), "status")
    assert read(Path("/proc/self"), "status", offset=10_000).startswith("[the text has")


def test_outputs_of_a_notebook_are_shown_on_request(tmp_path):
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mhello\x1b[0m\n"]},
        {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}, "metadata": {}},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["Traceback", "E: v"]},
        {"output_type": "stream", "name": "stdout", "text": "long " * 1000},
    ]
    cell = {"cell_type": "code", "id": "c1", "source": "x\n# %% [code] id=fake", "outputs": outputs, "metadata": {}}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    page = read(tmp_path, "a.ipynb:outputs")
    assert "# %% [code] id=c1\nx\n# %%% [code] id=fake\n# %% [outputs] id=c1\nhello\n<Figure>\n[image/png]\n" in page
    assert "characters left out" in page
    assert read(tmp_path, "a.ipynb:raw").startswith('{"cells"')


def test_a_file_that_has_nothing_to_read_yet_is_refused_instead_of_waited_for(tmp_path, monkeypatch):
    def nothing_yet(descriptor, size):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    (tmp_path / "log").write_text("")
    monkeypatch.setattr(os, "read", nothing_yet)
    with pytest.raises(ToolError, match="cannot be read: Resource temporarily unavailable"):
        read(tmp_path, "log")


@pytest.mark.asyncio
async def test_lines_behind_an_address_are_lines_of_what_is_fetched(tmp_path):
    asked = []

    async def fetch(url):
        asked.append(url)
        return "".join(f"line {n}\n" for n in range(1, 501))

    async def text(path, **more):
        output = await read_file_tool(fetch=fetch).run(ToolContext(cwd=tmp_path), {"path": path, **more})
        return output.parts[0].text

    assert (await text("https://example.org:8080/x:50-51")).startswith("line 49\nline 50\nline 51\n")
    assert "[lines 2–3]\nline 2\nline 3\n" in await text("https://example.org/x:2-3,9-9")
    assert (await text(" https://example.org/x:490- ")).startswith("line 490\n")
    assert asked == ["https://example.org:8080/x", "https://example.org/x", "https://example.org/x"]
    with pytest.raises(ToolError, match="fetch_url with `raw`"):
        await text("https://example.org/x:raw")


@pytest.mark.asyncio
async def test_a_reader_of_addresses_is_asked_itself(tmp_path):
    asked = []

    async def read_url(context, url, *, offset, limit):
        asked.append((url, offset, limit))
        return ToolOutput((TextBlock("the page"),))

    made = read_file_tool(read_url=read_url)
    context = ToolContext(cwd=tmp_path)
    output = await made.run(context, {"path": "https://example.org/x:5-9", "offset": 7, "limit": -3})
    assert output.parts[0].text == "the page"
    assert asked == [("https://example.org/x:5-9", 7, 1)]
    (tmp_path / "a.txt").write_text("x")
    assert (await made.run(context, {"path": "a.txt"})).parts[0].text == "x"


def test_a_slash_alone_is_the_working_folder_and_says_so(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    page = read(tmp_path, "/")
    assert page.startswith("[`/` alone is taken for the working folder; ")
    assert f"{tmp_path}/\n  a.txt" in page


def test_a_page_with_tags_stays_within_the_limits_of_a_tools_text(tmp_path):
    from zidane_lab.tools.truncate import MAX_BYTES

    (tmp_path / "a.txt").write_text("xxxxxxxxxx\n" * 10_000)
    page = read(tmp_path, "a.txt:1-9000:tagged")
    assert len(page.encode()) <= MAX_BYTES
    assert "go on with offset=" in page


def test_the_limits_that_are_told_are_those_that_are_kept():
    from zidane_lab.tools.pages import PAGE_BYTES, PAGE_LINES

    told = read_file_tool().parameters["properties"]["limit"]["description"]
    assert f"{PAGE_LINES:,} lines" in told
    assert f"{PAGE_BYTES // 1024} KB" in told
    assert PAGE_BYTES % 1024 == 0

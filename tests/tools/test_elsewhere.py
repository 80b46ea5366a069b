"""The reading tools on files that are not this machine's: everything goes through the execution context."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace

import pytest

from zidane_lab.contexts.base import ContextInfo
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.glob import glob_tool
from zidane_lab.tools.grep import grep_tool
from zidane_lab.tools.list_files import list_files_tool
from zidane_lab.tools.read_file import read_file, read_file_tool


class Far(LocalProcess):
    """This machine, as if it were another, with some programs missing."""

    hidden: tuple[str, ...] = ()

    @property
    def info(self):
        return ContextInfo("ssh", "far")

    async def start(self, command, on_output):
        text = command.text
        for probe in self.hidden:
            text = text.replace(probe, "false")
        return await super().start(replace(command, text=text), on_output)


@pytest.fixture
def far(tmp_path):
    for name, text in {
        "a.txt": "".join(f"line {n}\n" for n in range(1, 1001)),
        "src/b.py": "def needle():\n    pass\n",
        "out/c.txt": "needle\n",
        ".gitignore": "out/\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def context(folder, *hidden):
    place = Far(folder)
    place.hidden = hidden
    return ToolContext(place=place)


async def run(made, asked, **arguments):
    return (await made.run(asked, arguments)).parts[0].text


@pytest.mark.asyncio
async def test_files_are_read_with_evidence(far):
    asked = context(far)
    output = await read_file_tool().run(asked, {"path": "a.txt:500-501"})
    assert output.parts[0].text.startswith("line 499\nline 500\n")
    evidence = output.metadata["read"]
    assert (evidence["path"], evidence["offset"], evidence["size"]) == (
        str(far / "a.txt"),
        499,
        (far / "a.txt").stat().st_size,
    )
    assert (await run(read_file_tool(), asked, path="b.py")).endswith("def needle():\n    pass\n")
    assert "src/" in await run(read_file_tool(), asked, path=".")
    with pytest.raises(ToolError, match=r"does not exist\. Near names there: a\.txt"):
        await run(read_file_tool(), asked, path="a.tx")
    with pytest.raises(ToolError, match="reached through the tool"):
        read_file(asked, "a.txt")


@pytest.mark.asyncio
async def test_archives_and_databases_are_read(far):
    with zipfile.ZipFile(far / "a.zip", "w") as archive:
        archive.writestr("x/y.txt", "inside\n")
    with closing(sqlite3.connect(far / "a.db")) as connection:
        connection.execute("create table t (a)")
        connection.execute("insert into t values (42)")
        connection.commit()
    asked = context(far)
    assert await run(read_file_tool(), asked, path="a.zip:x/y.txt") == "inside\n"
    assert "42" in await run(read_file_tool(), asked, path="a.db:t")


@pytest.mark.asyncio
async def test_folders_are_listed_and_searched_by_name_under_the_same_rules(far):
    asked = context(far)
    listed = await run(list_files_tool(), asked, depth=2)
    assert "a.txt  " in listed
    assert "src/b.py  " in listed
    assert "out/" not in listed
    assert "src/b.py" in await run(glob_tool(), asked, pattern="**/*.py")
    assert "c.txt" not in await run(glob_tool(), asked, pattern="**/*.txt")


@pytest.mark.asyncio
@pytest.mark.parametrize("hidden", [(), ("command -v rg",), ("command -v rg", "python3 -I -S -c")])
async def test_contents_are_searched_with_what_is_there(far, hidden):
    asked = context(far, *hidden)
    page = await run(grep_tool(), asked, pattern="needle")
    assert page == "src/b.py\n1: def needle():\n[1 matching line in 1 file]"
    assert "out/c.txt" in await run(grep_tool(), asked, pattern="needle", ignored=True)
    page = await run(grep_tool(), asked, pattern="line 7$", path="a.txt", around=1)
    assert re.match(r"a\.txt\n6- line 6\n7: line 7\n8- line 8\n", page)


@pytest.mark.asyncio
async def test_of_a_place_without_programs_only_some_files_are_searched_and_that_is_said(far, monkeypatch):
    monkeypatch.setattr("zidane_lab.tools.search.mirror.MOST_FILES", 2)
    asked = context(far, "command -v rg", "python3 -I -S -c")
    page = await run(grep_tool(), asked, pattern="zebra")
    assert "2 files were copied and searched, 1 or more left out" in page


@pytest.mark.asyncio
async def test_many_calls_at_once_do_not_wait_for_each_other_for_ever(far):
    asked = context(far)
    calls = [run(read_file_tool(), asked, path="a.txt", offset=number) for number in range(1, 60)]
    pages = await asyncio.wait_for(asyncio.gather(*calls), 60)
    assert all(page.startswith(f"line {number}\n") for number, page in enumerate(pages, 1))

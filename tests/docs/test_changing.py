"""Every way to write into a file that the files page tells does what it tells."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.docs.pages import regenerate
from tests.docs.test_commands import page, rows
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import read_file_tool
from zidane_lab.tools.write_file import write_file_tool

PATHS = [path for cell in rows(page("files.md"), "| written to | does |") for path in re.findall(r"`([^`]+)`", cell)]
CONFLICT = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
WRITTEN = {
    "docs.zip:guide/more.md": ("More.", "docs.zip:guide/more.md", "More."),
    "new.tar.gz:a.md": ("New.", "new.tar.gz:a.md", "New."),
    "birds.db:birds": ("{id: 7, name: 'emu'}", "birds.db:birds:7", "name: emu"),
    "birds.db:birds:2": ('{"mass": 1}', "birds.db:birds:2", "mass: 1.0"),
    "merged.py:conflict:2": ("theirs", "merged.py", "b\n"),
    "merged.py:conflict:*": ("ours", "merged.py", "a\na\n"),
}


def test_the_page_tells_what_is_tried_here():
    assert set(PATHS) == set(WRITTEN)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_is_told_is_written(tmp_path, path):
    regenerate()  # puts the folder of the parts on the path
    from parts.files import sample_folder

    sample_folder(tmp_path)
    (tmp_path / "merged.py").write_text(CONFLICT * 2)
    content, read, expected = WRITTEN[path]
    context = ToolContext(cwd=tmp_path)
    asyncio.run(write_file_tool().run(context, {"path": path, "content": content}))
    assert expected in asyncio.run(read_file_tool().run(context, {"path": read})).parts[0].text

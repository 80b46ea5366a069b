"""Every way to write a path that the files page tells is understood, and every tool it names is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import DOCS, regenerate
from tests.docs.test_commands import page, rows

PATHS = [path for cell in rows(page("files.md"), "| written | shows |") for path in re.findall(r"`([^`]+)`", cell)]


@pytest.fixture
def parts():
    regenerate()  # puts the folder of the parts on the path
    from parts import files

    return files


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_is_told_is_read(parts, tmp_path, path):
    parts.sample_folder(tmp_path)
    assert parts.read(tmp_path, path)


def test_each_way_shows_what_is_told(parts, tmp_path):
    parts.sample_folder(tmp_path)
    shown = {path: parts.read(tmp_path, path) for path in PATHS}
    assert "line 120" in shown["notes.md:120-140"]
    assert "line 1\n" in shown["notes.md:1-5,120-125"]
    assert "line 125" in shown["notes.md:1-5,120-125"]
    assert shown["notes.md:120"].startswith(("line 11", "line 120"))
    assert "start.md" in shown["docs.zip:guide/"]
    assert shown["docs.zip:guide/start.md"] == "Begin here."
    assert "adelie" not in shown["birds.db:birds?where=mass>4000&order=mass:desc&limit=5"]
    assert '"nbformat"' in shown["analysis.ipynb:raw"]


@pytest.mark.parametrize("name", ["files.md", "shell-and-tasks.md"])
def test_tools_that_are_told_are_in_a_notebook(name):
    regenerate()
    from parts.model import notebook_tools

    there = {tool.name for tool in notebook_tools()}
    told = set(rows((DOCS / name).read_text(encoding="utf-8"), "| tool | does |"))
    assert {each.strip("`") for each in told} <= there

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.contexts.process import LocalProcess
from zidane_lab.tools.edits.inside import Inside, find_inside, may_be_inside


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.py", []),
        ("C:\\x\\a.py", []),
        ("a.zip", []),
        ("a.ZIP:x/y", [Inside("archive", "a.ZIP", "x/y")]),
        ("a.tar.gz:x", [Inside("archive", "a.tar.gz", "x")]),
        ("a.zip:b.zip:c", [Inside("archive", "a.zip", "b.zip:c"), Inside("archive", "a.zip:b.zip", "c")]),
        ("d.db:t:1:2", [Inside("database", "d.db", "t:1:2")]),
        ("d.db:conflict:2", [Inside("database", "d.db", "conflict:2")]),
        ("f.py:conflict:12", [Inside("conflict", "f.py", "12")]),
        ("f.py:conflict:*", [Inside("conflict", "f.py", "*")]),
        ("f.py:conflict:x", []),
        ("f.py:conflicts", []),
    ],
)
def test_what_a_path_may_mean_is_told_by_its_text(path, expected):
    assert list(may_be_inside(path)) == expected


def test_what_is_there_decides(tmp_path):
    files = LocalProcess(tmp_path)
    find = lambda path: asyncio.run(find_inside(files, path))  # noqa: E731
    assert find("a.zip:b.zip:c").path == "a.zip"
    (tmp_path / "a.zip:b.zip").write_bytes(b"x")
    assert find("a.zip:b.zip:c").path == "a.zip:b.zip"
    (tmp_path / "a.zip:b.zip:c").write_bytes(b"x")
    assert find("a.zip:b.zip:c") is None


@given(st.text(alphabet="ab.:zipdtargxc/\\*1\0\ud800", max_size=30))
def test_every_file_that_can_be_meant_is_named_beforehand(path):
    for each in may_be_inside(path):
        assert path.startswith(f"{each.path}:")
        assert path.endswith(each.inner)

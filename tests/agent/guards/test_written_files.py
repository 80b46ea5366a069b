"""Which files code wrote: what it names, looked at before and after."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.guards.support import Stage
from tests.agent.support import simple_tool
from zidane_lab.agent.guards.written_files import WrittenFiles, named_files


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('open("a.py", "w").write("x")', ("a.py",)),
        ("df.to_csv('out/b.csv'); Path(r\"c.json\").write_text('{}')", ("out/b.csv", "c.json")),
        ("%%writefile model.py\nx = 1", ("model.py",)),
        ("%%file -a 'my model.py'\nx = 1", ("my model.py",)),
        ('f"{name}.csv"; "https://x.org/a.csv"; "no suffix"; "a" + ".py"', ()),
        ('"a.py"; "a.py"', ("a.py",)),
        ("x = 1", ()),
    ],
)
def test_names_of_files_in_code(code, names):
    assert named_files(code) == names


@given(st.text())
def test_any_text_can_be_looked_through(code):
    assert all(isinstance(name, str) and name for name in named_files(code))


@pytest.mark.parametrize(
    "code",
    ["\n" * 200_000 + "x", "%%file a" + " " * 200_000 + "x", "%%file " * 30_000, '"' + "a." * 100_000, '"a' * 100_000],
)
def test_long_texts_do_not_take_long(code):
    # A pattern that goes back and forth would need minutes here, and run into the limit of the whole test run.
    assert len(named_files(code)) <= 1


def runs(tmp_path, handler, tool="run_python"):
    async def run(_context, code="", **_):
        return handler(code)

    return Stage(simple_tool(tool, run), guards=[WrittenFiles(tmp_path)], cwd=tmp_path)


def execute(folder):
    def handler(code):
        before = os.getcwd()
        os.chdir(folder)
        try:
            exec(code, {})
        finally:
            os.chdir(before)
        return "done"

    return handler


@pytest.mark.asyncio
async def test_new_and_changed_files_are_named_in_the_result_others_are_not(tmp_path):
    for name in ("old.py", "read.py"):
        (tmp_path / name).write_text("x = 1")
    it = runs(tmp_path, execute(tmp_path))
    code = (
        "from pathlib import Path\n"
        "Path('new.py').write_text('a'); Path('old.py').write_text('bc'); Path('read.py').read_text(); 'never.py'"
    )
    (result,) = await it.turn(("run_python", {"code": code}))
    assert result.metadata["written"] == [str(tmp_path / "new.py"), str(tmp_path / "old.py")]


@pytest.mark.asyncio
async def test_what_writes_nothing_is_left_as_it_was(tmp_path):
    it = runs(tmp_path, execute(tmp_path))
    (result,) = await it.turn(("run_python", {"code": "'a.py'; '\\0.py'; '~nobody-here/x.py'"}))
    assert result.metadata == {}
    other = runs(tmp_path, execute(tmp_path), tool="other")
    (result,) = await other.turn(("other", {"code": "__import__('pathlib').Path('b.py').write_text('b')"}))
    assert result.metadata == {}


@pytest.mark.asyncio
async def test_files_written_before_the_code_failed_are_named(tmp_path):
    it = runs(tmp_path, execute(tmp_path))
    (result,) = await it.turn(("run_python", {"code": "__import__('pathlib').Path('a.py').write_text('x'); 1 / 0"}))
    assert result.is_error
    assert result.metadata["written"] == [str(tmp_path / "a.py")]

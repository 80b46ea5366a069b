"""The ready-made validator: changed Python must compile."""

from __future__ import annotations

import json

import pytest

from zidane_lab.agent.guards.mutation_validation import Mutation
from zidane_lab.agent.guards.python_syntax import python_syntax

pytestmark = pytest.mark.asyncio


def cell(source):
    return Mutation("edit_cell", "call_1", cell="c1", source=source)


async def problems(*changes):
    return [failure.text for failure in await python_syntax(changes)]


async def of_file(tmp_path, content, name="a.py"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return await problems(Mutation("edit", "call_1", path=path))


@pytest.mark.parametrize(
    "code",
    [
        "x = 1\n",
        "",
        "# -*- coding: latin-1 -*-\ns = '\xe9'\n".encode("latin-1"),
        "s = '\\d'\n",  # an odd escape is no failure
        "x = 1 is 1\n",
    ],
)
async def test_sound_files_pass(tmp_path, code):
    assert await of_file(tmp_path, code) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\ny = (\n", "line 2: '(' was never closed in `y = (`"),
        ("return 1\n", "line 1: 'return' outside function"),
        ("await x\n", "line 1: 'await' outside function"),
        ("!ls\n", "line 1: invalid syntax in `!ls`"),
        (b"x = 1\0", "null bytes"),
        (b"s = '\xff'\n", "utf-8"),
        ("x" + "(" * 5000 + ")" * 5000, "parenthes"),
    ],
)
async def test_broken_files_do_not_and_the_place_is_named(tmp_path, code, said):
    (problem,) = await of_file(tmp_path, code)
    assert said in problem


async def test_files_that_are_not_python_or_gone_pass(tmp_path):
    assert await of_file(tmp_path, "x = (", "a.txt") == []
    assert await problems(Mutation("edit", "call_1", path=tmp_path / "gone.py")) == []
    assert await problems(Mutation("edit", "call_1", path=tmp_path)) == []


async def test_a_file_changed_twice_is_reported_once(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("x = (")
    assert len(await problems(*[Mutation("edit", f"call_{n}", path=path) for n in range(3)])) == 1


@pytest.mark.parametrize("code", ["await x", "%time y", "!ls -l", "x = !ls", "df?", "%%bash\nls (", "  x = 1", ""])
async def test_cells_are_read_as_a_notebook_runs_them(code):
    assert await problems(cell(code)) == []


async def test_a_broken_cell_does_not_pass():
    (problem,) = await problems(cell("%time x\ny = ("))
    assert "was never closed" in problem


async def test_the_code_cells_of_a_notebook_are_read_one_by_one(tmp_path):
    cells = [("code", ["x = 1\n", "x"]), ("markdown", "y = ("), ("code", "y = ("), ("code", "%time x")]
    book = {"cells": [{"cell_type": kind, "source": source} for kind, source in cells]}
    (problem,) = await of_file(tmp_path, json.dumps(book), "a.ipynb")
    assert problem.startswith("code cell 2: line 1: ")


@pytest.mark.parametrize("content", ["{", "[]", '{"cells": 3}', '{"cells": [{}]}', "[" * 100_000])
async def test_a_notebook_that_is_none_any_more_is_said_so(tmp_path, content):
    (problem,) = await of_file(tmp_path, content, "a.ipynb")
    assert problem.startswith("is no notebook any more")

from __future__ import annotations

import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import read_file
from zidane_lab.tools.reading.indentation import indented_outline
from zidane_lab.tools.reading.notebooks import notebook_outline


def read(folder, name, **options) -> str:
    (part,) = read_file(ToolContext(cwd=folder), name, **options).parts
    return part.text


BODY = "".join(f"    call({n});\n" for n in range(9))

SAMPLES = {
    "js": (f"function one(a) {{\n{BODY}}}\n", "function one(a) {\n    … [lines 2–10]\n}\n"),
    "class": (
        f"export class Two extends X {{\n  field = 1;\n  go() {{\n{BODY}  }}\n}}\n",
        "export class Two extends X {\n  field = 1;\n  go() {\n    … [lines 4–12]\n  }\n}\n",
    ),
    "go": (
        "func (s *S) Run() error {\n" + "\tcall()\n" * 9 + "}\n",
        "func (s *S) Run() error {\n\t… [lines 2–10]\n}\n",
    ),
    "rust": (
        f"impl<T> Trait for Thing<T> {{\n    fn a() {{\n{BODY.replace('    ', '        ')}    }}\n}}\n",
        "impl<T> Trait for Thing<T> {\n    fn a() {\n        … [lines 3–11]\n    }\n}\n",
    ),
    "comment": (
        "/**\n * What it is.\n" + " * more\n" * 9 + " */\nint x;\n",
        "/**\n * What it is.\n … [lines 3–12]\nint x;\n",
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_declared_stays_and_bodies_are_counted(name):
    source, expected = SAMPLES[name]
    assert indented_outline(source)[0] == expected


def test_short_bodies_stay_and_flat_text_has_no_outline():
    assert indented_outline("function a() {\n  x();\n  y();\n}\n") is None
    assert indented_outline("a\nb\nc\n" * 100) is None


@given(
    st.lists(st.sampled_from(["class A {", "  f() {", "    x", "    ", "", "}", "\ty", "/* a", " * b"]), max_size=40)
)
def test_an_outline_never_loses_a_line(lines):
    text = "\n".join(lines)
    if (found := indented_outline(text)) is None:
        return
    shown, count = found
    kept = [line for line in shown.split("\n") if "… [lines " not in line]
    assert len(kept) + count == len(text.split("\n"))
    at = iter(text.split("\n"))
    assert all(line in at for line in kept)


def test_long_code_of_other_languages_is_an_outline_first(tmp_path):
    code = "".join(f"function f{n}() {{\n{BODY}}}\n\n" for n in range(60))
    (tmp_path / "a.ts").write_text(code)
    page = read(tmp_path, "a.ts")
    assert "function f59() {\n    … [lines 710–718]\n}" in page
    assert "an outline: 540 of 720 lines are left out" in page
    assert read(tmp_path, "a.ts:1").startswith(code[:500])
    (tmp_path / "a.txt").write_text(code)
    assert read(tmp_path, "a.txt").startswith(code[:500])


def cell(kind, source, name):
    return {"cell_type": kind, "id": name, "metadata": {}, "source": source, "outputs": [], "execution_count": None}


def test_a_long_notebook_is_its_headings_and_definitions_first(tmp_path):
    cells = []
    for n in range(30):
        cells.append(cell("markdown", f"# Part {n}\nSome words.\n\n" + "text\n" * 9 + f"## Inner {n}\nmore", f"m{n}"))
        cells.append(cell("code", "import x\n" + "y = 1\n" * 9 + f"def f{n}(a):\n" + "    b = 2\n" * 9, f"c{n}"))
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    page = read(tmp_path, "a.ipynb")
    for expected in (
        "# %% [markdown] id=m29\n# Part 29\n… [lines ",
        "## Inner 29",
        "# %% [code] id=c29\nimport x\n… [lines ",
    ):
        assert expected in page
    assert "def f29(a):\n… [lines " in page
    assert "lines are left out; read them as" in page
    assert "[notebook: 60 cells (30 markdown, 30 code)" in page
    assert read_file(ToolContext(cwd=tmp_path), "a.ipynb").metadata["read"]["partial"] is True
    first = page.index("… [lines ")
    span = page[first + 9 : page.index("]", first)].split("–")
    assert "Some words." in read(tmp_path, f"a.ipynb:{span[0]}-{span[1]}")
    assert "b = 2" in read(tmp_path, "a.ipynb:1")


@given(st.lists(st.sampled_from(["# %% [code] id=a", "# %% [markdown] id=b", "# T", "def f():", "x", ""]), max_size=40))
def test_the_outline_of_a_notebook_never_loses_a_line(lines):
    text = "\n".join(lines)
    shown, count = notebook_outline(text)
    assert sum("… [lines " not in line for line in shown.split("\n")) + count == len(text.split("\n"))


def test_an_outline_says_nothing_of_escapes_it_meets(tmp_path):
    (tmp_path / "a.py").write_text("x = '\\d'\n" + "".join(f"def f{n}():\n" + "    a\n" * 9 for n in range(50)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert "an outline:" in read(tmp_path, "a.py")
    assert not caught

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.structure.cells import blank_magics, code_cells


def notebook(*sources, **metadata):
    cells = [{"cell_type": "code", "source": source, "id": f"c{index}"} for index, source in enumerate(sources)]
    return json.dumps({"cells": cells, "metadata": metadata}).encode()


@pytest.mark.parametrize(
    "text",
    [
        "%matplotlib inline\nx = 1\n",
        "!ls -l *.csv\n",
        "files = !ls\na, b = %timeit -o f()\n",
        "if x:\n    !ls\nelse:\n    %cd ..\n",
        "plot?\n?plot\nplot.line??\n",
        "%%time\nf()\n",
    ],
)
def test_what_only_ipython_understands_is_blanked(text):
    blanked = blank_magics(text)
    assert len(blanked) == len(text)
    ast.parse(blanked)


@pytest.mark.parametrize(
    "text", ["x = (a\n     % b)\n", "x != y\nx %= 3\n", "'%s' % x\n", "f(a)[0] = b\n", "x = a % b\n", "d = {'a': 1}\n"]
)
def test_other_code_stays(text):
    assert blank_magics(text) == text


@given(st.text(alphabet=st.sampled_from("%!?=ab. \n\té😀("), max_size=60))
def test_all_stays_where_it_was(text):
    blanked = blank_magics(text)
    assert len(blanked) == len(text)
    assert [index for index, char in enumerate(text) if char == "\n"] == [
        index for index, char in enumerate(blanked) if char == "\n"
    ]


@pytest.mark.parametrize("char", [" ", "a", "%", "a ", "[", "a.", "\t", "?", "%a"])
def test_long_lines_take_no_time(char):
    text = char * 200_000
    assert len(blank_magics(text)) == len(text)


def test_cells_have_the_language_of_their_magic_or_kernel():
    data = notebook(
        "f()", "%%bash\nls", "%%time\nf()", "%%sql\nselect 1", ["a\n", "b"], kernelspec={"language": "python"}
    )
    cells, others = code_cells(data)
    assert [(cell.name, cell.language.name) for cell in cells] == [
        ("c0", "python"),
        ("c1", "bash"),
        ("c2", "python"),
        ("c4", "python"),
    ]
    assert others == 1
    assert cells[1].parsed == "      \nls"
    assert cells[3].text == "a\nb"


def test_cells_of_another_kernel():
    cells, others = code_cells(notebook("f()", language_info={"name": "R"}))
    assert (cells, others) == ([], 1)
    cells, _ = code_cells(notebook("f()", language_info={"name": "javascript"}))
    assert cells[0].language.name == "javascript"


def test_old_notebooks_have_worksheets():
    data = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": "f()"}]}]}).encode()
    (cell,), _ = code_cells(data)
    assert (cell.name, cell.text) == ("#0", "f()")


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"cells": 3}', b'{"cells": [3]}', b"\xff", b'{"cells":' + b"[" * 100_000]
)
def test_what_is_no_notebook(data):
    assert code_cells(data) is None

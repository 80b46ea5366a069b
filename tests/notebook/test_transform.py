"""The rewrite: prompts travel raw, everything else is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.notebook.transform import CALL, rewrite


def run(source: str) -> str:
    return "".join(rewrite(source.splitlines(keepends=True)))


@pytest.mark.parametrize(
    ("source", "line", "cell"),
    [
        ("%%zidane\nwhat is df?\n", "", "what is df?\n"),
        ("%%zidane --to r\n{a} !ls $x\n  indented\n\nlast?", "--to r", "{a} !ls $x\n  indented\n\nlast?"),
        ("\n\n%%zidane hello\n", "hello", ""),
        ("%%zidane\tx\n%time y\n", "x", "%time y\n"),
        ("%%zidane\n%%zidane\n'''\n", "", "%%zidane\n'''\n"),
    ],
)
def test_cell_magics_become_one_awaited_call(source, line, cell):
    assert run(source) == f"{CALL}({line!r}, {cell!r})\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%zidane what is df?\n", f"{CALL}('what is df?')\n"),
        ("x = 1\n%zidane don't {x}!\ny = 2\n", f'x = 1\n{CALL}("don\'t {{x}}!")\ny = 2\n'),
        ("if x:\n    %zidane go\n", f"if x:\n    {CALL}('go')\n"),
        ("r = %zidane go\n", f"r = {CALL}('go', result=True)\n"),
        ("%zidane", f"{CALL}('')\n"),
        ("!echo don't\n%zidane go\n", f"!echo don't\n{CALL}('go')\n"),
        ('x = """a\nb"""\n%zidane go\n', f'x = """a\nb"""\n{CALL}(\'go\')\n'),
        ("%zidane /help\n%zidane /status\n", f"{CALL}('/help')\n{CALL}('/status')\n"),
    ],
)
def test_line_magics_become_awaited_calls(source, expected):
    assert run(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n",
        "%zidane?\n",
        "%zidanes go\n",
        "text = '''\n%zidane not me\n'''\n",
        "f(\n%zidane\n)\n",
        "# %zidane in a comment\n",
        "x = 5 %zidane\n",
        "%%time\nx = '%%zidane'\n",
        "s = '%zidane go'\n",
    ],
)
def test_everything_else_is_returned_as_it_came(source):
    lines = source.splitlines(keepends=True)
    assert rewrite(lines) is lines or rewrite(lines) == lines


@given(st.text(max_size=200))
def test_any_prompt_survives_the_journey(prompt):
    body = prompt.replace("\r", "").replace("\x0b", "").replace("\x0c", "")
    (line,) = rewrite(["%%zidane\n", body])
    arguments = eval(line.removeprefix(CALL), {}, {})  # a tuple of two string literals
    assert arguments == ("", body)


def test_a_terminal_does_not_take_the_first_line_for_complete():
    from IPython.core.inputtransformer2 import TransformerManager

    manager = TransformerManager()
    manager.cleanup_transforms.insert(0, rewrite)
    assert manager.check_complete("%%zidane\nhello")[0] == "incomplete"
    assert manager.check_complete("%zidane hello there")[0] == "complete"

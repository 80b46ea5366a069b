"""Tracebacks a reader can act on."""

from __future__ import annotations

import json

import pytest

from zidane_lab.kernel.traceback import MESSAGE_CHARACTERS, error_info


def raised(source: str, **names) -> BaseException:
    """Run source as a cell would and return what it raised."""
    try:
        exec(compile(source, "<ipython-input-1>", "exec"), {"json": json, **names})
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def test_own_frames_are_kept_and_library_frames_folded():
    info = error_info(raised("def load(text):\n    return json.loads(text)\nload('{')"))
    assert info.name == "JSONDecodeError"
    lines = info.traceback.splitlines()
    assert "  cell, line 3, in <module>" in lines
    assert "  cell, line 2, in load" in lines
    assert any("library frame" in line for line in lines)
    assert "decoder.py" in info.traceback  # where it broke
    assert lines[-1].startswith("JSONDecodeError: ")


def test_causes_come_first():
    info = error_info(raised("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('bad') from e"))
    text = info.traceback
    assert text.index("ZeroDivisionError") < text.index("which led to:") < text.index("ValueError: bad")


def test_a_suppressed_context_stays_out():
    info = error_info(raised("try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('bad') from None"))
    assert "ZeroDivisionError" not in info.traceback


def test_syntax_errors_point_at_the_place():
    info = error_info(raised("exec('x = = 1')"))
    assert info.name == "SyntaxError"
    assert "x = = 1" in info.traceback
    assert "^" in info.traceback


def test_endless_recursion_stays_readable():
    info = error_info(raised("def f(n):\n    return f(n + 1)\nf(0)"))
    assert info.name == "RecursionError"
    assert len(info.traceback) < 6_000
    assert "more like it" in info.traceback


def test_an_enormous_message_is_cut_and_said():
    info = error_info(ValueError("x" * 100_000))
    assert len(info.message) < MESSAGE_CHARACTERS + 100
    assert "100,000 characters in all" in info.message


def test_an_exception_whose_text_raises_is_still_told():
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    info = error_info(Odd())
    assert "cannot be shown: RuntimeError" in info.message


@pytest.mark.parametrize("cycle", [1, 2])
def test_cycles_of_causes_end(cycle):
    first, second = ValueError("a"), ValueError("b")
    first.__cause__ = second if cycle == 2 else first
    second.__cause__ = first
    assert error_info(first).traceback.count("ValueError") <= 2


@pytest.mark.parametrize("leaving", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_an_exception_whose_text_leaves_is_still_told(leaving):
    class Odd(Exception):
        def __str__(self):
            raise leaving

    assert leaving.__name__ in error_info(Odd()).message


def test_an_exception_that_cannot_be_compared_is_still_told():
    class Odd(Exception):
        __hash__ = None

        def __eq__(self, other):
            raise RuntimeError("eq")

    odd = Odd("second")
    odd.__cause__ = Odd("first")
    assert error_info(odd).traceback.splitlines()[-1] == "Odd: second"

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.docstrings import parse_docstring

NUMPY = """Load a table.

    The file may be
    compressed.

    Parameters
    ----------
    path : str
        Where it is:
        a local file.
    rows, cols : int, optional
        How much to read.
    **options
        Passed on.
    silent : bool

    Returns
    -------
    str
        path : not a parameter
    """

GOOGLE = """Load a table.

    The file may be
    compressed.

    Args:
        path (str): Where it is:
            a local file.
        rows: How much to read.
        cols (int, optional):
            How much to read.

    Returns:
        text: not a parameter
    """


@pytest.mark.parametrize("text", [NUMPY, GOOGLE])
def test_both_styles_give_the_prose_and_the_parameters(text):
    doc = parse_docstring(text)
    assert doc.description == "Load a table.\n\nThe file may be compressed."
    assert doc.parameters["path"] == "Where it is: a local file."
    assert doc.parameters["rows"] == doc.parameters["cols"] == "How much to read."
    assert "text" not in doc.parameters


def test_numpy_variadic_names_lose_their_stars_and_an_entry_without_text_is_left_out():
    doc = parse_docstring(NUMPY)
    assert doc.parameters["options"] == "Passed on."
    assert "silent" not in doc.parameters


def test_a_sentence_that_ends_with_a_colon_is_not_a_section():
    assert parse_docstring("Do this:\n\n    code\n").description == "Do this:\n\ncode"


@pytest.mark.parametrize("text", [None, "", "   "])
def test_nothing_gives_nothing(text):
    assert parse_docstring(text).description == ""


@given(st.text(alphabet="ab:-(),* \n\t", max_size=200))
def test_any_text_is_read_without_error(text):
    doc = parse_docstring("Args:\n" + text)
    assert all(value for value in doc.parameters.values())

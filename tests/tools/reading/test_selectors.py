from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.reading.selectors import Selection, read_selection, split_selection


@pytest.mark.parametrize(
    ("rest", "selection"),
    [
        (":5", Selection(lines=((5, None),))),
        (":5-", Selection(lines=((5, None),))),
        (":5-9", Selection(lines=((5, 9),))),
        (":L5-L9", Selection(lines=((5, 9),))),
        (":5+2", Selection(lines=((5, 6),))),
        (":5-9,20+1", Selection(lines=((5, 9), (20, 20)))),
        (":raw", Selection(raw=True)),
        (":raw:5", Selection(lines=((5, None),), raw=True)),
        (":5:raw", Selection(lines=((5, None),), raw=True)),
        (":b0", Selection(data=(0, None))),
        (":b10+5", Selection(data=(10, 5))),
        (":b10-14", Selection(data=(10, 5))),
        (":p3", Selection(pages=(3, 3))),
        (":p3-4", Selection(pages=(3, 4))),
        (":outputs:tagged", Selection(outputs=True, tagged=True)),
    ],
)
def test_selections(rest, selection):
    assert read_selection(rest) == selection
    assert split_selection(f"a/b.txt{rest}") == ("a/b.txt", selection)


@pytest.mark.parametrize("rest", ["", ":", ":x", ":5x", ":-5", ":5-x", "?q=1", ":raw:x", ": 5", ":5,", ":b", ":p", "5"])
def test_what_is_no_selection_is_left_alone(rest):
    assert read_selection(rest) is None


@pytest.mark.parametrize("rest", [":0", ":5-4", ":5+0", ":b5-3", ":p0", ":p5-4", ":1-2,9-8"])
def test_impossible_ones_are_refused_in_words(rest):
    with pytest.raises(ToolError) as caught:
        read_selection(rest)
    assert caught.value.hint


@given(st.text(alphabet="ab:/5-+,Lrw?.", max_size=20))
def test_splitting_loses_nothing(text):
    try:
        base, selection = split_selection(text)
    except ToolError:
        return
    assert text.startswith(base)
    assert (read_selection(text[len(base) :]) or Selection()) == selection

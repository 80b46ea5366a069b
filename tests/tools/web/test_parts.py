from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.web.corpus import FINE
from zidane_lab.errors import ToolError
from zidane_lab.tools.web.parts import Part, split_part


@pytest.mark.parametrize(
    ("text", "address", "part"),
    [
        ("https://a.example/x:50-100", "https://a.example/x", Part(((50, 100),))),
        ("https://a.example/x:50+20", "https://a.example/x", Part(((50, 69),))),
        ("https://a.example/x:L50-L60", "https://a.example/x", Part(((50, 60),))),
        ("https://a.example/x:50-", "https://a.example/x", Part(((50, None),))),
        ("https://a.example/x:5-9,20-30", "https://a.example/x", Part(((5, 9), (20, 30)))),
        ("https://a.example/x:raw", "https://a.example/x", Part(raw=True)),
        ("https://a.example/x:raw:1-5", "https://a.example/x", Part(((1, 5),), raw=True)),
        ("https://a.example/x:1-5:raw ", "https://a.example/x", Part(((1, 5),), raw=True)),
        ("https://a.example:8080:1-5", "https://a.example:8080", Part(((1, 5),))),
        ("https://a.example:1-5", "https://a.example", Part(((1, 5),))),
        ("https://[2606:4700::1]:raw", "https://[2606:4700::1]", Part(raw=True)),
        ("www.a.example/x?q=a:b:1-5", "www.a.example/x?q=a:b", Part(((1, 5),))),
        ("https://a.example:8080", "https://a.example:8080", Part()),
        ("https://a.example/wiki/Talk:50", "https://a.example/wiki/Talk:50", Part()),
        ("https://a.example/x:rawer", "https://a.example/x:rawer", Part()),
        ("https://a.example/1-5", "https://a.example/1-5", Part()),
        ("https://a.example/x:1-5/y", "https://a.example/x:1-5/y", Part()),
    ],
)
def test_what_stands_behind_an_address(text, address, part):
    assert split_part(text) == (address, part)


@pytest.mark.parametrize("url", FINE)
def test_an_ordinary_address_has_nothing_behind_it(url):
    assert split_part(url) == (url.strip(), Part())


@pytest.mark.parametrize("behind", [":0-5", ":9-3", ":5+0"])
def test_lines_that_cannot_be_are_an_error(behind):
    with pytest.raises(ToolError):
        split_part(f"https://a.example/x{behind}")


@given(st.text(alphabet="https:/.a0123456789-+,Lraw?#[]", max_size=60))
def test_any_text_is_split_or_refused(text):
    try:
        address, part = split_part(text)
    except ToolError:
        return
    assert text.strip().startswith(address)
    assert (address == text.strip()) == (part == Part())

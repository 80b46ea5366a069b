from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.search.pattern import read_pattern
from zidane_lab.tools.search.worker import Matcher


def matched(pattern: str, text: str, **options) -> list[str]:
    read = read_pattern(pattern, **options)
    matcher = Matcher(read.python, ignore_case=read.ignore_case, needed=read.needed)
    if not matcher.may_match(text.encode("utf-8", "surrogateescape")):
        return []
    return [text[start:end] for start, end, _ in matcher.lines(text)]


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("foo", ["foo", "xfoox"]),
        ("^foo$", ["foo"]),
        ("fo{2}$", ["foo"]),
        ("fo{2,}x", ["xfoox"]),
        ("b(a|e)r", ["bar", "ber"]),
        ("(?i)BAR", ["bar"]),
        ("b(?i:A)r", ["bar"]),
        (r"\d+", ["12"]),
        (r"[[:digit:]]", ["12"]),
        (r"^\W+$", ["{}()"]),
        (r"\bfoo\b", ["foo"]),
        (r"\Boo", ["foo", "xfoox"]),
        (r"é", ["é"]),
        (r"\x{e9}", ["é"]),
        (r"\u00e9", ["é"]),
        (r"\p{Lu}", ["ÀB"]),
        (r"\PL", ["12", "{}()"]),
        ("{}", ["{}()"]),
        ("{", ["{}()"]),
        (r"^$", [""]),
        ("^.{2}$", ["12", "ÀB"]),
        ("^[^a-z]{2}$", ["12", "ÀB"]),
        ("(?P<name>b)e", ["ber"]),
        ("(?<name>b)e", ["ber"]),
        (r"[]x]f", ["xfoox"]),
        (r"[\d-]", ["12"]),
        ("f(o*)*x", ["xfoox"]),
        ("a**r", ["bar", "ber"]),
    ],
)
def test_an_expression_matches_lines(pattern, lines):
    text = "foo\nxfoox\nbar\nber\n12\n{}()\n\né\nÀB\n"
    assert matched(pattern, text) == lines


def test_a_match_spans_lines_only_where_it_says_so():
    text = "def one():\r\n    return 1\r\ndef two():\n    pass\n\ndef three(): pass\n"
    assert matched(r"def \w+\(\):\n\s+return", text) == ["def one():\r\n    return 1\r"]
    assert matched("two():\n    pass\n", text, literal=True) == ["def two():\n    pass"]
    assert matched(r"pass\n+def", text) == ["    pass\n\ndef three(): pass"]
    assert matched(r"\ndef", text) == ["    return 1\r\ndef two():", "\ndef three(): pass"]
    assert read_pattern(r"a\x0ab").spans
    assert not read_pattern(r"a[\n]b").spans


def test_a_match_never_spans_lines_otherwise():
    assert matched(r"a\s*b", "a\nb\na b\n") == ["a b"]
    assert matched(r"a[^x]*b", "a\nb\na-b\n") == ["a-b"]
    assert matched(r"a[\t-\r]*b", "a\nb\na\tb\n") == ["a\tb"]
    assert matched(r"a\W*b", "a\nb\na--b\n") == ["a--b"]


def test_a_carriage_return_before_the_end_does_not_count():
    assert matched("b$", "ab\r\nb\n") == ["ab\r", "b"]
    assert matched("^.{2}$", "ab\r\n") == ["ab\r"]


def test_words_are_those_of_unicode():
    assert matched(r"^\w+$", "straße\nनमस्ते\n½\na-b\n") == ["straße", "नमस्ते"]
    assert matched(r"\bstr", "ästr\nstr é\n") == ["str é"]
    assert matched(r"\d", "٣\n") == ["٣"]


def test_broken_bytes_match_nothing():
    text = b"a\xffb\n".decode("utf-8", "surrogateescape")
    for pattern in ("a.b", r"a\Wb", "a[^x]b", r"a\Sb", "a[\x01-\U0010ffff]b"):
        assert matched(pattern, text) == []
    assert matched("^a", text) == [text[:-1]]


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("a(?=b)", "look-ahead"),
        ("(?<!a)b", "look-behind"),
        (r"(a)\1", "backreference"),
        (r"\Ka", r"\\K"),
        ("(?>a)", r"\(\?>"),
        ("[a&&b]", "&&"),
        ("[a[b]]", r"\["),
        (r"\p{Greek}", "general categories"),
        ("(?x)a", "flag `x`"),
        ("a{1001}", "1000"),
        ("(a{1000}){1000}", "multiply"),
        (r"\w{900}", "multiply"),
        ("\n", "nothing but line ends"),
        ("a\0b", "in no text"),
        ("a\udcffb", "in no text"),
        ("", "empty"),
    ],
)
def test_what_is_not_supported_is_named(pattern, named):
    with pytest.raises(ToolError, match=named):
        read_pattern(pattern)


@pytest.mark.parametrize("pattern", ["foo(", "foo)", "[a", "*.py", "+", "a\\", "(?:x", "x{3,1}", "[z-a]"])
def test_what_is_no_expression_is_plain_text_and_says_so(pattern):
    read = read_pattern(pattern)
    assert read.repaired
    assert matched(pattern, f"x{pattern}y\nother\n") == [f"x{pattern}y"]


def test_a_pattern_nested_without_end_is_refused():
    with pytest.raises(ToolError, match="nested"):
        read_pattern("(" * 5000 + "a" + ")" * 5000)


@given(st.text(min_size=1, max_size=20).filter(lambda text: not set(text) & set("\n\r\0")))
def test_plain_text_finds_itself(text):
    assert matched(text, f"ab{text}cd\n", literal=True) == [f"ab{text}cd"]
    assert read_pattern(text, literal=True).needed == text


PIECES = ["a", "b", ".", "[ab]", "[^a]", r"\w", r"\s", r"\b", "^", "$", "(?:ab)", "é", r"\d", "x"]


@given(
    st.lists(
        st.tuples(st.sampled_from(PIECES), st.sampled_from(["", "*", "+", "?", "{2}", "+?"])), min_size=1, max_size=6
    )
)
def test_on_plain_ascii_lines_python_agrees_with_itself(parts):
    pattern = "".join(f"(?:{piece}){times}" for piece, times in parts)
    lines = ["", "a", "ab", "aab x", "b b", "xx", "é", "aé b", "  ", "12"]
    expected = [line for line in lines if re.search(pattern, line)]
    assert matched(pattern, "\n".join(lines) + "\n") == expected


@given(st.text(alphabet="ab(|)[]{}*+?\\^$.dw-,1:", max_size=12))
def test_any_text_is_read_or_refused_in_words(text):
    with contextlib.suppress(ToolError):  # nothing else may come out
        matched(text, "ab\n12\n")

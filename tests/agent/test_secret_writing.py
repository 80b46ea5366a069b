"""A value is written as the argument wants it: it stays what it is, whatever it is made of."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.secret_writing import writer_of
from zidane_lab.secrets.vault import Vault
from zidane_lab.tools.edits.patches import parse_patch

VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]\0"), min_size=1).map(
    "12345678".__add__
)
PEM = "-----BEGIN PRIVATE KEY-----\nabc\ndef\n-----END PRIVATE KEY-----"


def written(tool, name, text, value, form="", **others):
    """Return an argument with a value in it; ``§`` stands for its placeholder."""
    vault = Vault(b"k")
    arguments = {name: text.replace("§", vault.hold(value, form=form)), **others}
    write = writer_of(tool, name, arguments)
    return arguments[name].replace(vault.hold(value), value) if write is None else write(arguments[name], vault)


@given(VALUES)
def test_a_pattern_matches_the_value(value):
    pattern = written("grep", "pattern", "^a § b$", value)
    assert re.search(pattern, f"a {value} b")
    assert "\n" not in pattern


def test_a_literal_search_is_for_the_value_itself():
    assert written("grep", "pattern", "§.", "a.b+c", literal=True) == "a.b+c."


@given(VALUES)
def test_an_address_holds_the_value_and_nothing_more(value):
    for tool, name in (("fetch_url", "url"), ("read_file", "path")):
        parts = urlsplit(written(tool, name, "https://example.org/a?key=§&b=1#end", value))
        assert (parts.netloc, parts.path, parts.fragment) == ("example.org", "/a", "end")
        assert parse_qs(parts.query, keep_blank_values=True) == {"key": [value], "b": ["1"]}
        assert urlsplit(written(tool, name, "https://example.org/§", value)).netloc == "example.org"


@pytest.mark.parametrize(
    ("text", "value", "form", "expected"),
    [
        ("https://e.org/§/x", "T0/B1", "", "https://e.org/T0/B1/x"),
        ("https://e.org/?q=§", "a%2Fb", "escaped", "https://e.org/?q=a%2Fb"),  # as it was met
        ("https://e.org/?q=§", "a%2Fb", "", "https://e.org/?q=a%252Fb"),
        ("§", "https://e.org/hook?a=b", "", "https://e.org/hook?a=b"),  # it is the address
    ],
)
def test_addresses(text, value, form, expected):
    assert written("fetch_url", "url", text, value, form) == expected


@given(VALUES)
def test_json_holds_the_value(value):
    content = '{"key": "§", "more": ["a § b", 1, null], "§": true}'
    expected = {"key": value, "more": [f"a {value} b", 1, None], value: True}
    assert json.loads(written("write_file", "content", content, value)) == expected


@pytest.mark.parametrize("content", ["KEY=§\n", '{"key": §}', '{"a": "§"', "[section]\nkey = §\n", '{x: "§"}'])
def test_anything_else_holds_it_as_it_is(content):
    assert written("write_file", "content", content, 'a"b\\c') == content.replace("§", 'a"b\\c')


@pytest.mark.parametrize("mark", ["+", "-", " "])
def test_a_patch_has_a_value_of_several_lines_as_lines_of_one_kind(mark):
    patch = f"*** Begin Patch\n*** Update File: a.txt\n@@\n{mark}§\n+end\n*** End Patch\n"
    (file,) = parse_patch(written("apply_patch", "patch", patch, PEM))
    (hunk,) = file.hunks
    assert "".join(hunk.new if mark == "+" else hunk.old).startswith(PEM)


def test_nowhere_else_in_a_patch():
    for line in ("*** Add File: §", "@@ §", "+++ §", "--- §"):
        assert written("apply_patch", "patch", f"*** Begin Patch\n{line}\n+x\n*** End Patch\n", PEM) is None


def test_what_has_no_language_of_its_own_is_left_to_be_put_in_as_it_is():
    for tool, name in (("edit", "new_string"), ("read_file", "path"), ("write_file", "path"), ("monitor", "contains")):
        assert writer_of(tool, name, {name: "a"}) is None

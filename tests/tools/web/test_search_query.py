from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.web.search_query import Query, narrowed, read_query
from zidane_lab.tools.web.search_results import Source

TODAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("rolling mean", Query("rolling mean")),
        ("rolling site:numpy.org", Query("rolling", sites=("numpy.org",))),
        ("rolling SITE:https://www.NumPy.org/doc", Query("rolling", sites=("numpy.org",))),
        ("rolling site:*.numpy.org,", Query("rolling", sites=("numpy.org",))),
        ("rolling (site:a.org OR site:b.org)", Query("rolling", sites=("a.org", "b.org"))),
        ("site:a.org OR site:b.org rolling", Query("rolling", sites=("a.org", "b.org"))),
        ("rolling -site:spam.org", Query("rolling", without=("spam.org",))),
        ("paper filetype:pdf ext:.ps", Query("paper", filetypes=("pdf", "ps"))),
        ("news after:2025-06 before:2026", Query("news", after=date(2025, 6, 1), before=date(2026, 1, 1))),
        ("news since:2025-06-07 until:2025/07/08", Query("news", after=date(2025, 6, 7), before=date(2025, 7, 8))),
        ("site:numpy.org", Query("", sites=("numpy.org",))),
        ("cats OR dogs", Query("cats OR dogs")),
        ("TypeError: site:", Query("TypeError: site:")),
        (
            "a before:lunch -after:2020 site:localhost filetype:",
            Query("a before:lunch -after:2020 site:localhost filetype:"),
        ),
        ('"exact site:x.org phrase"', Query('"exact phrase"', sites=("x.org",))),
        ("http://site:80/ -ext:pdf after:2025-13", Query("http://site:80/ -ext:pdf after:2025-13")),
    ],
)
def test_operators_are_limits_and_what_is_none_stays_a_word(text, query):
    assert read_query(text, 10, (), None) == query


def test_sites_that_are_named_twice_are_one():
    query = read_query("x site:a.org site:b.org", 5, ("a.org",), "week")
    assert (query.sites, query.count, query.recent) == (("a.org", "b.org"), 5, "week")


def test_a_query_is_written_for_services_that_know_operators_and_for_those_that_do_not():
    query = Query("paper", sites=("a.org",), without=("b.org",), filetypes=("pdf",), after=date(2025, 1, 1))
    assert query.with_operators == "paper site:a.org -site:b.org filetype:pdf after:2025-01-01"
    assert query.words == "paper pdf"
    assert Query("", sites=("a.org",)).words == "a.org"


FOUND = [
    Source("old", "https://docs.a.org/x.pdf", date="2020-05-05"),
    Source("new", "https://b.org/y", date="2026-02-28"),
    Source("undated", "https://a.org/z.PDF?v=1", date="3 days ago"),
    Source("odd", "http://[::1/", date=""),
]


@pytest.mark.parametrize(
    ("limits", "titles", "unmet"),
    [
        ({}, ["old", "new", "undated", "odd"], ()),
        ({"sites": ("a.org",)}, ["old", "undated"], ()),
        ({"sites": ("b.org", "c.org")}, ["new"], ()),
        ({"sites": ("c.org",)}, ["old", "new", "undated", "odd"], ("of the sites asked for",)),
        ({"without": ("a.org",)}, ["new", "odd"], ()),
        ({"filetypes": ("pdf",)}, ["old", "undated"], ()),
        ({"filetypes": ("zip",)}, ["old", "new", "undated", "odd"], ("a zip file by its address",)),
        ({"recent": "week"}, ["new", "undated", "odd"], ()),
        ({"after": date(2026, 1, 1)}, ["new", "undated", "odd"], ()),
        ({"before": date(2026, 1, 1)}, ["old", "undated", "odd"], ()),
        ({"sites": ("b.org",), "filetypes": ("pdf",)}, ["new"], ("a pdf file by its address",)),
    ],
)
def test_limits_are_applied_once_more_as_long_as_they_leave_something(limits, titles, unmet):
    found, left = narrowed(FOUND, replace(Query("x"), **limits), TODAY)
    assert [each.title for each in found] == titles
    assert left == unmet


def test_nothing_found_is_nothing_narrowed():
    assert narrowed([], Query("x", sites=("a.org",)), TODAY) == ([], ())


@given(st.text(alphabet='site:-ext.aftrbo 0123456789OR()"', max_size=60))
def test_any_text_is_a_query(text):
    query = read_query(" ".join(text.split()), 10, (), None)
    assert read_query(query.with_operators, 10, (), None).sites == query.sites
    assert isinstance(query.words, str)

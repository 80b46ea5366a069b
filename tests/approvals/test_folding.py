from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.approvals.folding import fill_format, fill_percent, reaches_attribute
from zidane_lab.approvals.python_code import classify


class Recorder:
    """Remembers whether an attribute was looked up."""

    def __init__(self):
        self.looked = False

    def __getattr__(self, name):
        self.looked = True
        return 1

    def __getitem__(self, key):
        return 1

    def __format__(self, spec):
        return "1"


TEMPLATES = st.text(alphabet="{}[].:!r0a %s", max_size=14)


@given(TEMPLATES)
def test_a_template_that_looks_up_an_attribute_is_always_found(template):
    recorder = Recorder()
    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError):
        template.format(recorder, a=recorder)
    assert not recorder.looked or reaches_attribute(template)


@given(TEMPLATES, st.lists(st.text(max_size=3), max_size=3))
def test_what_is_filled_in_is_what_python_makes_of_it(template, values):
    filled = fill_percent(template, values)
    assert filled is None or filled == template % tuple(values)
    filled = fill_format(template, values, {"a": "x"})
    assert filled is None or filled == template.format(*values, a="x")


@pytest.mark.parametrize("template", ["%9999999999s", "%d", "%(a)s", "%"])
def test_percent_fills_in_plain_texts_only(template):
    assert fill_percent(template, ["a"]) is None


@pytest.mark.parametrize("template", ["{:>9999999999}", "{0!r}", "{0[0]}", "{0.real}", "{", "{5}"])
def test_format_fills_in_plain_texts_only(template):
    assert fill_format(template, ["a"], {}) is None


@pytest.mark.parametrize(
    "source", ["x = '%9999999999s' % 'a'", "x = '{:>9999999999}'.format('a')", "x = '%s%%' % 'a'", "x = '%s' % ()"]
)
def test_texts_that_would_be_endless_are_not_built(source):
    assert classify(source).risk == "pure"

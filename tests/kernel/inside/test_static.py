from __future__ import annotations

import sys
import types

import numpy as np
import pandas as pd
import pytest

from zidane_lab.kernel.inside import static
from zidane_lab.kernel.inside.static import MISSING


class Slotted:
    __slots__ = ("a", "b")


class Mixed(Slotted):
    def __init__(self):
        self.a, self.c = 1, 2


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (int, "int"),
        (pd.DataFrame, "pandas.DataFrame"),
        (types.ModuleType, "module"),
        (np.float64, "numpy.float64"),
        (Slotted, "tests.Slotted"),
    ],
)
def test_labels(cls, name):
    assert static.label(cls) == name


def test_a_local_class_is_labelled_without_the_function_it_is_in():
    class Local: ...

    assert static.label(Local) == "tests.Local"


def test_the_label_of_a_class_with_an_odd_name_is_one_bounded_line():
    odd = type("x\n\x1b" + "y" * 500, (), {})
    assert static.label(odd).isprintable()
    assert len(static.label(odd)) <= 80


def test_attributes_are_those_the_object_stores():
    assert static.attributes(Mixed()) == {"a": 1, "c": 2}
    assert static.attributes(5) == {"real": MISSING} or "real" not in static.attributes(5)
    assert static.own(Mixed(), "a") == 1
    assert static.own(Mixed(), "b") is MISSING
    assert static.own(Mixed(), "c") == 2
    assert static.own(object(), "x") is MISSING


def test_a_dict_subclass_as_instance_dict_is_read_through_dict():
    class Names(dict):
        def items(self):
            raise AssertionError("called")

        __iter__ = __getitem__ = keys = items

    class Plain: ...

    obj = Plain()
    obj.__dict__ = Names(x=1)
    assert static.instance_dict(obj) == {"x": 1}


def test_genuine_classes():
    assert static.is_genuine(pd.DataFrame)
    assert not static.is_genuine(type("DataFrame", (), {"__module__": "pandas"}))
    assert not static.is_genuine(type("Gone", (), {"__module__": "not.loaded"}))
    assert not static.is_genuine(type("Odd", (), {"__module__": 5}))


def test_a_module_name_that_is_no_text():
    odd = type("Odd", (), {"__module__": property(lambda _self: 1 / 0)})
    assert static.module_name(odd) == ""
    assert static.label(odd) == "Odd"


def test_class_attributes_are_neither_bound_nor_called():
    class Holder:
        @property
        def value(self):
            raise AssertionError("evaluated")

    assert type(static.class_attribute(Holder, "value")) is property
    assert static.class_attribute(Holder, "nothing") is MISSING


def test_what_is_looked_at_is_not_imported():
    before = set(sys.modules)
    static.is_genuine(type("Thing", (), {"__module__": "turtle"}))
    assert set(sys.modules) == before

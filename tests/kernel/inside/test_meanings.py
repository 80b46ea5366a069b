"""What names stand for: the same words, in the same cases, as approvals judge code by."""

from __future__ import annotations

import functools
import math
import os
import pathlib
import subprocess
import types

import numpy as np
import pandas as pd
import pytest

from zidane_lab.approvals.names import known_names
from zidane_lab.kernel.inside.meanings import meanings


class Local:
    pass


class Text(str):
    __slots__ = ()


def function():
    pass


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (subprocess, "subprocess"),
        (os.path, os.path.__name__),
        (subprocess.run, "subprocess.run"),
        (os.system, "os.system"),
        (os.remove, "os.remove"),
        (print, "print"),
        (math.sin, "math.sin"),
        (pd.DataFrame, "pandas.DataFrame"),
        (pd.read_csv, "pandas.read_csv"),
        (pd.DataFrame({"a": [1]}), "pandas.DataFrame()"),
        (np.arange(3), "numpy.ndarray()"),
        (pathlib.Path("x"), f"pathlib.{type(pathlib.Path('x')).__name__}()"),
        (3, "int()"),
        ("plain", "str()"),
        ("https://example.org/x", "https://example.org/x"),
        ("s3://bucket", "s3://bucket"),
        (Text("s3://bucket"), f"{__name__}.Text()"),
        ("x" * 300 + "://", "str()"),
        (functools.partial(print), "functools.partial()"),
        (None, "NoneType()"),
        (Local, f"{__name__}.Local"),
        (Local(), f"{__name__}.Local()"),
        (function, f"{__name__}.function"),
    ],
)
def test_a_name_means_what_approvals_take_it_for(value, meaning):
    assert meanings({"x": value}) == {"x": meaning} == known_names({"x": value})


def test_no_code_of_an_object_or_its_class_runs():
    class Meta(type):
        def __getattribute__(cls, name):
            raise AssertionError(name)

    class Trap(metaclass=Meta):
        def __getattribute__(self, name):
            raise AssertionError(name)

    module = type("Lazy", (types.ModuleType,), {"__getattribute__": lambda self, name: 1 / 0})("lazy")
    told = meanings(
        {"a": Trap(), "b": Trap, "c": module, "d": type("Str", (str,), {"__getitem__": lambda *_: 1 / 0})("://")}
    )
    assert told["c"] == "lazy"
    assert told["a"] == f"{told['b']}()"
    assert told["b"].endswith("Trap")
    assert told["d"].endswith("Str()")

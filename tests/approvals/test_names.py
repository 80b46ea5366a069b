from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pandas as pd

from zidane_lab.approvals.names import known_names


def test_modules_functions_classes_and_values_are_named_as_people_import_them():
    def mine(): ...

    mine.__module__ = "__main__"
    namespace = {
        "sp": subprocess,
        "rm": os.remove,
        "run": subprocess.run,
        "P": Path,
        "Frame": pd.DataFrame,
        "df": pd.DataFrame(),
        "p": Path("a"),
        "n": 3,
        "text": "plain",
        "address": "https://example.com/" + "x" * 1000,
        "mine": mine,
        "env": os.environ,
    }
    known = known_names(namespace)
    assert known.pop("address").startswith("https://example.com/")
    assert known.pop("mine").endswith("mine")
    assert known == {
        "sp": "subprocess",
        "rm": "os.remove",
        "run": "subprocess.run",
        "P": "pathlib.Path",
        "Frame": "pandas.DataFrame",
        "df": "pandas.DataFrame()",
        "p": f"pathlib.{type(Path()).__name__}()",
        "n": "int()",
        "text": "str()",
        "env": "os._Environ()",
    }


def test_values_are_never_looked_at():
    class Hostile:
        def __getattribute__(self, name):
            raise AssertionError(f"looked at {name}")

    assert known_names({"h": Hostile()})["h"].endswith("Hostile()")

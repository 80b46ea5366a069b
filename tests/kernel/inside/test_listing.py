from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from zidane_lab.kernel.inside.listing import InspectError, inspect, list_variables, near_names


class Thing:
    pass


@pytest.fixture
def namespace():
    return {
        "In": [],
        "Out": {},
        "exit": 1,
        "quit": 1,
        "get_ipython": 1,
        "open": open,
        "_": 5,
        "_i1": "x",
        "__name__": "__main__",
        "np": np,
        "load": lambda path: path,
        "rate": 0.1,
        "weights": np.ones(3),
        "thing": Thing(),
        "sales": pd.DataFrame({"price": [1.5]}),
        "Runs": pl.DataFrame({"loss": [0.5]}),
        "api_key": "never shown",
    }


def names(listed):
    return [variable["name"] for variable in listed["variables"]]


def test_only_the_users_variables_are_listed_data_first_code_last(namespace):
    listed = list_variables(namespace)
    assert names(listed) == ["sales", "Runs", "weights", "rate", "thing", "api_key", "np", "load"]
    assert (listed["total"], listed["shown"]) == (8, 8)


def test_each_variable_has_a_type_and_a_summary(namespace):
    rows = {
        variable["name"]: (variable["type"], variable["summary"]) for variable in list_variables(namespace)["variables"]
    }
    assert rows["sales"] == ("pandas.DataFrame", "1 × 1: price")
    assert rows["rate"] == ("float", "0.1")
    assert rows["load"] == ("function", "<lambda>(path)")
    assert rows["api_key"] == ("str", "(hidden)")


def test_hidden_names_are_left_out(namespace):
    assert "rate" not in names(list_variables(namespace, hidden={"rate"}))
    assert list_variables(namespace, hidden={"rate"})["total"] == 7


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("RUN", ["Runs"]),
        ("s", ["sales", "Runs", "weights"]),
        ("s*", ["sales"]),
        ("*s", ["sales", "Runs", "weights"]),
        ("r?t?", ["rate"]),
        ("[nl]*", ["np", "load"]),
        ("nothing", []),
        ("", 8),
        (None, 8),
    ],
)
def test_patterns(namespace, pattern, found):
    listed = list_variables(namespace, pattern)
    if isinstance(found, int):
        assert listed["total"] == found
    else:
        assert names(listed) == found
        assert listed["total"] == len(found)


@pytest.mark.parametrize(("limit", "shown"), [(3, 3), (0, 0), (-1, 0), (100, 8)])
def test_a_limit_tells_how_many_there_are(namespace, limit, shown):
    listed = list_variables(namespace, limit=limit)
    assert (listed["shown"], listed["total"]) == (shown, 8)
    assert names(listed) == names(list_variables(namespace))[:shown]


def test_only_listed_variables_are_looked_at(monkeypatch):
    monkeypatch.setattr("zidane_lab.kernel.inside.listing.gist", lambda value: 1 / 0 if type(value) is Thing else "")
    assert list_variables({"number": 1, "thing": Thing()}, limit=1)["total"] == 2


def test_names_that_are_no_text_or_not_printable_do_no_harm():
    listed = list_variables({5: 1, "a\nb": 2, "ok": 3})
    assert names(listed) == ["a b", "ok"]


def test_near_names(namespace):
    assert near_names(namespace, "sale") == ["sales"]
    assert near_names(namespace, "runs") == ["Runs"]
    assert near_names(namespace, "weight")[0] == "weights"
    assert near_names(namespace, "zzz") == []
    assert near_names({"_hidden": 1}, "_hidden") == []


# --- looking at one -------------------------------------------------------------------------------


def test_a_variable_is_described(namespace):
    assert inspect(namespace, "rate") == "float: 0.1"
    assert inspect(namespace, "sales", 500).startswith("pandas.DataFrame: 1 row × 1 column")
    assert len(inspect(namespace, "sales", 50)) <= 50


def test_a_part_of_a_variable_is_described(namespace):
    assert inspect(namespace, "sales['price']").startswith("pandas.Series: 1 float64 named price: 1.5")


def test_a_credential_is_hidden_by_its_name_or_key(namespace):
    assert inspect(namespace, "api_key") == "str: (hidden) its name says that it holds a credential"
    assert "never" not in inspect({"settings": {"password": "never shown"}}, "settings['password']")


def test_a_missing_name_suggests_near_ones(namespace):
    with pytest.raises(InspectError, match=r"There is no variable named sale\. Near names: sales\."):
        inspect(namespace, "sale")
    with pytest.raises(InspectError, match="List the variables"):
        inspect(namespace, "zzz")

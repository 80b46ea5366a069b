"""What is not computed yet stays so; see also the hostile classes in test_hostile.py."""

from __future__ import annotations

import polars as pl

from tests.kernel.inside.hostile import fake_package
from zidane_lab.kernel.inside.describe import describe, summarize


def test_a_lazy_frame_says_how_to_look_at_it():
    text = describe(pl.DataFrame({"a": [1]}).lazy())
    assert text.startswith("polars.LazyFrame: not evaluated")
    assert "`.head(5).collect()` some rows" in text


def test_an_expression_and_a_grouping_are_not_evaluated():
    assert describe(pl.col("a") + 1).startswith("polars.Expr: not evaluated")
    assert "Nothing was computed" in describe(pl.DataFrame({"a": [1]}).group_by("a"))


def test_what_is_stored_is_told(monkeypatch):
    class Array:
        def __init__(self):
            self._shape, self._name = (1000, 1000), "ones"

    fake_package(monkeypatch, "dask.array.core", Array=Array)
    assert summarize(Array()) == "dask.Array: not evaluated, shape (1000, 1000); holds _shape, _name"
    text = describe(Array())
    assert "`.compute()` everything" in text
    assert "  _name = 'ones'" in text


def test_a_model_of_ones_own_shows_its_loaded_fields(monkeypatch):
    class Model:
        pass

    fake_package(monkeypatch, "django.db.models.base", Model=Model)

    class Book(Model):
        def __init__(self):
            self.title, self.password, self._state = "Dune", "hunter2", object()

        @property
        def author(self):
            raise AssertionError("queried")

    text = describe(Book())
    assert text.startswith("tests.Book: holds title, password")
    assert "  title = 'Dune'" in text
    assert "hunter2" not in text
    assert "reading it queries the database" in text


def test_a_class_of_a_lazy_package_is_described_as_a_class(monkeypatch):
    Meta = type("ModelBase", (type,), {})
    fake_package(monkeypatch, "django.db.models.base", ModelBase=Meta)
    Book = Meta("Book", (), {"__doc__": "A book."})
    assert "class Book: A book." in describe(Book)

"""Objects: plain ones, dataclasses, pydantic models, scikit-learn estimators, figures."""

from __future__ import annotations

import dataclasses
import sys
import types

import matplotlib.figure
import numpy as np
import pydantic
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.kernel.inside.hostile import fake_package
from zidane_lab.kernel.inside.describe import describe, summarize


class Run:
    """One run of an experiment."""

    __slots__ = ("__dict__", "loss", "unset")

    def __init__(self):
        self.loss = 0.5
        self.history = [1, 2]
        self._cache = {}


def test_an_object_shows_what_it_stores_public_names_first():
    text = describe(Run())
    assert text.splitlines()[0] == "tests.Run: 3 attributes: loss, history, _cache"
    assert "doc: One run of an experiment." in text
    assert "attributes:\n  loss = 0.5\n  history = [1, 2]\n  _cache = {}" in text
    assert "unset" not in text


def test_many_attributes_are_cut_with_a_count():
    obj = types.SimpleNamespace(**{f"a{i}": i for i in range(5000)})
    text = describe(obj)
    assert "more attributes" in text
    assert len(text) <= 4000


@dataclasses.dataclass
class Config:
    rate: float
    name: str
    token: str = dataclasses.field(default="t0k", repr=False)


def test_a_dataclass_shows_the_fields_its_author_shows():
    config = Config(0.1, "a")
    assert summarize(config) == "tests.Config: rate=0.1, name='a'"
    text = describe(config)
    assert "fields:\n  rate = 0.1\n  name = 'a'" in text
    assert "fields its author does not show: token" in text
    assert "t0k" not in text


def test_a_frozen_dataclass_with_slots():
    @dataclasses.dataclass(frozen=True, slots=True)
    class Point:
        x: int

    assert summarize(Point(3)) == "tests.Point: x=3"


class Settings(pydantic.BaseModel):
    """What can be set."""

    model_config = pydantic.ConfigDict(extra="allow")

    rate: float = 0.1
    key: pydantic.SecretStr = pydantic.SecretStr("never shown")
    api_key: str = "never shown"

    @property
    def computed(self):
        raise AssertionError("evaluated")


def test_a_pydantic_model_shows_its_fields_and_extras():
    settings = Settings(more=[1])
    assert summarize(settings) == "tests.Settings: rate=0.1, key=<pydantic.SecretStr>, api_key=(hidden), more=[…1]"
    text = describe(settings)
    assert "doc: What can be set." in text
    assert "  rate = 0.1" in text
    assert "  more = [1]" in text
    assert "never shown" not in text


def test_a_pydantic_class_shows_its_declared_fields():
    text = describe(Settings)
    assert "fields:\n  rate: float\n  key: pydantic.SecretStr\n  api_key: str" in text
    assert "never shown" not in text


def test_an_estimator_shows_changed_parameters_and_what_it_learned():
    model = LogisticRegression(C=3.0, max_iter=100)
    assert summarize(model) == "sklearn.LogisticRegression: not fitted, C=3.0"
    model.fit([[0], [1], [2]], [0, 1, 1])
    text = describe(model)
    assert text.splitlines()[0] == "sklearn.LogisticRegression: fitted, C=3.0"
    assert "parameters that differ from their defaults:\n  C = 3.0\nlearned by fit:\n" in text
    assert "  classes_ = <numpy.ndarray: 2 int64: 0, 1>" in text
    assert "max_iter" not in text


def test_an_estimator_with_defaults_says_so():
    assert "all parameters have their defaults\nnot fitted" in describe(StandardScaler())


def test_a_pipeline_shows_its_steps():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert "not fitted" in summarize(pipeline)
    pipeline.fit([[0], [1], [2]], [0, 1, 1])
    text = describe(pipeline)
    assert text.startswith("sklearn.Pipeline: fitted")
    assert "  ('logisticregression', <sklearn.LogisticRegression: fitted>)" in text
    assert "not fitted" not in text
    columns = ColumnTransformer([("scale", StandardScaler(), ["a"])])
    assert "  ('scale', <sklearn.StandardScaler: not fitted>, ['a'])" in describe(columns)


def test_parameters_that_are_arrays_are_not_compared():
    class Weighted(LogisticRegression):
        def __init__(self, weights=np.zeros(3)):  # noqa: B008
            self.weights = weights

    assert "weights = <numpy.ndarray: 3 float64: 1, 1, 1>" in describe(Weighted(np.ones(3)))


# --- figures --------------------------------------------------------------------------------------


def test_a_matplotlib_figure_shows_axes_and_titles_and_is_not_drawn(monkeypatch):
    figure = matplotlib.figure.Figure(figsize=(8, 3))
    left, right = figure.subplots(1, 2)
    left.plot([1, 2], [3, 4], label="loss")
    left.set_title("Training")
    left.set_xlabel("step")
    right.bar([1, 2], [3, 4])
    figure.suptitle("Both")
    monkeypatch.setattr(matplotlib.figure.Figure, "draw", None)
    assert summarize(figure) == "matplotlib.Figure: 2 axes, 8 × 3 in: 'Training'"
    assert describe(figure).splitlines()[1:] == [
        "title 'Both'",
        "  axes 0: 'Training', x 'step', 1 line",
        "  axes 1: 2 patches",
    ]
    text = describe(left)
    assert text.startswith("matplotlib.Axes: 'Training', x 'step', 1 line")
    assert "lines: 'loss'" in text
    assert "linear scale" in text


def test_an_empty_figure():
    assert summarize(matplotlib.figure.Figure()) == "matplotlib.Figure: 0 axes, 6.4 × 4.8 in"


def test_a_plotly_figure_shows_its_traces(monkeypatch):
    class BaseFigure:
        def __init__(self, data, layout):
            self._data, self._layout = data, layout

        @property
        def data(self):
            raise AssertionError("evaluated")

    fake_package(monkeypatch, "plotly.basedatatypes", BaseFigure=BaseFigure)
    figure = type("Figure", (BaseFigure,), {"__module__": "plotly.graph_objs._figure"})(
        [{"type": "bar", "name": "2024", "x": [1] * 10**6}, {"y": [2]}], {"title": {"text": "Sales"}}
    )
    assert summarize(figure) == "plotly.Figure: 2 traces: bar, scatter, title 'Sales'"
    assert describe(figure).splitlines()[1:] == ["  0: bar, '2024'; holds x", "  1: scatter; holds y"]
    assert "plotly" not in sys.modules


@pytest.mark.parametrize("budget", [0, 10, 80, 300])
def test_budgets_hold(budget):
    figure = matplotlib.figure.Figure()
    for obj in (
        Run(),
        Config(0.1, "a"),
        Settings(),
        LogisticRegression(),
        make_pipeline(StandardScaler()),
        figure,
        Settings,
        np,
        Run,
    ):
        assert len(describe(obj, budget)) <= budget

"""Which provider answers with which model, and who steps in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from zidane_lab.errors import ConfigurationError
from zidane_lab.providers.scripted import ScriptedProvider
from zidane_lab.providers.targets import (
    ModelTarget,
    ModelTargetSpec,
    chain_specs,
    filter_chain,
    normalize_providers,
    resolve_model_targets,
)


def provider(name):
    return SimpleNamespace(name=name, default_model=f"{name}-default")


A, B = provider("a"), provider("b")


def names(targets):
    return [target.name for target in targets]


def test_one_provider_needs_no_name():
    nameless = provider("")
    assert normalize_providers(nameless) == (nameless,)
    assert normalize_providers([nameless]) == (nameless,)
    assert normalize_providers(ScriptedProvider([]))[0].name == "scripted"


def test_several_need_names_of_their_own():
    assert normalize_providers([A, B]) == (A, B)
    with pytest.raises(ConfigurationError, match="has no name"):
        normalize_providers([A, provider("  ")])
    with pytest.raises(ConfigurationError, match="Two providers are named 'a'"):
        normalize_providers([A, B, provider("a")])
    with pytest.raises(ConfigurationError, match="no provider"):
        normalize_providers([])


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (None, ["a/a-default", "b/b-default"]),
        ("m", ["a/m", "b/m"]),
        ("vendor/m", ["a/vendor/m", "b/vendor/m"]),
        (["m", "n"], ["a/m", "b/m", "a/n", "b/n"]),
        ([ModelTargetSpec("m", "b"), "n"], ["b/m", "a/n", "b/n"]),
        ([ModelTargetSpec("m", "b"), ModelTargetSpec("n", "a")], ["b/m", "a/n"]),
        ([ModelTargetSpec("m", "b"), "m", ModelTargetSpec("m")], ["b/m", "a/m"]),
    ],
)
def test_how_models_become_targets(model, expected):
    assert names(resolve_model_targets([A, B], model)) == expected


def test_windows_come_along_and_the_first_of_doubles_stays():
    targets = resolve_model_targets([A, B], [ModelTargetSpec("m", "a", 5), ModelTargetSpec("m", window=7)])
    assert targets == (ModelTarget(A, "m", 5), ModelTarget(B, "m", 7))


@pytest.mark.parametrize(
    ("providers", "model", "message"),
    [
        ([], None, "no provider"),
        ([A], [], "list of models is empty"),
        ([A], "  ", "has no name"),
        ([A, B], [ModelTargetSpec("m", "c")], "no provider named 'c'"),
    ],
)
def test_what_cannot_be_resolved_is_said(providers, model, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        resolve_model_targets(providers, model)
    if "named" in message:
        assert "a, b" in caught.value.hint


def test_filtering_keeps_the_order_and_drops_what_cannot_step_in():
    picked = ["b/2", "a/1", "c/9", "b/2", "a/2", "b/1"]
    assert filter_chain("a/1", picked, lambda name: name != "c") == ("b/2", "a/2", "b/1")
    assert filter_chain("a/1", ["a/1"]) == ()
    with pytest.raises(ConfigurationError):
        filter_chain("a/1", ["/m"])


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        (["a/m"], "m"),
        (["a"], "a-default"),
        (["a/m", "b/n"], (ModelTargetSpec("m", "a"), ModelTargetSpec("n", "b"))),
        (["a/m", "gone/n", "b/o/p"], (ModelTargetSpec("m", "a"), ModelTargetSpec("o/p", "b"))),
        (["a/m", "b"], (ModelTargetSpec("m", "a"), ModelTargetSpec("b-default", "b"))),
        (["a/m", "gone/n"], "m"),
        (["gone/m", "a/n", "b/n"], "m"),
    ],
)
def test_a_chain_becomes_what_a_run_takes(chain, expected):
    assert chain_specs(chain, [A, B]) == expected
    assert resolve_model_targets([A, B], chain_specs(chain, [A, B]))


def test_a_chain_carries_windows():
    specs = chain_specs(["a/m", "b/n"], [A, B], {"a/m": 1000, "b/n": 2000}.get)
    assert [spec.window for spec in specs] == [1000, 2000]


def test_an_empty_chain_is_a_mistake():
    with pytest.raises(ConfigurationError, match="empty"):
        chain_specs([], [A])

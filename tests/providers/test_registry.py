"""Providers by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from zidane_lab.errors import AuthError, ConfigurationError
from zidane_lab.providers import registry
from zidane_lab.providers.anthropic import AnthropicProvider
from zidane_lab.providers.base import Provider
from zidane_lab.providers.openai_chat import OpenAIChatProvider
from zidane_lab.providers.registry import create_provider, known_providers, split_model, usable_providers
from zidane_lab.providers.scripted import ScriptedProvider

KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("anthropic/claude-sonnet-5-5", ("anthropic", "claude-sonnet-5-5")),
        ("openai/meta-llama/llama-3:free", ("openai", "meta-llama/llama-3:free")),
        ("scripted//abs/answers.json", ("scripted", "/abs/answers.json")),
        ("anthropic", ("anthropic", None)),
        (" openai/ ", ("openai", None)),
    ],
)
def test_names_split_at_the_first_slash(name, parts):
    assert split_model(name) == parts


@pytest.mark.parametrize("name", ["", "  ", "/gpt-4o"])
def test_a_name_without_a_provider(name):
    with pytest.raises(ConfigurationError, match="names no provider"):
        split_model(name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("anthropic", AnthropicProvider),
        ("openai", OpenAIChatProvider),
        ("scripted", ScriptedProvider),
        ("anthropic/claude-x", AnthropicProvider),
    ],
)
def test_built_in_providers(name, kind):
    provider = create_provider(name, env=KEYS)
    assert isinstance(provider, kind)
    assert isinstance(provider, Provider)
    assert provider.name == split_model(name)[0]
    assert getattr(provider, "_key", None) == {"anthropic": "a", "openai": "o"}.get(provider.name)
    assert provider.default_model


@pytest.mark.parametrize(
    ("name", "env"),
    [
        ("anthropic", {}),
        ("anthropic", {"ANTHROPIC_API_KEY": "  "}),
        ("anthropic", {"ANTHROPIC_BASE_URL": "https://api.anthropic.com/"}),
        ("openai", {"OPENAI_BASE_URL": ""}),
    ],
)
def test_a_missing_key_is_named(name, env):
    with pytest.raises(AuthError, match=f"{name.upper()}_API_KEY is not set") as caught:
        create_provider(name, env=env)
    assert all(word in caught.value.hint for word in (f"{name.upper()}_API_KEY", "%zidane /doctor", "offline"))


@pytest.mark.parametrize(("name", "variable"), [("anthropic", "ANTHROPIC_BASE_URL"), ("openai", "OPENAI_BASE_URL")])
def test_elsewhere_no_key_is_needed(name, variable):
    assert not create_provider(name, env={variable: "http://localhost:8080/v1"}).capabilities.metered


@pytest.mark.parametrize("key", ["two words", "\u201ckey\u201d", "line\nbreak"])
def test_a_key_that_cannot_be_one_is_not_repeated(key):
    with pytest.raises(AuthError, match="OPENAI_API_KEY holds characters") as caught:
        create_provider("openai", env={"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


def test_a_key_copied_with_a_line_end_works():
    assert create_provider("openai", env={"OPENAI_API_KEY": "key\n"})


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("antropic/claude", "`anthropic`"),
        ("open-ai", "`openai`"),
        ("script", "`scripted`"),
        ("claude-sonnet-5-5", "`anthropic/claude-sonnet-5-5`"),
        ("gpt-4o", "`openai/gpt-4o`"),
        ("o3", "`openai/o3`"),
        ("xyzzy", "Known providers: anthropic, openai, scripted, offline"),
    ],
)
def test_an_unknown_name_gets_a_suggestion(name, suggestion):
    with pytest.raises(ConfigurationError, match="There is no provider named") as caught:
        create_provider(name, env=KEYS)
    assert suggestion in caught.value.hint
    assert "Known providers" in caught.value.hint


@pytest.mark.parametrize(
    ("env", "usable"),
    [
        ({}, ()),
        (KEYS, ("anthropic", "openai")),
        ({"OPENAI_API_KEY": "o"}, ("openai",)),
        ({"OPENAI_BASE_URL": "http://localhost:11434/v1"}, ("openai",)),
        ({"ANTHROPIC_BASE_URL": "http://localhost:8080"}, ("anthropic",)),
        ({"ANTHROPIC_API_KEY": " ", "ANTHROPIC_BASE_URL": "https://gateway.example/anthropic"}, ("anthropic",)),
        ({"ANTHROPIC_API_KEY": " ", "ANTHROPIC_BASE_URL": " "}, ()),
        ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com/", "OPENAI_BASE_URL": "https://api.openai.com/v1"}, ()),
    ],
)
def test_usable_providers(env, usable):
    assert usable_providers(env) == usable


def test_the_environment_is_the_process_by_default(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://localhost:1")
    assert usable_providers() == ("anthropic",)
    assert not create_provider("anthropic").capabilities.metered


# --- providers of other packages ------------------------------------------------------------------


@pytest.fixture
def added(monkeypatch):
    points = [
        EntryPoint("extra", "zidane_lab.providers.scripted:ScriptedProvider", registry.ENTRY_POINTS),
        EntryPoint("openai", "builtins:int", registry.ENTRY_POINTS),
        EntryPoint("absent", "no_such_package:Provider", registry.ENTRY_POINTS),
        EntryPoint("number", "builtins:int", registry.ENTRY_POINTS),
    ]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda *, group: points if group == "zidane_lab.providers" else []
    )


@pytest.mark.usefixtures("added")
def test_an_installed_package_adds_a_provider():
    assert isinstance(create_provider("extra/model", env={}), ScriptedProvider)
    assert known_providers() == ("anthropic", "openai", "scripted", "offline", "absent", "extra", "number")


@pytest.mark.usefixtures("added")
def test_a_built_in_provider_cannot_be_replaced():
    assert isinstance(create_provider("openai", env=KEYS), OpenAIChatProvider)


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    ("name", "message"), [("absent", "cannot be made: ModuleNotFoundError"), ("number", "gives no provider but int")]
)
def test_a_package_that_fails_is_named(name, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        create_provider(name, env={})
    assert name in str(caught.value)

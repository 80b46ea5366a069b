"""Settings: file, environment, and damage that never stops a notebook."""

from __future__ import annotations

import json

import pytest

from zidane_lab.chat.models import choose_model
from zidane_lab.chat.settings import KEYS, Settings, home, load_settings, save_setting, shown
from zidane_lab.errors import ConfigurationError


@pytest.fixture
def env(tmp_path):
    return {"ZIDANE_HOME": str(tmp_path)}


def write(tmp_path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)


def test_defaults_where_there_is_no_file(env):
    settings = load_settings(env)
    assert (settings.model, settings.mode, settings.interaction, settings.profile) == (None, "auto", "auto", "build")
    assert set(settings.sources.values()) == {"default"}
    assert settings.problems == ()


def test_the_environment_beats_the_file_and_both_are_named(env, tmp_path):
    write(tmp_path, json.dumps({"model": "openai/a", "max_turns": 7, "mode": "ask"}))
    settings = load_settings({**env, "ZIDANE_MODEL": "anthropic/b"})
    assert (settings.model, settings.max_turns, settings.mode) == ("anthropic/b", 7, "ask")
    assert settings.sources["model"] == "ZIDANE_MODEL"
    assert settings.sources["max_turns"] == str(tmp_path / "settings.json")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{not json", "cannot be read"),
        ("[1, 2]", "not a JSON object"),
        ('{"mode": "yolo"}', "expected one of ask, auto, accept-edits, plan, bypass"),
        ('{"max_turns": 0}', "number above 0"),
        ('{"max_turns": true}', "number above 0"),
        ('{"max_cost": "inf"}', "number above 0"),
        ('{"max_cost": -1}', "number above 0"),
        ('{"model": ""}', "expected a text"),
        ('{"colour": "red"}', "no setting 'colour'"),
        ('{"drawing": "fast"}', "auto, live, static"),
        ('{"max_tokens": "many"}', "whole number of tokens"),
        ('{"max_minutes": 0}', "number above 0"),
        ('{"session_max_cost": -1}', "number above 0"),
        ('{"notebook_max_tokens": 0.5}', "whole number of tokens"),
        ('{"auto_compact": 1}', "on, off or a share"),
        ('{"auto_compact": "85"}', "on, off or a share"),
        ('{"compact_model": 3}', "expected a text"),
        ('{"cache_ttl": "2h"}', "5m, 1h"),
        ('{"persist_threshold": -1}', "number above 0"),
        ('{"fallbacks": 3}', "names with commas"),
        ('{"fallbacks": ["a", 3]}', "expected a text"),
        ('{"fallbacks": "a,,b"}', "expected a text"),
        ('{"thinking": "hard"}', "off, minimal, low"),
        ('{"max_retries": -1}', "0 to 999"),
        ('{"max_retries": true}', "0 to 999"),
    ],
)
def test_damage_is_reported_and_ignored(env, tmp_path, text, complaint):
    write(tmp_path, text)
    settings = load_settings(env)
    assert complaint in settings.problems[0]
    assert settings.mode == ("ask" if '"mode"' in text else "auto")  # a wish for caution is never ignored
    assert settings.max_turns == Settings().max_turns


def test_a_bad_variable_is_reported_under_its_name(env):
    settings = load_settings({**env, "ZIDANE_MODE": "yolo"})
    assert settings.mode == "ask"
    assert load_settings({**env, "ZIDANE_INTERACTION": "nobody"}).interaction == "none"
    assert settings.problems[0].startswith("ZIDANE_MODE: mode = 'yolo'")


@pytest.mark.parametrize(
    ("key", "value", "stored"), [("max_turns", "5", 5), ("max_turns", "none", None), ("model", "openai/x", "openai/x")]
)
def test_saving_keeps_the_rest_of_the_file(env, tmp_path, key, value, stored):
    write(tmp_path, '{"profile": "plan", "future": 1}')
    path = save_setting(key, value, env)
    assert json.loads(path.read_text()) == {"profile": "plan", "future": 1, key: stored}


@pytest.mark.parametrize(("key", "value"), [("mode", "yolo"), ("max_turns", "many"), ("colour", "red")])
def test_saving_refuses_what_does_not_fit(env, tmp_path, key, value):
    with pytest.raises(ConfigurationError):
        save_setting(key, value, env)
    assert not (tmp_path / "settings.json").exists()


def test_a_damaged_file_is_not_overwritten(env, tmp_path):
    write(tmp_path, "{oops")
    with pytest.raises(ConfigurationError, match="Mend or remove"):
        save_setting("model", "offline", env)
    assert (tmp_path / "settings.json").read_text() == "{oops"


def test_every_setting_can_be_shown():
    assert set(KEYS) <= set(Settings.__dataclass_fields__)


def test_home_is_the_platforms_unless_named(tmp_path):
    assert home({"ZIDANE_HOME": str(tmp_path)}) == tmp_path
    assert home({}).name == "zidane"


@pytest.mark.parametrize(
    ("explicit", "session", "setting", "keys", "expected"),
    [
        ("a/1", "b/2", "c/3", {"OPENAI_API_KEY": "k"}, ("a/1", "--model")),
        (None, "b/2", "c/3", {"OPENAI_API_KEY": "k"}, ("b/2", "picked in this session")),
        (None, None, "c/3", {"OPENAI_API_KEY": "k"}, ("c/3", "settings")),
        (
            None,
            None,
            None,
            {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"},
            ("anthropic", "the first key found in the environment"),
        ),
        (None, None, None, {"OPENAI_API_KEY": "k"}, ("openai", "the first key found in the environment")),
        (
            None,
            None,
            None,
            {"OPENAI_BASE_URL": "http://localhost:1"},
            ("openai", "the first key found in the environment"),
        ),
        (None, None, None, {}, ("offline", "no key is set")),
    ],
)
def test_the_order_in_which_a_model_is_chosen(explicit, session, setting, keys, expected):
    choice = choose_model(explicit, session, Settings(model=setting), keys)
    assert (choice.name, choice.why) == expected


@pytest.mark.parametrize(
    ("key", "value", "stored", "words"),
    [
        ("max_tokens", "1.5M", 1_500_000, "1500000"),
        ("max_tokens", "none", None, "none"),
        ("max_minutes", "2.5", 2.5, "2.5"),
        ("session_max_cost", "3", 3.0, "3.0"),
        ("session_max_tokens", "200k", 200_000, "200000"),
        ("notebook_max_cost", "none", None, "none"),
        ("notebook_max_tokens", "2000000", 2_000_000, "2000000"),
        ("auto_compact", "off", "off", "off"),
        ("auto_compact", "0.7", 0.7, "0.7"),
        ("compact_model", "openai/small", "openai/small", "openai/small"),
        ("compact_model", "none", None, "none"),
        ("cache_ttl", "1h", "1h", "1h"),
        ("persist_threshold", "50000", 50_000, "50000"),
        ("persist_threshold", "none", None, "none"),
        ("fallbacks", "a/b, c/d,a/b", ("a/b", "c/d"), "a/b, c/d"),
        ("fallbacks", "none", (), "none"),
        ("thinking", "high", "high", "high"),
        ("max_retries", "0", 0, "0"),
    ],
)
def test_what_is_saved_is_loaded_and_shown(env, key, value, stored, words):
    save_setting(key, value, env)
    settings = load_settings(env)
    assert settings.problems == ()
    assert getattr(settings, key) == stored
    assert shown(settings, key) == words


def test_switches_may_be_written_as_json_writes_them(env, tmp_path):
    for value, meant in ((True, "on"), (False, "off")):
        write(tmp_path, json.dumps({"auto_compact": value, "fallbacks": ["a/b", " c "]}))
        settings = load_settings(env)
        assert (settings.auto_compact, settings.fallbacks, settings.problems) == (meant, ("a/b", "c"), ())


def test_every_default_is_shown_in_words():
    assert {key: shown(Settings(), key) for key in ("max_turns", "max_cost", "fallbacks", "auto_compact")} == {
        "max_turns": "100",
        "max_cost": "none",
        "fallbacks": "none",
        "auto_compact": "on",
    }

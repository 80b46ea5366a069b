"""Settings: file, environment, and damage that never stops a notebook."""

from __future__ import annotations

import json

import pytest

from zidane_lab.chat.models import choose_model
from zidane_lab.chat.settings import KEYS, Settings, home, load_settings, save_setting
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
        ('{"mode": "yolo"}', "expected one of ask, auto, plan"),
        ('{"max_turns": 0}', "number above 0"),
        ('{"max_turns": true}', "number above 0"),
        ('{"max_cost": "inf"}', "number above 0"),
        ('{"max_cost": -1}', "number above 0"),
        ('{"model": ""}', "expected a text"),
        ('{"colour": "red"}', "no setting 'colour'"),
        ('{"drawing": "fast"}', "auto, live, static"),
    ],
)
def test_damage_is_reported_and_ignored(env, tmp_path, text, complaint):
    write(tmp_path, text)
    settings = load_settings(env)
    assert complaint in settings.problems[0]
    assert settings.mode == ("ask" if '"mode"' in text else "auto")  # a wish for caution is never ignored
    assert settings.max_turns == Settings().max_turns


def test_a_bad_variable_is_reported_under_its_name(env):
    settings = load_settings({**env, "ZIDANE_MODE": "bypass"})
    assert settings.mode == "ask"
    assert load_settings({**env, "ZIDANE_INTERACTION": "nobody"}).interaction == "none"
    assert settings.problems[0].startswith("ZIDANE_MODE: mode = 'bypass'")


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

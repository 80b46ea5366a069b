"""The settings that say where files and commands are: read, refused with a reason, and cautious where damaged."""

from __future__ import annotations

import json

import pytest

from zidane_lab.chat.settings import KEYS, NO_CONTEXT, load_settings, save_setting, shown
from zidane_lab.errors import ConfigurationError

GPU = {"gpu": {"kind": "ssh", "host": "gpu.example"}}


@pytest.fixture
def env(tmp_path):
    return {"ZIDANE_HOME": str(tmp_path)}


def read(tmp_path, env, **given):
    (tmp_path / "settings.json").write_text(json.dumps(given))
    return load_settings(env)


def test_everything_is_here_and_open_unless_it_is_said(env):
    settings = load_settings(env)
    assert (settings.context, settings.contexts, settings.isolation) == ("process", {}, "off")
    assert (settings.allow_write, settings.allow_network) == ((), False)


def test_they_are_read(env, tmp_path):
    settings = read(
        tmp_path,
        env,
        context="gpu",
        contexts=GPU,
        isolation="auto",
        allow_write=["~/out", "../more"],
        allow_network=True,
    )
    assert settings.problems == ()
    assert (settings.context, settings.contexts, settings.isolation) == ("gpu", GPU, "auto")
    assert (settings.allow_write, settings.allow_network) == (("~/out", "../more"), True)
    assert read(tmp_path, env, allow_write="~/out, ../more").allow_write == ("~/out", "../more")
    assert read(tmp_path, env, context=None).context == "process"
    assert read(tmp_path, env, contexts=None).contexts == {}


@pytest.mark.parametrize(
    ("key", "value", "kept", "complaint"),
    [
        ("context", 3, NO_CONTEXT, "expected a text"),
        ("context", ["docker:x"], NO_CONTEXT, "expected a text"),
        ("isolation", "on", "required", "off, auto, required"),
        ("isolation", False, "required", "off, auto, required"),
        ("contexts", ["gpu"], {}, "mapping of names"),
        ("contexts", {"gpu": {"kind": "vm"}}, {}, "'vm'"),
        ("contexts", {"docker:x": {"kind": "process"}}, {}, "cannot be named"),
        ("allow_write", 3, (), "names with commas"),
        ("allow_write", [""], (), "expected a text"),
        ("allow_network", "maybe", False, "on or off"),
    ],
)
def test_damage_ends_in_more_caution_not_less(env, tmp_path, key, value, kept, complaint):
    settings = read(tmp_path, env, **{key: value})
    assert complaint in settings.problems[0]
    assert getattr(settings, key) == kept


@pytest.mark.parametrize("name", ["ZIDANE_CONTEXT", "ZIDANE_ISOLATION", "ZIDANE_CONTEXTS", "ZIDANE_ALLOW_WRITE"])
def test_the_environment_does_not_choose(env, name):
    """A project's own files reach it: a ``.env``, an extension of the kernel."""
    settings = load_settings({**env, name: "docker:evil"})
    assert (settings.context, settings.contexts, settings.isolation) == ("process", {}, "off")


def test_they_can_be_stored(env, tmp_path):
    save_setting("contexts", json.dumps(GPU), env)
    save_setting("context", "gpu", env)
    save_setting("allow_write", "~/out,../more", env)
    save_setting("allow_network", "on", env)
    settings = load_settings(env)
    assert (settings.context, settings.contexts, settings.allow_write) == ("gpu", GPU, ("~/out", "../more"))
    assert shown(settings, "allow_write") == "~/out, ../more"
    for key, value in (("contexts", "{"), ("contexts", "[]"), ("isolation", "on"), ("contexts", '{"a": 1}')):
        with pytest.raises(ConfigurationError):
            save_setting(key, value, env)
    assert load_settings(env) == settings


def test_what_may_be_private_is_not_shown(env, tmp_path):
    box = {"kind": "docker", "image": "x", "env": {"TOKEN": "hunter2"}}
    settings = read(tmp_path, env, contexts={**GPU, "box": box})
    assert shown(settings, "contexts") == "gpu (ssh), box (docker)"
    assert shown(load_settings({"ZIDANE_HOME": str(tmp_path / "none")}), "contexts") in {"", "none"}
    assert all(isinstance(shown(settings, key), str) for key in KEYS)

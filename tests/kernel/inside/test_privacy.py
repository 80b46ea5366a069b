from __future__ import annotations

import os

import pytest

from zidane_lab.kernel.inside.describe import describe, summarize
from zidane_lab.kernel.inside.privacy import hides, is_environment, is_secret_name, without_passwords
from zidane_lab.kernel.inside.values import brief

VALUE = "sk-nobody-may-read-this"


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "db_password",
        "OPENAI_API_KEY",
        "apiKey",
        "authToken",
        "token",
        "client_secret",
        "AWS_SECRET_ACCESS_KEY",
        "privateKey",
        "Authorization",
        "session-cookie",
        "credentials",
    ],
)
def test_names_of_credentials(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "tokenizer",
        "tokens",
        "author",
        "key",
        "keys",
        "passed",
        "keyboard",
        "monkey",
        "api",
        "compass",
        "secretary",
        "",
        5,
        None,
    ],
)
def test_names_that_only_look_like_it(name):
    assert not is_secret_name(name)


def test_only_text_and_bytes_are_hidden():
    assert hides("token", "abc")
    assert hides("token", b"abc")
    assert not hides("token", 5)
    assert not hides("password", ["a"])


class Client:
    def __init__(self):
        self.api_key = VALUE
        self.url = f"postgresql://me:{VALUE}@host/db"


@pytest.mark.parametrize(
    "obj",
    [
        {"api_key": VALUE},
        [{"password": VALUE}],
        {"a": {"b": {"token": VALUE}}},
        Client(),
        [Client()],
        f"https://me:{VALUE}@host/x",
        f"a text with redis://:{VALUE}@host in it" + "x" * 500,
    ],
    ids=["dict", "nested", "deep", "object", "object in list", "address", "address in long text"],
)
def test_credentials_are_not_shown(obj):
    for text in (describe(obj), summarize(obj), brief(obj, 200)):
        assert "nobody" not in text


def test_the_environment_shows_names_only(monkeypatch):
    monkeypatch.setenv("ZIDANE_TEST_VALUE", VALUE)
    for environment in (os.environ, dict(os.environ), {**os.environ, "MORE": VALUE}):
        assert is_environment(environment)
        text = describe(environment, 100_000)
        assert "ZIDANE_TEST_VALUE" in text
        for shown in (text, summarize(environment), brief([environment], 500)):
            assert "nobody" not in shown
            assert os.environ["PATH"] not in shown


def test_a_dictionary_with_a_path_is_no_environment():
    assert not is_environment({"PATH": "/bin"})
    assert not is_environment({"HOME": "/root"})
    assert not is_environment(["PATH", "HOME"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:pass@host/db", "postgresql://me:…@host/db"),
        ("redis://:pass@host", "redis://:…@host"),
        ("http://host:8080/a", "http://host:8080/a"),
        ("no address: a@b", "no address: a@b"),
    ],
)
def test_passwords_in_addresses(text, shown):
    assert without_passwords(text) == shown

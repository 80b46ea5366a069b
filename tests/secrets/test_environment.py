"""Which variables hold credentials, and which of their values are worth hiding."""

from __future__ import annotations

import pytest

from zidane_lab.secrets.environment import is_secret_name, secrets_in


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "PGPASSWORD_MAIN", "DB_PASS"),
        *("MY_SECRET", "SECRET", "TOKEN", "OAUTH_CLIENT", "BASIC_AUTH", "PRIVATE_KEY", "apiKey", "CREDENTIAL", "JWT"),
    ],
)
def test_names_that_say_so(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY", "KEYBOARD", "TOKENIZERS_PARALLELISM", "KEY"),
        *(
            "GOOGLE_APPLICATION_CREDENTIALS_FILE",
            "SECRET_NAME",
            "TOKEN_URL",
            "AUTH_TYPE",
            "MONKEY",
            "PASSENGER",
            "COMPASS",
        ),
    ],
)
def test_names_that_do_not(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "short",
            "true-ish"[:4],
            "/etc/ssl/private/key.pem",
            "~/.config/token",
            "https://auth.example.org/token",
            "86400000",
        ),
        *("postgres", "changeme-please", "localhost", "<your-token>", "********", "${OTHER}", "None-given"),
    ],
)
def test_values_that_are_no_credentials(value):
    assert list(secrets_in({"MY_SECRET": value})) == []


@pytest.mark.parametrize("value", ["correcthorsebattery", "p@ss w0rd!", "0123456789abcdef", "a/b+cdEFgh12//34=="])
def test_values_that_are(value):
    assert list(secrets_in({"MY_SECRET": value})) == [value]


def test_addresses_keys_and_names_that_were_configured():
    found = list(
        secrets_in(
            {
                "DATABASE": "postgresql://me:s3cr3t-pw@host/db",
                "ODD_NAME": "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
                "INTERNAL_ID": "alpha-bravo-charlie",
                "OTHER": "alpha-bravo-delta",
            },
            names={"INTERNAL_ID"},
        )
    )
    assert found == ["s3cr3t-pw", "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", "alpha-bravo-charlie"]


def test_small_words_under_a_name_of_many_meanings_are_no_credentials():
    ordinary = {"SORT_KEY": "customer_id", "PARTITION_KEYS": "order date", "PASS_COLUMN": "pwd_hash_2"}
    assert list(secrets_in(ordinary)) == []
    assert list(secrets_in({"SORT_KEY": "Zx8vQm3kLw9t", "SECRET_KEY": "small_words", "API_KEY": "plainwords"})) == [
        "Zx8vQm3kLw9t",
        "small_words",
        "plainwords",
    ]

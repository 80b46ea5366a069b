"""Credentials that only the person can describe."""

from __future__ import annotations

import re

import pytest

from zidane_lab.chat.settings import load_settings, save_setting, shown
from zidane_lab.errors import ConfigurationError
from zidane_lab.secrets.masking import mask, unmask
from zidane_lab.secrets.streaming import StreamMask
from zidane_lab.secrets.vault import Vault

TEXT = "badge A-1234 and B-99, pin: 77\nA-5678"


@pytest.fixture
def vault():
    return Vault(b"k" * 16, patterns=[r"A-\d{4}", r"pin: (?P<secret>\d+)"])


def test_what_a_pattern_finds_is_masked_and_comes_back(vault):
    masked = mask(TEXT, vault)
    assert re.fullmatch(r"badge \[secret:\S+\] and B-99, pin: \[secret:\S+\]\n\[secret:\S+\]", masked)
    assert mask(masked, vault) == masked
    assert unmask(masked, vault) == TEXT


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_wherever_a_stream_is_cut(vault, size):
    stream = StreamMask(vault)
    pieces = [stream.feed(TEXT[at : at + size]) for at in range(0, len(TEXT), size)]
    assert "".join(pieces) + stream.finish() == mask(TEXT, vault)


def test_a_pattern_looks_at_one_line_at_a_time():
    vault = Vault(b"k" * 16, patterns=[r"(?s)a.*b"])
    assert mask("a\nb", vault) == "a\nb"
    assert "[secret:" in mask("axb", vault)


def test_a_pattern_that_fits_placeholders_takes_none_apart():
    vault = Vault(b"k" * 16, patterns=[r"[0-9a-f]{4,}"])
    masked = mask("deadbeef", vault)
    assert mask(masked, vault) == masked
    assert unmask(masked, vault) == "deadbeef"


def test_settings_read_and_check_them(tmp_path):
    env = {"ZIDANE_HOME": str(tmp_path)}
    save_setting("secret_patterns", r"A-\d{1,4}", env)
    assert load_settings(env).secret_patterns == (r"A-\d{1,4}",)
    for wrong in ("(", "a*"):
        with pytest.raises(ConfigurationError):
            save_setting("secret_patterns", wrong, env)
    save_setting("secret_values", "one, and two", env)
    settings = load_settings(env)
    assert settings.secret_values == ("one, and two",)
    assert shown(settings, "secret_values") == "(1, not shown)"

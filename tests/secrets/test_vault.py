"""Keys of placeholders, and what a vault watches."""

from __future__ import annotations

import hashlib
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from zidane_lab.secrets.masking import mask
from zidane_lab.secrets.vault import KEY_FILE, Vault, session_key

VALUE = "Zx8vQm3kLw9tRb5nYc7h"


def test_a_conversation_keeps_its_key_and_no_two_have_the_same(tmp_path):
    one = session_key(tmp_path / "home", "a")
    assert one == session_key(tmp_path / "home", "a") != session_key(tmp_path / "home", "b")
    assert one != session_key(tmp_path / "elsewhere", "a")
    assert session_key(None, "a") != session_key(None, "a")


@pytest.mark.skipif(os.name == "nt", reason="mode bits")
def test_the_key_is_the_owners_alone_and_not_in_any_placeholder(tmp_path):
    key = session_key(tmp_path, "a")
    path = tmp_path / KEY_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [KEY_FILE]
    placeholder = Vault(key).add(VALUE)
    for plain in (hashlib.sha256(VALUE.encode()), hashlib.md5(VALUE.encode()), hashlib.sha1(VALUE.encode())):
        assert placeholder.split(":")[2][:-1] not in plain.hexdigest()


def test_processes_that_begin_at_once_agree_on_a_key(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: session_key(tmp_path / "new", "s"), range(64)))
    assert len(keys) == 1


@pytest.mark.parametrize("damage", ["", "not hexadecimal", "abcd"])
def test_a_damaged_key_is_not_used(tmp_path, damage):
    (tmp_path / KEY_FILE).write_text(damage, encoding="ascii")
    assert session_key(tmp_path, "s") != session_key(tmp_path, "s")


def test_a_folder_that_cannot_be_used_costs_only_the_key(tmp_path):
    (tmp_path / "file").write_text("x", encoding="ascii")
    assert len(session_key(tmp_path / "file" / "home", "s")) == 32


def test_two_values_never_share_a_placeholder(monkeypatch):
    vault = Vault(b"k")
    monkeypatch.setattr("zidane_lab.secrets.vault._DIGITS", 0)
    held = [vault.hold(f"{VALUE}{number}") for number in range(300)]
    assert len(set(held)) == 300
    assert [vault.value_of(each) for each in held] == [f"{VALUE}{number}" for number in range(300)]


def test_the_environment_is_watched(monkeypatch):
    vault = Vault(b"k", environ=os.environ)
    assert mask(VALUE, vault) == VALUE
    monkeypatch.setenv("SOME_SERVICE_TOKEN", VALUE)
    assert mask(VALUE, vault) != VALUE
    monkeypatch.delenv("SOME_SERVICE_TOKEN")
    assert mask(VALUE, vault) != VALUE, "what was one stays one"


def test_sources_are_asked_until_they_are_taken_away():
    vault, asked = Vault(b"k"), []
    end = vault.watch(lambda: asked.append(1) or [VALUE])
    assert mask(f"a {VALUE}", vault) != f"a {VALUE}"
    end()
    mask("something else", vault)
    assert len(asked) == 1

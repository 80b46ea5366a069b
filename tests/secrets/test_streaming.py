"""What can be shown is shown at once; only what may begin a credential waits."""

from __future__ import annotations

import random
import threading

import pytest

from tests.secrets.seeds import SELF_STANDING
from zidane_lab.secrets.masking import mask
from zidane_lab.secrets.streaming import StreamMask
from zidane_lab.secrets.vault import Vault


@pytest.mark.parametrize(
    "text",
    [
        "a line\n",
        "Working",
        "Loading the files",
        "Epoch 1/10:  30%|███       | 3/10 [00:01<00:02,  2.9it/s]",
        "done. ",
        ">>> ",
        "Continue? (y/n) ",
        "a, b, c)",
        "tokens per second: fine\n",
        "x" * 100,
        "password = 'unfinished\n",
    ],
)
def test_harmless_text_is_shown_at_once(text):
    assert StreamMask(Vault(b"k", values=["Zx8vQm3kLw9tRb5nYc7h"])).feed(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the key is sk-an", "the key is "),
        ("the key is ghp_abcd", "the key is "),
        ("db = postgresql://me:pa", "db = "),
        ("here: Zx8vQ", "here: "),
        ("then password = ", "then "),
        ("Authorization: Bearer ", "Authorization: "),
        ("x\n-----BEGIN RSA PRIVATE KEY-----\nMII\n", "x\n"),
    ],
)
def test_what_may_begin_a_credential_waits(text, shown):
    stream = StreamMask(Vault(b"k", values=["Zx8vQm3kLw9tRb5nYc7h"]))
    assert stream.feed(text) == shown
    assert shown + stream.finish() == text or "[secret:" in text


def test_a_key_printed_character_by_character_is_never_seen():
    value = SELF_STANDING["anthropic"](random.Random(1))
    vault = Vault(b"k")
    stream = StreamMask(vault)
    out = [stream.feed(char) for char in f"key {value} end\n"]
    assert "".join(out) == mask(f"key {value} end\n", vault)
    assert out[:4] == ["k", "e", "y", " "] or "".join(out[:6]).startswith("key")


def test_what_is_no_key_after_all_does_not_wait_for_ever():
    stream = StreamMask(Vault(b"k"))
    shown = stream.feed("-----BEGIN PRIVATE KEY-----\n")
    for number in range(2_000):
        shown += stream.feed(f"line {number} of something else\n")
    assert len(shown) > 30_000


def test_a_variable_set_while_code_runs_is_known_at_once():
    environ: dict[str, str] = {}
    stream = StreamMask(Vault(b"k", environ=environ))
    assert stream.feed("value-19-of-x\n") == "value-19-of-x\n"
    environ["NEW_SECRET"] = "value-19-of-x"
    assert stream.feed("value-19-of-x\n").startswith("[secret:")


def test_threads_may_write_at_once():
    stream, out = StreamMask(Vault(b"k")), []
    value = SELF_STANDING["npm"](random.Random(1))

    def write() -> None:
        out.extend(stream.feed(f"{value}\n") for _ in range(50))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert value not in "".join([*out, stream.finish()])

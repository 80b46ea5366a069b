"""Masking can be undone, done twice, and finds what it knows in every form."""

from __future__ import annotations

import base64
import html
import json
import pickle
import random
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.secrets.seeds import NAMED, SELF_STANDING
from zidane_lab.secrets.masking import mask, mask_json, placeholders_in, unmask, unmask_arguments
from zidane_lab.secrets.streaming import MaskedBytes, StreamMask
from zidane_lab.secrets.vault import PLACEHOLDER, Vault

ENVIRONMENT = {"SERVICE_PASSWORD": "corr3ct horse", "MY_TOKEN": "naïve-tökén-123", "PLAIN": "not a secret at all"}


def pieces():
    rng = random.Random(5)
    made = [make(rng) for make in SELF_STANDING.values()]
    made += [make(rng)[0] for make in NAMED.values()]
    made = [text + rng.choice(" ,;\n") for text in made]  # glued together they are other words
    filler = [
        "hello ",
        "x = ",
        "\n",
        "\r",
        " ",
        "'",
        '"',
        ": ",
        "12.5 ",
        "é",
        "…",
        "...",
        "token",
        "password",
        "sk-",
        "://",
        "Bearer ",
        "\\n",
    ]
    return st.lists(st.sampled_from([*made, *filler, *ENVIRONMENT.values()]) | st.text(max_size=8), max_size=10).map(
        "".join
    )


@given(pieces())
@settings(max_examples=300, deadline=None)
def test_it_can_be_undone_and_done_twice(text):
    vault = Vault(b"k", environ=ENVIRONMENT)
    masked = mask(text, vault)
    assert unmask(masked, vault) == text
    assert mask(masked, vault) == masked
    assert mask(text, vault) == masked


@given(pieces(), st.lists(st.integers(1, 40), min_size=1, max_size=30))
@settings(max_examples=300, deadline=None)
def test_a_stream_may_be_cut_anywhere(text, sizes):
    vault = Vault(b"k", environ=ENVIRONMENT)
    mask(text, vault)  # what only a name tells is known from its place on; here everything is
    whole, stream, out, at = mask(text, vault), StreamMask(vault), "", 0
    for number in range(len(text)):
        if at < len(text):
            size = sizes[number % len(sizes)]
            out += stream.feed(text[at : at + size])
            at += size
    assert out + stream.finish() == whole


@given(pieces(), st.integers(1, 30))
@settings(max_examples=100, deadline=None)
def test_bytes_may_be_cut_anywhere(text, size):
    vault = Vault(b"k", environ=ENVIRONMENT)
    data = text.encode("utf-8", "replace")
    mask(data.decode(), vault)
    masked = MaskedBytes(vault)
    out = b"".join(masked.feed(data[at : at + size]) for at in range(0, len(data), size)) + masked.finish()
    assert out.decode() == mask(data.decode(), vault)


def test_the_same_value_has_the_same_placeholder_and_another_another():
    vault = Vault(b"k")
    one, two = (SELF_STANDING["github"](random.Random(n)) for n in (1, 2))
    masked = mask(f"{one} {two} {one}", vault).split()
    assert masked[0] == masked[2] != masked[1]
    assert masked[0].startswith("[secret:github-token:")
    assert PLACEHOLDER.fullmatch(masked[0])


def test_it_is_the_same_after_a_restart_and_another_in_another_conversation():
    value = SELF_STANDING["openai"](random.Random(1))
    assert mask(value, Vault(b"k")) == mask(f"{value}", Vault(b"k")) != mask(value, Vault(b"other"))


def test_the_name_of_the_kind_does_not_depend_on_where_a_value_was_met():
    value = SELF_STANDING["huggingface"](random.Random(1))
    one, two = Vault(b"k"), Vault(b"k", environ={"SOME_SECRET": value})
    assert mask(f"password = '{value}'", one) == mask(f"password = '{value}'", two)


@pytest.mark.parametrize(
    "value", ["p4ss w/ird&<chars>\"'\\x", "naïve-tökén-123", "0123abcdEFGH++//xyz=", "line one 1\nline two 2"]
)
def test_known_values_are_found_in_other_forms(value):
    vault = Vault(b"k", values=[value])
    data = value.encode()
    for form in (
        value,
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        html.escape(value),
        data.hex(),
        base64.b64encode(data).decode(),
        base64.b64encode(b"me:" + data).decode(),
        base64.urlsafe_b64encode(b"a:" + data + b" and more").decode(),
    ):
        text = f"x {form} y"
        masked = mask(text, vault)
        assert form[:-4] not in masked, form
        assert unmask(masked, vault) == text


def test_parts_beside_a_cut_are_found():
    value = "Zx8vQm3kLw9tRb5nYc7hJd2f"
    vault = Vault(b"k", values=[value])
    for text in (
        f"{value[:14]}...",
        f"{value[:14]}… and",
        f"...{value[9:]}",
        f"repr '{value[:10]}...{value[-9:]}'",
        f"head {value[:12]}\n[… 3 lines, 400 bytes left out …]\n{value[12:]} tail",
        value[:17],
        f"{value[8:]} at the beginning",
    ):
        masked = mask(text, vault)
        assert not any(value[at : at + 8] in masked for at in range(len(value) - 7)), masked
        assert unmask(masked, vault) == text
        assert mask(masked, vault) == masked


def test_a_value_that_is_only_a_word_is_not_hidden_within_words():
    vault = Vault(b"k", values=["sesameopen"])
    assert mask("sesameopener sesameopen", vault) == f"sesameopener {vault.add('sesameopen')}"


def test_what_a_name_told_is_hidden_elsewhere_too_if_it_cannot_be_anything_else():
    vault = Vault(b"k")
    mask('password = "k8s-Trombone-42"', vault)
    assert "Trombone" not in mask("it is k8s-Trombone-42 again", vault)
    mask('password = "abc-1234"', vault)
    assert mask("abc-1234", vault) == "abc-1234"


def test_json_keeps_its_shape_its_pictures_and_what_needs_nothing():
    vault = Vault(b"k")
    value = SELF_STANDING["stripe"](random.Random(1))
    picture = base64.b64encode(random.Random(1).randbytes(400)).decode()
    data = {"a": [1, None, {"b": f"x {value}"}], "image/png": picture + value, value: (True, 2.5), "c": ["same"]}
    masked = mask_json(data, vault)
    placeholder = vault.hold(value)
    assert masked == {
        "a": [1, None, {"b": f"x {placeholder}"}],
        "image/png": picture + value,
        placeholder: (True, 2.5),
        "c": ["same"],
    }
    assert masked["c"] is data["c"]
    plain = {"a": [1, "two"], "b": {"c": "d"}}
    assert mask_json(plain, vault) is plain
    assert unmask_arguments({"x": [placeholder]}, vault) == {"x": [value]}
    assert placeholders_in(masked) == {placeholder}


def test_an_unknown_placeholder_stays():
    text = "use [secret:openai-key:0123456789] now"
    vault = Vault(b"k")
    assert unmask(text, vault) == text == mask(text, vault)


def test_a_key_cannot_hide_in_a_made_up_placeholder():
    vault = Vault(b"k")
    value = SELF_STANDING["deepseek"](random.Random(1))
    assert value not in mask(f"[secret:{value}:0123456789]", vault)


def test_a_vault_does_not_show_or_give_away_what_it_holds():
    value = SELF_STANDING["gitlab"](random.Random(1))
    vault = Vault(b"key", values=[value])
    assert value not in repr(vault)
    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(vault)


def test_short_and_empty_texts():
    vault = Vault(b"k", values=["short", "12345678x"])
    for text in ("", "a", "short", "\n"):
        assert mask(text, vault) == text
    assert mask("12345678x", vault).startswith("[secret:")


def test_a_placeholder_under_a_credentials_name_is_not_learnt_as_one():
    vault = Vault(b"k")
    masked = mask('password = "Zx8vQm3kLw9tRb5n"', vault)
    count = len(vault.known)
    for text in (masked, f"token: {masked}", 'api_key = "[secret:openai-key:0123456789]"'):
        assert mask(text, vault) == text
    placeholder = PLACEHOLDER.search(masked)[0]
    assert len(vault.known) == count
    assert mask(base64.b64encode(placeholder.encode()).decode(), vault).startswith("W3NlY3JldD")


HARD = {
    "placeholders": "[secret:openai-key:3f9a2c71d0] ",
    "ends of keys": "A" * 64 + "\n-----END PRIVATE KEY-----",
    "ends alone": "-----END PRIVATE KEY-----\n",
    "underlines": "~",
    "names": 'password = "',
    "addresses": "://a:b@",
}


@pytest.mark.parametrize("name", HARD)
def test_looking_takes_no_longer_for_each_sign_of_a_long_text(name):
    """Work is counted, not timed: what one more piece of text costs does not grow with the text."""
    import sys

    def cost(size):
        calls = 0

        def count(_frame, event, _argument):
            nonlocal calls
            calls += event in ("call", "c_call")

        text = HARD[name] * size
        sys.setprofile(count)
        try:
            mask(text, Vault(b"k"))
        finally:
            sys.setprofile(None)
        return calls

    assert cost(800) < 3 * cost(400) + 500


def test_thousands_of_credentials_in_one_text():
    rng = random.Random(1)
    values = [f"{rng.randbytes(9).hex()}X" for _ in range(1_500)]
    vault = Vault(b"k")
    masked = mask("\n".join(f'password = "{value}"' for value in values), vault)
    assert not any(value in masked for value in values)
    assert len(set(PLACEHOLDER.findall(masked))) == len(values)

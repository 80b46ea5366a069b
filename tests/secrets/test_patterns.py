"""Known formats are found wherever they stand, and ordinary outputs are left alone."""

from __future__ import annotations

import base64
import random

import pytest

from tests.secrets.ordinary import MAKERS, outputs
from tests.secrets.seeds import NAMED, SELF_STANDING
from zidane_lab.secrets.masking import mask
from zidane_lab.secrets.patterns import KINDS
from zidane_lab.secrets.scan import NAMELESS, kind_of, scan
from zidane_lab.secrets.vault import Vault

AROUND = (
    "{}",
    "see {} there",
    "x = '{}'\n",
    '{{"value": "{}"}}',
    "a,b\n1,{}\n2,c\n",
    "text\\n{}\\ttext",
    "https://example.org/?next=%2F%3Dq%3D{}",
    "\x1b[32m{}\x1b[0m",
    "<td>{}</td>",
    "({})",
    "{}, and more.",
)


def hidden(text, value):
    return value not in mask(text, Vault(b"k"))


def test_there_are_at_least_sixty_kinds():
    assert len({kind.name for kind in KINDS} - {NAMELESS}) >= 100


@pytest.mark.parametrize("name", SELF_STANDING)
def test_a_known_format_is_found_wherever_it_stands(name):
    rng = random.Random(name)
    for _ in range(5):
        value = SELF_STANDING[name](rng)
        assert kind_of(value) != NAMELESS
        for around in AROUND:
            if "\n" in value and ("\\n" in around or "%3D" in around):
                continue
            assert hidden(around.format(value), value), around


@pytest.mark.parametrize("name", NAMED)
def test_a_value_is_found_by_what_stands_around_it(name):
    rng = random.Random(name)
    for _ in range(5):
        text, value = NAMED[name](rng)
        for around in (text, f"{text}\n", f"first\n{text}\nlast", repr(text)):
            assert hidden(around, value), around
            assert hidden(around, repr(value)[1:-1]), around


@pytest.mark.parametrize("name", [name for name in SELF_STANDING if name not in {"aws-id", "aws-temporary"}])
def test_most_of_a_key_is_as_good_as_the_key(name):
    """What is left of a key cut off by a page or a table is not shown either, if it says more than its beginning."""
    value = SELF_STANDING[name](random.Random(name))
    if len(value) >= 80 and "-----" not in value and "." not in value and ":" not in value and "$" not in value:
        assert hidden(f"{value[:60]}...", value[:60])


@pytest.mark.parametrize(
    "text",
    [
        "export OPENAI_API_KEY=sk-...",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "AKIAIOSFODNN7EXAMPLE",
        "password: ********",
        "password=None, token=token, api_key=os.environ['KEY']",
        "postgresql://user:${PASSWORD}@host/db",
        "postgresql://user:<password>@host/db",
        "postgresql://host/db and http://localhost:8888/@me",
        "max_tokens=4096 total_tokens: 123456789012",
        "tokenizer = AutoTokenizer.from_pretrained('gpt2-medium')",
        "the secret: never give up",
        "task-scikit-learn-pipeline-with-many-steps-and-words",
        "sk-learn-pipelines-are-useful-for-many-things",
        "hf_model_name_or_path_for_all_transformers",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
        "Basic information about authentication and Bearer tokens in general",
        "key-value-pairs-0123",
        "fc-layer-12345678",
        "ftp(user='', passwd='', acct='')",
    ],
)
def test_stand_ins_and_words_are_left_alone(text):
    assert scan(text) == []


@pytest.mark.parametrize("seed", range(3))
def test_ordinary_outputs_are_left_alone(seed):
    vault = Vault(b"k")
    texts = dict(outputs(300, seed=seed))
    assert len(texts) == 300
    assert len(MAKERS) >= 30
    touched = [name for name, text in texts.items() if mask(text, vault) != text]
    assert len(touched) <= 3, touched


def test_a_private_key_is_one_place_however_it_is_shown():
    rng = random.Random(0)
    key = SELF_STANDING["rsa"](rng)
    numbered = "\n".join(f"{n:5}\t{line}" for n, line in enumerate(key.split("\n"), 1))
    for shown in (key, repr(key), numbered, key.replace("\n", "\n    ")):
        masked = mask(f"before {shown} after", Vault(b"k"))
        assert masked.count("[secret:private-key:") == 1
        assert not any(line[8:40] in masked for line in key.split("\n")[1:-1])


def test_half_a_private_key_is_found():
    lines = SELF_STANDING["pkcs8"](random.Random(1)).split("\n")
    first, last = "\n".join(lines[:3]), "\n".join(lines[3:])
    for half in (first, last):
        masked = mask(f"x\n{half}\ny", Vault(b"k"))
        assert not any(line[4:40] in masked for line in lines[1:-2] if line in half)
        assert masked.startswith("x\n")
        assert masked.endswith("\ny")


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_letters_in_the_middle_of_a_picture_are_no_key(encode):
    """In a megabyte of base64 any three letters come up, behind a sign too; a key does not stand behind 200 of them."""
    rng = random.Random(3)
    before, after = (encode(rng.randbytes(300)).decode() for _ in range(2))
    key = SELF_STANDING["runpod"](rng)
    for sign in "/+" if encode is base64.b64encode else "-_":
        assert scan(f"<img src='data:image/png;base64,{before}{sign}{key}{sign}{after}'>") == []
    assert scan(f"{before} {key}")[0][2] == "runpod-key"


@pytest.mark.parametrize(
    "text",
    [
        "host, port, access_key, secret_key = s3_connection",
        "def key(private_key: PKCS7PrivateKeyTypes, password=user_password_2) -> None:",
        "const privateKey = bufToB64Url(pair.privateKey)",
        "user_password = rc4_decrypt(rc4_key, entry)",
        "constexpr auto secret = kXxh3Secrets + number",
        '("access", "key"), ("private", "key"), ("secret", "key"), ("auth", "key"), ("signing", "key")',
        '{label:["accesskey","for"],legend:["accesskey","align"]}',
        "postgresql://user:pass@host/db and https://me:password@host and https://me:a%20secret@host",
        'password = "../../elsewhere/key9"',
        'token: "Ġhello_world_2023_123"',
    ],
)
def test_names_of_programs_and_examples_are_left_alone(text):
    vault = Vault(b"k")
    assert mask(text, vault) == text
    assert len(vault.known) == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("password = hunter22x", "hunter22x"),
        ("DB_PASSWORD=Summer2024x", "Summer2024x"),
        ("password: Trombone42!", "Trombone42"),
        ("--password correct_Horse2", "correct_Horse2"),
        ("password='a\\'b c1234'", "b c1234"),
        ('{\\"password\\": \\"abc\\\\"def1\\"}', "def1"),
        ("SECRET_KEY=/Ab3kdLm9qZx7vWn2Rt5YpC8sJf4HgK1uEoD6iBa", "Ab3kdLm9qZx7"),
        ("postgresql://me:pa55word@host", "pa55word"),
    ],
)
def test_passwords_without_a_format_are_found_all_the_same(text, value):
    assert value not in mask(text, Vault(b"k"))

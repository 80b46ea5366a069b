"""Outputs as data science brings them forth every day, with nothing to hide: 300 texts, the same every time."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

Maker = Callable[[random.Random], str]


def _hex(rng: random.Random, size: int) -> str:
    return rng.randbytes(size).hex()


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


WORDS = "the model learns a rate of token secret keys password policy from data"


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(WORDS.split()) for _ in range(count))


def _frame(rng: random.Random, rows: int = 8) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [_uuid(rng) for _ in range(rows)],
            "user": [f"user_{rng.randrange(10_000)}" for _ in range(rows)],
            "amount": [rng.gauss(100, 30) for _ in range(rows)],
            "when": pd.date_range("2024-01-01", periods=rows, freq="h"),
            "sha": [_hex(rng, 20) for _ in range(rows)],
            "token": [rng.choice(["Ġhello", "##ing", "world", "2023", "<pad>"]) for _ in range(rows)],
        }
    )


def frame_text(rng: random.Random) -> str:
    return _frame(rng).to_string()


def frame_html(rng: random.Random) -> str:
    return _frame(rng).to_html()


def frame_csv(rng: random.Random) -> str:
    return _frame(rng).to_csv()


def frame_json(rng: random.Random) -> str:
    return _frame(rng).to_json(orient="records", date_format="iso")


def described(rng: random.Random) -> str:
    return _frame(rng, 30).describe().to_string()


def array(rng: random.Random) -> str:
    return repr(np.random.default_rng(rng.randrange(9999)).normal(size=(6, 5)))


def integers(rng: random.Random) -> str:
    return str([rng.getrandbits(63) for _ in range(20)])


def floats(rng: random.Random) -> str:
    return "\n".join(f"{rng.gauss(0, 1):.17g} {rng.expovariate(1):e}" for _ in range(20))


def git_log(rng: random.Random) -> str:
    return "\n".join(
        f"commit {_hex(rng, 20)}\nAuthor: A B <a.b@example.org>\n\n    {_words(rng, 6)} ({_hex(rng, 4)[:7]})"
        for _ in range(4)
    )


def checksums(rng: random.Random) -> str:
    return "\n".join(f"{hashlib.sha256(rng.randbytes(9)).hexdigest()}  data/part-{n:05d}.parquet" for n in range(8))


def digests(rng: random.Random) -> str:
    return f'md5: {_hex(rng, 16)}\nsha1={_hex(rng, 20)}\nsha512: {_hex(rng, 64)}\nETag: "{_hex(rng, 16)}-12"\ncrc32 {_hex(rng, 4)}'


def picture(rng: random.Random) -> str:
    return json.dumps({"image/png": base64.b64encode(b"\x89PNG\r\n\x1a\n" + rng.randbytes(3000)).decode()})


def picture_html(rng: random.Random) -> str:
    return f'<img src="data:image/png;base64,{base64.b64encode(rng.randbytes(2500)).decode()}" alt="figure">'


def base64_lines(rng: random.Random) -> str:
    return base64.encodebytes(rng.randbytes(600)).decode()


def docker(rng: random.Random) -> str:
    rows = "\n".join(f"python 3.11-slim {_hex(rng, 6)} 2 weeks ago 125MB" for _ in range(3))
    return f"REPOSITORY TAG IMAGE ID CREATED SIZE\n{rows}\nDigest: sha256:{_hex(rng, 32)}"


def pip_list(rng: random.Random) -> str:
    names = (
        "numpy",
        "pandas",
        "scikit-learn",
        "tokenizers",
        "python-dotenv",
        "keyring",
        "secretstorage",
        "pyjwt",
        "cryptography",
    )
    return "\n".join(f"{name:24}{rng.randrange(4)}.{rng.randrange(30)}.{rng.randrange(9)}" for name in names)


def lock_file(rng: random.Random) -> str:
    return "\n".join(
        f'    {{file = "pkg-{n}.whl", hash = "sha256:{_hex(rng, 32)}"}}, integrity sha512-{base64.b64encode(rng.randbytes(64)).decode()}'
        for n in range(5)
    )


def model_repr(rng: random.Random) -> str:
    return (
        f"Pipeline(steps=[('scale', StandardScaler()), ('model', LogisticRegression(C={rng.random():.3f}, max_iter=1000, "
        f"random_state={rng.randrange(10**9)}))])\nTfidfVectorizer(token_pattern='(?u)\\\\b\\\\w\\\\w+\\\\b', max_features=50000)"
    )


def training(rng: random.Random) -> str:
    return "\n".join(
        f"epoch {n}: loss={rng.random():.4f} tokens/s={rng.randrange(10_000)} total_tokens: {rng.randrange(10**9)} lr=3e-4"
        for n in range(12)
    )


def usage(rng: random.Random) -> str:
    return json.dumps(
        {
            "usage": {
                "prompt_tokens": rng.randrange(9999),
                "completion_tokens": rng.randrange(9999),
                "max_tokens": 4096,
            },
            "id": f"chatcmpl-{_words(rng, 1)}",
        }
    )


def tokens(rng: random.Random) -> str:
    return str(
        [
            {
                "token": rng.choice(["Ġthe", "ization", "2024", "▁Paris"]),
                "token_id": rng.randrange(50_000),
                "score": rng.random(),
            }
            for _ in range(12)
        ]
    )


def tokenizer(rng: random.Random) -> str:
    return f"tokenizer=bert-base-uncased tokenizer_class: GPT2TokenizerFast, pad_token='<|endoftext|>', eos_token_id={rng.randrange(60_000)}, bos_token: '<s>'"


def hugging_face(rng: random.Random) -> str:
    return f"models--bert-base-uncased/snapshots/{_hex(rng, 20)}/model.safetensors\nrevision='{_hex(rng, 20)}' meta-llama/Llama-3.1-8B-Instruct"


def traceback(rng: random.Random) -> str:
    return (
        "Traceback (most recent call last):\n  cell, line 3, in <module>\n    df['key']\n"
        '  File "/usr/lib/python3/site-packages/pandas/core/indexes/base.py", line 3812, in get_loc\n'
        f"KeyError: 'access_key_{rng.randrange(9)}'"
    )


def source(rng: random.Random) -> str:
    del rng
    return (
        'import os, getpass\nclient = OpenAI(api_key=os.environ["OPENAI_API_KEY"])\npassword = getpass.getpass("Password: ")\n'
        'token = tokenizer.decode(ids)\nsecret_key = settings.SECRET_KEY\nif token != expected_token:\n    raise ValueError("bad token")\n'
        'API_KEY = os.getenv("API_KEY")\napi_key: str | None = None\npassword=None, token=auth_token, key=lambda x: x[1]\n'
    )


def documentation(rng: random.Random) -> str:
    del rng
    return (
        "Usage: tool --token TOKEN --password PASSWORD [--api-key KEY]\nSet your key: export OPENAI_API_KEY=sk-...\n"
        "export GITHUB_TOKEN=<your-token>\napi_key = 'YOUR_API_KEY'\npostgresql://user:${DB_PASSWORD}@localhost/db\n"
        "password: ********\nsecret: {{ vault.secret }}\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\nThe password must have 12 characters.\n"
    )


def settings(rng: random.Random) -> str:
    return f"max_tokens: {rng.randrange(9999)}\ntoken_limit=128000\nsecret_name: prod/db\nkey_columns: [id, date]\npassword_policy: strong\nauth_type: oauth2\ncredentials_file: ~/.config/app.json\n"


def addresses(rng: random.Random) -> str:
    return (
        f"s3://bucket-{rng.randrange(99)}/data/date=2024-01-0{rng.randrange(1, 9)}/part-{_uuid(rng)}.c000.snappy.parquet\n"
        f"arn:aws:iam::{rng.randrange(10**11, 10**12)}:role/Analyst\nhttps://example.org/a/b?id={_uuid(rng)}&page=2#top\n"
        f"http://localhost:8888/lab/tree/notebook.ipynb\nhttps://doi.org/10.1038/s41586-0{rng.randrange(10**5)}-x\n"
    )


def network(rng: random.Random) -> str:
    return f"fe80::{_hex(rng, 2)}:{_hex(rng, 2)}:{_hex(rng, 2)}%eth0 02:42:ac:11:00:{_hex(rng, 1)} 192.168.0.{rng.randrange(255)} kernel-{_uuid(rng)}"


def sequences(rng: random.Random) -> str:
    dna = "".join(rng.choices("ACGT", k=240))
    protein = "".join(rng.choices("ACDEFGHIKLMNPQRSTVWY", k=180))
    return f">seq{rng.randrange(99)} Homo sapiens\n{dna}\n>sp|P0{rng.randrange(9999)}|X_HUMAN\n{protein}\nCC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O InChIKey=HEFNNWSXXWATRW-UHFFFAOYSA-N"


def identifiers(rng: random.Random) -> str:
    ids = (
        f"run_{_hex(rng, 8)}",
        f"turn_{_hex(rng, 8)}",
        f"call_{_hex(rng, 12)}",
        f"job-{rng.randrange(10**9)}",
        f"ORD-{rng.randrange(10**6):08d}",
        f"toolu_01{_hex(rng, 11)}",
        f"wandb: Run wobbly-sun-{rng.randrange(99)}",
    )
    return "\n".join(ids)


def nested(rng: random.Random) -> str:
    return json.dumps(
        {
            "key": _words(rng, 2),
            "keys": [_hex(rng, 4) for _ in range(4)],
            "session_id": _uuid(rng),
            "cursor": base64.b64encode(rng.randbytes(12)).decode(),
            "etag": _hex(rng, 16),
        },
        indent=1,
    )


def times(rng: random.Random) -> str:
    start = datetime(2024, 1, 1)
    return "\n".join(
        (start + timedelta(seconds=rng.randrange(10**8))).isoformat()
        + f"+0{rng.randrange(3)}:00 {rng.randrange(10**12)}"
        for _ in range(12)
    )


def prose(rng: random.Random) -> str:
    return f"{_words(rng, 60)}. The password was changed; the secret: patience. Access token expired at 12:00. Private key infrastructure, bearer tokens and basic auth are explained below."


def listing(rng: random.Random) -> str:
    return "\n".join(
        f"-rw-r--r-- 1 me me {rng.randrange(10**7):>8} Jan  1 12:0{rng.randrange(9)} {_hex(rng, 5)}-{name}"
        for name in ("keys.csv", "tokens.txt", "secrets_test.py", "password_reset.md")
    )


def public_keys(rng: random.Random) -> str:
    body = base64.b64encode(rng.randbytes(180)).decode()
    return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{base64.b64encode(rng.randbytes(30)).decode()} me@host\n-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----"


def widths(rng: random.Random) -> str:
    return pd.DataFrame(np.random.default_rng(rng.randrange(999)).integers(0, 2, (10, 40))).to_string()


def memory(rng: random.Random) -> str:
    return f"<matplotlib.axes._axes.Axes object at 0x{_hex(rng, 6)}>\n<bound method X of <__main__.Y object at 0x7f{_hex(rng, 5)}>>\nAxesSubplot(0.125,0.11;0.775x0.77)"


MAKERS: tuple[Maker, ...] = (
    *(frame_text, frame_html, frame_csv, frame_json, described, array, integers, floats, git_log, checksums, digests),
    *(picture, picture_html, base64_lines, docker, pip_list, lock_file, model_repr, training, usage, tokens, tokenizer),
    *(hugging_face, traceback, source, documentation, settings, addresses, network, sequences, identifiers, nested),
    *(times, prose, listing, public_keys, widths, memory),
)


def outputs(count: int = 300, seed: int = 0) -> Iterator[tuple[str, str]]:
    """The name of what it is, and the text."""
    rng = random.Random(seed)
    for number in range(count):
        maker = MAKERS[number % len(MAKERS)]
        yield f"{maker.__name__}-{number}", maker(rng)

"""Credentials drawn at random, as each service writes its own; none of them was ever valid."""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
import zlib
from collections.abc import Callable

LOWER = string.ascii_lowercase + string.digits
ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
URLSAFE = ALNUM + "-_"
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"
BASE32 = string.ascii_uppercase + "234567"
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def some(rng: random.Random, alphabet: str, size: int) -> str:
    """Characters of an alphabet, of which one is a digit and one a letter where it has both."""
    chars = [rng.choice(alphabet) for _ in range(size)]
    if size >= 8:
        for at, kind in ((size // 3, str.isdigit), (size // 2, str.isalpha), (size // 4, str.isdigit)):
            able = [each for each in alphabet if kind(each)]
            if able:
                chars[at] = rng.choice(able)
        if chars[-1] in "-_":
            chars[-1] = next(each for each in alphabet if each.isalnum())
        if chars[0] in "-_":
            chars[0] = next(each for each in alphabet if each.isalnum())
    return "".join(chars)


def after(prefix: str, alphabet: str, size: int) -> Callable[[random.Random], str]:
    return lambda rng: prefix + some(rng, alphabet, size)


def checked(prefix: str) -> Callable[[random.Random], str]:
    """30 characters and their checksum, as GitHub and npm write it."""

    def make(rng: random.Random) -> str:
        body = some(rng, ALNUM, 30)
        number, digits = zlib.crc32(body.encode()), ""
        while number:
            number, rest = divmod(number, 62)
            digits = BASE62[rest] + digits
        return prefix + body + digits.rjust(6, "0")

    return make


def guid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def token(rng: random.Random) -> str:
    def part(data: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': some(rng, HEX, 12)})}.{some(rng, URLSAFE, 43)}"


def pem(kind: str, lines: int = 5) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        body = "\n".join("MII" + some(rng, BASE64, 61) for _ in range(lines))
        return f"-----BEGIN {kind}-----\n{body}\n{some(rng, BASE64, 30)}==\n-----END {kind}-----"

    return make


SELF_STANDING: dict[str, Callable[[random.Random], str]] = {
    "anthropic": lambda rng: f"sk-ant-api03-{some(rng, URLSAFE, 93)}AA",
    "anthropic-admin": lambda rng: f"sk-ant-admin01-{some(rng, URLSAFE, 93)}AA",
    "openai": lambda rng: f"sk-{some(rng, ALNUM, 20)}T3BlbkFJ{some(rng, ALNUM, 20)}",
    "openai-project": lambda rng: f"sk-proj-{some(rng, URLSAFE, 74)}T3BlbkFJ{some(rng, URLSAFE, 74)}",
    "openai-service": lambda rng: f"sk-svcacct-{some(rng, URLSAFE, 74)}",
    "openrouter": after("sk-or-v1-", HEX, 64),
    "deepseek": after("sk-", HEX, 32),
    "langfuse": lambda rng: f"sk-lf-{guid(rng)}",
    "langsmith": lambda rng: f"lsv2_pt_{some(rng, HEX, 32)}_{some(rng, HEX, 10)}",
    "groq": after("gsk_", ALNUM, 52),
    "xai": after("xai-", ALNUM, 80),
    "perplexity": after("pplx-", ALNUM, 48),
    "huggingface": after("hf_", ALNUM, 34),
    "replicate": after("r8_", ALNUM, 37),
    "fireworks": after("fw_", ALNUM, 24),
    "together": after("tgp_v1_", URLSAFE, 43),
    "cerebras": after("csk-", LOWER, 48),
    "nvidia": after("nvapi-", URLSAFE, 64),
    "pinecone": lambda rng: f"pcsk_{some(rng, ALNUM, 6)}_{some(rng, ALNUM, 63)}",
    "voyage": after("pa-", URLSAFE, 43),
    "elevenlabs": after("sk_", HEX, 48),
    "tavily": after("tvly-dev-", ALNUM, 32),
    "firecrawl": after("fc-", HEX, 32),
    "jina": after("jina_", URLSAFE, 60),
    "brave": after("BSA", URLSAFE, 28),
    "runpod": after("rpa_", UPPER, 46),
    "aws-id": after("AKIA", BASE32, 16),
    "aws-temporary": after("ASIA", BASE32, 16),
    "aws-session": after("IQoJb3JpZ2luX2Vj"[:12], BASE64, 120),
    "google": after("AIza", URLSAFE, 35),
    "google-oauth": after("ya29.a0", URLSAFE, 120),
    "google-refresh": after("1//0", URLSAFE, 80),
    "google-client": after("GOCSPX-", URLSAFE, 28),
    "azure-client": lambda rng: f"{some(rng, ALNUM, 3)}8Q~{some(rng, ALNUM + '_.-', 34)}",
    "digitalocean": after("dop_v1_", HEX, 64),
    "alibaba": after("LTAI", ALNUM, 20),
    "tencent": after("AKID", ALNUM, 32),
    "heroku": lambda rng: f"HRKU-AA{some(rng, URLSAFE, 58)}",
    "fly": after("fm2_", ALNUM, 60),
    "netlify": after("nfp_", ALNUM, 36),
    "supabase": after("sbp_", HEX, 40),
    "planetscale": after("pscale_tkn_", URLSAFE, 43),
    "neon": after("napi_", LOWER, 64),
    "databricks": after("dapi", HEX, 32),
    "github": checked("ghp_"),
    "github-oauth": checked("gho_"),
    "github-user": checked("ghu_"),
    "github-server": checked("ghs_"),
    "github-refresh": lambda rng: f"ghr_{some(rng, ALNUM, 76)}",
    "github-fine": lambda rng: f"github_pat_{some(rng, ALNUM, 22)}_{some(rng, ALNUM, 59)}",
    "gitlab": after("glpat-", URLSAFE, 20),
    "gitlab-runner": after("glrt-", URLSAFE, 20),
    "gitlab-deploy": after("gldt-", URLSAFE, 20),
    "gitlab-trigger": after("glptt-", HEX, 40),
    "bitbucket": after("ATBB", ALNUM, 32),
    "atlassian": after("ATATT3xFfGF0", URLSAFE, 180),
    "npm": checked("npm_"),
    "pypi": after("pypi-AgEIcHlwaS5vcmc", URLSAFE, 150),
    "rubygems": after("rubygems_", HEX, 48),
    "crates": after("cio", ALNUM, 32),
    "nuget": after("oy2", LOWER, 43),
    "docker": after("dckr_pat_", URLSAFE, 27),
    "sonarqube": after("squ_", HEX, 40),
    "postman": lambda rng: f"PMAK-{some(rng, HEX, 24)}-{some(rng, HEX, 34)}",
    "hashicorp-vault": after("hvs.", URLSAFE, 95),
    "terraform": lambda rng: f"{some(rng, ALNUM, 14)}.atlasv1.{some(rng, URLSAFE, 67)}",
    "pulumi": after("pul-", HEX, 40),
    "doppler": after("dp.pt.", ALNUM, 43),
    "age": after("AGE-SECRET-KEY-1", BASE32, 58),
    "tailscale": lambda rng: f"tskey-auth-{some(rng, ALNUM, 12)}-{some(rng, ALNUM, 32)}",
    "grafana": after("glsa_", ALNUM, 41),
    "sentry": after("sntrys_", BASE64, 80),
    "newrelic": after("NRAK-", UPPER, 27),
    "slack-bot": lambda rng: (
        f"xoxb-{some(rng, string.digits, 12)}-{some(rng, string.digits, 12)}-{some(rng, ALNUM, 24)}"
    ),
    "slack-app": lambda rng: f"xapp-1-A{some(rng, UPPER, 10)}-{some(rng, string.digits, 13)}-{some(rng, HEX, 64)}",
    "discord": lambda rng: f"MTk4NjIyNDgzNDcxOTI1MjQ4.{some(rng, ALNUM, 6)}.{some(rng, URLSAFE, 38)}",
    "telegram": lambda rng: f"{rng.randrange(10**8, 10**10)}:AA{some(rng, URLSAFE, 33)}",
    "twilio": after("SK", HEX, 32),
    "sendgrid": lambda rng: f"SG.{some(rng, URLSAFE, 22)}.{some(rng, URLSAFE, 43)}",
    "mailgun": after("key-", HEX, 32),
    "mailchimp": lambda rng: f"{some(rng, HEX, 32)}-us{rng.randrange(1, 22)}",
    "brevo": lambda rng: f"xkeysib-{some(rng, HEX, 64)}-{some(rng, ALNUM, 16)}",
    "resend": lambda rng: f"re_{some(rng, ALNUM, 8)}_{some(rng, ALNUM, 24)}",
    "linear": after("lin_api_", ALNUM, 40),
    "notion": after("ntn_", ALNUM, 46),
    "figma": after("figd_", URLSAFE, 40),
    "airtable": lambda rng: f"pat{some(rng, ALNUM, 14)}.{some(rng, HEX, 64)}",
    "hubspot": lambda rng: f"pat-na1-{guid(rng)}",
    "contentful": after("CFPAT-", URLSAFE, 43),
    "stripe": after("sk_live_", ALNUM, 24),
    "stripe-restricted": after("rk_live_", ALNUM, 99),
    "stripe-webhook": after("whsec_", ALNUM, 32),
    "shopify": after("shpat_", HEX, 32),
    "square": after("sq0csp-", URLSAFE, 43),
    "plaid": lambda rng: f"access-production-{guid(rng)}",
    "razorpay": after("rzp_live_", ALNUM, 14),
    "adafruit": after("aio_", ALNUM, 28),
    "artifactory": after("AKCp", ALNUM, 69),
    "aws-bedrock": after("ABSK", BASE64, 128),
    "buildkite": after("bkua_", HEX, 40),
    "circleci": lambda rng: f"CCIPAT_{some(rng, ALNUM, 22)}_{some(rng, HEX, 40)}",
    "clojars": after("CLOJARS_", LOWER, 60),
    "cloudflare-ca": lambda rng: f"v1.0-{some(rng, HEX, 24)}-{some(rng, HEX, 146)}",
    "dropbox": after("sl.u.", URLSAFE, 140),
    "duffel": after("duffel_live_", URLSAFE, 43),
    "dynatrace": lambda rng: f"dt0c01.{some(rng, UPPER, 24)}.{some(rng, UPPER, 64)}",
    "easypost": after("EZAK", ALNUM, 54),
    "facebook": after("EAA", ALNUM, 160),
    "firebase": lambda rng: f"{some(rng, URLSAFE, 22)}:APA91b{some(rng, URLSAFE, 134)}",
    "flutterwave": lambda rng: f"FLWSECK-{some(rng, HEX, 32)}-X",
    "frameio": after("fio-u-", URLSAFE, 64),
    "honeycomb": after("hcaik_01", LOWER, 56),
    "kaggle": after("KGAT_", HEX, 32),
    "lob": after("live_", HEX, 35),
    "mapbox": lambda rng: f"sk.eyJ{some(rng, URLSAFE, 60)}.{some(rng, URLSAFE, 22)}",
    "modal": after("ak-", ALNUM, 22),
    "mongodb-service": after("mdb_sa_sk_", URLSAFE, 40),
    "onepassword": after("ops_eyJ", BASE64, 200),
    "paypal": lambda rng: f"access_token$production${some(rng, LOWER, 16)}${some(rng, HEX, 32)}",
    "posthog": after("phx_", ALNUM, 43),
    "prefect": after("pnu_", ALNUM, 36),
    "render": after("rnd_", ALNUM, 28),
    "sourcegraph": lambda rng: f"sgp_{some(rng, HEX, 16)}_{some(rng, HEX, 40)}",
    "twitter": after("AAAAAAAAAAAAAAAAAAAAA", ALNUM, 80),
    "typeform": after("tfp_", URLSAFE, 44),
    "vercel": after("vcp_", ALNUM, 56),
    "wandb-new": after("wandb_v1_", URLSAFE, 60),
    "yandex": after("AQVN", URLSAFE, 36),
    "jwt": token,
    "rsa": pem("RSA PRIVATE KEY"),
    "pkcs8": pem("PRIVATE KEY"),
    "openssh": pem("OPENSSH PRIVATE KEY"),
    "pgp": pem("PGP PRIVATE KEY BLOCK"),
}
"""Credentials that are known by their looks, wherever they stand."""


def in_text(template: str, alphabet: str, size: int) -> Callable[[random.Random], tuple[str, str]]:
    def make(rng: random.Random) -> tuple[str, str]:
        value = some(rng, alphabet, size)
        return template.format(value), value

    return make


def pinecone(rng: random.Random) -> tuple[str, str]:
    value = guid(rng)
    return f'pinecone.init(api_key="{value}")', value


NAMED: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "postgres": in_text("postgresql://analyst:{}@db.internal:5432/sales", ALNUM + "!$*-_.", 16),
    "mysql": in_text("mysql+pymysql://root:{}@10.0.0.4/shop?charset=utf8", ALNUM, 20),
    "mongodb": in_text("mongodb+srv://app:{}@cluster0.ab1cd.mongodb.net/", ALNUM, 18),
    "redis": in_text("redis://:{}@cache:6379/0", ALNUM, 24),
    "amqp": in_text("amqp://guest:{}@rabbit//", ALNUM, 20),
    "snowflake": in_text("snowflake://me:{}@ab12345.eu-west-1/db/schema", ALNUM, 20),
    "basic-url": in_text("https://deploy:{}@git.example.org/repo.git", ALNUM, 22),
    "bearer": in_text("Authorization: Bearer {}", ALNUM + "-._", 40),
    "basic": in_text("Authorization: Basic {}", ALNUM, 32),
    "aws-secret": in_text("aws_secret_access_key = {}", BASE64, 40),
    "aws-secret-json": in_text('{{"SecretAccessKey": "{}"}}', BASE64, 40),
    "azure-storage": in_text("DefaultEndpointsProtocol=https;AccountName=me;AccountKey={}==;", BASE64, 86),
    "azure-sas": in_text("https://me.blob.core.windows.net/c?sv=2024-11-04&sig={}%3D&se=2026", ALNUM, 43),
    "azure-openai": in_text('AzureOpenAI(azure_endpoint=url, api_key="{}")', HEX, 32),
    "cohere": in_text('co = cohere.Client("{}")', ALNUM, 40),
    "mistral": in_text("MISTRAL_API_KEY={}", ALNUM, 32),
    "mistral-code": in_text("Mistral(api_key='{}')", ALNUM, 32),
    "together": in_text("TOGETHER_API_KEY: {}", HEX, 64),
    "pinecone": pinecone,
    "wandb": in_text("WANDB_API_KEY={}", HEX, 40),
    "datadog": in_text("DATADOG_API_KEY={}", HEX, 32),
    "cloudflare": in_text("CLOUDFLARE_API_TOKEN={}", URLSAFE, 40),
    "twilio-auth": in_text("TWILIO_AUTH_TOKEN={}", HEX, 32),
    "password-code": in_text('conn = connect(user="me", password="{}")', ALNUM + "!%^*", 14),
    "password-json": in_text('{{"user": "me", "password": "{}"}}', ALNUM + "!#*", 14),
    "password-yaml": in_text("db:\n  user: me\n  password: {}\n", ALNUM, 14),
    "password-option": in_text("mysql --user me --password {} shop", ALNUM, 16),
    "client-secret": in_text("client_secret: '{}'", URLSAFE, 32),
    "camel": in_text('{{"accessToken":"{}","expiresIn":3600}}', URLSAFE, 48),
    "header": in_text("x-api-key: {}", URLSAFE, 36),
    "environ": in_text('os.environ["SERVICE_TOKEN"] = "{}"', URLSAFE, 32),
    "query": in_text("GET /v1/data?api_key={}&page=2", HEX, 32),
    "slack-webhook": in_text("https://hooks.slack.com/services/T0ABCDEFG/B0ABCDEFG/{}", ALNUM, 24),
    "discord-webhook": in_text("https://discord.com/api/webhooks/123456789012345678/{}", URLSAFE, 68),
}
"""A text with a credential in it that only the text around it tells, and the credential."""


def secrets(count: int, seed: int = 0) -> list[tuple[str, str, str]]:
    """``count`` credentials of all sorts: a name, a text with the credential in it, the credential."""
    rng = random.Random(seed)
    makers = [(name, make, False) for name, make in SELF_STANDING.items()]
    makers += [(name, make, True) for name, make in NAMED.items()]  # type: ignore[misc]
    out = []
    for number in range(count):
        name, make, named = makers[number % len(makers)]
        text, value = make(rng) if named else (None, make(rng))
        out.append((f"{name}-{number}", text if text is not None else value, value))
    return out

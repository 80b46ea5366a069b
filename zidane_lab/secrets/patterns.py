"""The formats of known credentials: how each begins, what follows, and what makes sure.

A kind is looked for only where one of its *anchors* stands in the text, so that more kinds cost next to nothing.
Bodies are asked to be a little shorter than whole ones are: what is cut off a page is worth keeping back, too.
Sources: the services' own documentation, and the public rules of secret scanners.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from zidane_lab.secrets.checks import has_checksum, is_jwt, is_stand_in, is_varied, is_varied_key

__all__ = ["KINDS", "NEAR_ANCHORS", "Kind"]


_REACH: Final = 80
"""Characters before an anchor that may belong to a credential, unless its kind says otherwise."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One format.

    Parameters
    ----------
    name
        Goes into the placeholder: small letters, digits and ``-``.
    anchors
        Texts of which one must be there; one that begins with a letter or digit, at the beginning of a word.
    pattern
        Matched where an anchor begins; its group ``secret``, or all of it, is the credential.
    before
        What of the credential stands before the anchor; read backwards, from the anchor on.
    check
        Looks at the credential: at what follows the anchor, if it begins with one.
    reach
        Most characters before the anchor.
    """

    name: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    before: re.Pattern[str] | None = None
    check: Callable[[str], bool] = is_varied
    reach: int = _REACH

    def find(self, text: str, at: int, anchor: str) -> tuple[int, int] | None:
        """Return where the credential is whose anchor stands at ``at``; ``None`` if it is none."""
        match = self.pattern.match(text, at)
        if match is None:
            return None
        start, end = match.span("secret") if "secret" in self.pattern.groupindex else match.span()
        if self.before is not None:
            head = self.before.match(text[max(0, at - self.reach) : at][::-1])
            if head is None:
                return None
            start = at - head.end()
        follows = start == at and "secret" not in self.pattern.groupindex
        body = text[at + len(anchor) : end] if follows else text[start:end]
        return (start, end) if self.check(body) else None


def _kind(name: str, anchors: str, body: str, check: Callable[[str], bool] = is_varied, *, before: str = "") -> Kind:
    """Return a kind: any of the anchors (with spaces between them), then the body."""
    begin = tuple(anchors.split())
    heads = "|".join(re.escape(each) for each in sorted(begin, key=len, reverse=True))
    return Kind(
        name,
        begin,
        re.compile(f"(?:{heads}){body}"),
        re.compile(before) if before else None,
        check,
    )


def _near(anchors: str, body: str) -> Kind:
    """Return a kind that has no beginning of its own: the name of its service stands before it."""
    begin = tuple(form for each in anchors.split() for form in (each, each.upper(), each.capitalize()))
    heads = "|".join(begin)
    gap = r"[\w .-]{0,32}[\"'\]]{0,2}[ \t]{0,3}(?:=>|:=|[=:,(])[ \t]{0,3}(?:[bru]?[\"'`])?"
    return Kind("value", begin, re.compile(f"(?:{heads}){gap}(?P<secret>{body}){_NO_MORE}"), None, is_varied_key)


_A, _W, _H, _B = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]", "[A-Za-z0-9+/]"
_UUID = f"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"
_NO_MORE = r"(?![A-Za-z0-9])"


def _sure(_body: str) -> bool:
    """The pattern itself is enough."""
    return True


def _is_checked(body: str) -> bool:
    return is_varied(body) or has_checksum(body)


def _is_token(body: str) -> bool:
    return is_jwt(body) or body.count(".") > 1


def _is_password(body: str) -> bool:
    return not is_stand_in(body) and unquote(body).lower() not in _IN_EXAMPLES


_IN_EXAMPLES: Final = frozenset({"pass", "passwd", "password", "pw", "pwd", "secret", "a secret"})
"""What stands for a password where addresses are explained."""


_MODELS: Final = (
    _kind("anthropic-key", "sk-ant-", f"{_W}{{12,}}"),
    _kind("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", f"{_W}{{16,}}", is_varied_key),
    _kind("openrouter-key", "sk-or-v1- sk-or-", f"{_A}{{16,}}"),
    _kind("openai-key", "sk-", f"{_A}{{20,}}", is_varied_key),  # and of the many services that write theirs alike
    _kind("langfuse-key", "sk-lf- pk-lf-", _UUID),
    _kind("langsmith-key", "lsv2_pt_ lsv2_sk_ ls__", f"{_H}{{20,}}(?:_{_H}+)?"),
    _kind("groq-key", "gsk_", f"{_A}{{20,}}"),
    _kind("xai-key", "xai-", f"{_A}{{30,}}", is_varied_key),
    _kind("perplexity-key", "pplx-", f"{_A}{{24,}}", is_varied_key),
    _kind("huggingface-token", "hf_ api_org_", f"{_A}{{24,}}"),
    _kind("replicate-token", "r8_", f"{_A}{{24,}}"),
    _kind("fireworks-key", "fw_", f"{_A}{{20,}}", is_varied_key),
    _kind("together-key", "tgp_v1_", f"{_W}{{24,}}"),
    _kind("cerebras-key", "csk-", f"{_A}{{30,}}"),
    _kind("nvidia-key", "nvapi-", f"{_W}{{32,}}"),
    _kind("pinecone-key", "pcsk_", f"{_A}{{4,8}}_{_A}{{24,}}"),
    _kind("pinecone-key", "pcsk_", f"{_A}{{24,}}"),
    _near("cohere", f"{_A}{{40}}"),
    _near("mistral", f"{_A}{{32}}"),
    _near("pinecone", _UUID),
    _near("together", f"{_H}{{64}}"),
    _near("wandb", f"{_H}{{40}}"),
    _near("deepgram assemblyai serpapi", f"{_H}{{32,64}}"),
    _kind("voyage-key", "pa-", f"{_W}{{40,}}", is_varied_key),
    _kind("elevenlabs-key", "sk_", f"{_H}{{40,}}"),
    _kind("tavily-key", "tvly-", f"{_W}{{20,}}"),
    _kind("firecrawl-key", "fc-", f"{_H}{{32}}{_NO_MORE}"),
    _kind("jina-key", "jina_", f"{_W}{{40,}}"),
    _kind("brave-key", "BSA", f"{_W}{{24,32}}{_NO_MORE}", is_varied_key),
    _kind("wandb-key", "wandb_v1_", f"{_W}{{24,}}"),
    _kind("runpod-key", "rpa_", f"{_A}{{32,}}"),
    _kind("kaggle-token", "KGAT_", f"{_A}{{24,}}"),
    _kind("modal-token", "ak- as-", f"{_A}{{22}}{_NO_MORE}", is_varied_key),
)

_CLOUDS: Final = (
    _kind("aws-key-id", "AKIA ASIA ABIA ACCA", f"[A-Z2-7]{{16}}{_NO_MORE}"),
    _kind("aws-session-token", "IQoJb3JpZ2lu FwoGZXIvYXdz", f"{_B}{{40,}}=*"),
    _kind("aws-bedrock-key", "ABSK", f"{_B}{{40,}}=*", is_varied_key),
    _kind("aws-bedrock-key", "bedrock-api-key-", f"{_B}{{40,}}=*"),
    _kind("google-key", "AIza", f"{_W}{{30,}}"),
    _kind("google-key", "AQ.Ab", f"{_W}{{30,}}"),
    _kind("google-oauth-token", "ya29.", f"{_W}{{20,}}(?:\\.{_W}+)*"),
    _kind("google-refresh-token", "1//0", f"{_W}{{30,}}"),
    _kind("google-client-secret", "GOCSPX-", f"{_W}{{20,}}"),
    _kind("firebase-key", ":APA91b", f"{_W}{{40,}}", before=r"[\w-]{8,}"),
    _kind("azure-client-secret", "~", r"[\w~.-]{30,36}", before=r"Q\d[\w~.]{3}"),
    _kind("azure-storage-key", "AccountKey= SharedAccessKey=", f"(?P<secret>{_B}{{40,}}={{0,2}})"),
    _kind("azure-sas-signature", "?sig= &sig= &amp;sig=", r"(?P<secret>[A-Za-z0-9%+/]{40,}(?:%3[dD]|=)?)"),
    _near("azure", f"(?:{_A}{{84}}|{_A}{{52}}|{_H}{{32}})"),
    _kind("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", f"{_H}{{32,}}"),
    _kind("alibaba-key-id", "LTAI", f"{_A}{{16,24}}{_NO_MORE}", is_varied_key),
    _kind("tencent-key-id", "AKID", f"{_A}{{32}}{_NO_MORE}", is_varied_key),
    _kind("yandex-key", "AQVN t1.9eu", f"{_W}{{30,}}(?:\\.{_W}+)?"),
    _kind("heroku-key", "HRKU-", f"{_W}{{30,}}"),
    _kind("fly-token", "fm2_ fm1r_ fo1_", f"{_W}{{30,}}"),
    _kind("vercel-token", "vcp_ vck_ vca_", f"{_A}{{20,}}", is_varied_key),
    _kind("netlify-token", "nfp_ nfc_", f"{_A}{{32,}}"),
    _kind("render-key", "rnd_", f"{_A}{{24,}}", is_varied_key),
    _kind("cloudflare-key", "cfut_ cfat_ cfk_", f"{_A}{{30,}}"),
    _kind("cloudflare-ca-key", "v1.0-", f"{_H}{{24}}-{_H}{{100,}}"),
    _kind("scaleway-key-id", "SCW", f"[A-Z0-9]{{17}}{_NO_MORE}", is_varied_key),
    _kind("supabase-key", "sbp_ sb_secret_", f"{_W}{{30,}}"),
    _kind("planetscale-password", "pscale_tkn_ pscale_pw_ pscale_oauth_", f"{_W}{{30,}}"),
    _kind("neon-key", "napi_", f"{_A}{{40,}}"),
    _kind("mongodb-key", "mdb_sa_sk_", f"{_W}{{30,}}"),
    _near("aws", f"{_B}{{40}}"),
    _near("cloudflare", f"{_W}{{37,40}}"),
    _near("heroku", _UUID),
    _kind("snowflake-token", "ver:1-hint:", f"[\\w:-]+ETMsDgAAA{_B}{{60,}}=*"),
    _kind("databricks-token", "dapi dkea dose", f"{_H}{{32}}(?:-\\d)?{_NO_MORE}"),
)

_CODE: Final = (
    _kind("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_A}{{20,}}", _is_checked),
    _kind("github-token", "github_pat_", "[A-Za-z0-9_]{20,}"),
    _kind(
        "gitlab-token",
        "glpat- gloas- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- GR1348941",
        "[\\w.-]{16,}",
    ),
    _kind("bitbucket-password", "ATBB", f"{_A}{{28,}}"),
    _kind("atlassian-token", "ATATT3xFfGF0 ATCTT3xFfGN0", r"[\w=-]{40,}"),
    _kind("npm-token", "npm_", f"{_A}{{30,}}", _is_checked),
    _kind("pypi-token", "pypi-AgE", f"{_W}{{40,}}"),
    _kind("rubygems-key", "rubygems_", f"{_H}{{32,}}"),
    _kind("crates-token", "cio", f"{_A}{{32}}{_NO_MORE}", is_varied_key),
    _kind("nuget-key", "oy2", f"[a-z0-9]{{43}}{_NO_MORE}"),
    _kind("docker-token", "dckr_pat_ dckr_oat_", f"{_W}{{20,}}"),
    _kind("clojars-token", "CLOJARS_", f"{_A}{{40,}}"),
    _kind("artifactory-key", "AKCp", f"{_A}{{60,}}"),
    _kind("sonarqube-token", "sqp_ squ_ sqa_", f"{_H}{{40}}{_NO_MORE}"),
    _kind("circleci-token", "CCIPAT_ CCIPRJ_", f"{_A}{{12,}}_{_H}{{30,}}"),
    _kind("buildkite-token", "bkua_", f"{_H}{{40}}{_NO_MORE}"),
    _kind("sourcegraph-token", "sgp_", f"(?:[a-zA-Z0-9]+_)?{_H}{{40}}{_NO_MORE}"),
    _kind("postman-key", "PMAK-", f"{_H}{{24}}-{_H}{{30,}}"),
)

_VAULTS: Final = (
    _kind("vault-token", "hvs. hvb. hvr.", f"{_W}{{24,}}"),
    _kind("terraform-token", ".atlasv1.", r"[\w=-]{50,}", before=f"{_A}{{14}}"),
    _kind("pulumi-token", "pul-", f"{_H}{{40}}{_NO_MORE}"),
    _kind("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"(?:[\w-]+\.)?[A-Za-z0-9]{30,}"),
    _kind("onepassword-token", "ops_eyJ", f"{_B}{{30,}}=*"),
    _kind("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{40,}"),
    _kind("tailscale-key", "tskey-", f"[a-z]+-{_A}{{8,}}(?:-{_A}+)?"),
    _kind("grafana-token", "glc_ glsa_", "[\\w+/]{30,}=*"),
    _kind("sentry-token", "sntrys_ sntryu_", "[\\w+/=-]{40,}"),
    _kind("newrelic-key", "NRAK- NRII- NRJS- NRIQ-", f"{_W}{{19,}}"),
    _kind("dynatrace-token", "dt0c01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{40,}"),
    _kind("honeycomb-key", "hcaik_ hcbik_", f"{_A}{{40,}}"),
    _kind("prefect-key", "pnu_ pnb_", f"{_A}{{32,}}"),
    _kind("posthog-key", "phx_", f"{_A}{{32,}}"),
)

_TALK: Final = (
    _kind("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe. xapp- xoxc- xoxd-", r"[\w%.-]{16,}"),
    _kind(
        "slack-webhook",
        " ".join(f"hooks.slack.com/{each}/" for each in ("services", "workflows", "triggers")),
        r"[\w/]{24,}",
    ),
    _kind("discord-webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"\d{15,}/[\w-]{40,}"),
    Kind(
        "discord-token",
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),  # how digits begin in base64
        re.compile(r"(?P<secret>[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,38})(?![\w-])"),
        check=is_varied,
    ),
    _kind("teams-webhook", "webhook.office.com/webhookb2/", r"[\w@/-]{60,}"),
    _kind("telegram-token", ":AA", f"{_W}{{30,35}}{_NO_MORE}", before=r"\d{7,11}(?!\d)"),
    _near("twilio datadog", f"{_H}{{32,40}}"),
    _kind("twilio-key", "SK", f"{_H}{{32}}{_NO_MORE}"),
    _kind("sendgrid-key", "SG.", f"{_W}{{16,32}}\\.{_W}{{16,}}"),
    _kind("mailgun-key", "key-", f"{_H}{{32}}{_NO_MORE}"),
    _kind("mailchimp-key", "-us", f"\\d{{1,2}}{_NO_MORE}", before=f"{_H}{{32}}(?![0-9a-f])"),
    _kind("brevo-key", "xkeysib- xsmtpsib-", f"{_H}{{40,}}(?:-{_A}+)?"),
    _kind("resend-key", "re_", f"{_A}{{8}}_{_A}{{20,}}"),
    _kind("facebook-token", "EAA", f"{_A}{{50,}}", is_varied_key),
    _kind("twitter-bearer", "AAAAAAAAAAAAAAAAAAAAA", r"[\w%]{30,}"),
    _kind("linear-key", "lin_api_ lin_oauth_", f"{_A}{{30,}}"),
    _kind("notion-token", "ntn_", f"{_A}{{30,}}"),
    _kind("notion-token", "secret_", f"{_A}{{43}}{_NO_MORE}", is_varied_key),
    _kind("figma-token", "figd_ figu_ figo_", f"{_W}{{30,}}"),
    _kind("airtable-token", "pat", f"{_A}{{14}}\\.{_H}{{40,}}"),
    _kind("hubspot-token", "pat-na1- pat-na2- pat-eu1-", _UUID),
    _kind("typeform-token", "tfp_", f"{_W}{{30,}}"),
    _kind("dropbox-token", "sl.", f"(?:u\\.)?{_W}{{100,}}"),
    _kind("contentful-token", "CFPAT-", f"{_W}{{30,}}"),
    _kind("mapbox-token", "sk.eyJ", f"{_W}{{40,}}\\.{_W}{{16,}}"),
    _kind("frameio-token", "fio-u-", "[\\w=-]{40,}"),
    _kind("adafruit-key", "aio_", f"{_A}{{28}}{_NO_MORE}"),
)

_TRADE: Final = (
    _kind("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", f"{_A}{{16,}}"),
    _kind("stripe-webhook-secret", "whsec_", f"{_B}{{24,}}=*"),
    _kind("shopify-token", "shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]{24,}"),
    _kind("square-token", "sq0atp- sq0csp- EAAA", f"{_W}{{22,}}", is_varied_key),
    _kind("paypal-token", "access_token$production$ access_token$sandbox$", f"{_A}{{13,}}\\${_H}{{32}}"),
    _kind("plaid-token", "access-production- access-sandbox- access-development-", _UUID),
    _kind("razorpay-key", "rzp_live_ rzp_test_", f"{_A}{{14,}}"),
    _kind("flutterwave-key", "FLWSECK", r"(?:_TEST)?-[\w-]{20,}"),
    _kind("easypost-key", "EZAK EZTK", f"{_A}{{50,}}"),
    _kind("duffel-token", "duffel_live_ duffel_test_", "[\\w=-]{40,}"),
    _kind("lob-key", "live_ test_", f"{_H}{{35}}{_NO_MORE}"),
)

_GAP = r"(?:\s|\\+[nr])"
_LINES = rf"[A-Za-z0-9+/=]{{16,}}(?:{_GAP}+[A-Za-z0-9+/=]{{16,}})*"
_CLOSE = r"-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
_LINES_BACK = r"(?:\s|[nr]\\+)*[A-Za-z0-9+/=]{16,}(?:(?:\s|[nr]\\+)+[A-Za-z0-9+/=]{16,})*"
_OPEN = r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
_GENERAL: Final = (
    Kind(
        "private-key",
        ("-----BEGIN ",),
        re.compile(rf"{_OPEN}(?:(?!-----)[\s\S]){{16,16384}}{_CLOSE}"),
        None,
        _sure,
    ),
    # One of which the end or the beginning is cut off.
    Kind(
        "private-key",
        ("-----BEGIN ",),
        re.compile(
            rf"{_OPEN}{_GAP}*(?:[A-Za-z-]+: .{{1,80}}{_GAP}+){{0,4}}{_LINES}"
            rf"(?:{_GAP}+[A-Za-z0-9+/=]{{1,15}}(?=…|\.\.\.|\n\[…))?"
        ),
        None,
        _sure,
    ),
    Kind("private-key", ("-----END ",), re.compile(_CLOSE), re.compile(_LINES_BACK), _sure, reach=16_384),
    Kind(
        "putty-key",
        ("Private-Lines: ",),
        re.compile(r"Private-Lines: \d+\s+(?P<secret>(?:[A-Za-z0-9+/=]{16,}\s*)+)"),
        None,
        _sure,
    ),
    Kind("jwt", ("eyJ",), re.compile(rf"(?P<secret>eyJ{_W}{{8,}}\.{_W}{{8,}}(?:\.{_W}*){{0,3}})"), None, _is_token),
    Kind(
        "url-password",
        ("://",),
        re.compile(r"://[^\s/?#:@\"'<>`\\]{0,256}:(?P<secret>[^\s/\"'<>`\\]{1,256})@(?=[\w\[.%-])"),
        None,
        _is_password,
    ),
    Kind(
        "authorization",
        ("Bearer ", "bearer ", "BEARER ", "Basic ", "basic "),
        re.compile(r"(?:[Bb]earer|BEARER|[Bb]asic) (?P<secret>[\w.~+/-]{16,}={0,2})"),
        None,
        is_varied_key,
    ),
)

KINDS: Final[tuple[Kind, ...]] = (*_MODELS, *_CLOUDS, *_CODE, *_VAULTS, *_TALK, *_TRADE, *_GENERAL)
"""Every format; of several that fit at one place the longest counts."""

NEAR_ANCHORS: Final = "|".join(
    re.escape(anchor) for kind in KINDS if kind.pattern.groups for anchor in kind.anchors if anchor[0].isalpha()
)
"""Expression of the beginnings after which a credential may come that has none of its own, a few words on."""

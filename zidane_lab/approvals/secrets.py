"""File names that commonly hold secrets: keys, passwords, tokens, other programs' credentials.

A name is only a hint, so a match means "ask", never "refuse".
"""

from __future__ import annotations

import fnmatch
import os
import re
from typing import Final

__all__ = ["looks_secret", "secret_name"]

_NAMES: Final = (
    ".bash_history",
    ".boto",
    ".dockercfg",
    ".env",
    ".env.*",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".s3cfg",
    ".terraformrc",
    ".vault-token",
    ".zsh_history",
    "*.env",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.p12",
    "*.pem",
    "*.pfx",
    "*.ppk",
    "*.tfstate",
    "*credentials*.json",
    "*service[-_]account*.json",
    "_netrc",
    "client_secret*.json",
    "cookies.sqlite",
    "gshadow*",
    "htpasswd",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "jpserver-*.json",
    "kaggle.json",
    "kernel-*.json",
    "key3.db",
    "key4.db",
    "kubeconfig",
    "logins.json",
    "nbserver-*.json",
    "secret.*",
    "secrets.*",
    "shadow",
    "shadow-",
    "ssh_host_*_key",
    "sudoers",
    "token.json",
    "tokens.json",
    "wallet.dat",
)
"""Last part of a path. ``kernel-*.json`` and ``jpserver-*.json`` hold the keys of running kernels and servers,
as everything in ``jupyter/runtime`` does."""

_HARMLESS: Final = (".env.dist", ".env.example", ".env.sample", ".env.template", "*.py", "*.ipynb", "*.md")

_PATHS: Final = (
    "*/.aws/*",
    "*/.azure/*",
    "*/.cache/huggingface/*token*",
    "*/.config/gcloud/*",
    "*/.config/gh/*",
    "*/.docker/config.json",
    "*/.gem/credentials",
    "*/.gnupg/*",
    "*/.huggingface/*",
    "*/.kube/*",
    "*/.password-store/*",
    "*/.ssh/*",
    "*/jupyter/runtime/*",
    "*/proc/*/environ",
    "*/proc/*/mem",
    "*/run/secrets/*",
)
_PUBLIC: Final = ("*.pub", "*/.ssh/known_hosts", "*/.ssh/config")


def looks_secret(path: str | os.PathLike[str]) -> bool:
    """Whether the name of a file, or of what it links to, commonly belongs to secrets.

    So does what stands between colons, where tools name a part of a file: ``.env:1-5``, ``a.zip:conf/.env``.
    """
    written = os.fspath(path)
    parts = (written, *re.split(r"[:?]", written)) if ":" in written or "?" in written else (written,)
    return any(secret_name(part) or secret_name(_resolved(part)) for part in parts if part)


def _resolved(path: str) -> str:
    try:
        return os.path.realpath(os.path.expanduser(path))  # noqa: PTH111 - text in, text out
    except (OSError, ValueError):  # no file has such a name
        return path


def secret_name(path: str) -> bool:
    """Whether the text of a path alone looks like a secret's; nothing is looked up on disk."""
    text = path.replace("\\", "/").lower()
    name = text.rstrip("/").rpartition("/")[2].rstrip("~")  # an editor's copy holds the same
    rooted = f"/{text.lstrip('/')}"
    if _any(_PUBLIC, rooted) or _any(_HARMLESS, name):
        return False
    return _any(_NAMES, name) or _any(_PATHS, rooted)


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)

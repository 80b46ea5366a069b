from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.approvals.secrets import looks_secret, secret_name


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "project/.env.local",
        "prod.env",
        "~/.ssh/id_rsa",
        "~/.ssh/anything",
        "id_ed25519",
        "server.pem",
        ".env~",
        "/etc/ssh/ssh_host_ed25519_key",
        "~/.local/share/jupyter/runtime/jpserver-7-open.html",
        "a/b/Server.PEM",
        "tls.key",
        "credentials.json",
        "google-credentials-prod.json",
        "my_service_account.json",
        "my-service-account-1.json",
        "~/.netrc",
        "~/.pgpass",
        "~/.aws/credentials",
        "~/.aws/config",
        "/root/.kube/config",
        ".docker/config.json",
        "/proc/self/environ",
        "/proc/123/environ",
        "/etc/shadow",
        "secrets.toml",
        "~/.git-credentials",
        "token.json",
        "kernel-1234.json",
        "jpserver-1.json",
        "C:\\Users\\me\\.ssh\\id_rsa",
        "~/.bash_history",
    ],
)
def test_names_that_commonly_hold_secrets(path):
    assert looks_secret(path)


@pytest.mark.parametrize(
    "path",
    [
        "data.csv",
        ".env.example",
        "environment.yml",
        "keys.csv",
        "monkey.txt",
        "~/.ssh/id_rsa.pub",
        "~/.ssh/known_hosts",
        "secrets.py",
        "credentials.md",
        "token_counts.json",
        "notebook.ipynb",
        ".gitignore",
        "kernel.json",
        "",
        ".",
        "/",
        "~nobody-here/x",
    ],
)
def test_ordinary_names(path):
    assert not looks_secret(path)


def test_a_link_to_a_secret_is_one(tmp_path):
    (tmp_path / ".env").write_text("A=1")
    (tmp_path / "notes.txt").symlink_to(".env")
    (tmp_path / "loop").symlink_to("loop")
    assert looks_secret(tmp_path / "notes.txt")
    assert not looks_secret(tmp_path / "loop")


@given(st.text(max_size=60))
def test_any_text_can_be_looked_at(path):
    assert secret_name(path) in {True, False}
    assert looks_secret(path) in {True, False}

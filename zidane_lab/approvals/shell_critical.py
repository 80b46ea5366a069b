"""Commands that are asked about each time, whatever was allowed before: what they do is not undone.

``git`` may be allowed for the project and ``git push --force`` asks all the same. Patterns are no containment: a
program that is allowed may do the same by other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from zidane_lab.approvals.shell_parse import Head
from zidane_lab.approvals.shell_rules import names_in

__all__ = ["critical_words", "destroys_data", "destroys_sql"]

_RECURSIVE: Final = r"(?:^| )(?:-[A-Za-z]*[rR]|--r\w*)"
_CLOUD: Final = r"(?:^|[ :-])(?:delete|destroy|terminate|purge|remove|rm|rb|reset|uninstall|drop)(?=[ -]|$)"


def _table(*rows: tuple[str, str, str]) -> Mapping[str, tuple[tuple[re.Pattern[str], str], ...]]:
    found: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {}
    for names, pattern, why in rows:
        for name in names_in(names):
            found[name] = (*found.get(name, ()), (re.compile(pattern, re.IGNORECASE), why))
    return found


_RULES: Final = _table(
    ("rm", rf"{_RECURSIVE}|--no-p", "deletes whole folders"),
    ("shred srm wipe", "", "destroys files"),
    ("find fd", r"(?:^| )-delete\b", "deletes all files it finds"),
    ("chmod chown chgrp setfacl chattr", _RECURSIVE, "changes who may do what in whole folders"),
    ("chmod", r"(?:^| )(?:[ugoa]*[+=]\w*s|[2-7]\d{3})\b", "lets a program run with its owner's rights"),
    ("chmod chown chgrp mv", r"(?:^| )/(?: |$)", "changes the root of the machine"),
    ("kill", r"(?:^| )-1(?: *$)|(?:^| )(?:-\w+ )?1 *$", "ends all processes"),
    ("rsync", r"--del|--remove-s", "deletes files at its target"),
    ("rclone", r"\b(?:purge|delete\w*|sync|rmdirs?|cleanup|move\w*)\b", "deletes files at its target"),
    ("tar", r"--remove-f", "deletes the files it packs"),
    ("docker podman nerdctl", r"\bprune\b|\b(?:volume|network|image|container|system) rm\b", "deletes containers"),
    ("docker podman nerdctl", r"(?:^| )(?:rmi|rm)\b.*(?:^| )-(?:\w*f|-force)", "deletes containers"),
    ("docker podman nerdctl docker-compose", r"\bdown\b.*(?: -v\b| --vol| --rmi)", "deletes the data of containers"),
    ("docker-compose", r"\brm\b", "deletes containers"),
    (
        "docker podman nerdctl",
        r"--privileged|--pid[= ]host|(?:-v|--volume|source|src)[= ]?/(?::|,)|--cap-add|docker\.sock",
        "gives a container the machine",
    ),
    ("kubectl oc k3s microk8s", rf"{_CLOUD}|\b(?:drain|cordon|evict)\b|--force|--replicas[= ]0", "changes a cluster"),
    ("helm", r"\b(?:uninstall|delete|rollback)\b", "changes a cluster"),
    (
        "terraform tofu terragrunt pulumi cdk",
        r"\b(?:destroy|apply|up|import|taint|state)\b",
        "changes machines elsewhere",
    ),
    (
        "aws gcloud gsutil az doctl heroku flyctl fly vercel netlify s3cmd bq",
        _CLOUD,
        "deletes what is stored elsewhere",
    ),
    (
        "gh glab",
        rf"{_CLOUD}|-X *(?:DELETE|PUT|PATCH)|--method[= ](?:DELETE|PUT|PATCH)",
        "deletes what is stored elsewhere",
    ),
    ("curl", r"(?:-X *|--request[= ])DELETE", "deletes what is stored elsewhere"),
    ("redis-cli", r"\bflush(?:all|db)\b|\bconfig\b|\bdel\b", "destroys the data of a database"),
    ("dropdb dropuser", "", "destroys the data of a database"),
    ("mongo mongosh", r"drop|delete|remove", "destroys the data of a database"),
    ("npm pnpm yarn bun", r"\b(?:publish|unpublish|deprecate)\b", "publishes to others"),
    ("cargo gem", r"\b(?:publish|yank|push|owner)\b", "publishes to others"),
    ("poetry uv flit hatch pdm", r"\bpublish\b", "publishes to others"),
    ("twine", r"\bupload\b", "publishes to others"),
    ("conda mamba micromamba", r"\benv remove\b|\bremove\b.*--all", "deletes an environment"),
    ("crontab", r"(?:^| )-r\b", "deletes all planned jobs"),
)
"""Programs, what of their words is critical, and why."""

_REMOTE: Final = names_in("ssh docker podman kubectl nerdctl")
"""Programs whose words may be a command for somewhere else."""

_SQL: Final = re.compile(
    r"\bdrop\s+(?:table|database|schema|view|index|user|role|column|tablespace|materialized)\b"
    r"|\btruncate\s+(?:table\s+)?[\"`\[]?[a-z_]\w*|\bdelete\s+from\s+[\w.\"`\[\]]+\s*(?:;|\"|'|$)|\bdropDatabase\b",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS_ONLY: Final = names_in("git gh glab echo printf grep egrep fgrep rg mkdir touch")
"""Programs for which SQL is just words."""
_CODE: Final = re.compile(r"\brm\s+-\w*[rR]|\bgit\s+push\s+.*(?:-f\b|--force)|\bmkfs|\bdd\s+.*of=/dev/")


def critical_words(head: Head) -> Iterator[str]:
    """Say why a program with these words is asked about each time."""
    name = head.name.rpartition("/")[2]
    words = " ".join(word.text for word in head.argv)
    for pattern, why in _RULES.get(name, ()):
        if pattern.search(words):
            yield why
            break
    if name.startswith("mkfs") or (name in _REMOTE and _CODE.search(words)):
        yield "destroys data elsewhere" if name in _REMOTE else "writes to disks"


def destroys_sql(text: str) -> bool:
    """Whether a text holds SQL that destroys data."""
    return _SQL.search(text) is not None


def destroys_data(command: str, heads: tuple[Head, ...]) -> bool:
    """Whether a command hands SQL that destroys data to a program that may run it."""
    names = {head.name.rpartition("/")[2] for head in heads}
    return bool(names - _WORDS_ONLY) and destroys_sql(command)

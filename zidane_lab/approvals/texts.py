"""What texts within code say: addresses, SQL, mark-up, modes of opening a file."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final
from urllib.parse import parse_qs, urlsplit

__all__ = [
    "changes_data",
    "is_address",
    "is_read_only_database",
    "opens_for_writing",
    "saves_to",
    "script_in",
    "sql_effect",
    "sql_files",
]

_ADDRESS: Final = re.compile(
    r"\s*(?:https?|ftps?|sftp|ssh|scp|s3a?|s3n|gs|gcs|abfss?|wasbs?|adl|az|hdfs|webhdfs|hf|github|wss?|smb|"
    r"postgres\w*(?:\+\w+)?|mysql(?:\+\w+)?|mssql(?:\+\w+)?|oracle(?:\+\w+)?|mongodb(?:\+\w+)?|redis|amqp|jdbc:\w+)://|"
    r"\s*imageio:",
    re.IGNORECASE,
)
_READS: Final = re.compile(r"\s*(?:select|with|values|show|describe|desc|explain|summarize|from)\b", re.IGNORECASE)
_CHANGES: Final = re.compile(
    r"\b(?:insert|update|delete|drop|create|alter|attach|detach|copy|install|load|load_extension|vacuum|into|truncate|"
    r"grant|revoke|merge|call|pragma|set|export|import|replace\s+into|pg_\w+|lo_\w+|xp_\w+|dblink\w*|writefile|"
    r"readfile|edit|getenv)\b",
    re.IGNORECASE,
)
_STATEMENT: Final = re.compile(
    r"\s*(?:copy\s[\s\S]+\bto\b|drop\s+(?:table|view|schema|database|index)\b|delete\s+from\b|insert\s+into\b|"
    r"update\s+[\w.\"]+\s+set\b|create\s+(?:or\s+replace\s+)?(?:temp\w*\s+)?(?:table|view|database|schema|index)\b|"
    r"alter\s+table\b|truncate\s+(?:table\s+)?\w+\s*;?\s*$|export\s+database\b|attach\s+['\"])",
    re.IGNORECASE,
)
_SCRIPT: Final = re.compile(r"<\s*(?:script|iframe|object|embed)|javascript:|\bon\w+\s*=", re.IGNORECASE)
_LOOSE: Final = re.compile(
    r"(?:\b(?:src|srcset|poster|data|background|action)\s*=\s*[\"']?|url\(\s*[\"']?)//", re.IGNORECASE
)
"""An address without its scheme, where it is fetched by itself."""
_FILE: Final = re.compile(r"[/\\]|\.[A-Za-z]\w{1,7}$")


class _Links(HTMLParser):
    """Counts addresses that are fetched only when a person clicks on them."""

    count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count the address of ``<a href="…">``."""
        if tag == "a":
            self.count += sum("://" in (value or "") for name, value in attrs[:1] if name == "href")


def is_address(text: str) -> bool:
    """Whether a text begins with an address that leads out of this machine."""
    return bool(_ADDRESS.match(text))


def is_read_only_database(text: str) -> bool:
    """Whether SQLite opens what this URI names for reading only."""
    parts = urlsplit(text)
    return text.startswith("file:") and parse_qs(parts.query).get("mode") == ["ro"]


def opens_for_writing(mode: str) -> bool:
    """Whether a file opened in this mode can be changed (``r:xz`` of a tar file cannot)."""
    return bool(set(re.split(r"[:|]", mode)[0]) & set("wax+"))


def saves_to(text: str) -> bool:
    """Whether a text looks like the name of a file to write."""
    return bool(_FILE.search(text))


def script_in(markup: str) -> str | None:
    """Say what a piece of mark-up does in the page beyond showing itself."""
    if _SCRIPT.search(markup):
        return "puts a script into the page"
    if _LOOSE.search(markup):
        return "makes the browser fetch an address"
    links = _Links()
    links.feed(markup)
    links.close()
    return "makes the browser fetch an address" if markup.count("://") > links.count else None


def changes_data(text: str) -> bool:
    """Whether a text is plainly a statement of SQL that changes data, whoever is given it."""
    return bool(_STATEMENT.match(text))


def sql_files(sql: str) -> list[str]:
    """Return the texts in quotes that stand in SQL: some engines read files of these names."""
    return [text for pair in re.findall(r"'([^']*)'|\"([^\"]*)\"", sql) for text in pair if text]


def sql_effect(sql: str) -> str | None:
    """Say what SQL does beyond reading; the bare name of a table reads."""
    bare = re.sub(r"'[^']*'", lambda match: match[0] if "://" in match[0] else "''", sql)
    if "://" in bare:
        return "uses the network"
    if re.fullmatch(r"\s*\w+\s*", sql):
        return None
    single = ";" not in bare.strip().removesuffix(";")
    return None if single and _READS.match(bare) and not _CHANGES.search(bare) else "runs SQL that may change data"

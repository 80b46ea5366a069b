"""Options of programs that search, and which files they leave in and out."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from zidane_lab.approvals.secrets import secret_name
from zidane_lab.approvals.shell_rules import names_in
from zidane_lab.approvals.shell_words import Word
from zidane_lab.tools.glob import expand_braces
from zidane_lab.tools.search.types import TYPES

__all__ = ["Filter", "Given", "glob_filter", "name_filter", "read_options", "ripgrep_filter"]

_SAMPLES: Final = names_in(
    """.env .env.local prod.env .netrc .npmrc .pypirc .git-credentials .envrc .pgpass .htpasswd id_rsa id_ed25519
    server.pem server.key server.p12 store.jks store.kdbx terraform.tfstate credentials.json my-credentials.json
    service-account.json client_secret_1.json kaggle.json token.json tokens.json secrets.yaml secrets.yml secrets.toml
    secrets.json secret.txt kubeconfig shadow wallet.dat .bash_history .python_history logins.json cookies.sqlite"""
)
"""Names a filter is tried with, where no files are at hand."""


@dataclass(frozen=True, slots=True)
class Given:
    """The options of a program, each with its value, and what is no option."""

    options: tuple[tuple[str, str], ...]
    operands: tuple[Word, ...]

    def values(self, *names: str) -> tuple[str, ...]:
        """Return the values given to options of these names."""
        return tuple(value for name, value in self.options if name in names)

    def has_flag(self, letters: str, long: Iterable[str] = ()) -> bool:
        """Whether one of these letters stands as an option, or a long option that begins so."""
        return any(
            (len(name) == 2 and name[1] in letters) or (name.startswith("--") and name.startswith(tuple(long)))
            for name, _ in self.options
        )

    def count_flag(self, letter: str) -> int:
        """Return how often a letter stands as an option."""
        return sum(name == f"-{letter}" for name, _ in self.options)


def read_options(argv: Sequence[Word], valued: str, long_valued: frozenset[str]) -> Given:
    """Tell options from operands; ``valued`` are letters, ``long_valued`` names of options that take a value."""
    options: list[tuple[str, str]] = []
    operands: list[Word] = []
    words = iter(argv)
    for word in words:
        text = word.text
        if text == "--":
            operands += words
        elif text.startswith("--"):
            name, equals, value = text.partition("=")
            if not equals and name in long_valued:
                value = _text(next(words, None))
            options.append((name, value))
        elif text.startswith("-") and len(text) > 1:
            for index, letter in enumerate(text[1:], 2):
                if letter in valued:
                    options.append((f"-{letter}", text[index:] or _text(next(words, None))))
                    break
                options.append((f"-{letter}", ""))
        else:
            operands.append(word)
    return Given(tuple(options), tuple(operands))


def _text(word: Word | None) -> str:
    return word.text if word is not None else ""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which files a search takes: rules in order, of which the last that fits decides.

    Parameters
    ----------
    rules
        A pattern, and whether what fits it is taken.
    folders
        Patterns of folders that are not entered.
    takes_rest
        Whether what fits no rule is taken.
    whole
        Whether patterns are of whole paths, so that ``*`` stands for slashes, too.
    """

    rules: tuple[tuple[str, bool], ...] = ()
    folders: tuple[str, ...] = ()
    takes_rest: bool = True
    whole: bool = False

    def takes(self, path: str) -> bool:
        """Whether a file below the folder is taken."""
        parts = path.split("/")
        if any(_fits(pattern.rstrip("/"), part) for pattern in self.folders for part in parts[:-1]):
            return False
        taken = self.takes_rest
        for pattern, is_wanted in self.rules:
            if self._matches(pattern, path):
                taken = is_wanted
        return taken

    def names(self, path: str) -> bool:
        """Whether a rule asks for this very file, hidden or ignored as it may be."""
        return any(is_wanted and self._matches(pattern, path) for pattern, is_wanted in self.rules)

    @property
    def is_narrow(self) -> bool:
        """Whether no file that commonly holds secrets is taken, whatever there is."""
        return not any(self.takes(sample) for sample in _SAMPLES if secret_name(sample))

    def _matches(self, pattern: str, path: str) -> bool:
        bare = pattern.removeprefix("./").strip("/")
        if self.whole:
            return _fits(bare, path) or path.startswith(f"{bare}/")
        last = path.rpartition("/")[2]
        if "/" not in bare:
            return any(_fits(bare, part) for part in path.split("/")) if pattern.endswith("/") else _fits(bare, last)
        return _fits(bare, path) or _fits(bare.removeprefix("**/"), last) or path.startswith(f"{bare}/")


def _fits(pattern: str, text: str) -> bool:
    return any(fnmatch.fnmatchcase(text, each) for each in expand_braces(pattern))


def glob_filter(wanted: Sequence[str], left_out: Sequence[str], folders: Sequence[str]) -> Filter:
    """Return the filter of ``--include``, ``--exclude`` and ``--exclude-dir``: what is left out wins."""
    rules = [(pattern, True) for pattern in wanted] + [(pattern, False) for pattern in left_out]
    return Filter(tuple(rules), tuple(folders), takes_rest=not wanted)


def name_filter(patterns: Sequence[str]) -> Filter:
    """Return the filter of names as ``find`` takes them: any of the patterns, or all where there are none."""
    return Filter(tuple((pattern, True) for pattern in patterns), takes_rest=not patterns)


def ripgrep_filter(given: Given) -> Filter:
    """Return the filter of ``-g`` and ``-t``; a pattern that begins with ``!`` leaves out."""
    globs = given.values("-g", "--glob", "--iglob")
    types = [pattern for kind in given.values("-t", "--type") for pattern in TYPES.get(kind, ("*",))]
    rules = [(pattern, True) for pattern in types]
    rules += [(pattern.lstrip("!"), not pattern.startswith("!")) for pattern in globs]
    wanted = bool(types) or any(is_wanted for _, is_wanted in rules)
    return Filter(tuple(rules), takes_rest=not wanted)

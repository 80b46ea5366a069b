"""The languages that can be parsed, their names, and which files are theirs.

They are those built into the ``ast-grep-py`` library; SQL, R, Julia and TOML, for one, are not among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from zidane_lab.errors import ToolError

__all__ = ["LANGUAGES", "Language", "language_named", "language_of"]


@dataclass(frozen=True, slots=True)
class Language:
    """A language.

    Parameters
    ----------
    name
        As the library calls it.
    extensions
        Of its files, without the dot.
    aliases
        Other names people use.
    is_data
        Markup and data: such files are parsed only where the language or the file is named.
    has_dollars
        ``$NAME`` is something in the language itself, so a rewrite may hold one that is no capture.
    """

    name: str
    extensions: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    is_data: bool = False
    has_dollars: bool = False


LANGUAGES: Final = (
    Language("bash", ("sh", "bash", "bats", "ksh", "zsh"), ("sh", "shell", "zsh"), has_dollars=True),
    Language("c", ("c", "h")),
    Language("cpp", ("cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "cu", "cuh", "ino", "h"), ("c++", "cc")),
    Language("csharp", ("cs",), ("cs", "c#")),
    Language("css", ("css",), is_data=True),
    Language("dart", ("dart",)),
    Language("elixir", ("ex", "exs"), ("ex",)),
    Language("go", ("go",), ("golang",)),
    Language("haskell", ("hs",), ("hs",)),
    Language("hcl", ("hcl", "tf"), ("terraform",)),
    Language("html", ("html", "htm", "xhtml"), is_data=True),
    Language("java", ("java",)),
    Language("javascript", ("js", "cjs", "mjs", "jsx"), ("js", "jsx")),
    Language("json", ("json",), is_data=True),
    Language("kotlin", ("kt", "kts", "ktm"), ("kt",)),
    Language("lua", ("lua",)),
    Language("markdown", ("md", "markdown"), ("md",), is_data=True),
    Language("nix", ("nix",)),
    Language("php", ("php",), has_dollars=True),
    Language("python", ("py", "pyi", "py3", "bzl"), ("py", "python3", "ipython")),
    Language("ruby", ("rb", "rbw", "gemspec"), ("rb",)),
    Language("rust", ("rs",), ("rs",)),
    Language("scala", ("scala", "sc", "sbt")),
    Language("solidity", ("sol",), ("sol",)),
    Language("swift", ("swift",)),
    Language("tsx", ("tsx",)),
    Language("typescript", ("ts", "cts", "mts"), ("ts",)),
    Language("yaml", ("yaml", "yml"), ("yml",), is_data=True),
)

_BY_EXTENSION: Final = {each: language for language in reversed(LANGUAGES) for each in language.extensions}
"""A header counts as C, the first of the two that have it."""

_BY_NAME: Final = {each: language for language in LANGUAGES for each in (language.name, *language.aliases)}


def language_named(name: str) -> Language:
    """Return the language with this name.

    Raises
    ------
    ToolError
        There is none; the message lists those there are.
    """
    if (found := _BY_NAME.get(name.strip().lower())) is None:
        known = ", ".join(each.name for each in LANGUAGES)
        raise ToolError(f"Code in {name!r} cannot be parsed.", hint=f"Languages: {known}. For text use grep.")
    return found


def language_of(name: str) -> Language | None:
    """Return the language a file seems to be in, by its name; ``None`` if it is in none of them."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return _BY_EXTENSION.get(last.rpartition(".")[2].lower()) if "." in last else None

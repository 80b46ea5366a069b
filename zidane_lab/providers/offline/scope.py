"""Names in generated code: the user's are never rebound, ours are few and say whose they are.

Everything the planner assigns starts with ``zl_``. Where the user already has names of that prefix that were
not made in this conversation, it becomes ``zl2_`` and so on. Modules keep their usual short names (``pd``,
``plt``) unless the user gave such a name to something else.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from zidane_lab.providers.offline.facts import Label

__all__ = ["Scope", "listing", "scope_for"]

_IMPORTS: Final[Mapping[str, tuple[str, str]]] = {
    "pd": ("pandas", "import pandas as {}"),
    "pl": ("polars", "import polars as {}"),
    "plt": ("matplotlib", "import matplotlib.pyplot as {}"),
    "combinations": ("itertools", "from itertools import combinations{}"),
    "find_spec": ("find_spec", "from importlib.util import find_spec{}"),
    "display": ("display", "from IPython.display import display{}"),
}
_BUILT_IN: Final = frozenset({"display"})
"""Names that IPython provides without an import."""

_WIDTH: Final = 88


@dataclass(frozen=True, slots=True)
class Scope:
    """The names a snippet may use.

    Parameters
    ----------
    taken
        The user's variables and what the listing says of each.
    prefix
        Start of every name that generated code assigns.
    made
        Variables that code of ours created, imports included.
    """

    taken: Mapping[str, str]
    prefix: str = "zl_"
    made: AbstractSet[str] = frozenset()

    def own(self, word: str) -> str:
        """Return a name of ours."""
        return self.prefix + word

    def alias(self, word: str) -> str:
        """Return the name a module or function goes by: ``word``, or ours if the user means something else by it."""
        module, _ = _IMPORTS[word]
        said = self.taken.get(word)
        ours = said is None or word in self.made or ("module" in said and module in said)
        return word if ours else self.own(word)

    def imports(self, *words: str) -> str:
        """Return the import lines that make ``words`` available, and an empty line after them."""
        lines = []
        for word in words:
            _, statement = _IMPORTS[word]
            alias = self.alias(word)
            if word in _BUILT_IN and alias == word:
                continue
            renamed = alias if " as " in statement else "" if alias == word else f" as {alias}"
            lines.append(statement.format(renamed))
        return "\n".join([*lines, "", ""]) if lines else ""

    def of(self, table: str) -> Scope:
        """Return the scope for one of several tables, whose names must not get in each other's way."""
        return replace(self, prefix=f"{self.prefix}{table}_")


def scope_for(taken: Mapping[str, str], made: AbstractSet[str]) -> Scope:
    """Return the scope for a namespace holding ``taken``, of which earlier calls of ours made ``made``."""
    for number in count(1):
        prefix = "zl_" if number == 1 else f"zl{number}_"
        if all(name in made for name in taken if name.startswith(prefix)):
            return Scope(taken, prefix, made)
    raise AssertionError("count() does not end")


def listing(labels: list[Label]) -> str:
    """Return a list of labels as code, on one line or wrapped; names get into code by ``repr`` only."""
    line = f"[{', '.join(map(repr, labels))}]"
    if len(line) <= _WIDTH:
        return line
    return f"[\n{textwrap.indent(_wrapped([repr(label) for label in labels]), '    ')}\n]"


def _wrapped(words: list[str]) -> str:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) + 2 > _WIDTH - 4:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{word},"
    return "\n".join(lines)

"""A call in a piece of code, with what its function may be."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from zidane_lab.approvals.origins import Names

__all__ = ["Called"]


@dataclass(frozen=True, slots=True)
class Called:
    """A call with what its function may be: full origins and last names."""

    node: ast.Call
    names: Names
    origins: frozenset[str]
    lasts: frozenset[str]

    @property
    def receiver(self) -> ast.expr | None:
        """What the method is looked up on."""
        return self.node.func.value if isinstance(self.node.func, ast.Attribute) else None

    @property
    def arguments(self) -> list[ast.expr]:
        """All arguments, by position and by name."""
        return [*self.node.args, *(each.value for each in self.node.keywords)]

    @property
    def is_spread(self) -> bool:
        """Whether arguments come from somewhere else, as in ``f(*args, **options)``."""
        starred = any(isinstance(each, ast.Starred) for each in self.node.args)
        return starred or any(each.arg is None for each in self.node.keywords)

    @property
    def is_attribute(self) -> bool:
        """Whether it is a method or a module's function, however it was imported."""
        return self.receiver is not None or any("." in each for each in self.origins)

    def argument(self, position: int | None, keyword: str) -> ast.expr | None:
        """Return an argument by keyword or position."""
        for each in self.node.keywords:
            if each.arg == keyword:
                return each.value
            if each.arg is None and isinstance(each.value, ast.Dict):  # `**{"mode": "w"}`
                for key, value in zip(each.value.keys, each.value.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == keyword:
                        return value
        return self.node.args[position] if position is not None and len(self.node.args) > position else None

"""Ship :mod:`zidane_lab.kernel.inside` as source text, to kernels where zidane_lab is missing or differs.

What is shipped lives in the kernel's memory under a private package whose name holds a hash of the sources:
no file is written, no name of the user is touched, shipping twice costs a dictionary lookup, and two
versions do not disturb each other.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from typing import Final

from zidane_lab.errors import ConfigurationError

__all__ = ["Bundle", "bundle", "make_bundle"]

_HOME: Final = "zidane_lab.kernel.inside"
_LOADER: Final = "loader"


@dataclass(frozen=True, slots=True)
class Bundle:
    """Modules ready to be shipped.

    Parameters
    ----------
    package
        The package's name over there.
    install
        A Python expression that installs it; evaluating it again does nothing.
    """

    package: str
    install: str

    def call(self, function: str, *arguments: object) -> str:
        """Return an expression that calls ``module.function`` of the package with literal arguments.

        It raises ``KeyError`` where the package is not installed, and looks up no name a user could have
        given another meaning, except ``__import__``.
        """
        module, _, name = function.rpartition(".")
        values = ", ".join(map(repr, arguments))
        return f"__import__('sys').modules[{f'{self.package}.{module}'!r}].{name}({values})"


@lru_cache(maxsize=1)
def bundle() -> Bundle:
    """Return the bundle of this version."""
    folder = files(_HOME)
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".py"))
    return make_bundle({name.removesuffix(".py"): folder.joinpath(name).read_text(encoding="utf-8") for name in names})


def make_bundle(sources: dict[str, str]) -> Bundle:
    """Bundle modules, given by name; ``__init__`` is the package and ``loader`` installs the rest.

    Raises
    ------
    ConfigurationError
        They import each other in a circle, or one that is not there.
    """
    digest = hashlib.sha256(repr(sorted(sources.items())).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    package = f"_zidane_inside_{digest}"
    sources = dict(sources)
    loader = sources.pop(_LOADER)
    package_source = sources.pop("__init__")
    ordered = [("", package_source), *((name, sources[name]) for name in _order(sources))]
    moved = [(name, source.replace(_HOME, package)) for name, source in ordered]
    run = f"{loader}\ninstall({package!r}, {moved!r})\n"
    install = f"__import__('builtins').exec({run!r}, {{'__name__': {f'{package}.{_LOADER}'!r}}})"
    return Bundle(package, install)


def _order(sources: dict[str, str]) -> list[str]:
    """Sort modules so that each comes after those it imports."""
    graph: dict[str, set[str]] = {}
    for name, source in sources.items():
        graph[name] = _imports(source)
        missing = graph[name] - sources.keys()
        if missing:
            raise ConfigurationError(
                f"{_HOME}.{name} imports {', '.join(sorted(missing))}, which is not shipped.",
                hint="Modules of this folder may import only the standard library and each other.",
            )
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise ConfigurationError(
            f"Modules of {_HOME} import each other in a circle: {' → '.join(error.args[1])}.",
            hint="Move what both need into a module of its own.",
        ) from error


def _imports(source: str) -> set[str]:
    """Return the names of the folder's own modules that a source text imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith(f"{_HOME}.")}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module == _HOME:
                found |= {f"{_HOME}.{alias.name}" for alias in node.names}
            elif node.module.startswith(f"{_HOME}."):
                found.add(node.module)
    return {name.removeprefix(f"{_HOME}.").partition(".")[0] for name in found}

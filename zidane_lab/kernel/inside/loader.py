"""Puts this folder's modules into another kernel's memory, from their source text.

This module is run there by its text, before any other of the folder exists, so it imports none of them.
"""

from __future__ import annotations

import sys
import types

__all__ = ["install"]


def install(package: str, sources: list[tuple[str, str]]) -> None:
    """Make ``package`` and its modules importable, unless they are already.

    Parameters
    ----------
    package
        Name of the package in this kernel; it differs with every version of the sources, so two versions
        can live side by side.
    sources
        Pairs of a module's name and its source text; a module comes after those it imports. The first one
        is the package itself, under the name ``""``.

    Raises
    ------
    Exception
        Whatever a module raised; nothing of the package is left behind then.
    """
    if package in sys.modules:
        return
    made: list[str] = []
    try:
        for name, source in sources:
            full = f"{package}.{name}" if name else package
            module = types.ModuleType(full)
            module.__package__ = package
            if not name:
                module.__path__ = []  # a package without a folder: nothing is searched on disk
            # Registered first: dataclasses look their module up while they are made.
            sys.modules[full] = module
            made.append(full)
            exec(compile(source, f"<{full}>", "exec"), module.__dict__)  # noqa: S102 - this is what it is for
            if name:
                setattr(sys.modules[package], name, module)
    except BaseException:
        for full in made:
            sys.modules.pop(full, None)
        raise

"""Describers of what is not computed yet: only the type and what the object itself stores are told.

Asking such an object for its length, columns or text can start a cluster job or a database query. Nothing
here calls or evaluates anything: attributes come from static lookup alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zidane_lab.kernel.inside.objects import stored_lines
from zidane_lab.kernel.inside.registry import FRAME, Describer, register_family, register_name
from zidane_lab.kernel.inside.static import attributes, exactly, module_name, mro, own, qualified_name, root_of
from zidane_lab.kernel.inside.text import Page, join, one_line
from zidane_lab.kernel.inside.values import brief

__all__ = ["register_lazy"]

_ADVICE = {
    "dask": "`.head()` computes the first partition, `.compute()` everything",
    "dask_expr": "`.head()` computes the first partition, `.compute()` everything",
    "polars": "`.collect_schema()` finds the columns, `.head(5).collect()` some rows",
    "pyspark": "`.printSchema()` shows the columns, `.limit(5).toPandas()` some rows",
    "ibis": "`.schema()` shows the columns, `.limit(5).execute()` some rows",
    "sqlalchemy": "attributes not listed here may query the database when they are read",
    "django": "reading it queries the database; `.query` shows the SQL, `list(queryset[:5])` some rows",
    "duckdb": "`.columns` shows the columns, `.limit(5).fetchall()` some rows",
    "_duckdb": "`.columns` shows the columns, `.limit(5).fetchall()` some rows",
    "peewee": "iterating it queries the database",
    "snowflake": "`.limit(5).to_pandas()` gets some rows",
    "bigframes": "`.head()` gets some rows, and costs a query",
    "vaex": "`.head(5)` evaluates some rows",
}


def register_lazy() -> None:
    """Register packages whose objects must not be touched, and the lazy classes of polars."""
    describer = Describer(_gist, _lines, rank=FRAME)
    for package in _ADVICE:
        if package != "polars":
            register_family(package, describer)
    for name in ("LazyFrame", "LazyGroupBy", "Expr", "GroupBy"):
        register_name(f"polars.{name}", describer)


def _known(obj: Any) -> list[tuple[str, object]]:
    """Return what the object stores under names for people, or, of the rest, plain values."""
    plain = (int, float, str, bool, tuple, list, dict)
    held = attributes(obj)
    public = [(name, value) for name, value in held.items() if not name.startswith("_")]
    return public + [
        (name, value) for name, value in held.items() if name.startswith("_") and exactly(type(value), plain)
    ]


def _package(cls: type) -> str:
    """Return the package that makes a class lazy: its own, or that of the base it derives from."""
    return next((root for root in map(root_of, mro(cls)) if root in _ADVICE), "")


def _gist(obj: Any) -> str:
    names = join((name for name, _ in _known(obj)), 60)
    if _package(type(obj)) != root_of(type(obj)):
        return f"holds {names}" if names else "not evaluated"  # a person's own model: its fields
    shape = own(obj, "_shape")
    known = f", shape {brief(shape, 60, 1)}" if type(shape) is tuple else ""
    return f"not evaluated{known}" + (f"; holds {names}" if names else "")


def _lines(obj: Any, page: Page) -> Iterator[str]:
    cls = type(obj)
    yield f"class {one_line(qualified_name(cls), 80)} of module {one_line(module_name(cls), 80)}"
    advice = "" if qualified_name(cls) == "Expr" else _ADVICE.get(_package(cls), "")
    yield "Nothing was computed or queried to describe it" + (f"; {advice}." if advice else ".")
    held = _known(obj)
    if held:
        yield "it stores:"
        yield from stored_lines(held, len(held), page)

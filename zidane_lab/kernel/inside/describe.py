"""Describe any object in bounded plain text, for a language model and for a person.

The text starts with the type and the object in a few words; what follows is the most useful that fits.
Who describes: the closest class that a third party has a describer for, else our own describer of the type,
else what the object stores. A describer that raises is replaced by the plainer one, and the text says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from zidane_lab.kernel.inside.arrays_numpy import register_numpy
from zidane_lab.kernel.inside.arrays_torch import register_torch
from zidane_lab.kernel.inside.arrays_xarray import register_xarray
from zidane_lab.kernel.inside.containers import register_containers
from zidane_lab.kernel.inside.external import external
from zidane_lab.kernel.inside.figures import register_figures
from zidane_lab.kernel.inside.frames_arrow import register_arrow
from zidane_lab.kernel.inside.frames_pandas import register_pandas
from zidane_lab.kernel.inside.frames_polars import register_polars
from zidane_lab.kernel.inside.functions import register_functions
from zidane_lab.kernel.inside.lazy import register_lazy
from zidane_lab.kernel.inside.objects import register_objects
from zidane_lab.kernel.inside.registry import LINE, Describer, find, problem, summarize
from zidane_lab.kernel.inside.static import label
from zidane_lab.kernel.inside.text import Page, clip, one_line, plain

__all__ = ["BUDGET", "describe", "summarize"]

BUDGET = 4000
"""Characters of a description unless told otherwise: about a thousand tokens."""

for _register in (
    register_containers,
    register_functions,
    register_objects,
    register_lazy,
    register_pandas,
    register_polars,
    register_arrow,
    register_numpy,
    register_torch,
    register_xarray,
    register_figures,
):
    _register()


def describe(obj: object, budget: int = BUDGET) -> str:
    """Describe an object in at most ``budget`` characters; never raises.

    Parameters
    ----------
    obj
        Anything. No code of it runs, except a describer its own class or package declares.
    budget
        Most characters of the text; what is left out is said.

    Returns
    -------
    str
        Plain text of several lines, the first one ``type: gist``.
    """
    cls = type(obj)
    place, describer = find(cls)
    notes: list[str] = []
    try:
        chosen = external(cls)
        if chosen is not None and chosen.place <= place:
            text = chosen.describe(obj, budget)
            if type(text) is str:
                return _bounded(text, budget)
            notes.append(f"({chosen.name} returned {label(type(text))} instead of text; the plain description follows)")
    except Exception as error:  # noqa: BLE001 — somebody's broken describer must not hide the object
        notes.append(f"(its own describer failed: {problem(error)}; the plain description follows)")
    for attempt in (describer, find(object)[1]):
        page = Page(budget)
        try:
            page.write(_lines(obj, attempt, notes, page))
        except Exception as error:  # noqa: BLE001 — a broken object must still be named
            notes.append(f"(the describer of {label(cls)} failed: {problem(error)}; less is known)")
        else:
            return page.text()
    return clip("\n".join([label(cls), *notes]), budget)


def _lines(obj: object, describer: Describer, notes: list[str], page: Page) -> Iterator[str]:
    name, words = label(type(obj)), (describer.title or describer.gist)(obj)
    yield one_line(f"{name}: {words}" if words else name, LINE)
    yield from notes
    yield from describer.lines(obj, page)


def _bounded(text: str, budget: int) -> str:
    """Cut the text of a describer from outside to the budget, and say so."""
    if len(text) <= budget:
        return clip(plain(text), budget)
    notice = f"\n… cut at {budget:,} of {len(text):,} characters"
    return clip(plain(text[: max(budget - len(notice), 0)]), max(budget - len(notice), 0)) + clip(notice, budget)

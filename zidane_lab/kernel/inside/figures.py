"""Describers of figures: their axes, titles and traces. Nothing is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zidane_lab.kernel.inside.registry import Describer, register_name
from zidane_lab.kernel.inside.static import instance_dict, label, own
from zidane_lab.kernel.inside.text import Page, amount, clip, join, listing, one_line
from zidane_lab.kernel.inside.values import brief

__all__ = ["register_figures"]


def register_figures() -> None:
    """Register the figures of Matplotlib and Plotly by the names of their classes."""
    register_name("matplotlib.Figure", Describer(_figure_gist, _figure_lines))
    register_name("matplotlib._AxesBase", Describer(_axes_gist, _axes_lines))
    register_name("plotly.BaseFigure", Describer(_plotly_gist, _plotly_lines))


# --- Matplotlib -----------------------------------------------------------------------------------


def _figure_gist(figure: Any) -> str:
    axes = figure.axes
    titles = [_quoted(ax.get_title()) for ax in axes[:6] if ax.get_title()]
    width, height = figure.get_size_inches()
    return f"{amount(len(axes), 'axes', 'axes')}, {width:g} × {height:g} in" + (
        f": {join(titles, 60)}" if titles else ""
    )


def _figure_lines(figure: Any, page: Page) -> Iterator[str]:
    title = own(figure, "_suptitle")
    if title is not None and hasattr(type(title), "get_text"):
        yield f"title {_quoted(title.get_text())}"
    axes = figure.axes
    rows = (f"  axes {i}: {_axes_gist(ax)}" for i, ax in enumerate(axes))
    yield from listing(page, rows, len(axes), "axes", plural="axes")


def _axes_gist(ax: Any) -> str:
    counts = ((len(ax.lines), "line"), (len(ax.patches), "patch"), (len(ax.collections), "collection"))
    drawn = [amount(count, noun, "patches" if noun == "patch" else "") for count, noun in counts if count]
    drawn += [amount(len(ax.images), "image")] if len(ax.images) else []
    named = (("", ax.get_title()), ("x ", ax.get_xlabel()), ("y ", ax.get_ylabel()))
    texts = [f"{name}{_quoted(text)}" for name, text in named if text]
    return ", ".join([*texts, *drawn]) or "empty"


def _axes_lines(ax: Any, _page: Page) -> Iterator[str]:
    low, high = ax.get_xlim()
    bottom, top = ax.get_ylim()
    yield f"x from {low:g} to {high:g}, {one_line(ax.get_xscale(), 20)} scale"
    yield f"y from {bottom:g} to {top:g}, {one_line(ax.get_yscale(), 20)} scale"
    labels = [line.get_label() for line in ax.lines[:50]]
    named = [_quoted(text) for text in labels if type(text) is str and not text.startswith("_")]
    if named:
        yield f"lines: {join(named, 200)}"


def _quoted(text: object) -> str:
    return brief(text, 60, 0)


# --- Plotly ---------------------------------------------------------------------------------------


def _traces(figure: Any) -> list[dict[str, Any]]:
    held = (instance_dict(figure) or {}).get("_data")
    return [trace for trace in held if type(trace) is dict] if type(held) is list else []


def _layout_title(figure: Any) -> str:
    layout = (instance_dict(figure) or {}).get("_layout")
    title = layout.get("title") if type(layout) is dict else None
    text = title.get("text") if type(title) is dict else title
    return brief(text, 60, 0) if type(text) is str else ""


def _plotly_gist(figure: Any) -> str:
    traces = _traces(figure)
    kinds = join((one_line(str(trace.get("type", "scatter")), 20) for trace in traces[:12]), 50)
    title = _layout_title(figure)
    return f"{amount(len(traces), 'trace')}: {kinds}" + (f", title {title}" if title else "")


def _plotly_lines(figure: Any, page: Page) -> Iterator[str]:
    traces = _traces(figure)
    rows = (f"  {i}: {clip(_trace(trace), 200)}" for i, trace in enumerate(traces))
    yield from listing(page, rows, len(traces), "trace")


def _trace(trace: dict[str, Any]) -> str:
    kind = trace.get("type", "scatter")
    name = trace.get("name")
    said = [one_line(kind, 30) if type(kind) is str else label(type(kind))]
    said += [brief(name, 60, 0)] if type(name) is str else []
    held = [key for key in trace if key not in {"type", "name"}]
    return ", ".join(said) + (f"; holds {join(held, 120)}" if held else "")

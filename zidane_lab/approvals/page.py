"""What is put into the page: mark-up that runs scripts or makes the browser fetch something."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from zidane_lab.approvals.called import Called
from zidane_lab.approvals.texts import script_in

__all__ = ["judge_definition", "judge_shown"]

_BUNDLES: Final = frozenset({"display", "publish_display_data", "update_display", "publish"})
"""Functions that take mark-up under the name of its kind."""
_SHOWING: Final = frozenset({"HTML", "SVG", "Markdown", "Latex", "display_html", "display_svg"})


def judge_shown(call: Called) -> Iterator[str]:
    """Judge what is put into the page."""
    if call.lasts & _SHOWING:
        for argument in call.arguments:
            parts = [each.value for each in ast.walk(argument) if isinstance(each, ast.Constant)]
            texts = [*(part for part in parts if isinstance(part, str)), *(call.names.texts(argument) or ())]
            yield from dict.fromkeys(filter(None, map(script_in, texts)))
    if call.lasts & _BUNDLES:
        for argument in call.arguments:
            nodes = list(call.names.parts(argument))
            kinds = {each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)}
            if any("html" in kind or "svg" in kind for kind in kinds if "/" in kind and len(kind) < 40):
                yield from dict.fromkeys(filter(None, map(script_in, kinds)))
    if "show" in call.lasts and any(
        {"browser", "chrome", "firefox"} & (call.names.texts(each) or set()) for each in call.arguments
    ):
        yield "opens a browser"
    if call.lasts & {"Javascript", "display_javascript"}:
        yield "runs JavaScript in the browser"


_DRAWN: Final = frozenset({"_repr_html_", "_repr_svg_", "_repr_markdown_", "_repr_mimebundle_", "_ipython_display_"})


def judge_definition(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Judge a method by which an object draws itself into the page."""
    if node.name == "_repr_javascript_":
        yield "runs JavaScript in the browser"
    elif node.name in _DRAWN:
        parts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
        yield from dict.fromkeys(filter(None, (script_in(part) for part in parts if isinstance(part, str))))

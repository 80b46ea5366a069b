"""A kernel in this process and the loop round the planner: what the agent does, in forty lines.

Code runs in a real IPython shell, with its display hook and top-level semantics; the result is worded as the
``run_python`` tool words it. Every warning the code raises becomes a ``[warnings]`` section.
"""

from __future__ import annotations

import asyncio
import fnmatch
import functools
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from zidane_lab.providers.base import Finish, Request, TextDelta, ToolCallEnd, ToolSpec
from zidane_lab.providers.offline import OfflineProvider
from zidane_lab.turns import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock, Turn

mpl.use("agg")

TOOLS = ("list_variables", "inspect_variable", "list_files", "glob", "read_file", "run_python")


@functools.cache
def shell() -> InteractiveShell:
    """One shell for the whole test run: making one is slow."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    main = sys.modules["__main__"]
    made = InteractiveShell(config=config)
    sys.modules["__main__"] = main  # a shell puts its own there; other tests want theirs
    return made


@contextmanager
def current(ip: InteractiveShell) -> Iterator[None]:
    """Make it the shell that ``display()`` publishes through, for a while."""
    kinds = list(InteractiveShell._walk_mro())
    before = [kind._instance for kind in kinds]
    for kind in kinds:
        kind._instance = ip
    try:
        yield
    finally:
        for kind, instance in zip(kinds, before, strict=True):
            kind._instance = instance


@dataclass
class Kernel:
    """The user's kernel and folder, and the tools over them. Without ``plots`` matplotlib seems not installed."""

    folder: Path
    variables: dict = field(default_factory=dict)
    plots: bool = True
    warned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.namespace: dict = {}
        self.namespace.update(self.variables)

    def call(self, name: str, arguments: dict) -> ToolResultBlock:
        parts, is_error = getattr(self, name)(**arguments)
        return ToolResultBlock("", tuple(parts), is_error=is_error)

    def list_variables(self, pattern: str | None = None):
        lines = [
            f"- {name}: {type(value).__module__.split('.')[0]}.{type(value).__name__} — {getattr(value, 'shape', '')}"
            for name, value in self.namespace.items()
            if not name.startswith("_") and fnmatch.fnmatch(name, pattern or "*")
        ]
        return [TextBlock("\n".join(lines) or "There are no variables.")], False

    def list_files(self, path: str = "."):
        return [TextBlock("\n".join(sorted(each.name for each in self.folder.iterdir())) or "(empty)")], False

    def glob(self, pattern: str):
        found = sorted(str(each.relative_to(self.folder)) for each in self.folder.glob(pattern))
        return [TextBlock("\n".join(found) or "No file matches.")], False

    def run_python(self, code: str, intent: str):
        import matplotlib.pyplot as plt

        assert intent
        if not self.plots:
            code = code.replace("find_spec('matplotlib')", "find_spec('no_such_library')")
        ip, before = shell(), dict(self.namespace)
        ip.user_ns.clear()
        ip.init_user_ns()
        hidden = set(ip.user_ns)
        ip.user_ns.update(self.namespace)
        start = time.perf_counter()
        with current(ip), warnings.catch_warnings(record=True) as caught, capture_output() as out:
            warnings.simplefilter("always")
            result = ip.run_cell(code, store_history=False)
            figures = plt.get_fignums()
            for number in figures:
                plt.figure(number).canvas.draw()  # layout and text problems show only now
        plt.close("all")
        self.namespace = {k: v for k, v in ip.user_ns.items() if (k not in hidden and k[0] != "_") or k in before}
        parts: list = []
        sections = []
        sections += [f"[display]\n{each.data.get('text/plain', '')}" for each in out.outputs]
        if result.result is not None and not code.rstrip().endswith(";"):
            sections.append(f"[value]\n{ip.display_formatter.format(result.result)[0]['text/plain']}")
        for number in range(1, len(figures) + 1):
            sections.append(f"[figure {number}: 640x480 PNG attached]")
            parts.append(ImageBlock("image/png", b""))
        messages = [f"{each.category.__name__}: {each.message}" for each in caught]
        self.warned += messages
        if messages:
            sections.append("[warnings]\n" + "\n".join(messages))
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            sections.append("[error]\n" + "".join(traceback.format_exception_only(error)).rstrip())
        created = [name for name in self.namespace if name not in before]
        changed = [name for name in before if self.namespace.get(name) is not before[name]]
        named = "".join(
            f"; {verb}: {', '.join(names)}" for verb, names in (("created", created), ("changed", changed)) if names
        )
        how = "failed after" if error is not None else "done in"
        sections.append(f"[{how} {time.perf_counter() - start:.2f} s{named}]")
        return [TextBlock("\n".join(sections)), *parts], error is not None


@dataclass
class Run:
    """A finished conversation."""

    turns: tuple[Turn, ...]
    report: str
    calls: list[ToolCallBlock]
    results: dict[str, ToolResultBlock]
    kernel: Kernel

    def steps(self) -> list[str]:
        """The steps taken, from the ids of the calls."""
        return [call.id.split("_", 2)[2].rsplit("_", 1)[0] for call in self.calls]

    def result_of(self, step: str, number: int = 0) -> ToolResultBlock:
        return next(self.results[call.id] for call in self.calls if call.id.endswith(f"_{step}_{number}"))

    def code_of(self, step: str, number: int = 0) -> str:
        return next(call.input["code"] for call in self.calls if call.id.endswith(f"_{step}_{number}"))

    @property
    def texts(self) -> str:
        return "\n".join(result.text for result in self.results.values())


Fault = Callable[[ToolCallBlock], ToolResultBlock | None]


def request(turns, tools=TOOLS) -> Request:
    return Request("planner", "", tuple(turns), tuple(ToolSpec(name, "", {"type": "object"}) for name in tools))


def events_of(turns, tools=TOOLS) -> list:
    async def collect():
        return [event async for event in OfflineProvider(pace=0).stream(request(turns, tools))]

    return asyncio.run(collect())


def ask(prompt: str, kernel: Kernel, *, turns=(), tools=TOOLS, fault: Fault | None = None, attached: str = "") -> Run:
    """Put a prompt and run the loop until the planner stops."""
    blocks = [TextBlock(prompt), *([TextBlock(attached)] if attached else [])]
    turns = [*turns, Turn("user", tuple(blocks))]
    calls, results = [], {}
    for _ in range(30):
        events = events_of(turns, tools)
        assert isinstance(events[-1], Finish)
        text = "".join(event.text for event in events if isinstance(event, TextDelta))
        made = [ToolCallBlock(each.id, each.name, each.input) for each in events if isinstance(each, ToolCallEnd)]
        turns.append(Turn("assistant", (TextBlock(text), *made)))
        assert events[-1].reason == ("tool-calls" if made else "stop")
        if not made:
            return Run(tuple(turns), text, calls, results, kernel)
        answers = []
        for call in made:
            assert call.name in tools
            result = fault(call) if fault is not None else None
            if result is None:
                result = kernel.call(call.name, dict(call.input))
            result = ToolResultBlock(call.id, result.parts, is_error=result.is_error)
            calls.append(call)
            results[call.id] = result
            answers.append(result)
        turns.append(Turn("user", tuple(answers)))
    raise AssertionError("the planner does not come to an end")

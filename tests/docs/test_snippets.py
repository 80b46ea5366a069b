"""Whatever the documentation shows and needs no key is run, in order, page by page.

A comment above a fenced block says how: ``runnable`` (Python, one script a page), ``kernel`` (a cell of one real
kernel a page; ``kernel, fails: Name`` for a cell that shows an error), ``shell`` (bash), ``file: name`` (written to
the folder beforehand), ``output`` (what the block before it printed; of a cell, lines it shows), ``not run: why``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, Snippet, pages, snippets
from tests.kernels import running_kernel

CODE = {"python", "ipython", "ipython3", "bash", "sh", "shell", "console"}
PAGES = {
    str(path.relative_to(DOCS)): snippets(path.read_text(encoding="utf-8"))
    for path in pages()
    if path.name != "benchmarks.md"  # its commands measure for minutes; `make bench` runs them
}
BORDER = "\x1e"


def having(kind: str) -> list[str]:
    return [name for name, found in PAGES.items() if any(each.mark.split(",")[0] == kind for each in found)]


def with_outputs(name: str, kind: str) -> list[tuple[Snippet, str | None]]:
    """The page's snippets of a kind, each with the output shown below it."""
    found = PAGES[name]
    following = [*found[1:], None]
    return [
        (each, after.text if after is not None and after.mark == "output" else None)
        for each, after in zip(found, following, strict=True)
        if each.mark.split(",")[0] == kind
    ]


def same(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; an ellipsis at its start stands for anything before."""
    if shown.startswith("...\n"):
        return printed.rstrip("\n").endswith("\n" + shown.removeprefix("...\n").rstrip("\n"))
    return shown.strip("\n") == printed.strip("\n")


@pytest.fixture
def folder(tmp_path, request) -> Path:
    """A folder with the data and the page's own files."""
    shutil.copy(ROOT / "examples/data/penguins.csv", tmp_path)
    for each in PAGES[request.node.callspec.params["name"]]:
        if each.mark.startswith("file: "):
            (tmp_path / each.mark.removeprefix("file: ")).write_text(each.text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYDEVD_DISABLE_FILE_VALIDATION": "1", "MPLBACKEND": "agg"}


def test_every_snippet_says_how_it_is_run():
    allowed = ("runnable", "kernel", "shell", "file: ", "not run: ")
    silent = [
        f"{name}:{each.line}"
        for name, found in PAGES.items()
        for each in found
        if each.language in CODE and not each.mark.startswith(allowed)
    ]
    assert not silent
    assert len(having("runnable")) >= 3
    assert len(having("kernel")) >= 8


def test_marks_are_spelt_right():
    known = ("runnable", "kernel", "kernel, fails: ", "shell", "file: ", "not run: ", "output", "")
    for name, found in PAGES.items():
        for each in found:
            assert each.mark in known or each.mark.startswith(("kernel, fails: ", "file: ", "not run: ")), (
                f"{name}:{each.line} {each.mark}"
            )


@pytest.mark.parametrize("name", having("runnable"))
def test_python(name, folder, environment):
    found = with_outputs(name, "runnable")
    lines: list[str] = []
    for each, _ in found:  # each at the line it has in the page, so that a traceback names it
        lines += [""] * (each.line - len(lines) - 1)
        lines += [f"print({BORDER!r})", *each.text.splitlines()]
    (folder / "page.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "page.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, f"{name}\n{done.stderr}"
    printed = [part.strip("\n") for part in done.stdout.split(BORDER)[1:]]
    for (each, expected), got in zip(found, printed, strict=True):
        if expected is not None:
            assert same(expected, got), f"{name}:{each.line} printed:\n{got}"


@pytest.mark.kernel
@pytest.mark.parametrize("name", having("kernel"))
def test_cells(name, folder):
    with running_kernel(folder) as kernel:
        for each, expected in with_outputs(name, "kernel"):
            cell = kernel.run(each.text, allow_stdin=False)
            _, _, fails = each.mark.partition("fails: ")
            assert cell.error.get("ename", "") == fails, f"{name}:{each.line} {cell.error}\n{cell.text[-2000:]}"
            for line in (expected or "").splitlines():
                assert line in cell.text, f"{name}:{each.line} does not show {line!r}\n{cell.text[-2000:]}"


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", having("shell"))
def test_shell(name, folder, environment):
    for each, expected in with_outputs(name, "shell"):
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", each.text],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{name}:{each.line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        if expected is not None:
            assert same(expected, done.stdout), f"{name}:{each.line} printed:\n{done.stdout}"

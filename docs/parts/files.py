"""Files: every way to write a path, shown on real files, and the commands that other tools do better."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from parts.text import fenced, table

SHOWN: Final = (
    "notes.md:120+2",
    "notes.md:b0+18",
    "analysis.ipynb:outputs",
    "docs.zip",
    "docs.zip:guide/start.md",
    "log.txt.gz",
    "birds.db",
    "birds.db:birds:2",
    "birds.db?q=SELECT avg(mass) AS mean FROM birds",
)
"""Paths whose results the page shows."""

STEERED: Final = (
    "cat notes.md",
    "grep -rn TODO src",
    "find . -name '*.csv'",
    "sed -i s/a/b/ notes.md",
    "echo done > log.txt",
)


def sample_folder(folder: Path) -> None:
    """Make files of the kinds the page tells about."""
    lines = [f"line {number}\n" for number in range(1, 401)]
    (folder / "notes.md").write_text("".join(lines), encoding="utf-8")
    with zipfile.ZipFile(folder / "docs.zip", "w") as archive:
        archive.writestr("guide/start.md", "Begin here.\n")
        archive.writestr("guide/end.md", "End here.\n")
    with gzip.open(folder / "log.txt.gz", "wt") as packed:
        packed.write("started\nended\n")
    output = {"output_type": "execute_result", "data": {"text/plain": "2"}, "metadata": {}, "execution_count": 1}
    cell = {"cell_type": "code", "id": "a1", "metadata": {}, "source": "1 + 1", "outputs": [output]}
    book = {"cells": [{**cell, "execution_count": 1}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "analysis.ipynb").write_text(json.dumps(book), encoding="utf-8")
    connection = sqlite3.connect(folder / "birds.db")
    connection.execute("CREATE TABLE birds (id INTEGER PRIMARY KEY, name TEXT, mass REAL)")
    connection.executemany("INSERT INTO birds (name, mass) VALUES (?, ?)", [("adelie", 3700), ("gentoo", 5076)])
    connection.commit()
    connection.close()


def read(folder: Path, path: str) -> str:
    """Return what the tool gives for a path."""
    from zidane_lab.tools.base import ToolContext
    from zidane_lab.tools.read_file import read_file

    part = read_file(ToolContext(cwd=folder), path).parts[0]
    return part.text.replace(f"{folder}/", "").rstrip("\n")  # type: ignore[union-attr]  # these are texts


def paths() -> str:
    """Return paths and what they give, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        sample_folder(folder)
        return fenced("\n\n".join(f"> {path}\n{read(folder, path)}" for path in SHOWN))


def steered() -> str:
    """Return commands and the tools that do the same better."""
    from zidane_lab.tools.steering import RULES, steer

    tools = {rule.tool for rule in RULES}
    found = {command: steer(command, tools) for command in STEERED}
    assert all(found.values())
    assert {rule.tool for rule in found.values() if rule} == tools
    return table(("command", "better"), ((f"`{command}`", f"`{rule.tool}`") for command, rule in found.items() if rule))

from __future__ import annotations

import asyncio
import io
import os
import re
import sys
from pathlib import Path

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools import grep as grep_module
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.grep import grep, grep_tool
from zidane_lab.tools.search import choose, worker
from zidane_lab.tools.search.ripgrep import find_ripgrep

ENGINES = ["python", *(["ripgrep"] if find_ripgrep() else [])]


@pytest.fixture(params=ENGINES, autouse=True)
def engine(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(choose, "find_ripgrep", lambda: None)
    return request.param


def search(folder, pattern, **options) -> str:
    (part,) = asyncio.run(grep(ToolContext(cwd=folder), pattern, **options)).parts
    return part.text


@pytest.fixture
def tree(tmp_path) -> Path:
    for name, text in {
        "a.py": "import os\n\ndef one():\n    return os\n",
        "src/b.py": "def two():\n    pass\n\n\n\ndef three():\n    pass\n",
        "src/c.txt": "no def here\n",
        "notes.md": "é ünïcode\n",
        ".env": "KEY=secret def\n",
        "node_modules/d.js": "def\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_lines_are_shown_under_their_files_in_order_of_paths(tree):
    assert search(tree, r"def \w+\(") == (
        "a.py\n3: def one():\n\nsrc/b.py\n1: def two():\n6: def three():\n[3 matching lines in 2 files]"
    )


def test_neighbours_are_shown_and_gaps_marked(tree):
    assert search(tree, r"def t", around=1) == (
        "src/b.py\n1: def two():\n2-     pass\n--\n5- \n6: def three():\n7-     pass\n[2 matching lines in 1 file]"
    )
    assert "3- \n4- \n5- \n6: def three" in search(tree, r"def t", around=3)


def test_files_and_counts(tree):
    assert search(tree, "def", mode="files", glob="*.py") == "a.py\nsrc/b.py\n[2 files, 3 matching lines]"
    assert search(tree, "def", mode="count", glob="*.py") == "a.py: 1\nsrc/b.py: 2\n[2 files, 3 matching lines]"


def test_pages_cover_everything_once(tree):
    for number in range(7):
        (tree / f"many{number}.txt").write_text("".join(f"hit {number}.{line}\n" for line in range(30)))
    expected = [f"hit {number}.{line}" for number in range(7) for line in range(30)]
    for around in (0, 2):
        got, skip = [], 0
        for _ in range(20):
            page = search(tree, "hit", skip=skip, limit=17, around=around)
            got += re.findall(r"^\d+: (.*)$", page, re.MULTILINE)
            found = re.search(r"go on with skip=(\d+)\]", page)
            if not found:
                break
            skip = int(found[1])
        assert got == expected
    assert "[18–34 of 210 matching lines in 7 files; go on with skip=34]" in search(tree, "hit", skip=17, limit=17)
    assert "[there are 210 matching lines in 7 files; none behind the first 500]" in search(tree, "hit", skip=500)
    got, skip = [], 0
    while True:
        page = search(tree, "hit", mode="files", skip=skip, limit=3)
        got += [line for line in page.splitlines() if line.startswith("many")]
        if not (found := re.search(r"go on with skip=(\d+)\]", page)):
            break
        skip = int(found[1])
    assert got == [f"many{number}.txt" for number in range(7)]


def test_a_page_stays_within_the_limits_of_a_tools_text_and_goes_on(tree):
    (tree / "wide.txt").write_text(("x" * 900 + " hit\n") * 200)
    page = search(tree, "hit", limit=500)
    assert len(page.encode()) < 51_200
    skip = int(re.search(r"skip=(\d+)", page)[1])
    assert 40 < skip < 60
    assert f"[{skip + 1}–" in search(tree, "hit", limit=500, skip=skip)


def test_long_lines_are_cut_around_the_match(tree):
    (tree / "long.txt").write_text("a" * 3000 + "NEEDLE" + "b" * 3000 + "\n")
    page = search(tree, "NEEDLE")
    assert re.search(r"1: \[2,491 characters\] …a{509}NEEDLEb{509}… \[2,491 characters\]", page)


def test_kinds_of_files_and_patterns_for_names(tree):
    assert "src/b.py" in search(tree, "def", file_type="py")
    assert "c.txt" not in search(tree, "def", file_type="py")
    assert search(tree, "def", glob="src/**/*.{py,txt}", mode="files").splitlines()[:2] == ["src/b.py", "src/c.txt"]
    assert search(tree, "def", glob="*.txt", file_type="py").startswith("[no line of the files asked for")
    with pytest.raises(ToolError, match="There is no file type 'cobol'"):
        search(tree, "def", file_type="cobol")


def test_capitals_and_plain_text(tree):
    assert "3: def one" in search(tree, "DEF ONE", ignore_case=True)
    assert "3: def one" in search(tree, "one()", literal=True)
    assert "3: def one" in search(tree, "(?i)DEF one")
    assert "1: é ünïcode" in search(tree, "Ü", ignore_case=True, path="notes.md")


def test_a_folder_or_a_file_can_be_searched(tree):
    assert search(tree, "def", path="src").startswith("src/b.py\n1: def two():")
    assert search(tree, "two", path="src/b.py") == "src/b.py\n1: def two():\n[1 matching line in 1 file]"
    assert search(tree / "src", "one", path="../a.py").startswith(f"{tree}/a.py\n")
    assert search(tree, "def", path="node_modules").startswith("node_modules/d.js\n1: def")
    assert "node_modules" in search(tree, "def", ignored=True, mode="files")
    (tree / "bin").write_bytes(b"\0\1def\n")
    with pytest.raises(ToolError, match="is binary data; only text is searched"):
        search(tree, "def", path="bin")
    with pytest.raises(ToolError, match="does not exist"):
        search(tree, "def", path="nowhere")
    os.mkfifo(tree / "pipe")
    with pytest.raises(ToolError, match="not an ordinary file"):
        search(tree, "def", path="pipe")


def test_nothing_found_is_said_with_what_may_be_wrong(tree):
    output = asyncio.run(grep(ToolContext(cwd=tree), "zebra"))
    assert output.parts[0].text == (
        "[no line in the working folder matches 'zebra'; ignored files were not searched, `ignored` true does]"
    )
    assert output.metadata == {"useless": True}
    assert r"separated by `|` alone" in search(tree, r"zebra\|lion")
    assert "taken as plain text, because as an expression a `(` is not closed" in search(tree, "one(")


@pytest.mark.asyncio
async def test_private_files_are_left_out_of_a_folder_and_counted(tree):
    made = grep_tool(private=lambda path: path.endswith(".env"))
    output = await made.run(ToolContext(cwd=tree), {"pattern": "KEY"})
    assert "KEY=" not in output.parts[0].text
    assert "[1 matching files that commonly hold secrets are left out" in output.parts[0].text
    output = await made.run(ToolContext(cwd=tree), {"pattern": "KEY", "path": ".env"})
    assert "1: KEY=" in output.parts[0].text


def test_what_cannot_be_read_is_counted(tree, engine):
    if engine == "ripgrep" or os.geteuid() == 0:
        pytest.skip("who may read everything is refused nothing")
    (tree / "a.py").chmod(0)
    assert "[1 files or folders could not be read]" in search(tree, "def")


def test_a_search_that_takes_too_long_shows_what_it_found(tree, monkeypatch, engine):
    if engine == "ripgrep":
        pytest.skip("ripgrep takes linear time")
    monkeypatch.setattr(grep_module, "TIME_LIMIT", 2.0)
    (tree / "z.txt").write_text("x" * 60 + "!\n")
    page = search(tree, "(x+)+$|def o")
    assert "a.py" in page
    assert (
        "[stopped early, because 2 seconds were over: there may be more; search a smaller folder, or narrow `glob`]"
        in page
    )


def test_the_tool_reads_and_may_overlap_others():
    made = grep_tool()
    assert (made.name, made.tier, made.concurrency) == ("grep", "read", "shared")
    assert made.parameters["required"] == ["pattern"]
    assert set(made.parameters["properties"]) == {
        *("pattern", "path", "glob", "file_type", "mode", "ignore_case"),
        *("literal", "around", "skip", "limit", "ignored"),
    }
    assert all(body.get("description") for body in made.parameters["properties"].values())


def test_nothing_is_loaded_into_the_searching_process_but_what_is_sent():
    code = "import sys, zidane_lab.tools.search.worker; print([n for n in sys.modules if n.startswith('zidane_lab')])"
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(eval(done.stdout)) <= {
        "zidane_lab",
        "zidane_lab.tools",
        "zidane_lab.tools.ignore",
        "zidane_lab.tools.reading",
        "zidane_lab.tools.reading.ordinary",
        "zidane_lab.tools.search",
        "zidane_lab.tools.search.worker",
    }


@pytest.mark.parametrize("head", [b"", b"hello\n", b"hello " * 500_000])
def test_what_is_not_text_is_not_read_to_its_end(head):
    """A hole of some gigabytes has no line end: nobody looks for one behind the first NUL byte."""
    handle = io.BytesIO(head + bytes(20_000_000))
    assert b"\0" in next(worker._blocks(handle, 1_048_576, explicit=False))
    assert handle.tell() < 8_000_000


def test_a_match_may_span_lines_where_the_pattern_says_so(tree):
    assert search(tree, r"def \w+\(\):\n    pass") == (
        "src/b.py\n1: def two():\n2-     pass\n6: def three():\n7-     pass\n[2 matches that span lines in 1 file]"
    )
    assert search(tree, "pass\n\n", literal=True, around=1).startswith(
        "src/b.py\n1- def two():\n2:     pass\n3- \n4- \n[1 match that spans lines in 1 file]"
    )
    assert search(tree, r"os\n\ndef", mode="count") == "a.py: 1\n[1 file, 1 match that spans lines]"
    (tree / "w.txt").write_bytes(b"one\r\ntwo\r\n" * 50)
    assert "[3–4 of 50 matches that span lines in 1 file; go on with skip=4]" in search(
        tree, r"one\ntwo$", glob="w.txt", skip=2, limit=2
    )
    assert search(tree, r"one\ntwo$", glob="w.txt", skip=2, limit=1).startswith("w.txt\n5: one\n6- two\n")


def test_why_a_search_stopped_is_said_as_it_is(tree, monkeypatch):
    monkeypatch.setattr("zidane_lab.tools.search.processes.MOST_OUTPUT", 5)
    page = search(tree, "def")
    assert re.search(r"because (too many files match to be listed: there may be more|they are too long; show)", page)
    assert "seconds" not in page


def test_nothing_found_in_time_is_not_nothing_there(tree, monkeypatch, engine):
    if engine == "ripgrep":
        pytest.skip("ripgrep takes linear time")
    monkeypatch.setattr(grep_module, "TIME_LIMIT", 2.0)
    (tree / "a.py").write_text("x" * 60 + "!\n")
    page = search(tree, "(x+)+$|zebra")
    assert page.startswith("[no line in the working folder was found to match ")
    assert "[stopped early, because 2 seconds were over: " in page


@pytest.mark.parametrize("path", ["/", "/proc", "/proc/self", "/sys", "/dev"])
def test_the_whole_machine_and_what_it_makes_up_are_not_searched(tree, path):
    if not Path(path).is_dir():
        pytest.skip("not here")
    with pytest.raises(ToolError, match=r"whole machine|made up by the system"):
        search(tree, "x", path=path)


def test_a_container_that_works_in_its_root_searches_it_without_what_is_made_up(monkeypatch):
    from zidane_lab.tools.grep import _where

    where = _where(ToolContext(cwd=Path("/")), ".")
    assert where.shown_as == "."
    assert where.kept == {"dev", "proc", "sys"}

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.glob import expand_braces, glob, glob_tool


@pytest.fixture
def tree(tmp_path) -> Path:
    names = [
        "a.py",
        "b.txt",
        "src/a.py",
        "src/deep/b.py",
        "src/deep/c.txt",
        "data/raw/x.csv",
        "data/clean/x.csv",
        ".venv/lib/z.py",
    ]
    for age, name in enumerate(names):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return tmp_path


def names(text: str) -> list[str]:
    return [line.split("  ")[0] for line in text.splitlines()[1:] if not line.startswith("[")]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["a.py", "src/a.py", "src/deep/b.py"]),
        ("./*.py", ["a.py"]),
        ("a.py", ["a.py", "src/a.py"]),
        ("**/*.py", ["a.py", "src/a.py", "src/deep/b.py"]),
        ("src/**/*.{py,txt}", ["a.py", "deep/b.py", "deep/c.txt"]),
        ("data/{raw,clean}/*.csv", ["raw/x.csv", "clean/x.csv"]),
        ("**/x.csv", ["data/raw/x.csv", "data/clean/x.csv"]),
        ("src/a.py", ["a.py"]),
        ("**/[a-b].??", ["a.py", "src/a.py", "src/deep/b.py"]),
        ("**/deep/", ["src/deep/"]),
        ("src/", ["src/"]),
        ("deep/", ["src/deep/"]),
        ("./*.txt", ["b.txt"]),
        ("src/../*.txt", ["b.txt"]),
    ],
)
def test_patterns_find_the_newest_first(tree, pattern, expected):
    assert names(glob(ToolContext(cwd=tree), pattern)) == expected


def test_absolute_patterns_and_a_base_folder(tree):
    context = ToolContext(cwd=Path("/"))
    assert names(glob(context, f"{tree}/src/*.py")) == ["a.py"]
    assert names(glob(context, "*.py", path=str(tree / "src"))) == ["a.py", "deep/b.py"]


def test_a_home_pattern_is_expanded(tree, monkeypatch):
    monkeypatch.setenv("HOME", str(tree))
    assert names(glob(ToolContext(cwd=Path("/")), "~/src/*.py")) == ["a.py"]
    assert names(glob(ToolContext(cwd=Path("/")), "./*.py", path="~/src")) == ["a.py"]


def test_ignored_folders_are_looked_into_only_when_asked(tree):
    context = ToolContext(cwd=tree)
    assert ".venv/lib/z.py" not in names(glob(context, "**/*.py"))
    assert ".venv/lib/z.py" in names(glob(context, "**/*.py", ignored=True))
    assert names(glob(context, ".venv/**/*.py")) == ["lib/z.py"]


def test_the_limit_keeps_the_newest_and_says_what_is_left_out(tree):
    text = glob(ToolContext(cwd=tree), "**/*", limit=2)
    assert names(text) == ["a.py", "b.txt"]
    assert "[5 older ones left out; narrow the pattern, or raise `limit`]" in text


def test_nothing_found_is_said_with_advice(tree):
    assert "matches '*.csv'; `**/*.csv` looks in its folders too" in glob(ToolContext(cwd=tree), "./*.csv")
    assert "matches '**/*.nothing']" in glob(ToolContext(cwd=tree), "*.nothing")


def test_a_missing_folder_or_a_file_as_folder_is_an_error(tree):
    with pytest.raises(ToolError, match="does not exist"):
        glob(ToolContext(cwd=tree), "nowhere/*.py")
    with pytest.raises(ToolError, match="is a file"):
        glob(ToolContext(cwd=tree), "*.py", path="a.py")
    with pytest.raises(ToolError, match="pattern is empty"):
        glob(ToolContext(cwd=tree), " ")


def test_a_link_in_a_circle_ends(tree):
    (tree / "src" / "loop").symlink_to(tree)
    assert "src/loop -> " in glob(ToolContext(cwd=tree), "**/loop")
    assert names(glob(ToolContext(cwd=tree), "**/*.py")) == ["a.py", "src/a.py", "src/deep/b.py"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a", ["a"]),
        ("{a,b}", ["a", "b"]),
        ("x{a,b}{c,d}", ["xac", "xad", "xbc", "xbd"]),
        ("{a,{b,c}}d", ["ad", "bd", "cd"]),
        ("{a}", ["{a}"]),
        ("{}", ["{}"]),
        ("\\{a,b}", ["\\{a,b}"]),
        ("{a,b", ["{a,b"]),
        ("a,b}", ["a,b}"]),
        ("{,x}y", ["y", "xy"]),
        ("{a,a}", ["a"]),
    ],
)
def test_braces(pattern, expected):
    assert expand_braces(pattern) == expected


def test_too_many_alternatives_are_refused():
    with pytest.raises(ToolError, match="alternatives"):
        expand_braces("{a,b}" * 20)


@given(st.text(alphabet="{},\\a*/[", max_size=12))
def test_any_pattern_expands(pattern):
    assert 1 <= len(expand_braces(pattern)) <= 256


def test_the_tool_reads_and_may_overlap_others():
    made = glob_tool()
    assert (made.name, made.tier, made.concurrency, glob_tool()) == ("glob", "read", "shared", made)
    assert all(body.get("description") for body in made.parameters["properties"].values())


@pytest.mark.parametrize("path", ["/", "/proc", "/sys", "/dev"])
def test_the_whole_machine_and_what_it_makes_up_are_not_walked(tree, path):
    if not Path(path).is_dir():
        pytest.skip("not here")
    with pytest.raises(ToolError, match=r"whole machine|made up by the system"):
        glob(ToolContext(cwd=tree), "*.py", path)
    assert glob(ToolContext(cwd=tree), "./*/", path)


def test_a_walk_that_takes_too_long_shows_what_it_found_and_says_so(tree, monkeypatch):
    monkeypatch.setattr("zidane_lab.tools.glob.TIME_LIMIT", 0.0)
    assert "[stopped after 0 seconds: there may be more; look into a smaller folder]" in glob(
        ToolContext(cwd=tree), "*"
    )

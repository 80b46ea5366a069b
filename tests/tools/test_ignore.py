from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zidane_lab.tools.ignore import IgnoreRules, parse_rules, wildcard_regex

TREE = [
    "a.log",
    "b.txt",
    "keep.log",
    "#hash",
    "!bang",
    "with space ",
    "é.txt",
    "x-y",
    "[z]",
    "build/out.o",
    "build/keep/me.txt",
    "docs/build/x.txt",
    "docs/a.log",
    "docs/deep/er/a.log",
    "docs/deep/er/b.txt",
    "src/a/b/c.py",
    "src/c.py",
    "src/foo/bar.py",
    "src/fooXbar/q.py",
    "src/1.dat",
    "src/2.dat",
    "src/A.dat",
    "data/raw/one.csv",
    "data/raw/two.csv",
    "data/clean/one.csv",
    "data/README",
]

HANDMADE = [
    "*.log",
    "*.log\n!keep.log",
    "build",
    "build/",
    "/build",
    "/build/\n!/build/keep/",
    "build/*\n!build/keep",
    "docs/**/a.log",
    "**/a.log",
    "**/deep",
    "docs/**",
    "docs/**\n!docs/deep/",
    "src/**/c.py",
    "src/*/bar.py",
    "src/foo*bar.py",
    "src/foo**bar/q.py",
    "src/foo?bar",
    "src/[0-9].dat",
    "src/[!0-9].dat",
    "src/[^0-9].dat",
    "src/[[:upper:]].dat",
    "src/[[:nonsense:]].dat",
    "src/[12",
    "src/[]1].dat",
    "src/[a\\-z].dat",
    "[[]z]",
    "\\[z]",
    "x[a-]y",
    "x[!-]y",
    "x[--/]y",
    "\\#hash",
    "#hash",
    "\\!bang",
    "!bang",
    "with space ",
    "with space\\ ",
    "?.txt",
    "??.txt",
    "é.txt",
    "[é].txt",
    "data/raw/*\n!data/raw/one.csv\n",
    "data/*\r\n!data/clean/\r\n",
    "\ufeff*.csv",
    "/*\n!/src",
    "*",
    "*\n!*/\n!*.py",
    "**",
    "/**",
    "**/",
    "/",
    "//",
    "a.log/",
    "raw",
    "one.csv\n!data/**/one.csv",
    "***/a.log",
    "docs/***/a.log",
    "src/a/**/c.py",
    "src/a/b/c.py/**",
    "\\",
    "*.log\\",
    "foo/",
    "src/{a,foo}",
]


def make_tree(root: Path) -> None:
    for name in TREE:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")


@pytest.fixture(scope="module")
def repo(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("repo")
    make_tree(root)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def walk(root: Path) -> dict[str, bool]:
    """What we say of every file of the tree: a file in an ignored folder is ignored."""
    verdicts: dict[str, bool] = {}

    def visit(folder: Path, rules: IgnoreRules, hidden: bool) -> None:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name in {".git", ".gitignore"}:
                continue
            path = Path(entry.path)
            ignored = hidden or rules.ignores(path, is_folder=entry.is_dir())
            if entry.is_dir():
                visit(path, rules if ignored else rules.inside(path), ignored)
            else:
                verdicts[path.relative_to(root).as_posix()] = ignored

    visit(root, IgnoreRules.at(root), False)
    return verdicts


def git_says(root: Path) -> dict[str, bool]:
    names = "\0".join(TREE)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", "-C", str(root), "check-ignore", "-z", "--no-index", "--stdin"],
        input=names.encode(),
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode in {0, 1}, done.stderr
    ignored = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
    return {name: name in ignored for name in TREE}


def assert_like_git(repo: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (repo / name).write_bytes(content)
    try:
        assert walk(repo) == git_says(repo)
    finally:
        for name in files:
            (repo / name).unlink()


@pytest.mark.parametrize("text", HANDMADE)
def test_one_file_of_rules_means_what_git_means(repo, text):
    assert_like_git(repo, {".gitignore": text.encode()})


def test_nested_files_overrule_their_parents(repo):
    assert_like_git(
        repo,
        {
            ".gitignore": b"*.log\n*.csv\n/src/*.dat\n",
            "docs/.gitignore": b"!a.log\n/build\n",
            "docs/deep/.gitignore": b"er/a.log\n",
            "data/.gitignore": b"!*.csv\nraw/\n",
            "data/raw/.gitignore": b"!one.csv\n",
            "src/.gitignore": b"!1.dat\nfoo/\n",
        },
    )


pieces = st.sampled_from(
    ["*", "**", "?", "/", "a", "b", ".log", ".txt", "src", "docs", "deep", "er", "build", "data", "raw", "one", ".csv",
     "[a-c]", "[!a]", "[", "]", "\\", "!", "-", "c.py", "foo", " ", "#", "**/", "/**", "/**/", "{", "\\*"]
)  # fmt: skip
patterns = st.lists(pieces, min_size=1, max_size=6).map("".join)


@given(st.lists(patterns, min_size=1, max_size=5), st.lists(patterns, max_size=3))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rules_mean_what_git_means(repo, outer, inner):
    assert_like_git(repo, {".gitignore": "\n".join(outer).encode(), "docs/.gitignore": "\n".join(inner).encode()})


@given(st.binary(max_size=60))
def test_any_bytes_can_be_read_as_rules(data):
    for rule in parse_rules(data):
        assert rule.regex.fullmatch(b"src/a/b/c.py") is None or rule.regex.pattern
    regex = wildcard_regex(data)
    assert regex is None or regex.flags


@pytest.mark.parametrize("pattern", [b"*a" * 30 + b"*b", b"**/a/" * 8 + b"b", b"[!b]*" * 20 + b"b"])
def test_no_pattern_takes_for_ever(pattern):
    regex = wildcard_regex(pattern)
    assert regex is not None
    assert not regex.fullmatch(b"a" * 250 + b"c")
    assert not regex.fullmatch(b"a/" * 12 + b"c")


def test_rules_of_parents_count_inside_a_git_project_only(tmp_path):
    make_tree(tmp_path)
    (tmp_path / ".gitignore").write_text("*.csv\n")
    target = tmp_path / "data" / "raw" / "one.csv"
    assert not IgnoreRules.at(target.parent).ignores(target, is_folder=False)
    (tmp_path / ".git").mkdir()
    assert IgnoreRules.at(target.parent).ignores(target, is_folder=False)


def test_a_gitignore_that_cannot_be_read_counts_as_none(tmp_path):
    (tmp_path / ".gitignore").mkdir()
    assert IgnoreRules.at(tmp_path).layers == ()

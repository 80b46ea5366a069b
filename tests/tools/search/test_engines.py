"""Our engine and ripgrep find the same lines; skipped where there is no ripgrep."""

from __future__ import annotations

import asyncio
import codecs
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zidane_lab.tools.ignore import IgnoreRules
from zidane_lab.tools.search.engines import Search
from zidane_lab.tools.search.own import OwnEngine
from zidane_lab.tools.search.pattern import read_pattern
from zidane_lab.tools.search.processes import Here
from zidane_lab.tools.search.ripgrep import Ripgrep, find_ripgrep

RG = find_ripgrep()
needs_ripgrep = pytest.mark.skipif(RG is None, reason="ripgrep is not installed")
OWN = OwnEngine(Here(), sys.executable)


def search(root: Path, pattern: str, *, ignore_case=False, **options) -> Search:
    return Search(str(root), read_pattern(pattern, ignore_case=ignore_case), **options)


def own(asked: Search):
    return asyncio.run(OWN.count(asked, 60))


def both(asked: Search):
    folder = Path(asked.root).parent if asked.is_file else Path(asked.root)
    ripgrep = Ripgrep(Here(), RG, in_project=IgnoreRules.at(folder).in_project)

    async def ask():
        counts = [await engine.count(asked, 60) for engine in (OWN, ripgrep)]
        files = [(name, min(3, count)) for name, count in sorted(counts[0].counts.items())[:30]]
        pages = [await engine.lines(asked, files, 2, 60) for engine in (OWN, ripgrep)]
        return counts, pages

    (ours, theirs), (our_lines, their_lines) = asyncio.run(ask())
    assert ours.complete
    assert theirs.complete
    assert ours.counts == theirs.counts
    assert list(our_lines.lines) == list(their_lines.lines)
    return ours.counts


def write(root: Path, **files: bytes | str) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


@pytest.fixture
def tree(tmp_path) -> Path:
    write(
        tmp_path,
        **{
            "a.py": "def needle():\n    return 1\n",
            "crlf.txt": b"one\r\nneedle\r\nneedle three\r\n",
            "bom.txt": codecs.BOM_UTF8 + b"needle\n",
            "wide.txt": "needle\né needle\n".encode("utf-16"),
            "wide_be.txt": codecs.BOM_UTF16_BE + "needle\n".encode("utf-16-be"),
            "latin.txt": b"caf\xe9 needle\n",
            "binary.bin": b"needle\n\0\nneedle\n",
            "late.bin": b"needle\n" * 20_000 + b"\0",
            "no_end.txt": "x\nneedle",
            "empty.txt": "",
            ".hidden/in.txt": "needle\n",
            "long.txt": "x" * 5000 + "needle" + "y" * 5000 + "\n",
            "deep/er/x.txt": "needle\n",
            "node_modules/m.js": "needle\n",
            "__pycache__/c.py": "needle\n",
            ".ignore": "a.py\n",
            ".gitignore": "*.log\n!keep.log\n/out/\n",
            "x.log": "needle\n",
            "keep.log": "needle\n",
            "out/o.txt": "needle\n",
            "deep/out/o.txt": "needle\n",
            "deep/.gitignore": "x.txt\n",
        },
    )
    (tmp_path / "link.txt").symlink_to("a.py")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


KEPT = {"a.py", "crlf.txt", "bom.txt", "wide.txt", "wide_be.txt", "latin.txt", "no_end.txt", ".hidden/in.txt"}
KEPT |= {"long.txt", "keep.log", "deep/out/o.txt"}


def test_what_is_text_and_not_ignored_is_searched(tree):
    assert set(own(search(tree, "needle")).counts) == KEPT
    counts = own(search(tree, "needle", ignored=True)).counts
    assert set(counts) == KEPT | {"node_modules/m.js", "__pycache__/c.py", "x.log", "out/o.txt", "deep/er/x.txt"}
    assert counts["crlf.txt"] == counts["wide.txt"] == 2


@needs_ripgrep
@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize(
    "pattern", ["needle", "^needle$", "e$", "é", ".", r"\Aneedle\z", r"\S+", "", r"f.\s", "x{3}", r"\w\b$"]
)
def test_both_engines_agree_on_odd_files(tree, pattern, ignored):
    assert all(both(search(tree, pattern or "^", ignored=ignored)).values())


@needs_ripgrep
@pytest.mark.parametrize("project", [False, True])
def test_both_engines_follow_the_same_ignore_files(tree, project):
    if project:
        subprocess.run(["git", "init", "-q", str(tree)], check=True)
    assert set(both(search(tree, "needle"))) == KEPT
    # Rules of parents count inside a project only.
    assert set(both(search(tree / "deep", "needle"))) == {"out/o.txt"}
    (tree / "deep" / "y.log").write_text("needle\n")
    assert set(both(search(tree / "deep", "needle"))) == {"out/o.txt"} | (set() if project else {"y.log"})
    # What is asked for by name is searched although it is ignored.
    assert set(both(search(tree / "out", "needle"))) == {"o.txt"}
    assert set(both(search(tree / "node_modules", "needle"))) == {"m.js"}


@needs_ripgrep
def test_a_project_within_a_project_has_its_own_rules(tree):
    for folder in (tree, tree / "deep" / "out"):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (tree / "deep" / "out" / "z.log").write_text("needle\n")
    assert "deep/out/z.log" in both(search(tree, "needle"))


@needs_ripgrep
@pytest.mark.parametrize("name", ["a.py", "x.log", "link.txt", "crlf.txt", "late.bin", "wide.txt"])
def test_a_file_asked_for_by_name_is_searched_whatever_it_is(tree, name):
    assert set(both(search(tree / name, "needle", is_file=True))) == {""}


@needs_ripgrep
@pytest.mark.parametrize(
    "globs", [("*.txt",), ("*.py", "*.log"), ("deep/**/*.txt",), ("**/in.txt",), ("*.lo[g]",), ("c*.t?t",)]
)
def test_globs_never_bring_back_what_is_ignored(tree, globs):
    from zidane_lab.tools.search.worker import path_filter

    asked = search(tree, "needle", globs=globs)
    ripgrep = Ripgrep(Here(), RG, in_project=False)
    wanted = path_filter(list(globs))
    theirs = {name for name in asyncio.run(ripgrep.count(asked, 60)).counts if wanted(name)}
    ours = set(own(asked).counts)
    assert ours == theirs
    assert ours == {name for name in KEPT if wanted(name)}
    assert ours


NAMES = st.sampled_from(["a", "b", "a.txt", "b.py", ".c", "d d", "é", "build", "x.log"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
RULES = st.sampled_from(
    [
        "a",
        "/a",
        "a/",
        "*.txt",
        "!a.txt",
        "*",
        "!*/",
        "b/**",
        "**/b",
        "a/*",
        "!a/b",
        "/b/a",
        "?",
        "[ab]",
        ".c",
        "build/",
        "#x",
        "d\\",
        "d",
        "é",
        "*.log",
        "!x.log",
        "a/**/b",
        "/*",
        "!/b",
    ]
)
CONTENT = st.lists(
    st.sampled_from(["foo", "FOO", "bar foo", "", " ", "fé", "x1", "foo\r", "a\tb", "_f-o", "ſ K", "№½"]), max_size=6
).map("\n".join)
PATTERNS = st.sampled_from(
    [
        "foo",
        "^foo$",
        "(?i)foo",
        r"\bf",
        r"\w+1",
        "o$",
        "^$",
        ".",
        r"[^f]o",
        r"\s",
        "f.+",
        "(?i)k",
        r"\W$",
        r"\d|é",
        "a*",
    ]
)


@needs_ripgrep
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(PATHS, CONTENT, min_size=1, max_size=8),
    st.dictionaries(st.sampled_from(["", "a", "b", "build"]), st.lists(RULES, max_size=4), max_size=3),
    PATTERNS,
    st.booleans(),
)
def test_both_engines_agree_on_any_tree(tmp_path_factory, files, rules, pattern, project):
    root = tmp_path_factory.mktemp("tree")
    for name, text in files.items():
        path = root / name
        if any(parent.is_file() for parent in path.parents) or path.is_dir():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for folder, lines in rules.items():
        if (root / folder).is_dir():
            (root / folder / ".gitignore").write_text("\n".join(lines), encoding="utf-8")
    if project:
        (root / ".git").mkdir()
    assert all(both(search(root, pattern)).values())


@needs_ripgrep
@pytest.mark.slow
@pytest.mark.parametrize("package", ["pip", "sphinx", "babel", "jupyterlab"])
@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        ("import", {}),
        ("IMPORT", {"ignore_case": True}),
        ("(?i)Straße|ſ|é", {}),
        ("", {"pattern": "^"}),
        (r"^\s*$", {"globs": ("*.py",)}),
        ("e", {"globs": ("**/_*.py", "*.txt")}),
        ("return", {"globs": ("*/*.py",)}),
        ("a", {"globs": ("[!_]*.p[yi]*",)}),
        ("e", {"ignored": True}),
        ("e", {"ignored": True, "kept": frozenset({"_internal", "locale", "util/[odd]"})}),
        (r"[^\x00-\x7f]", {"ignored": True}),
    ],
)
def test_both_engines_agree_on_real_trees_in_every_way(package, pattern, options):
    """What is hidden, ignored, binary, named by patterns, in any case: the same files, counts and lines."""
    from zidane_lab.tools.search.worker import path_filter

    root = Path(sysconfig.get_paths()["purelib"]) / package
    if not root.is_dir():
        pytest.skip(f"{package} is not here")
    named = dict(options)
    asked = search(root, named.pop("pattern", pattern), **named)
    ripgrep, wanted = Ripgrep(Here(), RG, in_project=IgnoreRules.at(root).in_project), path_filter(list(asked.globs))

    async def ask():
        ours, theirs = await OWN.count(asked, 120), await ripgrep.count(asked, 120)
        found = {name: count for name, count in theirs.counts.items() if wanted(name)}
        files = [(name, min(5, count)) for name, count in sorted(found.items())[:60]]
        return ours.counts, found, await OWN.lines(asked, files, 1, 60), await ripgrep.lines(asked, files, 1, 60)

    ours, theirs, our_lines, their_lines = asyncio.run(ask())
    assert ours == theirs
    assert list(our_lines.lines) == list(their_lines.lines)


@needs_ripgrep
@pytest.mark.parametrize("ignored", [False, True])
def test_both_engines_leave_alone_what_is_kept_from_the_agent(tree, ignored):
    for name in ("deep", "odd [x]*{y}!", "a\\b"):
        write(tree, **{f"{name}/inner/k.txt": "needle\n", f"{name}.txt": "needle\n"})
    kept = frozenset({"deep", "odd [x]*{y}!", "a\\b", "a.py"})
    counts = both(search(tree, "needle", ignored=ignored, kept=kept))
    assert not [name for name in counts if name.partition("/")[0] in kept]
    assert {f"{name}.txt" for name in kept - {"a.py"}} <= set(counts)


@needs_ripgrep
@pytest.mark.slow
def test_both_engines_agree_on_a_real_tree():
    root = Path(sysconfig.get_paths()["purelib"]) / "pip"
    for pattern in (
        "import re",
        r"def \w+\(self",
        "(?i)note|warning",
        r"^class [A-Z]\w+.*:$",
        r"[^\x00-\x7f]",
        r"\bint\b",
    ):
        assert both(search(root, pattern))


def test_a_pattern_that_takes_for_ever_is_ended(tmp_path):
    write(tmp_path, **{"a.txt": "good\n", "b.txt": "a" * 60 + "!\n"})
    counts = asyncio.run(OWN.count(search(tmp_path, "(a+)+$|good"), 2.0))
    assert not counts.complete
    assert counts.counts == {"a.txt": 1}


def test_output_without_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("zidane_lab.tools.search.processes.MOST_OUTPUT", 10_000)
    code = "while True: print('x' * 1000)"
    ended = asyncio.run(Here().run([sys.executable, "-c", code], cwd=str(tmp_path), seconds=30))
    assert ended.full
    assert not ended.complete


@pytest.mark.asyncio
async def test_a_search_ends_with_whoever_waits_for_it(tmp_path):
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    task = asyncio.create_task(Here().run([sys.executable, "-c", code], cwd=str(tmp_path), seconds=60))
    while not (pid.exists() and pid.read_text()):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(500):
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.01)
    pytest.fail("the process still runs")


LETTERS = ["a", "b", "A", "_", "1", "é", "É", "ſ", "K", "k", "s", " ", "\t", "-", "\r", "\u0301", "½", "٣", "Ⓐ", "日"]
LETTERS += ["😀", "\x0b", "\x1c", "\u2028", "\x85", "ß", "σ", "ς", "İ", "i", "ı", "µ"]
ATOMS = ["a", "A", "é", "k", "ſ", "i", "ı", "σ", ".", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\b", r"\B", "^", "$"]
ATOMS += [
    "[a-c]",
    "[^a]",
    r"[^\w]",
    r"[\W_]",
    "[[:alpha:]]",
    r"\p{L}",
    r"\P{L}",
    r"\p{M}",
    "(?i:a)",
    "[é-ÿ]",
    "(?:a|é)",
]
QUANTIFIERS = ["", "", "", "*", "+", "?", "{2}", "*?"]
EXPRESSIONS = st.lists(
    st.builds("(?:{}){}".format, st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)), min_size=1, max_size=4
).map("".join)


@pytest.fixture(scope="module")
def odd_texts(tmp_path_factory) -> Path:
    import random

    chance, root = random.Random(7), tmp_path_factory.mktemp("odd")
    for number in range(20):
        lines = ["".join(chance.choices(LETTERS, k=chance.randrange(8))) for _ in range(12)]
        data = ("\r\n" if number % 5 == 0 else "\n").join(lines).encode()
        (root / f"{number}.txt").write_bytes(data.replace(b"a", b"\xff") if number % 7 == 0 else data)
    return root


@needs_ripgrep
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(EXPRESSIONS, st.booleans())
def test_both_engines_agree_on_any_expression(odd_texts, pattern, ignore_case):
    assert all(both(search(odd_texts, pattern, ignore_case=ignore_case)).values())

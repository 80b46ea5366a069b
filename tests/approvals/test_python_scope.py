from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from zidane_lab.approvals.project import Project
from zidane_lab.approvals.python_code import classify
from zidane_lab.approvals.python_scope import scope_of

CORPUS = runpy.run_path(str(Path(__file__).with_name("corpus.py")))
RISKY = [source for group in CORPUS["RISKY"].values() for source in group]
RISKY += runpy.run_path(str(Path(__file__).with_name("corpus_evasions.py")))["EVASIONS"]
PROJECT = Project("/work", "/work", is_local=False)


def scope(code, protected=frozenset({"df"}), project=PROJECT):
    verdict = classify(code, protected=protected)
    return scope_of(code, verdict, project, protected=protected, known={})


@pytest.mark.parametrize(
    ("code", "tokens", "targets"),
    [
        ("df.to_csv('out/a.csv')", ("writes@out",), ("out/a.csv",)),
        ("df.to_csv(path_or_buf='a.csv', index=False)", ("writes@.",), ("a.csv",)),
        ("x.groupby('a').mean().to_parquet('o/p.parquet')", ("writes@o",), ("o/p.parquet",)),
        ("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig('f.png')", ("writes@.",), ("f.png",)),
        ("from pathlib import Path\nPath('n/a.md').write_text(str(x))", ("writes@n",), ("n/a.md",)),
        (
            "import os\nos.makedirs('o/p', exist_ok=True)\nx.to_csv('o/p/a')",
            ("writes@o", "writes@o/p"),
            ("o/p", "o/p/a"),
        ),
    ],
)
def test_plain_writes_are_remembered_by_folder(code, tokens, targets):
    found = scope(code)
    assert (found.tokens, found.targets, found.is_writing) == (tokens, targets, True)


@pytest.mark.parametrize(
    ("code", "tokens"),
    [
        ("df = 1", ("overwrites-your-variable-df",)),
        ("del df", ("deletes-your-variable-df",)),
        ("df.drop(columns='a', inplace=True)", ("changes-your-variable-df-in-place",)),
        ("df = df.dropna()\ndf.to_csv('o/a.csv')", ("overwrites-your-variable-df", "writes@o")),
    ],
)
def test_changes_of_variables_are_remembered_by_variable(code, tokens):
    found = scope(code)
    assert (found.tokens, found.is_writing) == (tokens, False)


@pytest.mark.parametrize(
    "code",
    [
        "df.to_csv(path)",
        "df.to_csv('a.csv'); import subprocess",
        "df.to_csv('a.csv', *more)",
        "df.to_csv('a.csv', **more)",
        "[f.to_csv('a.csv') for f in map(os.remove, x)]",
        "df.to_csv('../a.csv')",
        "df.to_csv('/etc/a.csv')",
        "import shutil\nshutil.rmtree('x')",
        "open('a', 'w').write('x')",
        "Path(p).write_text('x')",
        "x.to_csv('a.csv' if y else z)",
        "requests.get(u).json().to_csv('a.csv')",
        "!ls",
    ],
)
def test_anything_else_only_as_exactly_the_same_code(code):
    found = scope(code)
    assert len(found.tokens) <= 1
    assert all(token.startswith("code-") for token in found.tokens)
    assert scope(f"{code}\n1").tokens != found.tokens or not found.tokens
    assert not found.is_writing or not all(map(PROJECT.contains, found.targets))


@pytest.mark.parametrize(
    "code", ["eval(x)", "x = (", "import os; os.environ", "open('.env', 'a')", "exec(open('a').read())"]
)
def test_code_that_is_not_all_seen_is_not_remembered(code):
    assert not scope(code).is_coverable


def test_no_risky_piece_is_remembered_more_broadly_than_by_folder_variable_library_or_itself():
    protected = CORPUS["PROTECTED"]
    for code in RISKY:
        found = scope(code, protected)
        for token in found.tokens:
            assert token.startswith(("code-", "writes@", "uses-")) or "-your-variable-" in token, (code, token)
        if any(token.startswith("writes@") for token in found.tokens):
            assert found.targets


def test_without_a_project_there_is_no_folder():
    assert scope("x.to_csv('a.csv')", project=None).tokens[0].startswith("code-")
    assert scope("1 + 1").tokens == ()

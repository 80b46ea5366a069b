from __future__ import annotations

import json
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.approvals import python_code
from zidane_lab.approvals.magics import automagic
from zidane_lab.approvals.python_code import MAX_SOURCE, Reason, classify


def corpus(name):
    return runpy.run_path(str(Path(__file__).with_name(f"{name}.py")))


PROTECTED = corpus("corpus")["PROTECTED"]
CORNERS = corpus("corpus_corners")
RISKY_GROUPS = {
    **corpus("corpus")["RISKY"],
    **CORNERS["RISKY"],
    "evasions": corpus("corpus_evasions")["EVASIONS"],
}
RISKY = [source for sources in RISKY_GROUPS.values() for source in sources]
HARMLESS = [*corpus("corpus_harmless")["HARMLESS"], *CORNERS["HARMLESS"]]


@pytest.mark.parametrize("group", RISKY_GROUPS)
def test_no_risky_code_is_called_pure(group):
    missed = [source for source in RISKY_GROUPS[group] if classify(source, protected=PROTECTED).risk == "pure"]
    assert missed == []


def test_every_risky_piece_has_reasons_that_name_a_line_of_it():
    for source in RISKY:
        reasons = classify(source, protected=PROTECTED).reasons
        assert reasons
        for reason in reasons:
            assert 1 <= reason.line <= max(1, len(source.splitlines()))
            assert reason.why


def test_of_harmless_code_at_most_one_piece_in_twenty_is_asked_about():
    asked = [source for source in HARMLESS if classify(source, protected=PROTECTED).risk != "pure"]
    assert len(asked) <= len(HARMLESS) // 20, asked
    assert len(RISKY) + len(HARMLESS) >= 120


def test_harmless_code_that_looks_like_a_risky_kind_is_not_asked_about():
    assert [source for source in CORNERS["HARMLESS"] if classify(source, protected=PROTECTED).risk != "pure"] == []


def test_no_verdict_of_the_corpus_comes_from_a_fault_of_the_judge():
    for source in [*HARMLESS, *RISKY]:
        assert not any("cannot be judged" in reason.why for reason in classify(source, protected=PROTECTED).reasons)


def test_what_the_shell_itself_puts_into_the_namespace_changes_no_verdict():
    code = (
        "import json; from IPython.core.interactiveshell import InteractiveShell;"
        "from zidane_lab.approvals.names import known_names;"
        "print(json.dumps(known_names(InteractiveShell().user_ns)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    known = json.loads(done.stdout)
    assert {"open", "exit", "get_ipython"} <= known.keys()
    risky = [source for source in RISKY if classify(source, protected=PROTECTED, known=known).risk == "pure"]
    harmless = [source for source in HARMLESS if classify(source, protected=PROTECTED, known=known).risk != "pure"]
    assert (risky, len(harmless) <= len(HARMLESS) // 20) == ([], True)


def test_a_reason_tells_line_text_and_what_it_does():
    verdict = classify("import pandas as pd\n\ndf.to_csv(\n    'out.csv')")
    assert verdict.reasons == (Reason(3, "df.to_csv(", "writes a file"),)
    assert str(verdict.reasons[0]) == "writes a file (line 3: df.to_csv()"


@pytest.mark.parametrize(
    ("source", "line", "text"),
    [
        ("x = 1\n!ls -l", 2, "!ls -l"),
        ("\n\n\n!ls", 4, "!ls"),
        ("%%time\nx = 1\n\nos.remove('a')", 4, "os.remove('a')"),
        ("%%capture out\n\n!ls", 3, "!ls"),
        ("x = (\n  1 +\n  os.getpgid(0))", 3, "os.getpgid(0))"),
        ("x = 1\ny = (", 2, "y = ("),
        ("f'''\n{open('a', 'w')}\n'''", 2, "{open('a', 'w')}"),
    ],
)
def test_lines_are_those_of_the_cell_as_written(source, line, text):
    reason = classify(source).reasons[0]
    assert (reason.line, reason.text) == (line, text)


def test_long_lines_are_shortened_in_reasons():
    (reason,) = classify("os.remove('" + "x" * 500 + "')").reasons
    assert len(reason.text) == 160


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    df = 1\n    del df",
        "class A:\n    df = 1",
        "lambda df: df",
        "[df for df in range(3)]",
        "{df: 1 for df in x}",
        "def f(df): return df",
        "df.columns",
        "df['new'] = 1",
        "df.loc[0, 'a'] = 1",
        "def f():\n    def g():\n        nonlocal df\n        df = 2\n    df = 1",
        "df2 = df.dropna(inplace=False)",
    ],
)
def test_only_the_users_own_names_at_the_top_are_protected(source):
    assert classify(source, protected=frozenset({"df"})).risk == "pure"


def test_a_name_that_is_not_protected_may_be_bound_and_deleted():
    assert classify("df = 1\ndel df").risk == "pure"
    assert classify("df = 1\ndel df", protected=frozenset({"sales"})).risk == "pure"


@pytest.mark.parametrize(
    ("source", "known", "risk"),
    [
        ("sp.run('ls')", {"sp": "subprocess"}, "ask"),
        ("rm('a')", {"rm": "os.remove"}, "ask"),
        ("env['A']", {"env": "os._Environ()"}, "ask"),
        ("pd.read_csv(source)", {"source": "https://example.com/a.csv"}, "ask"),
        ("pd.read_csv(source)", {"source": "str()"}, "pure"),
        ("s.rename('n')", {"s": "pandas.Series()"}, "pure"),
        ("s.rename('n')", {"s": "pathlib.PosixPath()"}, "ask"),
        ("s.rename('n')", {}, "ask"),
        ("df.rename(mapping)", {"df": "polars.DataFrame()"}, "pure"),
        ("text.replace(table)", {"text": "str()"}, "pure"),
        ("session.get(page)", {"session": "requests.sessions.Session()"}, "ask"),
        ("requests.groupby('day').size()", {"requests": "pandas.DataFrame()"}, "pure"),
        ("con.execute('select 1')", {"con": "sqlite3.Connection()"}, "pure"),
        ("helpers.run = 1", {"helpers": "helpers"}, "ask"),
        ("open('a', 'w')", {"open": "io.open"}, "ask"),
        ("exit()", {"exit": "IPython.core.autocall.ExitAutocall()"}, "ask"),
        ("input.mean()", {"input": "numpy.ndarray()"}, "pure"),
    ],
)
def test_what_is_known_of_the_namespace_decides(source, known, risk):
    assert classify(source, known=known).risk == risk


@pytest.mark.parametrize(
    ("source", "known", "risk"),
    [
        ("import pandas as pd", {"pd": "pandas"}, "pure"),
        ("import pandas as pd", {}, "pure"),
        ("import pandas as pd", {"pd": "pandas.DataFrame()"}, "ask"),
        ("import os.path", {"os": "os"}, "pure"),
        ("from sklearn.linear_model import Ridge", {"Ridge": "sklearn.linear_model._ridge.Ridge"}, "pure"),
        ("from math import pi", {"pi": "float()"}, "ask"),
        ("from pandas import DataFrame as df", {"df": "pandas.DataFrame()"}, "ask"),
    ],
)
def test_importing_again_what_a_name_holds_overwrites_nothing(source, known, risk):
    protected = frozenset({"pd", "os", "Ridge", "pi", "df"})
    assert classify(source, protected=protected, known=known).risk == risk


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 5_000 + ")" * 5_000,
        "x" + ".y" * 20_000,
        "-" * 5_000 + "1",
        "x = " + "+".join(["'a'"] * 3_000),
        "\n".join(f"x{n} = x{n - 1} + x{n - 1}" for n in range(1, 200)),
        "\n".join(f"x{n} = x{n - 1} if c else y{n - 1}\ny{n} = x{n - 1} or y{n - 1}" for n in range(1, 60)),
        "a = b\nb = c\nc = a\na.remove('x')",
        "x = x or x\nx = (x, x)[0]\nx()",
        "exec('" * 12 + "1" + "')" * 12,
        "\n" * 50_000 + "1",
        "'" + "a" * MAX_SOURCE + "'",
        "\ud800",
    ],
)
def test_code_made_to_upset_the_judge_ends_in_a_verdict(source):
    assert classify(source).risk in {"pure", "ask"}


def test_a_fault_of_the_judge_asks(monkeypatch):
    def broken(*arguments, **options):
        raise KeyError("surprise")

    monkeypatch.setattr(python_code, "Scanner", broken)
    verdict = classify("1 + 1")
    assert verdict.risk == "ask"
    assert "cannot be judged (KeyError)" in verdict.reasons[0].why


@given(st.text(max_size=80) | st.text(alphabet="osdf.()[]='\"%!?{}\n x1:", max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_gets_a_verdict(source):
    assert classify(source).risk in {"pure", "ask"}


def is_plain(source):
    """Whether a piece is ordinary Python, risky by itself, that means the same when it is indented."""
    magics = any(
        line.lstrip().startswith(("%", "!")) or " = %" in line or " = !" in line for line in source.splitlines()
    )
    special = magics or automagic(source) or "get_ipython" in source or source in RISKY_GROUPS["does not parse"]
    return not special and classify(source).risk == "ask"


PLAIN = [source for source in RISKY if is_plain(source)]
WRAPPERS = ["if x:", "for i in y:", "while x:", "with a:", "def f():", "async def f():", "class A:", "try:"]


@given(st.sampled_from(PLAIN), st.lists(st.sampled_from(WRAPPERS), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_risky_code_stays_risky_wherever_it_stands(source, wrappers):
    for wrapper in wrappers:
        source = f"{wrapper}\n{textwrap.indent(source, '    ')}"
        if wrapper == "try:":
            source += "\nfinally:\n    pass"
    assert classify(source).risk == "ask"


def test_classifying_imports_nothing_the_code_names(monkeypatch):
    for name in ("antigravity", "this", "turtle"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    classify("import antigravity, this, turtle\nantigravity.x\nthis.s\nturtle.y")
    assert not {"antigravity", "this", "turtle"} & sys.modules.keys()

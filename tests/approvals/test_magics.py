from __future__ import annotations

import pytest

from zidane_lab.approvals.magics import Magic, automagic, read_magic, to_python


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("reset -f", "reset"),
        ("  rm a.csv\n", "rm"),
        ("ls", "ls"),
        ("cd ..", "cd"),
        ("ls = 1", None),
        ("ls.append(1)", None),
        ("ls[0]", None),
        ("ls - 1", "ls"),
        ("env == 1", None),
        ("rm(1)", None),
        ("df - 1", None),
        ("resetting", None),
        ("x = 1\nls", None),
        ("", None),
    ],
)
def test_a_magic_without_its_percent_sign_is_recognised(source, name):
    assert automagic(source) == name


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (("time", "f(x)"), (("f(x)", 0),)),
        (("timeit", "-n 10 -r3 -q f(-x)"), (("f(-x)", 0),)),
        (("time", "-x"), (("-x", 0),)),
        (("time", ""), ()),
        (("time", "", "a\nb\n"), (("a\nb\n", 1),)),
        (("timeit", "-n10 setup()", "a"), (("setup()", 0), ("a", 1))),
        (("timeit", "-o ", "a"), (("a", 1),)),
        (("prun", "-l 5 f()"), (("f()", 0),)),
        (("capture", "--no-stderr out", "a"), (("a", 1),)),
        (("config", "InlineBackend.figure_format = 'svg'"), (("InlineBackend.figure_format = 'svg'", 0),)),
        (("who", "DataFrame"), ()),
        (("markdown", "", "# x"), ()),
    ],
)
def test_harmless_magics_are_as_harmful_as_their_code(arguments, codes):
    magic = read_magic(*arguments)
    assert (magic.whys, magic.codes) == ((), codes)


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "a.py"),
        ("nonsense", ""),
        ("bash", "", "ls"),
        ("nonsense", "", "x"),
        ("script", "sh", "ls"),
        ("who", "{x}"),
        ("pinfo", "$x"),
        ("capture", "{x}", "a"),
        ("history", "-f a.py"),
        ("prun", "-T a.txt f()"),
        ("load_ext", "autoreload sql"),
        ("load_ext", ""),
        ("config", "Application.x = 1"),
        ("memit", "x", "y"),
    ],
)
def test_other_magics_ask(arguments):
    assert read_magic(*arguments).whys


def test_capture_binds_its_variable():
    assert read_magic("capture", "out", "x") == Magic(codes=(("x", 1),), binds=("out",))


def test_a_cell_becomes_the_python_that_the_shell_runs():
    assert to_python("\n\n!ls {x}") == ("get_ipython().system('ls {x}')\n", 2)
    assert to_python("x = 1") == ("x = 1\n", 0)
    assert to_python("")[0].strip() == ""

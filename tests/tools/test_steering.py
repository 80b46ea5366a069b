"""Which commands another tool does better, and which it does not."""

from __future__ import annotations

import pytest

from zidane_lab.errors import ConfigurationError
from zidane_lab.tools.steering import RULES, forgotten, pattern_rule, runs_notebook, steer

ALL = {rule.tool for rule in RULES}


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("cat notes.md", "read_file"),
        ("cat -n src/a.py", "read_file"),
        ("/bin/cat notes.md", "read_file"),
        ("head -20 a.csv", "read_file"),
        ("tail -n 5 a.log", "read_file"),
        ("less a", "read_file"),
        ("grep -rn TODO src", "grep"),
        ("rg pattern src", "grep"),
        ("grep 'a|b' x", "grep"),
        ("find . -name '*.py'", "glob"),
        ("find src -type f", "glob"),
        ("fd test", "glob"),
        ("sed -i 's/a/b/' f", "edit"),
        ("sed -i.bak -e s/a/b/ f", "edit"),
        ("sed --in-place=.b s/a/b/ f", "edit"),
        ("perl -pi -e s/a/b/ f", "edit"),
        ("gawk -i inplace '{print}' f", "edit"),
        ("echo hello > a.txt", "write_file"),
        ("printf 'x' >> a.txt", "write_file"),
        ("cat <<'EOF' > a.py\nx\nEOF", "write_file"),
        ("cat > a.py << EOF\nx\nEOF", "write_file"),
    ],
)
def test_steered(command, tool):
    rule = steer(command, ALL)
    assert rule is not None
    assert rule.tool == tool
    assert steer(command, ALL - {tool}) is None


@pytest.mark.parametrize(
    "command",
    [
        "cat",
        "cat a | sort",
        "tail -f app.log",
        "tail -F -n 0 app.log",
        "tail --follow=name app.log",
        "cat a b > c",
        "ps aux | grep python",
        "grep",
        "find . -name '*.pyc' -delete",
        "find . -type f -exec wc -l {} +",
        "find .",
        "sed 's/a/b/' f",
        "sed -n 1,5p f | wc",
        "echo hello",
        "echo hello > /dev/null",
        "echo oops >&2",
        "make > build.log",
        "echo a > b && cat b",
        "echo done 2> err",
        "pytest -q",
        "git grep x",
        "echo 'a > b'",
        "",
        "'",
        "category x",
    ],
)
def test_left_alone(command):
    assert steer(command, ALL) is None


def test_nothing_is_steered_to_a_tool_that_is_not_there():
    assert steer("cat notes.md", ()) is None


def test_rules_of_ones_own():
    rule = pattern_rule(r"^npm test", "recipe", "recipe knows the project's tasks.")
    assert steer("npm test", {"recipe"}, [rule]) is rule
    with pytest.raises(ConfigurationError, match="regular expression"):
        pattern_rule("(", "recipe", "")


@pytest.mark.parametrize(
    "command",
    [
        "jupyter nbconvert --to notebook --execute work.ipynb",
        "jupyter nbconvert --execute --inplace ./sub/work.ipynb",
        "jupyter-nbconvert work.ipynb --execute",
        "jupyter execute work.ipynb",
        "python -m nbconvert --execute work.ipynb",
        "papermill work.ipynb out.ipynb",
        "cd sub && papermill work.ipynb work.ipynb",
    ],
)
def test_executing_the_open_notebook(command):
    assert runs_notebook(command, "/home/me/sub/work.ipynb")
    assert not runs_notebook(command, "/home/me/other.ipynb")


@pytest.mark.parametrize("command", ["jupyter nbconvert --to html work.ipynb", "git add work.ipynb", "ls"])
def test_other_work_on_the_notebook(command):
    assert not runs_notebook(command, "work.ipynb")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("cd sub", "as cwd"),
        ("mkdir x && cd x", "as cwd"),
        ("ls\ncd sub\n", "as cwd"),
        ("pushd x;", "as cwd"),
        ("export A=1", "as env"),
        ("ls && . ./settings", "as env"),
        ("source venv/bin/activate", "as env"),
        ("conda activate base", "as env"),
        ("alias ll='ls -l'", "as env"),
        ("cd sub && ls", ""),
        ("export A=1 && echo $A", ""),
        ("(cd sub)", ""),
        ("cd sub | cat", ""),
        ("echo cd", ""),
        ("echo 'open", ""),
        ("", ""),
        ("cdparanoia", ""),
    ],
)
def test_what_the_next_call_will_not_know_is_said(command, says):
    notes = forgotten(command)
    assert len(notes) == bool(says)
    assert says in "".join(notes)

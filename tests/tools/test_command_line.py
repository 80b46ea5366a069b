"""Command lines taken apart."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ToolError
from zidane_lab.tools.command_line import NON_INTERACTIVE, check_environment, lift_cd, words


@pytest.mark.parametrize(
    ("command", "folder", "rest"),
    [
        ("cd src && ls", "src", "ls"),
        ("  cd  src/a  &&  ls -l", "src/a", "ls -l"),
        ("cd 'my folder' && ls", "my folder", "ls"),
        ('cd "my folder" && ls', "my folder", "ls"),
        ("cd ~/x && ls", "~/x", "ls"),
        ("cd a'b c'd && x && y", "ab cd", "x && y"),
        ("cd src && cd b && ls", "src", "cd b && ls"),
        ("cd src &&\nls", "src", "ls"),
    ],
)
def test_a_leading_cd_is_lifted(command, folder, rest):
    assert lift_cd(command) == (folder, rest)


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "cd src",
        "cd src &&",
        "cd src; ls",
        "cd src || ls",
        "cd src & ls",
        "cd - && ls",
        "cd && ls",
        "cd $HOME && ls",
        'cd "$HOME" && ls',
        "cd `pwd` && ls",
        "cd $(pwd) && ls",
        "cd a* && ls",
        "cd a{b,c} && ls",
        "cd '~/x' && ls",
        "cd a b && ls",
        r"cd a\ b && ls",
        "cd src | cat && ls",
        "cd '' && ls",
        "cdx src && ls",
        "(cd src && ls)",
        "cd src > /dev/null && ls",
    ],
)
def test_a_cd_that_the_shell_must_work_out_stays(command):
    assert lift_cd(command) == (None, command)


@given(st.text(alphabet="ab'\"$`\\ ;&|~*\n/.-", max_size=12))
def test_lifting_means_the_same_to_the_shell(name):
    """Whatever is lifted, the shell would have gone to the same folder."""
    command = f"cd {name} && pwd"
    folder, rest = lift_cd(command)
    if folder is None or folder.startswith(("~", "-")):
        return
    # `cd` as a function that only says where it would go.
    script = f'cd() {{ printf "%s" "$1"; exit 0; }}; {command}'
    ran = subprocess.run(["sh", "-c", script], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert (ran.stdout.decode(), rest) == (folder, "pwd")


def test_words():
    assert words("a 'b c' | d>e 2>&1 && f;g") == ["a", "b c", "|", "d", ">", "e", "2", ">&", "1", "&&", "f", ";", "g"]
    assert words("a 'b") is None


def test_names_of_variables():
    check_environment({"_A1": "x"})
    for name in ("", "1A", "A-B", "A=B", "A B", "É", "A\n"):
        with pytest.raises(ToolError):
            check_environment({name: "x"})
    with pytest.raises(ToolError, match="NUL"):
        check_environment({"A": "a\0b"})


def test_our_own_variables_are_ones():
    check_environment(NON_INTERACTIVE)
    assert "CI" not in NON_INTERACTIVE

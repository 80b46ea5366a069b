"""The canonical form of shell commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.guards.shell_form import normalize_shell_command

PIECES = st.sampled_from(
    [
        *(
            "cd",
            "cd a",
            "cd 'a b'",
            'cd "x;y"',
            r"cd a\ b",
            "ls",
            "sleep",
            "sleep 2",
            "sleep 0.5s",
            "curl x",
            "-l",
            "''",
            '"',
        ),
        *("&&", "&", ";", "|", "||", " ", "  ", "\n", "\t", "\\", "é", "\x1f"),
    ]
)
COMMANDS = st.one_of(
    st.text(max_size=40), st.lists(PIECES, max_size=14).map("".join), st.lists(PIECES, max_size=14).map(" ".join)
)


@pytest.mark.parametrize(
    ("command", "form"),
    [
        ("ls -la", "ls -la"),
        ("  ls \t -la\n", "ls -la"),
        ("cd /srv/app && pytest -q", "pytest -q"),
        ("cd /srv/app; pytest -q", "pytest -q"),
        ("cd '/my app' && cd \"b c\"; pytest -q", "pytest -q"),
        (r"cd my\ app && pytest -q", "pytest -q"),
        ("npm start & sleep 2 ; curl localhost:3000", "npm start"),
        ("npm start & sleep 2; curl localhost:3000 ; echo $?", "npm start"),
        ("tail log ; sleep 0.5 && tail log", "tail log"),
        ("cd app && npm start & sleep 3s; curl localhost", "npm start"),
    ],
)
def test_wrappers_and_blanks_come_off(command, form):
    assert normalize_shell_command(command) == form


@pytest.mark.parametrize(
    "command",
    [
        "ls -l -a",
        "ls -a -l",  # flags keep their order
        "make && sleep 2; curl x",  # waits only when the first part went well: not a poll
        "a & sleep 2 && b",
        "a ; sleep 2 ; b",
        "sleep 5",
        "cd app",
        "cd app &&",
        "echo 'cd a' && ls",
        "& sleep 2 ; curl x",
        "abcd x && ls",
        "",
    ],
)
def test_everything_else_stays(command):
    assert normalize_shell_command(command) == command


@given(COMMANDS)
def test_the_form_of_a_form_is_itself(command):
    form = normalize_shell_command(command)
    assert normalize_shell_command(form) == form


@given(COMMANDS)
def test_nothing_is_reordered_and_only_ends_are_taken_off(command):
    form = normalize_shell_command(command)
    collapsed = " ".join(command.split())
    assert form in collapsed
    assert bool(form) == bool(collapsed)


@given(COMMANDS, st.sampled_from(["cd x && {}", "cd 'a b'; {}", "  {}\n"]))
def test_a_command_in_a_wrapper_has_the_form_of_the_command(command, wrapper):
    plain = normalize_shell_command(command)
    if plain:
        assert normalize_shell_command(wrapper.format(command)) == plain
